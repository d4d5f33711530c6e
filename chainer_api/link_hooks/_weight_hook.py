"""Base of the hooks that let a link compute with a function of its weight."""
import math

from chainer import link_hook


class WeightHook(link_hook.LinkHook):
    """Sets the weight attribute to what :meth:`normalize_weight` returns, during each call.

    Args:
        weight_name (str): Name of the parameter.
        name (str): Name of the hook.
    """

    def __init__(self, weight_name, name):
        self.weight_name = weight_name
        if name is not None:
            self.name = name
        self._original = None
        self._normalized = None

    def __enter__(self):
        raise NotImplementedError('This hook is not supposed to be used as context manager.')

    def __exit__(self, *_):
        raise NotImplementedError('This hook is not supposed to be used as context manager.')

    def added(self, link):
        if not hasattr(link, self.weight_name):
            raise ValueError(f"Weight '{self.weight_name}' does not exist!")

    def deleted(self, link):
        self._own_weight(link)

    def _own_weight(self, link):
        weight = getattr(link, self.weight_name)
        if weight is self._normalized is not None:
            # The last call ended with an exception, and left it there.
            weight = self._original
            setattr(link, self.weight_name, weight)
        return weight

    def normalize_weight(self, link):
        """Returns the variable that the link is to compute with.

        Args:
            link (chainer.Link): Link, with its own weight.
        """
        raise NotImplementedError(f'{type(self).__name__} does not implement normalize_weight')

    def forward_preprocess(self, args):
        link = args.link
        weight = self._own_weight(link)
        if weight.array is None:
            link._initialize_params(_input_size(link, args))
        self._original = weight
        self._normalized = self.normalize_weight(link)
        setattr(link, self.weight_name, self._normalized)

    def forward_postprocess(self, args):
        setattr(args.link, self.weight_name, self._original)
        self._original = self._normalized = None


def _input_size(link, args):
    from chainer import links

    x = args.args[0]
    if isinstance(link, links.Linear):
        n_batch_axes = args.kwargs.get('n_batch_axes', *args.args[1:2] or (1,))
        return math.prod(x.shape[n_batch_axes:])
    return x.shape[1]
