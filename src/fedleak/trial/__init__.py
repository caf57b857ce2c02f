"""One trial: a run of a protocol, what a coalition saw of it, an attack in a process of its own, its scores."""
