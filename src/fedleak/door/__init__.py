"""What ``import fedleak`` offers, and the command line goes through: audits, checks, single attacks, stored reports."""
