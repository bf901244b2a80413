"""The frameworks whose cases are checked, and which findings of each are no faults."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import NamedTuple

from tests.conformance.exceptions import Exempt
from tests.conformance.judging import OF_ROWS

PARTS = {"numpy": 1, "mxnet": 2, "torch": 4, "jax": 6}
"""Tests by framework, each of some of the operators, so that several processes share them. Another
package's is added by `pytest tests/conformance --framework NAME`."""

TABLES = {name: f"tests.conformance.legitimate.{name}" for name in PARTS}
"""Modules of findings that are no faults, by framework."""


class Legitimate(NamedTuple):
    """Findings of a framework's cases that are no faults."""

    table: tuple[Exempt, ...] = ()
    by_dtype: Mapping[str, tuple[Exempt, ...]] = {}
    finite_at_times: str = ""
    """Operators that may return NaN or infinity, and do so by chance."""

    def of_rows(self) -> list[Exempt]:
        """Returns those of kinds that are found without a run."""
        return [one for one in self.table if one.kind in OF_ROWS]

    def of_runs(self) -> list[Exempt]:
        """Returns those of other kinds."""
        return [one for one in self.table if one.kind not in OF_ROWS]


def legitimate(name: str) -> Legitimate:
    """Returns the findings of a framework's cases that are no faults; none without a module."""
    if name not in TABLES:
        return Legitimate()
    module = importlib.import_module(TABLES[name])
    return Legitimate(module.TABLE, module.BY_DTYPE, module.FINITE_AT_TIMES)
