"""A run of a method by the interpreter along a way of any sizes.

In: a method, and the arguments of a call whose lengths may never come back. Out: residual code in
which lengths are read from the arrays of each call, and computed with; what the method's Python
decides by them is a guard. What may not happen: a length of this call that is taken for that of
others. So lengths are symbols for the interpreter, but for those of parameters, and a symbol that
has to be a number becomes one by a guard.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chainer.variable import Parameter, Variable
from chainwright.ir import size as lengths
from chainwright.ir.size import UNKNOWN, at, source_of, symbol, symbols_in

from ._any_size import AnySize, spec_at
from ._carrier import Carrier
from ._dry import Dry, NoWay
from ._residual import NotProvable, Sym
from ._specs import Size, Spec, form_of_output, other_gaps
from ._tree import Application
from ._values import image

if TYPE_CHECKING:
    from ._site import Site


class AnySizeDry(Dry):
    """One run; see the module."""

    any_size = True
    large = 1  # in other calls any array may be large

    def __init__(
        self, site: Site, chain: Any, args: tuple[Any, ...], kw: dict[str, Any],
        target: Application,
    ) -> None:
        super().__init__(site, chain, args, kw)
        self.app, self._way = site.any_sizes.root, target.path(1)
        self._sizes: list[int] = []  # of this call: those of the way that are known, or 0
        #: By id: a value and its lengths, where the way says what these are.
        self._shapes: dict[int, tuple[Sym, tuple[Any, ...]]] = {}

    # -- what the interpreter asks

    def _differs(self, sym: Sym, a: str, spec: Spec) -> str:
        """Lengths are those of this call alone, but for parameters."""
        if type(sym.value) is Parameter:
            return super()._differs(sym, a, spec)
        return f"{a}.ndim != {len(spec.shape)} or {self._is_no(a, spec)}"

    def exact(self, sym: Sym) -> Spec:
        """What it looks like, to the last length: in this call, and in all that this serves."""
        spec = self.spec(sym)
        if type(sym.value) is not Parameter and not sym.applied:
            a, r = self._array_text(sym), self.residual
            r.guard(f"{a}.shape != {r.const(spec.shape)}{self._has_other_gaps(a, spec)}")
            if spec.loose:
                return self._with_gaps(sym, spec)
        elif sym.applied and symbols_in(self._lengths(sym)):
            raise NotProvable("the strides of a result are asked for")
        return spec

    def _lengths(self, sym: Sym) -> tuple[Any, ...] | None:
        """Those of a value that the way knows."""
        found = self._shapes.get(id(sym))
        return None if found is None else found[1]

    def shape(self, sym: Sym) -> tuple[Any, ...]:
        """The lengths, as symbols."""
        spec, known = self.spec(sym), self._lengths(sym)
        if type(sym.value) is Parameter:
            return spec.shape
        if known is not None:
            return tuple([self._length(n) for n in known])
        if sym.applied:
            raise NotProvable("the lengths of a result are asked for")
        a = self._array_text(sym)
        return tuple([
            self.residual.load(f"{a}.shape[{k}]", n) for k, n in enumerate(spec.shape)])

    def size(self, sym: Sym) -> Any:
        """How many items there are."""
        total: Any = 1
        for n in self.shape(sym):
            total = self.interpreter.binary("Mult", total, n)
        return total

    def array_of(self, sym: Sym) -> Any:
        """``x._array``: no look."""
        found, known = super().array_of(sym), self._lengths(sym)
        if known is not None:
            self._shapes[id(found)] = found, known
        return found

    def _array_text(self, sym: Sym) -> str:
        if not isinstance(sym.value, Variable):
            return sym.ref
        return self.residual.load(f"{sym.ref}._array", sym.value._array).ref

    def _length(self, n: Any) -> Any:
        """A length that is an expression of others, for the interpreter."""
        if type(n) is not lengths.Size:
            return n
        return self.residual.load(repr(n), n.at(self._sizes))

    # -- functions

    def _child(self, made: Application) -> Application:
        depth = self.app.depth
        child = self._way[depth] if depth < len(self._way) else None
        if isinstance(child, AnySize) and child.hot and child.is_like(made) and (
                child.leaves.keys() == made.leaves.keys()):
            sizes = self._sizes_with(child, made)
            if sizes is not None and self._is_at(child, made, sizes):
                self._sizes = sizes
                return child
        raise NoWay(f"{made.kind.__name__} is applied, and no way of any sizes goes on like that")

    def _sizes_with(self, child: AnySize, made: Application) -> list[int] | None:
        """The sizes that are known with a function; None if there are none."""
        all_of_them = child.sizes.all
        sizes = [*self._sizes] or [0] * len(all_of_them)
        for k, size in self._own(child):
            if size.slot is not None and size.slot in made.leaves:
                sizes[k] = made.leaves[size.slot].shape[size.axis]
            elif size.attribute:
                try:
                    sizes[k] = _item_at(made.attributes, size.attribute)
                except (LookupError, TypeError, AttributeError):
                    return None
                if type(sizes[k]) is not int:
                    return None
            elif size.formula:
                names = {symbol(j): n for j, n in enumerate(sizes)}
                sizes[k] = eval(size.formula, {"max": max}, names)
                continue
            else:
                continue  # of a result that is still to be computed
            if not size.least <= sizes[k] <= size.largest:
                return None
        return sizes

    @staticmethod
    def _own(child: AnySize) -> list[tuple[int, Size]]:
        return [(k, size) for k, size in enumerate(child.sizes.all) if size.depth == child.depth]

    def _is_at(self, child: AnySize, made: Application, sizes: list[int]) -> bool:
        """Whether a function is what the way says, at these sizes."""
        if child.any_attributes:
            names: set[str] = set()
        else:
            numbers = dict(child.numbers)
            names = made.attributes.keys() - numbers.keys()
            if names != child.attributes.keys():
                return False
        return all([
            spec_at(spec, sizes) == made.leaves[slot] for slot, spec in child.leaves.items()
        ]) and all([
            image(at(child.attributes[name], sizes)) == image(made.attributes[name])
            for name in names])

    def _leaf(self, app: Application, slot: int, sym: Sym) -> None:
        """Its lengths are what the way says, or new ones."""
        self._may_be_written(app, slot, sym)
        self.spec(sym)
        assert isinstance(app, AnySize)
        spec = app.leaves[slot]
        if type(sym.value) is Parameter:
            if symbols_in(spec.shape):
                raise NotProvable("a parameter has another length in each call")
            return
        self._bind(app, slot, self._array_text(sym))
        self._has(app, self._array_text(sym), spec, sym)

    def _bind(self, app: AnySize, slot: int, array: str) -> None:
        """Read new lengths of a value."""
        for k, size in self._own(app):
            if size.slot == slot:
                self._is(k, size, f"{array}.shape[{size.axis}]")

    def _is(self, k: int, size: Size, text: str) -> None:
        r = self.residual
        r.kinds[symbol(k)] = int
        r.line(f"{symbol(k)} = {text}")
        if size.attribute:
            r.guard(f"type({symbol(k)}) is not int")
        if not size.formula:
            r.guard(f"not {size.least} <= {symbol(k)} <= {size.largest}")

    def _has(self, app: AnySize, array: str, spec: Spec, sym: Sym) -> None:
        """A value is laid out as the way says."""
        r = self.residual
        self._are_long(app, spec)
        gaps = other_gaps(array, spec, lambda value: source_of(value, r.const))
        r.guard(f"{array}.shape != {source_of(spec.shape, r.const)}{gaps}")
        self._shapes[id(sym)] = sym, spec.shape

    def _are_long(self, app: AnySize, spec: Spec) -> None:
        """No length is too little: nothing, or one, which is broadcast."""
        for n in spec.shape:
            if type(n) is lengths.Size and not app.sizes.are_long(n):
                self.residual.guard(f"{n!r} < {app.sizes.shortest}")

    def apply(self, func: Any, inputs: list[Any]) -> Any:
        """The next application on the way."""
        outputs = super().apply(func, inputs)
        app = self.app
        assert isinstance(app, AnySize)
        for spec, sym in zip(app.outputs, outputs, strict=True):
            self._shapes[id(sym)] = sym, spec.shape
        return outputs

    def _begins(self, app: Application, attributes: dict[str, Any]) -> None:
        """Read new lengths of the attributes of a function, and what is computed from others."""
        assert isinstance(app, AnySize)
        for k, size in self._own(app):
            if size.attribute:
                value = _item_at(attributes, size.attribute, self._item)
                self._is(k, size, self.residual.ref(value))
        for k, size in self._own(app):
            if size.formula:
                self._is(k, size, size.formula)
        if app.eager is None:
            for spec in app.outputs:
                self._are_long(app, spec)

    def _item(self, value: Any) -> Any:
        """A sequence of the outside, opened."""
        if type(value) is Sym and type(value.value) in (tuple, list):
            return type(value.value)(self.interpreter.iterate(value))
        return value

    def _is_known(self, app: Application, name: str, v: Any) -> None:
        expected = app.attributes[name]
        if symbols_in(expected):
            self._is_what(v, expected)
        else:
            super()._is_known(app, name, v)

    def _is_what(self, v: Any, expected: Any) -> None:
        """A value is what an expression says."""
        r, kind, v = self.residual, type(expected), self._item(v)
        if kind is tuple or kind is list:
            for item, what in zip(v, expected, strict=True):
                self._is_what(item, what)
        elif kind is slice:
            for part in ("start", "stop", "step"):
                self._is_what(getattr(v, part), getattr(expected, part))
        elif kind in UNKNOWN:
            if type(v) is Sym:
                r.type_of(v)
            if kind is lengths.Share:
                r.guard(f"{expected.size!r} < {expected.least}")
            r.guard(f"{r.ref(v)} != {expected!r}")
        else:
            r.fix(v)

    def _output(self, spec: Spec) -> Sym:
        return super()._output(spec_at(spec, self._sizes))

    def _results_between(self, app: Application, o: str, outs: Any) -> list[Any]:
        assert isinstance(app, AnySize)
        r, made = self.residual, []
        for k, (y, slot) in enumerate(zip(outs, app.output_slots, strict=True)):
            sym = r.made(f"{o}[{k}]", y)
            made.append(sym)
            for j, size in self._own(app):
                if size.slot == slot:
                    self._sizes[j] = y._array.shape[size.axis]
            spec = app.outputs[k]
            if spec_at(spec, self._sizes) != form_of_output(y):
                raise NotProvable("the form of results depends on values")
            self.spec(sym)
            self._bind(app, slot, self._array_text(sym))
            self._has(app, self._array_text(sym), spec, sym)
        return made

    def _text_of(self, value: Any) -> str:
        return source_of(value, self.residual.const)

    def _now(self, value: Any) -> Any:
        return at(value, self._sizes)

    # -- programs

    def sync(self) -> None:
        """Have a program compute what is pending; it asks for the lengths among attributes."""
        app = self.app
        assert isinstance(app, AnySize)
        for k, size in enumerate(app.sizes.all):
            if size.attribute and size.depth <= app.depth:
                self.residual.line(f"carrier.sizes[{k}] = {symbol(k)}")
        super().sync()

    def _sizes_for(self, carrier: Carrier) -> None:
        app = self.app
        assert isinstance(app, AnySize)
        carrier.sizes = {
            k: self._sizes[k] for k, size in enumerate(app.sizes.all)
            if size.attribute and size.depth <= app.depth}


def _item_at(attributes: Any, place: tuple[Any, ...], opened: Any = lambda value: value) -> Any:
    """An attribute, or an item of one."""
    value = opened(attributes[place[0]])
    for step in place[1:]:
        value = opened(getattr(value, step) if type(step) is str else value[step])
    return value
