"""Tables of measurements."""
import sys

SECONDS = {'sec': 1.0, 'ms': 1e-3, 'us': 1e-6, 'ns': 1e-9}
PER_SECOND = {unit: round(1 / seconds) for unit, seconds in SECONDS.items()}


def fitting(value, units):
    """The largest unit of which ``value`` is at least one; the smallest for small values."""
    return next((name for name, size in units.items() if value >= size), list(units)[-1])


def choose(values, units, unit):
    """The unit for a column of values: ``'auto'`` is the one that fits the largest of them.

    Raises:
        ValueError: ``unit`` is neither that nor ``'auto_foreach'`` (one for each) nor in ``units``.
    """
    if unit == 'auto':
        return fitting(max(values, default=0), units)
    if unit != 'auto_foreach' and unit not in units:
        raise ValueError(
            f"unknown unit {unit!r}: use 'auto', 'auto_foreach' or one of {', '.join(units)}")
    return unit


def with_unit(value, units, unit='auto_foreach'):
    """Return a measured value as text with a unit.

    Args:
        value (float): The value.
        units (dict): For each unit, from the largest to the smallest, what one of it is.
        unit (str): The unit; by default the largest of which it is at least one.
    """
    if unit == 'auto_foreach':
        unit = fitting(value, units)
    return f'{value / units[unit]:3.2f}{unit}'


def write_table(rows, file):
    """Write rows of texts to ``file`` (standard output if it is ``None``), aligned right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    file = sys.stdout if file is None else file
    for row in rows:
        texts = [text.rjust(width) for text, width in zip(row, widths, strict=True)]
        file.write('  '.join(texts) + '\n')
