"""Programs, buffers, guards and caches; the replay of recorded calls."""
