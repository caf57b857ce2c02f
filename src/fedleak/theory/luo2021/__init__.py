"""Thresholds and bounds of Luo et al. 2021 on what predictions reveal."""
