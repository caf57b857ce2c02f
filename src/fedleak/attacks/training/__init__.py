"""What a party reads out of the training of a linear model: kernels that its attacks share."""
