"""1,797 handwritten digits, 8 by 8 pixels: real data that fit into a small file.

They are the test part of E. Alpaydin and C. Kaynak's "Optical Recognition of Handwritten Digits"
of the UCI repository. Each line of the file has 64 grey values between 0 and 16, and the digit.
"""
import gzip
import pathlib

import numpy as np

from chainer.datasets import TupleDataset

_PATH = pathlib.Path(__file__).with_name('digits.csv.gz')
_N_TEST = 360


def read_digits():
    """Return all images, an array of uint8 of the shape (1797, 64), and their labels."""
    with gzip.open(_PATH, 'rt') as file:
        table = np.loadtxt(file, delimiter=',', dtype=np.uint8)
    return table[:, :-1], table[:, -1]


def get_digits(withlabel=True, ndim=1):
    """Return a training set (1,437 images) and a test set (360), of float32 between 0 and 1.

    Args:
        withlabel (bool): Whether the examples are pairs of an image and its label, or images.
        ndim (int): 1: images of 64 pixels; 2: of 8 by 8; 3: of 1 by 8 by 8.
    """
    images, labels = read_digits()
    order = np.random.RandomState(0).permutation(len(labels))
    x = (images[order] / 16).astype(np.float32)
    x = x.reshape({1: (-1, 64), 2: (-1, 8, 8), 3: (-1, 1, 8, 8)}[ndim])
    t = labels[order].astype(np.int32)
    if not withlabel:
        return x[:-_N_TEST], x[-_N_TEST:]
    return TupleDataset(x[:-_N_TEST], t[:-_N_TEST]), TupleDataset(x[-_N_TEST:], t[-_N_TEST:])
