"""What boosted trees over several owners of columns give away: sums a bin, node members, routing, a service to ask."""
