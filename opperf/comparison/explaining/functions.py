"""Exclusive and inclusive counts of the functions of a dump.

Exclusive counts are of a function's own code. Inclusive counts are of all that runs while the
function does, each instruction once. A dump has sums for each pair of caller and callee, in which
nested calls count several times, so with recursion:

- Callgrind counts calls that are nested in another call of the same function apart (`visit'2`). The
  outermost ones are complete, so theirs alone are the inclusive counts.
- A function's calls of itself are omitted, if a file does not count nested calls apart.
- A function of a cycle has at most the counts of the whole cycle, which are exact: those of the
  cycle's own code and of the calls that leave it.
- A nested call whose outermost one began before the dump did is counted as far as no call of the
  dump explains it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from opperf.comparison.explaining.callgrind import UNKNOWN, Counts, Dump


class Function(NamedTuple):
    """A function, as it is matched between two dumps."""

    name: str
    object: str


class Counted(NamedTuple):
    """The counts of a function in a dump, a number for each event."""

    own: Counts
    inclusive: Counts
    file: str


def count_functions(dump: Dump) -> dict[Function, Counted]:
    """Returns the exclusive and inclusive counts of every function of a dump."""
    levels: dict[Function, list[int]] = {}
    for place, node in enumerate(dump.nodes):
        levels.setdefault(Function(node.name, node.object), []).append(place)
    cycles = cycles_of(dump)
    flows = [Flow(dump, cycles, event) for event in range(len(dump.events))]
    return {
        function: Counted(
            [sum(dump.own[place][event] for place in places) for event in range(len(flows))],
            [flow.inclusive(places) for flow in flows],
            next((dump.files[place] for place in places if place in dump.files), UNKNOWN),
        )
        for function, places in levels.items()
    }


class Flow:
    """Sums of one event over a dump's call graph, by node, without calls of itself."""

    def __init__(self, dump: Dump, cycles: Sequence[int], event: int) -> None:
        self._levels = [node.level for node in dump.nodes]
        self.own = [counts[event] for counts in dump.own]
        self.calls = [(a, b, call.counts[event]) for (a, b), call in dump.edges.items() if a != b]
        """Caller, callee and count."""
        self.total = sum(self.own)
        out, into = list(self.own), [0] * len(self.own)
        for caller, callee, count in self.calls:
            out[caller] += count
            into[callee] += count
        self.unexplained = [max(0, a - b) for a, b in zip(out, into, strict=True)]
        """Counts that no call explains: of functions that ran when the dump began."""
        self.limits = list(map(min, out, self._of_cycles(cycles)))

    def _of_cycles(self, cycles: Sequence[int]) -> list[int]:
        sums: dict[int, int] = {}
        for place, own in enumerate(self.own):
            sums[cycles[place]] = sums.get(cycles[place], 0) + own
        for caller, callee, count in self.calls:
            if cycles[caller] != cycles[callee]:
                sums[cycles[caller]] += count
        return [sums[cycle] for cycle in cycles]

    def inclusive(self, places: Sequence[int]) -> int:
        outermost, *nested = sorted(places, key=self._levels.__getitem__)
        found = self.limits[outermost] + sum(self.unexplained[place] for place in nested)
        return min(found, self.total)


def cycles_of(dump: Dump) -> list[int]:
    """Returns the number of each node's cycle: its strongly connected component."""
    # Both take some 200 ms to import.
    import numpy as np
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    ends = np.array(list(dump.edges), dtype=np.int32).reshape(-1, 2).T
    size = len(dump.nodes)
    graph = csr_array((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(size, size))
    found: list[int] = connected_components(graph, connection="strong")[1].tolist()
    return found


PYTHON_FRAMES = Function("Python's own frames", "")
"""Stands for all functions of the interpreter."""

OBJECTS = re.compile(r"libpython[\d.]+\w*\.(so|dylib)[\d.]*|python[\d.]*\w*")
"""The interpreter, as a library or as a program."""

NAMES = re.compile(r"_?Py[A-Za-z]*_\w+(\.\w+)*")
"""Functions of Python's C interface, of which other objects hold copies (`.cold`, `.part.0`)."""

NUMPY = ("PyArray", "PyUFunc", "PyDataMem", "_PyArray")
"""Beginnings of NumPy's functions, which are named alike."""


def is_python_frame(function: Function) -> bool:
    """Returns whether a function is the interpreter's own, by its object or its name."""
    if OBJECTS.fullmatch(function.object):
        return True
    return NAMES.fullmatch(function.name) is not None and not function.name.startswith(NUMPY)
