"""Where compiled methods meet define-by-run.

``state`` belongs to the thread. While a decorated method runs, ``state.run`` is its
:class:`~chainer.graph_optimizations._run.Run`: :meth:`chainer.FunctionNode.apply` asks it first.
While a graph is recorded, ``state.trace`` takes the place of functions' ``forward``.

A run may hand out Variables whose array is a :class:`Promise`: shape and dtype, but no values yet.
Whoever needs values or the graph goes through the functions of this module, which have the promise
kept. Library code that needs nothing but shapes and dtypes reads ``_array`` directly.
"""
import collections
import dis
import functools
import itertools
import sys
import threading
import types
import weakref

import numpy


class _State(threading.local):
    run = None
    trace = None
    #: That of the method of which a call is under way as define-by-run.
    site = None
    #: Calls of decorated methods that are under way and have called what needs no run: gradients.
    inside = 0
    #: The loop of a trainer that is under way: ``done()`` and ``left()`` are its iterations.
    loop = None


state = _State()

#: Whether any method has been decorated.
decorated = [False]

#: Counts up whenever a configuration entry is set or deleted by its object.
config_version = [0]
#: The same for entries of all threads.
global_config_version = [0]

# All runs of all threads that are under way, for looks from other threads.
_active = {}
#: Of these, what comes after calls: between two of them anybody may do anything, in any thread.
late_runs = {}


class Promise(numpy.ndarray):
    """The array of a Variable whose values are still to be computed.

    ``gpu`` is the number of the GPU where they will be, None for the host.
    """

    gpu = None


@functools.lru_cache(256)
def promise(shape, dtype, gpu=None):
    """Return the promise of an array: it takes no memory."""
    made = new_promise(shape, dtype)
    if gpu is not None:
        made.gpu = gpu
    return made


def new_promise(shape, dtype):
    """Likewise of an array on the host, of a shape that hardly comes again."""
    return Promise(shape, dtype, numpy.zeros(1, dtype), 0, (0,) * len(shape))


#: What an array has besides its numbers.
FORM = frozenset({'shape', 'dtype', 'ndim', 'size'})
#: By what names the array of a Variable is read.
ARRAYS = 'data', 'array'
#: Functions that ask an array for no more than that. :mod:`chainer.backend` adds some.
ask_for_form = [len]
_form_taken = {}  # by the id of a code, which stays alive: see takes_form


def takes_form(frame):
    """Whether of an array that a frame reads just now its form alone is taken, at once.

    ``x.data.shape``, ``len(x.data)``, ``cuda.get_array_module(x.data)`` and ``x.data is None``
    stand in most code that was written for Chainer 1. The next instruction takes the array from the
    stack, and nobody else ever sees it: a promise will do.
    """
    code = frame.f_code
    found = _form_taken.get(id(code))
    if found is None:
        if len(_form_taken) > 4096:
            _form_taken.clear()
        found = _form_taken[id(code)] = code, *_takers(code)
    _, by_attribute, by_function = found
    at = frame.f_lasti
    return at in by_attribute or at in by_function and _asks_for_form(frame, *by_function[at])


def _asks_for_form(frame, name, *path):
    """Whether a name, or an attribute of a module, is such a function at this time."""
    found = frame.f_globals.get(name, frame.f_builtins.get(name))
    for part in path:
        found = vars(found).get(part) if type(found) is types.ModuleType else None
    return any([found is function for function in ask_for_form])


def _takers(code):
    """Where code reads an array that the next instruction takes: an attribute, or a call of what.

    The latter by names: of something global, and its attributes.
    """
    steps = [i for i in dis.get_instructions(code) if i.opname not in _ASIDE]
    by_attribute, by_function = set(), {}
    for k, (step, following) in enumerate(itertools.pairwise(steps)):
        if step.opname != 'LOAD_ATTR' or step.argval not in ARRAYS:
            continue
        # Releases of Python differ in where a frame is meanwhile: at the instruction, or behind it.
        places = range(step.offset, following.offset)
        if following.opname == 'LOAD_ATTR' and following.argval in FORM or (
                _compares_with_none(steps, k + 1)):
            by_attribute.update(places)
        elif following.opname == 'CALL' and following.arg == 1:
            k = _begin_of(steps, k)  # of the argument, which the function stands before
            first = k - 1
            while first > 0 and steps[first].opname in ('LOAD_ATTR', 'LOAD_METHOD'):
                first -= 1
            if first >= 0 and steps[first].opname == 'LOAD_GLOBAL':
                names = tuple([step.argval for step in steps[first:k]])
                by_function.update(dict.fromkeys(places, names))
    return by_attribute, by_function


