"""How often the decision of an audit cries wolf, and how often it finds a leak that is there."""
