"""Snapshots of many processes, of which several may share one."""
from chainer.training import extension
from chainer.training.extensions import _snapshot


def multi_node_snapshot(comm, snapshot, replica_sets):
    """Make a snapshot extension for many processes.

    Processes that hold the same state (data parallelism) need one file only: they form a *replica
    set*, whose process with the lowest rank saves. Its rank is appended to the name of the file:
    ``snapshot_iter_1000.0``. With ``autoload=True``, all processes go on from the newest iteration
    of which every replica set has a whole file. A replica set may have another number of processes
    then.

    Args:
        comm (CommunicatorBase): Communicator.
        snapshot: What :func:`chainer.training.extensions.snapshot` returns.
        replica_sets (list of collections of int): Ranks of the processes of each replica set.
            Those that are in none form one together: with ``[]`` all processes are one.

    Returns:
        chainer.training.Extension: The extension.

    Raises:
        ValueError: A rank stands in two sets, or there is no such rank.

    All processes hold the same model here, and get its newest snapshot at the start::

        snapshot = chainer.training.extensions.snapshot(n_retains=2, autoload=True)
        trainer.extend(chainermn.extensions.multi_node_snapshot(comm, snapshot, []),
                       trigger=(1, 'epoch'))
    """
    return _MultiNodeSnapshot(comm, snapshot, replica_sets)


class _MultiNodeSnapshot(extension.Extension):

    priority = _snapshot._Snapshot.priority

    def __init__(self, comm, snapshot, replica_sets):
        self.comm = comm
        self.snapshot = snapshot
        own, = [ranks for ranks in _parse(replica_sets, comm.size) if comm.rank in ranks]
        self._master = min(own)
        if callable(snapshot.filename):
            make_name = snapshot.filename
            snapshot.filename = lambda trainer: f'{make_name(trainer)}.{self._master}'
        else:
            snapshot.filename += f'.{self._master}'

    @property
    def is_master(self):
        """Whether this process saves."""
        return self.comm.rank == self._master

    def initialize(self, trainer):
        if not self.snapshot.autoload:
            self.snapshot.initialize(trainer)
            return
        # Files of other processes may be there already: none may be looked for before all are.
        self.comm.gather_obj(None)
        found = _snapshot._find_snapshot_files(self.snapshot._format(), trainer.out)
        end = len(f'.{self._master}')
        whole = [name[:-end] for _, name in found
                 if _snapshot.npz.is_whole(_snapshot.os.path.join(trainer.out, name))]
        newest = self.comm.gather_obj(whole)
        if newest is not None:
            common = [name for name in newest[0] if all(name in names for names in newest)]
            newest = common[-1] if common else None
        newest = self.comm.bcast_obj(newest)
        if newest is not None:
            target = trainer if self.snapshot._target is None else self.snapshot._target
            _snapshot.npz.load_npz(
                _snapshot.os.path.join(trainer.out, f'{newest}.{self._master}'), target)
        self.snapshot.autoload = False
        self.snapshot.initialize(trainer)
        self.snapshot.autoload = True

    def __call__(self, trainer):
        if self.is_master:
            self.snapshot(trainer)

    def on_error(self, trainer, exc, tb):
        if self.is_master:
            self.snapshot.on_error(trainer, exc, tb)

    def finalize(self):
        if self.is_master:
            self.snapshot.finalize()

    def serialize(self, serializer):
        self.snapshot.serialize(serializer)


def _parse(replica_sets, size):
    sets = [set(ranks) for ranks in replica_sets]
    listed = [rank for ranks in sets for rank in ranks]
    wrong = sorted({rank for rank in listed if not 0 <= rank < size or listed.count(rank) > 1})
    if wrong:
        raise ValueError(
            f'replica_sets: each rank from 0 to {size - 1} may be in one set only; wrong: {wrong}')
    rest = set(range(size)) - set(listed)
    return [ranks for ranks in [*sets, rest] if ranks]