def _compares_with_none(steps, k):
    """Whether an instruction takes a value to see whether it is None, which arrays never are."""
    if steps[k].opname in _CONSTANTS and steps[k].argval is None:
        return steps[k + 1].opname == 'IS_OP'
    return steps[k].opname.startswith('POP_JUMP') and steps[k].opname.endswith('_NONE')


def _begin_of(steps, k):
    """Where the expression begins whose value an instruction gives; -1: nobody can tell."""
    wanted = 1  # values that the stack has to have got from here on
    while k >= 0 and steps[k].opname.startswith(_NO_JUMPS):
        wanted -= dis.stack_effect(steps[k].opcode, steps[k].arg)
        if wanted <= 0:
            return k if wanted == 0 else -1
        k -= 1
    return -1


_CONSTANTS = 'LOAD_CONST', 'LOAD_COMMON_CONSTANT'  # the latter from Python 3.15 on
#: Instructions that leave the stack as long as :func:`dis.stack_effect` says, and go on.
_NO_JUMPS = (
    'LOAD_FAST', 'LOAD_DEREF', 'LOAD_SMALL_INT', 'LOAD_GLOBAL', 'LOAD_ATTR',
    'BINARY_', 'UNARY_NEGATIVE', 'BUILD_', *_CONSTANTS,
)
_ASIDE = {'EXTENDED_ARG', 'CACHE', 'PRECALL', 'PUSH_NULL', 'NOP'}


def is_inside():
    """Return whether the call of a compiled method is under way, of which the next one is a part.

    What is still to come after the last one has to come before it.
    """
    run = state.run
    if run is not None and run.is_late:
        run.settle('the next call')
        run = state.run
    return run is not None


def with_what_is_inside(method):
    """Decorate a method of the library that calls links of the user's.

    Where these have a decorated method, it is compiled together with that.
    """
    @functools.wraps(method)
    def call(self, *args, **kwargs):
        if not decorated[0] or is_inside():
            return method(self, *args, **kwargs)
        from chainer.graph_optimizations import _whole

        return _whole.called_as_whole(method, self, args, kwargs)

    inner_codes.add(call.__code__)
    return call


def as_whole(function, link):
    """Return a function that has to do with a link, or what does the same in programs.

    It is compiled as a whole where it has a decorated method inside.
    """
    if not decorated[0] or is_inside():
        return function
    from chainer.graph_optimizations import _whole

    return _whole.as_whole(function, link)


#: The code of methods that are decorated like this.
inner_codes = set()


def begin(run):
    """A decorated method starts in this thread."""
    state.run = run
    _active[id(run)] = run


def end(run):
    """It has ended; ``state.run`` is None by now."""
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


def settle_late(variable, why):
    """Have calls of other threads computed that were put off, and have used a Variable (or any)."""
    for run in tuple(late_runs.values()):
        if run is not state.run and (variable is None or run.uses(variable)):
            run.settle(why)


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


class aside_from_trace:
    """Context in which what this thread records is put aside: for a handler of signals."""

    __slots__ = ('_trace',)

    def __enter__(self):
        self._trace, state.trace = state.trace, None

    def __exit__(self, *_):
        state.trace = self._trace


# Arrays that functions write to and that somebody beside the library may hold: weak references,
# by id.
handed_out = {}
# Which objects of the library hold such arrays: weak references by id, by the id of the array.
_holders = {}
# Of arrays that links of the library hold as statistics, the last functions that hold them, too:
# the graph of a loss that somebody keeps does. By the id of the array: a weak reference to it, and
# those to the functions.
last_functions = {}
_LAST = 8


