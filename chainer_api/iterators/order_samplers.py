"""Which example comes when, epoch by epoch."""
import numpy


class OrderSampler:
    """Base of order samplers: what iterators call for the order of the next epoch."""

    def __call__(self, current_order, current_position):
        """The order of the next epoch.

        Args:
            current_order (numpy.ndarray): Indices in the order of the current epoch.
            current_position (int): The iterator's position in it.

        Returns:
            numpy.ndarray: Indices of examples, as many as before.
        """
        raise NotImplementedError(
            f'{type(self).__name__} must define __call__(current_order, current_position)')


class ShuffleOrderSampler(OrderSampler):
    """Shuffles the order at each epoch.

    Args:
        random_state (numpy.random.RandomState): Generator; NumPy's global one if ``None``.

    >>> import numpy as np
    >>> from chainer.iterators import ShuffleOrderSampler
    >>> sampler = ShuffleOrderSampler(np.random.RandomState(0))
    >>> sampler(np.arange(5), 0)
    array([2, 0, 1, 3, 4])
    """

    def __init__(self, random_state=None):
        self._random = random_state

    def __call__(self, current_order, current_position):
        random = numpy.random if self._random is None else self._random
        return random.permutation(len(current_order))
