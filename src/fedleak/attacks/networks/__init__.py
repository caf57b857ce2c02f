"""From gradients of layered networks to what they were trained on."""
