"""Categories of warnings."""


class PerformanceWarning(RuntimeWarning):
    """Something works, but slower than it could."""
