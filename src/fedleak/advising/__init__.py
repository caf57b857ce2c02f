"""The advisor that optimises: it changes a scenario, audits what came of it, and keeps what closes leaks cheapest."""
