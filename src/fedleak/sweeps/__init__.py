"""Many scenarios at once: a grid of cells on all cores or on a cluster, and a store of what came of each."""
