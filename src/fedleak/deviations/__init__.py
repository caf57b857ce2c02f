"""What dishonest parties do, one behaviour a file."""