class Reforms:
    """When a Variable of a graph has got an array of another shape or dtype."""

    last = 0  #: the number of a function that would have been applied then


def _hand_out(array):
    key = id(array)
    try:
        handed_out[key] = weakref.ref(array, lambda _: handed_out.pop(key, None))
    except TypeError:
        pass  # None or a number, which nobody writes to


def _remember_functions(array):
    key = id(array)
    try:
        reference = weakref.ref(array, lambda _: last_functions.pop(key, None))
    except TypeError:
        return  # None or a number
    last_functions[key] = reference, collections.deque(maxlen=_LAST)


def note_holder(holder, arrays):
    """Say that an object of the library holds arrays, as attributes or in a dictionary of it."""
    for array in arrays:
        key, own = id(array), id(holder)

        def forget(_, key=key, own=own):
            there = _holders.get(key, {})
            there.pop(own, None)
            if not there:
                _holders.pop(key, None)

        _holders.setdefault(key, {})[own] = weakref.ref(holder, forget)


def note_function(function, *arrays):
    """Say that a function holds arrays that it writes to.

    Those that nobody has read yet may be read later, while the function is still there.
    """
    if handed_out:
        note_holder(function, [x for x in arrays if id(x) in handed_out])
    for x in arrays:
        last = last_functions.get(id(x))
        if last is not None:
            last[1].append(weakref.ref(function))


def _references(holder, array):
    """Count the references that an object holds to an array."""
    values = list(vars(holder).values())
    dicts = {id(v): v for v in values if type(v) is dict}.values()
    return sum([v is array for v in [*values, *[x for d in dicts for x in list(d.values())]]])


def _count_in(values, name):
    array = values[name]
    return sys.getrefcount(array)


# What is counted where nobody else holds an array.
_OF_NOBODY = _count_in({'array': object()}, 'array')


def is_handed_out(values, name):
    """Tell whether somebody beside the library may hold an array, an attribute of a link."""
    key = id(values[name])
    if key not in handed_out:
        return False
    if values[name].base is not None:
        return True
    holders = {}
    _, last = last_functions.get(key, (None, ()))
    for reference in [*_holders.get(key, {}).values(), *last]:
        holder = reference()
        if holder is not None:
            holders[id(holder)] = holder
    known = sum([_references(holder, values[name]) for holder in holders.values()])
    if _count_in(values, name) > _OF_NOBODY + known:
        return True
    handed_out.pop(key, None)
    return False


def _is_ours(frame):
    return frame.f_globals.get('__name__', '').startswith('chainer.')


class WrittenArray:
    """Attribute of a link that holds an array which functions write to: running statistics.

    The array stands in the link's dictionary as any other. While a compiled method runs, whoever
    reads the attribute, but for the library's own links, finds it as define-by-run would have
    left it. Whoever reads it at any time may keep it: as long as somebody does, functions write to
    it where they are applied.
    """

    def __set_name__(self, owner, name):
        self._name = name

    def __get__(self, link, owner=None):
        if link is None:
            return self
        values = link.__dict__
        try:
            array = values[self._name]
        except KeyError:
            raise AttributeError(
                f'{type(link).__name__!r} object has no attribute {self._name!r}') from None
        run = state.run
        if not _is_ours(sys._getframe(1)):
            _hand_out(array)
            if run is not None:
                run.looked_at_array(array)
            return array
        key = id(array)
        if key not in last_functions:
            _remember_functions(array)
        if run is not None:
            if handed_out and key in handed_out:
                del array
                if not is_handed_out(values, self._name):
                    run.statistics.add(key)
                return values[self._name]
            run.statistics.add(key)
        return array

    def __set__(self, link, value):
        link.__dict__[self._name] = value
        caller = sys._getframe(1)
        if caller.f_globals.get('__name__') == 'chainer.link':
            caller = caller.f_back
        if not _is_ours(caller):
            _hand_out(value)

    def __delete__(self, link):
        del link.__dict__[self._name]
