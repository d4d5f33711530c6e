"""Loss functions with parameters."""
