"""Inner products of a victim's rows, from how its partial scores move while it trains."""
