"""What is known about compiled methods, for people: tables, pages, programs to read."""

from __future__ import annotations

import inspect
import linecache
import platform
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from chainer import configuration
from chainer.variable import Parameter
from chainwright.runtime import Report
from chainwright.runtime.page import Method, page, program_view

if TYPE_CHECKING:
    from ._site import Site
    from ._tree import Application

_NAMED = 6  # arguments by which a report tells ways


def line_of(method: Callable[..., Any]) -> str:
    """The file and line where a method begins."""
    code = inspect.unwrap(method).__code__
    line = code.co_firstlineno
    while linecache.getline(code.co_filename, line).lstrip().startswith("@"):
        line += 1  # a decorator
    return f"{code.co_filename}:{line}"


def _type_of(dtype: Any, lengths: Iterable[Any]) -> str:
    return f"{dtype}[{','.join(map(str, lengths))}]"


def way_of(app: Application) -> str:
    """Which calls a report speaks of: those that end with ``app``."""
    path = app.path(1)
    given = [s for a in path for s in a.leaves.values() if not issubclass(s.kind, Parameter)]
    types = [_type_of(s.dtype, s.shape) for s in given[:_NAMED]]
    more = ", ..." if len(given) > _NAMED else ""
    return f": {len(path)} functions of {', '.join(types)}{more}" if path else ""


def programs_of(site: Site) -> list[CompiledProgram]:
    """The programs of a method."""
    pieces = [piece for plan in site.plans() for piece in plan.compiled_pieces()]
    return [
        CompiledProgram(piece.schedule, label)
        for piece, label in zip(pieces, labels_of(site.name, pieces), strict=True)
    ]


def labels_of(name: str, pieces: Sequence[Any]) -> list[str]:
    """The labels of several programs, with the line where each begins if they are equal."""
    labels = [label_of(name, piece) for piece in pieces]
    often = Counter(labels)
    return [
        f"{label}, from {piece.apps[0].origin.short}" if often[label] > 1 else label
        for label, piece in zip(labels, pieces, strict=True)
    ]


def label_of(name: str, piece: Any) -> str:
    """``MLP.forward(f32[30,4]), train``."""
    inputs = piece.forward.inputs
    types = [
        _type_of(node.dtype, node.dims) for node in inputs if node.attr("kind") == "argument"
    ]
    mode = "train" if piece.apps[0].settings.train else "test"
    return f"{name}({', '.join(types)}), {mode}"


class Reports(tuple[Report, ...]):
    """Reports of all compiled methods of a chain; ``str()`` is a table for people.

    >>> class Twice(chainer.Chain):
    ...     @chainer.static_graph
    ...     def forward(self, x):
    ...         return x + x
    >>> model = Twice()
    >>> with chainer.using_config('static_budget', None):  # compile at once
    ...     for _ in range(3):
    ...         y = model(chainer.Variable(np.ones(2, np.float32)))
    >>> reports = model.schedule_manager.report()
    >>> reports[0].hits
    1
    >>> reports.save('report.html')
    """

    _sites: tuple[Site, ...]

    def __new__(cls, sites: Iterable[Site]) -> Reports:
        sites = tuple(sites)
        made = super().__new__(cls, (site.ledger.report() for site in sites))
        made._sites = sites
        return made

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    __repr__ = __str__

    def __reduce__(self) -> Any:  # programs stay in their process
        return tuple, (tuple(self),)

    @property
    def programs(self) -> list[CompiledProgram]:
        """The programs of all of these methods."""
        return [program for site in self._sites for program in programs_of(site)]

    def to_html(self, title: str = "Compiled methods") -> str:
        """The page that :meth:`save` writes, as text."""
        methods = [
            Method.of(
                report,
                line_of(site.method),
                site.ledger.history,
                [
                    program_view(program._schedule, program.label)
                    for program in sorted(programs_of(site), key=lambda p: not p.backwards)
                ],
            )
            for report, site in zip(self, self._sites, strict=True)
        ]
        return page(title, methods, _facts())

    def save(self, filename: Any, title: str = "Compiled methods") -> None:
        """Write everything that is known as one HTML file, which needs no network.

        It has, for each method, the calls, traces and reasons with the lines of the code, seconds
        spent and saved, and for each program the graph after each pass, the program in its forms,
        the plan of its memory, and times, if ``chainer.config.static_profile`` was true.

        Args:
            filename (str or path): The file.
            title (str): The title of the page.
        """
        with open(filename, "w", encoding="utf-8") as f:
            f.write(self.to_html(title))

    def _repr_html_(self) -> str:
        """What a notebook shows: the page, in a frame of its own."""
        frame = "width:100%;height:720px;border:1px solid #888;border-radius:6px"
        return f'<iframe style="{frame}" srcdoc="{escape(self.to_html())}"></iframe>'


