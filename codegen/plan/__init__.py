"""Where values lie, the same for all targets: storage, the arena, views."""
