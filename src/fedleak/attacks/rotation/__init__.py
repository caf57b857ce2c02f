"""Closing the rotation without a single known cell: from what is known of the columns."""
