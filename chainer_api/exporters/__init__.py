"""Writing models for other frameworks."""
