"""Arrays of NumPy's own class."""
import numpy

from chainer import utils


def plain_array(x):
    """A result as an array, and of NumPy's own class, if it is of a class made of that.

    What gathers items (sums, products of matrices) gives no subclass: what such a class means by
    its items is lost. So what ``todense()`` of a sparse matrix gives can be trained with.
    """
    x = utils.force_array(x)
    return numpy.asarray(x) if isinstance(x, numpy.ndarray) else x
