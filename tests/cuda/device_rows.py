"""Rows of tables as parameters of tests: the first of each function or link is for each commit."""
import pytest


def marked(rows, name=lambda row: row.name):
    """Parameters; those whose name is another row's and more are variations, marked as slow."""
    names = {name(row) for row in rows}
    return [
        pytest.param(row, id=name(row), marks=[pytest.mark.slow] * any(
            name(row).startswith(f'{other}_') for other in names))
        for row in rows]
