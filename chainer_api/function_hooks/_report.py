"""Tables of measurements."""
import sys


def with_unit(value, units, unit='auto'):
    """Return a measured value as text with a unit.

    Args:
        value (float): The value.
        units (dict): For each unit, from the largest to the smallest, what one of it is.
        unit (str): The unit; by default the largest of which it is at least one.
    """
    if unit == 'auto':
        fitting = [name for name, size in units.items() if value >= size]
        unit = fitting[0] if fitting else list(units)[-1]
    elif unit not in units:
        raise ValueError(f"unknown unit {unit!r}: use 'auto' or one of {', '.join(units)}")
    return f'{value / units[unit]:3.2f}{unit}'


def write_table(rows, file):
    """Write rows of texts to ``file`` (standard output if it is ``None``), aligned right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    file = sys.stdout if file is None else file
    for row in rows:
        texts = [text.rjust(width) for text, width in zip(row, widths, strict=True)]
        file.write('  '.join(texts) + '\n')
