"""A minimum cut (Dinic, "Algorithm for solution of a problem of maximum flow", 1970)."""

from __future__ import annotations

import math
from collections.abc import Iterable


class Network:
    """Edges with capacities between numbered nodes.

    >>> from chainwright.ir.mincut import Network
    >>> network = Network()
    >>> for edge in [("a", "b", 3), ("a", "c", 2), ("b", "d", 1), ("c", "d", 9)]:
    ...     network.add(*edge)
    >>> sorted(network.sink_side("a", "d"))
    ['c', 'd']
    """

    def __init__(self) -> None:
        self._number: dict[object, int] = {}
        self._edges: list[list[int]] = []  # of each node: the edges that leave it
        # Of each edge: where it leads, and what it can still take. Its neighbour, which has the
        # number with the last bit turned, leads back.
        self._to: list[int] = []
        self._rest: list[float] = []

    def _node(self, name: object) -> int:
        number = self._number.setdefault(name, len(self._edges))
        if number == len(self._edges):
            self._edges.append([])
        return number

    def add(self, start: object, end: object, capacity: float = math.inf) -> None:
        """Join two nodes; any number of edges may."""
        a, b = self._node(start), self._node(end)
        for place, target, rest in ((a, b, capacity), (b, a, 0)):
            self._edges[place].append(len(self._to))
            self._to.append(target)
            self._rest.append(rest)

    def sink_side(self, source: object, sink: object) -> set[object]:
        """The nodes behind the minimum cut that is nearest to the sink: those that still reach it.

        The network is used up by that.

        Raises:
            ValueError: No cut is finite.
        """
        s, t = self._node(source), self._node(sink)
        while (levels := self._levels(s, t)) is not None:
            self._block(s, t, levels)
        reaching, waiting = {t}, [t]
        while waiting:
            for edge in self._edges[waiting.pop()]:
                if self._rest[edge ^ 1] > 0 and self._to[edge] not in reaching:
                    reaching.add(self._to[edge])
                    waiting.append(self._to[edge])
        return {name for name, number in self._number.items() if number in reaching}

    def _levels(self, s: int, t: int) -> list[int] | None:
        """How far each node is from the source; None where the sink is out of reach."""
        levels = [-1] * len(self._edges)
        levels[s] = 0
        here: Iterable[int] = [s]
        while here and levels[t] < 0:
            there = []
            for node in here:
                for edge in self._edges[node]:
                    target = self._to[edge]
                    if levels[target] < 0 and self._rest[edge] > 0:
                        levels[target] = levels[node] + 1
                        there.append(target)
            here = there
        return levels if levels[t] >= 0 else None

    def _block(self, s: int, t: int, levels: list[int]) -> None:
        """Fill shortest paths until each has a full edge."""
        to, rest = self._to, self._rest
        tried = [0] * len(self._edges)  # edges of each node that lead nowhere any more
        path: list[int] = []
        while True:
            node = to[path[-1]] if path else s
            if node == t:
                self._fill(path)
                continue
            edges = self._edges[node]
            while tried[node] < len(edges):
                edge = edges[tried[node]]
                if rest[edge] > 0 and levels[to[edge]] == levels[node] + 1:
                    path.append(edge)
                    break
                tried[node] += 1
            else:
                if not path:
                    return
                path.pop()
                tried[to[path[-1]] if path else s] += 1

    def _fill(self, path: list[int]) -> None:
        """Send along a path what it can take, and leave of it what comes before a full edge."""
        most = min([self._rest[edge] for edge in path])
        if most == math.inf:
            raise ValueError("no cut is finite: edges without bounds lead to the sink")
        for edge in path:
            self._rest[edge] -= most
            self._rest[edge ^ 1] += most
        del path[next(k for k, edge in enumerate(path) if not self._rest[edge]) :]
