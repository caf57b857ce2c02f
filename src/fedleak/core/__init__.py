"""What an attack may see: the vocabulary of payloads, transcripts, views, guesses and findings."""
