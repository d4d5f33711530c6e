"""An exception in one process ends the whole job, instead of leaving the others waiting."""
import array
import atexit
import builtins
import functools
import os
import stat
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

    A ``SystemExit`` with an error code (``sys.exit(1)``, ``raise SystemExit('text')``) ends all
    processes, too, if nobody catches it. Python 3.11 tells only of those of ``sys.exit``, ``exit``
    and ``quit``: for others start the script by ``mpiexec -n 4 python -m mpi4py script.py`` there.
    """
    global _hook_before
    if _hook_before is not None:
        return
    _hook_before = sys.excepthook
    sys.excepthook = _abort_on_exception
    if not _watch_the_outermost_frame():
        sys.exit = _watched(sys.exit)
        for name in {'exit', 'quit'} & set(vars(builtins)):  # not there under python -S
            setattr(builtins, name, _watched(getattr(builtins, name)))


def _watch_the_outermost_frame():
    """Have Python tell of exceptions that leave the script; return whether it does.

    It calls no hook for a SystemExit that nobody has caught, but since Python 3.12 it tells those
    who ask of all exceptions that leave functions.
    """
    monitoring = getattr(sys, 'monitoring', None)
    free = [i for i in reversed(range(6)) if monitoring and monitoring.get_tool(i) is None]
    if not free:
        return False
    monitoring.use_tool_id(free[0], 'chainermn')
    unwind = monitoring.events.PY_UNWIND
    monitoring.register_callback(free[0], unwind, _left_by_exception)
    monitoring.set_events(free[0], unwind)
    return True


def _left_by_exception(code, offset, error):
    if isinstance(error, SystemExit) and sys._getframe(1).f_back is None and _in_main_thread():
        _abort_at_the_end(error.code)


def _in_main_thread():
    return threading.current_thread() is threading.main_thread()


class _Exit(SystemExit):
    """What ``sys.exit`` raises in Python 3.11: it notices where it ends."""

    def __del__(self):
        # Python drops it when no function is running any more. Where it was caught, some is.
        if sys._getframe().f_back is None:
            _abort_at_the_end(self.code)


def _watched(function):
    @functools.wraps(function)
    def end(*args):
        try:
            function(*args)
        except SystemExit as error:
            if not _in_main_thread():
                raise
            raise _Exit(*error.args) from None

    return end


def _abort_at_the_end(code):
    if code in (None, 0):
        return
    MPI = _mpi.load()
    if MPI.Is_initialized() and not MPI.Is_finalized():
        code = code if isinstance(code, int) else 1  # Python prints a message
        sys.stderr.write(f'chainermn: {_here(MPI)} has ended with the exit code {code}; '
                         'aborting all processes\n')
        atexit.register(_wait_until_read)
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
        _wait_until_read()
        world.Abort(1)


def _wait_until_read():
    """Wait until mpiexec has read what this process wrote, but not longer than a few seconds.

    mpiexec drops what it has not read yet when a process aborts: on a busy machine the traceback
    was lost now and then.
    """
    for stream in sys.stdout, sys.stderr:
        for _ in range(200):
            if not _unread(stream):
                break
            time.sleep(0.01)
    time.sleep(0.05)  # mpiexec passes on what it has read


def _unread(stream):
    """Return how many bytes of a pipe nobody has read yet; 0 where the system does not tell."""
    try:
        import fcntl
        import termios
        file, number = stream.fileno(), array.array('i', [0])
        if stat.S_ISFIFO(os.fstat(file).st_mode):
            fcntl.ioctl(file, termios.FIONREAD, number)
    except (ImportError, AttributeError, OSError, ValueError):  # Windows, or no file at all
        return 0
    return number[0]
