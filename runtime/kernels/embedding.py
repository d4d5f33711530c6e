"""Adding rows up into a table."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy

from chainwright.ir import register_library

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
    size = length
    if ignore_label is not None:
        kept = ids != ignore_label
        if xp is numpy:
            rows, ids = rows[kept], ids[kept]
        else:  # how many are left would have to be waited for: they go to a row of their own
            ids, size = xp.where(kept, ids, length), length + 1
    table = xp.zeros(size * width, rows.dtype)
    ids = xp.where(ids < 0, ids + length, ids)
    # Adding at single places is far faster than adding at rows.
    places = ids[:, None].astype(xp.int64) * width + xp.arange(width)
    xp.add.at(table, places.ravel(), rows.ravel())
    return table.reshape(size, width)[:length]


def add_rows_sum(*arrays: Any, length: int, ignore_label: int | None = None) -> Any:
    """:func:`add_rows` of pairs of rows and ids, added up in their order."""
    pairs = zip(arrays[::2], arrays[1::2], strict=True)
    tables = (add_rows(x, ids, length=length, ignore_label=ignore_label) for x, ids in pairs)
    return functools.reduce(operator.add, tables)


register_library("add_rows_sum", add_rows_sum)
