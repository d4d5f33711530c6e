"""An exception in one process ends the whole job, instead of leaving the others waiting."""
import os
import sys
import time

from chainermn import _mpi

_hook_before = None


def add_hook():
    """Have an uncaught exception end all processes of the job, by ``MPI_Abort``.

    Without it, the process that raises waits at its end for the others, and these wait for it in
    their next communication, forever. The hook that was there before prints the traceback first.

    :func:`chainermn.create_communicator` adds the hook by itself when there is more than one
    process, and ``import chainermn`` if the environment variable
    ``CHAINERMN_FORCE_ABORT_ON_EXCEPTIONS`` (or, as the documentation writes it once,
    ``CHAINERMN_FORCE_ABORT_ON_EXCEPTION``) is set and not empty.

    ``sys.exit`` with an error code is no exception in this sense: for it start the script by
    ``mpiexec -n 4 python -m mpi4py script.py``.
    """
    global _hook_before
    if _hook_before is None:
        _hook_before = sys.excepthook
        sys.excepthook = _abort_on_exception


def _add_hook_if_enabled():
    names = 'CHAINERMN_FORCE_ABORT_ON_EXCEPTIONS', 'CHAINERMN_FORCE_ABORT_ON_EXCEPTION'
    if any(os.environ.get(name) for name in names):
        add_hook()


def _abort_on_exception(kind, value, traceback):
    MPI = _mpi.load()
    world = MPI.COMM_WORLD
    # Where all processes fail alike, the first one ends the others before they print the same.
    time.sleep(0.1 * min(world.rank, 20))
    sys.stdout.flush()
    sys.stderr.write(
        f'chainermn: uncaught exception in rank {world.rank} of {world.size} '
        f'({MPI.Get_processor_name()}, process {os.getpid()}); aborting all processes\n')
    _hook_before(kind, value, traceback)
    sys.stderr.flush()
    if MPI.Is_initialized() and not MPI.Is_finalized():
        world.Abort(1)
