"""Training of our own models on a joint table, as Luo et al. 2021 do: no intermediate result is revealed to anybody."""
