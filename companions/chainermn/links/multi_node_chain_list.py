"""Models whose parts are on several processes."""
import chainer
from chainer import utils
from chainermn import functions


class MultiNodeChainList(chainer.ChainList):
    """The links of a model that are on this process, with where their data come from and go to.

    A call runs the links in the order in which they were added; each gets what a process sends, or
    the arguments of the call, and what it returns is sent to a process, or is the result. The parts
    of the graph are tied together, so that backward from the result goes through all of them.

    Args:
        comm (CommunicatorBase): Communicator.

    A model over two processes, the first of which has the data and gets the result::

        class Model0(chainermn.MultiNodeChainList):
            def __init__(self, comm):
                super().__init__(comm)
                self.add_link(L.Linear(10, 20), rank_in=None, rank_out=1)
                self.add_link(L.Linear(30, 2), rank_in=1, rank_out=None)

        class Model1(chainermn.MultiNodeChainList):
            def __init__(self, comm):
                super().__init__(comm)
                self.add_link(L.Linear(20, 30), rank_in=0, rank_out=0)
    """

    def __init__(self, comm):
        utils.experimental('chainermn.MultiNodeChainList')
        super().__init__()
        self._comm = comm
        self._ranks = []

    def add_link(self, link, rank_in=None, rank_out=None):
        """Add a link.

        Args:
            link (chainer.Link): The link. It is called with one argument for each rank that it
                receives from; a tuple that is sent comes as a tuple.
            rank_in (int, list of int or None): Ranks of the processes it receives from; ``None``:
                it gets the arguments of the call.
            rank_out (int, list of int or None): Ranks of the processes that get what it returns;
                ``None``: it is the result of the call.

        Raises:
            ValueError: There is already a link whose ``rank_out`` is ``None``.
        """
        if rank_out is None and any(out is None for _, out in self._ranks):
            raise ValueError(
                'MultiNodeChainList cannot have more than one link whose rank_out is None: a call '
                'has one result')
        super().add_link(link)
        self._ranks.append((_as_list(rank_in), _as_list(rank_out)))

    def forward(self, *inputs):
        """Run the links.

        Args:
            inputs: Arguments for the links whose ``rank_in`` is ``None``.

        Returns:
            What the link returns whose ``rank_out`` is ``None``. Without one, a variable without
            elements that backward is to start from.
        """
        if not self._ranks:
            raise ValueError('MultiNodeChainList has no links; add them by add_link')
        result = delegate = None
        for link, (sources, targets) in zip(self, self._ranks, strict=True):
            # All that comes in is tied to what was sent before: backward may wait for gradients of
            # that only when it has sent back the gradients of all that came in.
            if sources is None:
                y = link(*_tied(delegate, inputs))
            else:
                y = link(*[functions.recv(self._comm, source, delegate_variable=delegate)
                           for source in sources])
            delegate = None
            if targets is None:
                result = y
                continue
            for target in targets:
                sent = functions.send(y, self._comm, target)
                delegate = functions.pseudo_connect(delegate, sent)
        if result is None:
            return delegate
        if delegate is None:
            return result
        several = isinstance(result, (tuple, list))
        return functions.pseudo_connect(delegate, *(result if several else (result,)))


def _as_list(rank):
    return list(rank) if isinstance(rank, (tuple, list)) else None if rank is None else [rank]


def _tied(delegate, inputs):
    if delegate is None or not inputs:
        return inputs
    tied = functions.pseudo_connect(delegate, *map(chainer.as_variable, inputs))
    return tied if isinstance(tied, tuple) else (tied,)
