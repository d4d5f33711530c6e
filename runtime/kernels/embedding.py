"""Adding rows up into a table."""

from __future__ import annotations

from typing import Any

from . import library_op
from .windows import array_module


@library_op("add_rows")
def add_rows(rows: Any, ids: Any, *, length: int, ignore_label: int | None = None) -> Any:
    """Sum ``rows`` (*ids.shape, d) into a table (length, d): ``table[ids[i]] += rows[i]``.

    Rows whose id is ``ignore_label`` are left out; negative ids count from the end.
    """
    xp = array_module(rows)
    width = rows.shape[-1]
    rows = rows.reshape(-1, width)
    ids = ids.reshape(-1)
    if ignore_label is not None:
        kept = ids != ignore_label
        rows, ids = rows[kept], ids[kept]
    table = xp.zeros(length * width, rows.dtype)
    ids = xp.where(ids < 0, ids + length, ids)
    # Adding at single places is far faster than adding at rows.
    places = ids[:, None].astype(xp.int64) * width + xp.arange(width)
    xp.add.at(table, places.ravel(), rows.ravel())
    return table.reshape(length, width)
