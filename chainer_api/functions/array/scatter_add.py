"""Adding at indices."""
