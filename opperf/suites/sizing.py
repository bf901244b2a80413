"""Sizes of batches: that of the file, changed by the options `sizer.*` of the system, or the one
that fills a GPU's memory by a table of what batches of each size take, as milabench has it.

Assumption: the memory of a bench is linear in the size of its batch. The line is that of least
squares through the sizes that were tried, over their memory, and sizes beyond them follow from it.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from opperf.errors import UsageError
from opperf.suites.fields import count, inner, mapping, number, read, text
from opperf.suites.reading import Node, parse, read_text
from opperf.suites.system import System

VERSION = "version"
"""The key of a table that is no bench."""

BYTES = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([kKMGT]?)(i?)([Bo]?)\s*")
"""A number of bytes: `80GB`, `4Go`, `8614.75 MiB`, `24000`."""

POWERS = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4}

ALL = "All"
"""Word for the whole memory of the machine's smallest GPU."""

MULTIPLE = 8
"""Of which sizes by memory are multiples unless `sizer.multiple` is set: milabench's default, and
what the matrix units of GPUs are filled by."""

LEAST_OBSERVATIONS = 2
"""Through which there is a line."""


class Observation(NamedTuple):
    """The memory and the rate of a batch of some size."""

    size: int
    memory_bytes: float
    performance: float = 0.0
    """Items per second; 0 where it is not known."""


class Sizes(NamedTuple):
    """The row of a bench in a table of sizes."""

    observations: tuple[Observation, ...]
    optimized: int | None = None
    """The size that is known to be the best, of tables without performances."""


def read_bytes(written: str) -> float:
    """Returns a number of bytes: `Go` and `GB` are powers of 1000, `GiB` and `Gio` of 1024. Raises
    `ValueError` for another text."""
    match = BYTES.fullmatch(written)
    if match is None:
        raise ValueError(f"{written!r} is no amount of memory; write it as 80GB or 81920 MiB")
    return float(match[1]) * math.pow(1024 if match[3] else 1000, POWERS[match[2]])


def read_table(path: str) -> dict[str, Sizes]:
    """Returns the rows of a table of sizes by the names of benches. Raises `UsageError`, with the
    place, for a file that is none."""
    root = parse(read_text(path), path)
    rows = {name: row for name, row in mapping(root).items() if name != VERSION}
    return {name: _row(row) for name, row in rows.items()}


def _row(node: Node) -> Sizes:
    entries = mapping(node)
    observations = [*_by_size(inner(entries, "model")), *_listed(entries.get("observations"))]
    return Sizes(tuple(sorted(observations)), read(entries, "optimized", count, None))


def _by_size(entries: Mapping[str, Node]) -> Iterator[Observation]:
    for size, memory in entries.items():
        if not size.isdecimal():
            raise UsageError(f"{memory.at}: a size of a batch is a number, and this is {size!r}")
        yield Observation(int(size), _memory(memory))


def _listed(node: Node | None) -> Iterator[Observation]:
    for element in [] if node is None else node.elements():
        entries = mapping(element)
        missing = [key for key in ("batch_size", "memory") if key not in entries]
        if missing:
            raise UsageError(f"{element.at}: an observation has no {' and no '.join(missing)}")
        yield Observation(
            count(entries["batch_size"]),
            _memory(entries["memory"]),
            read(entries, "perf", number, 0.0),
        )


def _memory(node: Node) -> float:
    try:
        return read_bytes(text(node))
    except ValueError as error:
        raise UsageError(f"{node.at}: {error}") from error


class Sizer:
    """Sizes the batches of a suite's benches on a system."""

    def __init__(self, system: System) -> None:
        self.system, self._options = system, system.options
        self.unsized: list[str] = []
        """Names of benches that were to be sized by a table which does not say how."""

    def size(self, bench: str, default: Any) -> int:
        """Returns the size of a bench's batch in place of that of its file. Raises `UsageError` for
        a table that cannot be read, and where the memory of a GPU is not known, and `TypeError` for
        a default that is no number."""
        options = self._options
        if not isinstance(default, int):
            raise TypeError(f"the size of a batch is a number, and this is {default!r}")
        if options["sizer.batch_size"]:
            return int(options["sizer.batch_size"])
        if not (options["sizer.auto"] or options["sizer.optimized"]):
            return default
        if options["sizer.mult"] or options["sizer.add"]:
            changed = int(default * (options["sizer.mult"] or 1)) + (options["sizer.add"] or 0)
            return self._rounded(changed, options["sizer.multiple"] or 1)
        found = self._of_table(bench)
        if found is None:
            self.unsized.append(bench)
            return self._rounded(default, options["sizer.multiple"] or 1)
        return found

    def _of_table(self, bench: str) -> int | None:
        row = self._table.get(bench)
        if row is None:
            return None
        if self._options["sizer.optimized"]:
            return row.optimized or self._fastest(row)
        memories = {made.memory_bytes for made in row.observations}
        if len(memories) < LEAST_OBSERVATIONS:
            return None
        fitting = _on_line(row.observations, self._capacity)
        return self._rounded(fitting, self._options["sizer.multiple"] or MULTIPLE)

    def _fastest(self, row: Sizes) -> int | None:
        fitting = [
            made
            for made in row.observations
            if made.performance and made.memory_bytes < self._capacity
        ]
        return max(fitting, key=lambda made: made.performance).size if fitting else None

    def _rounded(self, size: int, multiple: int) -> int:
        base = self._options["sizer.power"] or 0
        if base > 1 and size > 0:
            # Of 8 to the base 2, the logarithm may be 2.9999.
            return int(base ** math.floor(math.log(size, base) + 1e-9))
        return max(size // multiple * multiple, 1)

    @functools.cached_property
    def _table(self) -> dict[str, Sizes]:
        path = self._options["sizer.config"]
        if not path:
            return {}
        # The first of several runs that write it finds none.
        if path == self._options["sizer.save"] and not Path(path).exists():
            return {}
        return read_table(path)

    @functools.cached_property
    def _capacity(self) -> float:
        asked = self._options["sizer.capacity"]
        written = self.system.gpu_capacity if asked in (None, ALL) else asked
        if not written:
            raise UsageError(
                "the memory of the GPUs is not known: set sizer.capacity or gpu.capacity of the "
                "system (80GB)"
            )
        try:
            return read_bytes(written)
        except ValueError as error:
            raise UsageError(f"sizer.capacity: {error}") from error


def _on_line(observations: tuple[Observation, ...], memory_bytes: float) -> int:
    # Takes 60 ms, and few suites are sized.
    import numpy as np

    sizes = [float(made.size) for made in observations]
    line = np.polyfit([made.memory_bytes for made in observations], sizes, 1)
    found = float(np.polyval(line, memory_bytes))
    # Halves are rounded down.
    return max(math.ceil(found - 0.5), 0)
