"""What a communicator can do."""
import contextlib
import warnings
from abc import ABCMeta, abstractmethod


class CommunicatorBase(metaclass=ABCMeta):
    """The interface of communicators, through which processes exchange arrays and objects.

    Its methods are named after MPI functions. Those on arrays have plain names, those on any
    objects that can be pickled end with ``_obj``. Collective ones (all but ``send`` and ``recv``)
    must be called by all processes of the communicator, in the same order.

    A class with other means of communication derives from this one and implements all abstract
    methods; then it works with everything in ChainerMN.
    """

    def __init__(self):
        self._configs = {}
        self._within_config_scope = False

    @property
    @abstractmethod
    def rank(self):
        """Number of this process in the communicator, from 0."""

    @property
    @abstractmethod
    def size(self):
        """Number of processes in the communicator."""

    @property
    @abstractmethod
    def intra_rank(self):
        """Number of this process among those of its machine: often that of its GPU."""

    @property
    @abstractmethod
    def intra_size(self):
        """Number of processes on this machine."""

    @property
    @abstractmethod
    def inter_rank(self):
        """Number of this machine among those that take part."""

    @property
    @abstractmethod
    def inter_size(self):
        """Number of machines that take part."""

    def set_config(self, name, **kwargs):
        """Set a configuration entry of the communicator.

        Raises:
            ValueError: There is no entry of this name.
        """
        raise ValueError(f'Unknown config: {name}')

    def get_config(self, name=None):
        """Return one configuration entry, or a dictionary of all.

        Raises:
            KeyError: There is no entry of this name.
        """
        return self._configs[name] if name is not None else dict(self._configs)

    @property
    def within_config_scope(self):
        """Whether attributes that are set now become configuration entries."""
        return self.__dict__.get('_within_config_scope', False)

    @contextlib.contextmanager
    def config_scope(self):
        """Return a context manager in which attributes that are set become configuration entries.

        For the constructors of communicators of one's own.
        """
        before, self._within_config_scope = self.within_config_scope, True
        try:
            yield
        finally:
            self._within_config_scope = before

    def __setattr__(self, name, value):
        if self.within_config_scope and name != '_within_config_scope':
            self._configs[name] = value
        super().__setattr__(name, value)

    @abstractmethod
    def split(self, color, key):
        """Split the communicator into several.

        Args:
            color (int): Processes with the same color come into the same communicator.
            key (int): Ranks there are in the order of the keys.

        Returns:
            CommunicatorBase: That of this process, of the same class.
        """

    @abstractmethod
    def alltoall(self, xs):
        """Send one array to each process, and receive one from each.

        Args:
            xs (tuple of arrays): One for each process; shapes may differ.

        Returns:
            tuple of arrays: One from each process.
        """

    @abstractmethod
    def send(self, data, dest, tag):
        """Send arrays to a process, which has to call :meth:`recv`.

        Args:
            data (array, or tuple or list of arrays): What is sent.
            dest (int): Rank of the receiver.
            tag (int): Tells messages apart.
        """

    @abstractmethod
    def recv(self, source, tag):
        """Receive what a process sends by :meth:`send`.

        Args:
            source (int): Rank of the sender.
            tag (int): Tag of the message.

        Returns:
            array or tuple of arrays: As it was sent.
        """

    @abstractmethod
    def bcast(self, data, max_buf_len=None, root=0):
        """Send an array from one process to all.

        Args:
            data (array): What is sent; ignored in all but the root process.
            max_buf_len (int): Bytes sent in one go.
            root (int): Rank of the sender.

        Returns:
            array: The array of the root process, in all processes.
        """

    @abstractmethod
    def gather(self, data, root=0):
        """Collect an array of each process in one of them.

        Args:
            data (array): What this process gives; shapes may differ.
            root (int): Rank of the receiver.

        Returns:
            tuple of arrays or None: One from each process in the root process, ``None`` elsewhere.
        """

    @abstractmethod
    def allgather(self, x):
        """Collect an array of each process in all of them.

        Args:
            x (array): What this process gives; shapes may differ.

        Returns:
            tuple of arrays: One from each process.
        """

    @abstractmethod
    def allreduce(self, data):
        """Add the arrays of all processes.

        Args:
            data (array): What this process adds, of the same shape and dtype everywhere.

        Returns:
            array: The sum, in all processes.
        """

    def scatter(self, xs, root=0):
        """Hand out the arrays of one process, one to each.

        Args:
            xs (tuple or list of arrays, or array): One for each process (along the first axis of
                an array); ignored in all but the root process.
            root (int): Rank of the sender.

        Returns:
            array: The one for this process.
        """
        raise NotImplementedError(f'{type(self).__name__} does not implement scatter')

    def finalize(self):  # noqa: B027 -- most have nothing to give back
        """Give back what the communicator holds; it cannot be used any more."""

    @abstractmethod
    def send_obj(self, obj, dest, tag):
        """Send an object to a process, which has to call :meth:`recv_obj`.

        Args:
            obj: Any object that can be pickled.
            dest (int): Rank of the receiver.
            tag (int): Tells messages apart.
        """

    @abstractmethod
    def recv_obj(self, source, tag):
        """Receive what a process sends by :meth:`send_obj`.

        Args:
            source (int): Rank of the sender.
            tag (int): Tag of the message.

        Returns:
            The object.
        """

    @abstractmethod
    def bcast_obj(self, obj, max_buf_len=None, root=0):
        """Send an object from one process to all.

        Args:
            obj: Any object that can be pickled; ignored in all but the root process.
            max_buf_len (int): Bytes sent in one go.
            root (int): Rank of the sender.

        Returns:
            The object of the root process, in all processes.
        """

    @abstractmethod
    def gather_obj(self, obj, root=0):
        """Collect an object of each process in one of them.

        Args:
            obj: Any object that can be pickled.
            root (int): Rank of the receiver.

        Returns:
            list or None: The objects in the order of ranks in the root process, ``None`` elsewhere.
        """

    @abstractmethod
    def allreduce_obj(self, obj):
        """Add the objects of all processes, by ``+`` in the order of ranks.

        Args:
            obj: An object with ``+`` that can be pickled.

        Returns:
            The sum, in all processes.
        """

    @abstractmethod
    def bcast_data(self, model):
        """Give all processes the parameters of the process of rank 0.

        Args:
            model (chainer.Link): Its parameters are sent, or overwritten.
        """

    def broadcast_data(self, model):
        """The old name of :meth:`bcast_data`."""
        self.bcast_data(model)

    @abstractmethod
    def multi_node_mean_grad(self, model, zero_fill=False):
        """Replace the gradients of a model by their means over all processes.

        Args:
            model (chainer.Link): Its parameters' gradients are sent and overwritten.
            zero_fill (bool): Whether a parameter without a gradient takes part with zeros;
                otherwise it is left out, which all processes have to do alike.
        """

    def allreduce_grad(self, model, zero_fill=False):
        """The old name of :meth:`multi_node_mean_grad`: despite it, the mean is taken.

        .. deprecated:: v7.0.0
        """
        warnings.warn('allreduce_grad() is deprecated.', DeprecationWarning, stacklevel=2)
        self.multi_node_mean_grad(model, zero_fill)
