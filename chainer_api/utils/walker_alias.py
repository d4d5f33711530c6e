"""Drawing from a discrete distribution in constant time."""
import collections

import numpy

from chainer import backend, device_resident, function_node
from chainer.backends import cuda


class WalkerAlias(device_resident.DeviceResident):
    """Sampler of a discrete distribution, by Walker's alias method.

    The probability mass is laid out in as many cells of equal size as there are entries, at most
    two entries a cell. To draw, a cell is chosen, and one of its two entries by a threshold.

    Args:
        probs (list of float): Weight of each entry; divided by their sum they are probabilities.

    See: A. J. Walker, `An Efficient Method for Generating Discrete Random Variables with General
    Distributions <https://doi.org/10.1145/355744.355749>`_, 1977.

    .. doctest::

        >>> sampler = chainer.utils.WalkerAlias([1, 0, 3])
        >>> sampler.sample((2, 4)).shape
        (2, 4)
    """

    def __init__(self, probs):
        super().__init__()
        prob = numpy.array(probs, numpy.float32)
        if prob.ndim != 1 or not prob.size:
            raise ValueError(f'probs must be a non-empty list of weights, not {probs!r}')
        prob /= prob.sum()
        n = len(prob)
        threshold = numpy.empty(n, numpy.float32)
        values = numpy.zeros(2 * n, numpy.int32)
        unfilled = collections.deque()  # cells that have room for a second entry
        # From the lightest entry on, each opens a cell; what it has too much fills earlier ones.
        for cell, entry in enumerate(sorted(range(n), key=prob.__getitem__)):
            mass = float(prob[entry]) * n
            while mass > 1 and unfilled:
                filled = unfilled.popleft()
                values[2 * filled + 1] = entry
                mass -= 1.0 - float(threshold[filled])
            threshold[cell] = mass
            values[2 * cell] = entry
            unfilled.append(cell)
        self.threshold = threshold
        self.values = values

    @property
    def use_gpu(self):
        """Whether samples are drawn on a GPU."""
        return self.xp is not numpy

    def device_resident_accept(self, visitor):
        super().device_resident_accept(visitor)
        self.threshold = visitor.visit_array(self.threshold)
        self.values = visitor.visit_array(self.values)

    def sample(self, shape):
        """Draw samples.

        Args:
            shape (int or tuple of int): Shape of the result.

        Returns:
            array of int32: Indexes of entries, on the sampler's device.
        """
        return self.sample_gpu(shape) if self.use_gpu else self.sample_cpu(shape)

    def sample_cpu(self, shape):
        """Draw samples on the CPU (see :meth:`sample`)."""
        return self.sample_xp(numpy, shape)

    def sample_gpu(self, shape):
        """Draw samples on a GPU (see :meth:`sample`)."""
        return self.sample_xp(cuda.cupy, shape)

    def sample_xp(self, xp, shape):
        """Draw samples with an array module (see :meth:`sample`)."""
        return _draw(xp, xp.asarray(self.threshold), xp.asarray(self.values), shape)


def _draw(xp, threshold, values, shape):
    place = xp.asarray(xp.random.uniform(0, len(threshold), shape))
    cell = place.astype(xp.int32)
    second = (threshold[cell] < place - cell).astype(xp.int32)
    return values[cell * 2 + second]


class Sampled(function_node.FunctionNode):
    """A function that draws samples: what it needs of a sampler to be part of compiled methods.

    Of :meth:`WalkerAlias.sample` it keeps the tables: arrays, as any function may have. What
    another sampler does nobody can know.
    """

    _tables = None

    def __init__(self, sampler):
        owner = getattr(sampler, '__self__', None)
        if type(owner) is WalkerAlias and sampler.__func__ is WalkerAlias.sample:
            self._tables = (owner.threshold, owner.values)
        else:
            self.sampler = sampler
            self.opaque = "its sampler is a function of the user's"

    def draw(self, xp, shape):
        """Samples, on the device of the sampler; ``xp`` is the module of the inputs."""
        if self._tables is None:
            return self.sampler(shape)
        found = backend.get_array_module(*self._tables)
        if found is numpy and xp is not cuda.cupy:
            found = xp  # which may be writing down what is drawn
        threshold, values = map(found.asarray, self._tables)
        return _draw(found, threshold, values, shape)
