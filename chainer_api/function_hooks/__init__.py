"""Function hooks."""
