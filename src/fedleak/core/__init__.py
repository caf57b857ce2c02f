"""The vocabulary of fedleak. Imports nothing else of ours."""
