"""An exception in one process ends the whole job, instead of leaving the others waiting."""
import builtins
import functools
import os
import sys
import threading
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

    ``sys.exit``, ``exit`` and ``quit`` with an error code end all processes, too, if nobody
    catches what they raise. ``raise SystemExit(1)`` does not: for it start the script by
    ``mpiexec -n 4 python -m mpi4py script.py``.
    """
    global _hook_before
    if _hook_before is not None:
        return
    _hook_before = sys.excepthook
    sys.excepthook = _abort_on_exception
    sys.exit = _watched(sys.exit)
    for name in {'exit', 'quit'} & set(vars(builtins)):  # not there under python -S
        setattr(builtins, name, _watched(getattr(builtins, name)))


class _Exit(SystemExit):
    """What ``sys.exit`` raises: it notices where it ends."""

    def __del__(self):
        # Python calls no hook for a SystemExit that nobody has caught, but drops it when no
        # function is running any more. Where it was caught, some function is.
        if sys._getframe().f_back is None and self.code not in (None, 0):
            _abort_at_the_end(self.code)


def _watched(function):
    @functools.wraps(function)
    def end(*args):
        try:
            function(*args)
        except SystemExit as error:
            if threading.current_thread() is not threading.main_thread():
                raise
            raise _Exit(*error.args) from None

    return end


def _abort_at_the_end(code):
    MPI = _mpi.load()
    if MPI.Is_initialized() and not MPI.Is_finalized():
        code = code if isinstance(code, int) else 1  # Python has printed a message
        sys.stderr.write(f'chainermn: {_here(MPI)} has ended with the exit code {code}; '
                         'aborting all processes\n')
        # After all that Python does at its end, in the place of MPI_Finalize.
        MPI._set_abort_status(code)


def _here(MPI):
    world = MPI.COMM_WORLD
    return f'rank {world.rank} of {world.size} ({MPI.Get_processor_name()}, process {os.getpid()})'


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
        f'chainermn: uncaught exception in {_here(MPI)}; aborting all processes\n')
    _hook_before(kind, value, traceback)
    sys.stderr.flush()
    if MPI.Is_initialized() and not MPI.Is_finalized():
        world.Abort(1)
