"""What a coalition with the arbiter, who opens every gradient, sees of the others."""
