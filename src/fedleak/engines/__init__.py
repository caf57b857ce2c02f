"""Where work that falls into pieces is done: processes of this machine, or a cluster that is there already."""
