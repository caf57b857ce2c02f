"""XGBoost's vertical training (``data_split_mode=1``), captured by a proxy on one party's own connection."""
