"""Inner products of columns from sums of updates in horizontal training, and the binary records behind them."""
