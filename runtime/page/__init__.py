"""The report of compiled methods as one HTML file that needs nothing else."""

from .render import page
from .views import Method, ProgramView, program_view

__all__ = ["Method", "ProgramView", "page", "program_view"]
