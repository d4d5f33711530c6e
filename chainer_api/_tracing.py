"""Where compiled methods meet define-by-run.

``state`` belongs to the thread. While a decorated method runs, ``state.run`` is its
:class:`~chainer.graph_optimizations._run.Run`: :meth:`chainer.FunctionNode.apply` asks it first.
While a graph is recorded, ``state.trace`` takes the place of functions' ``forward``.

A run may hand out Variables whose array is a :class:`Promise`: shape and dtype, but no values yet.
Whoever needs values or the graph goes through the functions of this module, which have the promise
kept. Library code that needs nothing but shapes and dtypes reads ``_array`` directly.
"""
import functools
import sys
import threading

import numpy


class _State(threading.local):
    run = None
    trace = None
    #: Calls of decorated methods that are under way and have called what needs no run: gradients.
    inside = 0


state = _State()

#: Counts up whenever a configuration entry is set or deleted by its object.
config_version = [0]
#: The same for entries of all threads.
global_config_version = [0]

# All runs of all threads that are under way, for looks from other threads.
_active = {}


class Promise(numpy.ndarray):
    """The array of a Variable whose values are still to be computed.

    ``gpu`` is the number of the GPU where they will be, None for the host.
    """

    gpu = None


@functools.lru_cache(256)
def promise(shape, dtype, gpu=None):
    """Return the promise of an array: it takes no memory."""
    one = numpy.zeros(1, dtype)
    made = numpy.lib.stride_tricks.as_strided(one, shape, (0,) * len(shape)).view(Promise)
    if gpu is not None:
        made.gpu = gpu
    return made


def begin(run):
    """A decorated method starts in this thread."""
    state.run = run
    _active[id(run)] = run


def end(run):
    """It has ended."""
    state.run = None
    _active.pop(id(run), None)


def look(variable, why):
    """Have the promise of ``variable`` kept: somebody needs its values, or the graph."""
    run = state.run
    if run is None or not run.owns(variable):
        # A look from another thread (or from code that the run has put aside).
        run = next((r for r in tuple(_active.values()) if r.owns(variable)), run)
    if run is not None:
        run.look(variable, why)
    if type(variable._array) is Promise:
        raise RuntimeError(
            'chainwright: this Variable has no values: the call of a compiled method that was to '
            'compute it has raised an exception before (if it has not, please report this)')


def sets_attribute(link, name):
    """An attribute of a link is about to be set."""
    run = state.run
    if run is not None and run.funcs:
        run.sets_attribute(link.__dict__, name)


def settle(why):
    """Have everything computed that this thread's run has put off."""
    if state.run is not None:
        state.run.settle(why)


def stop(why):
    """Have the rest of this thread's run be define-by-run."""
    if state.run is not None:
        state.run.stop(why)


class aside:
    """Context in which this thread's run is put aside: functions are applied as always."""

    __slots__ = ('_run',)

    def __enter__(self):
        self._run = state.run
        if self._run is not None:
            state.run = None
            state.inside += 1

    def __exit__(self, *_):
        if self._run is not None:
            state.run = self._run
            state.inside -= 1


class WrittenArray:
    """Attribute of a link that holds an array which functions write to: running statistics.

    The array stands in the link's dictionary as any other. While a compiled method runs, whoever
    reads the attribute, but for the library's own links, finds it as define-by-run would have
    left it.
    """

    def __set_name__(self, owner, name):
        self._name = name

    def __get__(self, link, owner=None):
        if link is None:
            return self
        try:
            array = link.__dict__[self._name]
        except KeyError:
            raise AttributeError(
                f'{type(link).__name__!r} object has no attribute {self._name!r}') from None
        run = state.run
        if run is not None:
            if sys._getframe(1).f_globals.get('__name__', '').startswith('chainer.'):
                run.statistics.add(id(array))
            else:
                run.looked_at_array(array)
        return array

    def __set__(self, link, value):
        link.__dict__[self._name] = value

    def __delete__(self, link):
        del link.__dict__[self._name]
