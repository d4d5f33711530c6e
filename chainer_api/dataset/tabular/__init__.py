"""Datasets as tables: columns with names, read many rows at a time."""
from chainer.dataset.tabular import (
    _asmode,
    _concat,
    _join,
    _slice,
    _transform,
    _with_converter,
    delegate_dataset,
    tabular_dataset,
)
from chainer.dataset.tabular.delegate_dataset import DelegateDataset
from chainer.dataset.tabular.from_data import from_data

__all__ = [
    'DelegateDataset', '_asmode', '_concat', '_join', '_slice', '_transform', '_with_converter',
    'delegate_dataset', 'from_data', 'tabular_dataset',
]
