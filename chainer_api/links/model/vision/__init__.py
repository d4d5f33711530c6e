"""Models of vision whose weights were trained by others."""
