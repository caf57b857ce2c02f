"""Networks trained together: cut by columns or pixels, by rows, or between layers."""
