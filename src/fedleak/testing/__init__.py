"""Contract tests for attacks, ours and those of others, and the pytest plug-in that runs them."""
