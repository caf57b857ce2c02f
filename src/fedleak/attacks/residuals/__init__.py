"""What own gradients give away in vertical training: residuals, from them labels, scores, the one column outside."""
