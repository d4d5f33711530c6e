"""What several examples need: flags, small data, a way to save pictures."""