def _facts() -> list[tuple[str, str]]:
    import chainwright

    return [
        ("Chainwright", chainwright.__version__),
        ("Python", platform.python_version()),
        ("NumPy", np.__version__),
        ("target", str(configuration.peek("static_target"))),
        ("checks", str(configuration.peek("static_check"))),
    ]


_collections: list[list[Site]] = []


@contextmanager
def collecting() -> Iterator[Callable[[], Reports]]:
    """Keep what is known about methods that are called for the first time from now on.

    It stays when their chains are gone. Gives a function that returns their reports.
    """
    found: list[Site] = []
    _collections.append(found)
    try:
        yield lambda: Reports(found)
    finally:
        _collections.remove(found)


def begun(site: Site) -> None:
    """A compiled method is called for the first time."""
    for found in _collections:
        found.append(site)


def save_at_the_end(chain: Any, sites: dict[Any, Site], filename: Any) -> None:
    """Write the report when the chain is gone, or at the end of the process."""
    weakref.finalize(chain, lambda: Reports(sites.values()).save(filename))


class CompiledProgram:
    """A schedule, for reading: its programs, its graphs, and the memory it takes."""

    def __init__(self, schedule: Any, label: str = "") -> None:
        self._schedule = schedule
        self.label = label  #: The method, the types of its arguments, and 'train' or 'test'.

    def __repr__(self) -> str:
        return f"<CompiledProgram {self.label}>"

    def _repr_svg_(self) -> str:
        """What a notebook shows."""
        return self.optimized.to_svg()

    @property
    def source(self) -> str:
        """The generated programs (forward, then each backward), as Python text."""
        return self._schedule.source

    @property
    def listing(self) -> str:
        """What native code does, C-like, with the user's lines; empty as long as there is none."""
        return self._schedule.listing

    @property
    def llvm(self) -> str:
        """The LLVM text of the kernels; empty as long as there are none."""
        return self._schedule.llvm

    @property
    def recorded(self) -> Any:
        """The graph as it was recorded (``str()`` is its text, ``to_dot()`` its picture)."""
        return self._schedule.recorded

    @property
    def passes(self) -> Any:
        """The graph after each pass: a list of stages with ``name``, ``graph`` and ``text``.

        First forward and backward as they were recorded, joined, then the parts that they were
        cut into. It is made again each time.
        """
        return self._schedule.passes

    @property
    def profiles(self) -> Any:
        """Times of the parts of the programs, by the name of the program ('forward', ...).

        They are taken while ``chainer.config.static_profile`` is true; ``str()`` of one is a
        table, ``rows`` has its parts, ``by_line()`` the seconds of each line of yours.
        """
        return self._schedule.profiles

    @property
    def optimized(self) -> Any:
        """The forward graph after the passes."""
        return self._schedule.built.forward

    def to_dot(self) -> Any:
        """The picture of :attr:`optimized`, as a ``graphviz.Digraph``."""
        built = self._schedule.built
        return built.forward.to_dot(results=len(built.forward.outputs) - len(built.saved))

    @property
    def backwards(self) -> list[Any]:
        """The backward graphs after the passes."""
        return list(self._schedule.built.backwards.values())

    @property
    def scratch_bytes(self) -> int:
        """Size of the arena that intermediate values share."""
        return self._schedule.program.scratch_bytes

    @property
    def kept_bytes(self) -> int:
        """Size of what one call keeps for its backward."""
        return self._schedule.program.kept_bytes

    @property
    def intermediate_bytes(self) -> int:
        """What all intermediate values would take without sharing."""
        return self._schedule.program.intermediate_bytes
