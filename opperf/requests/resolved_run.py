"""A run whose request is resolved: files are opened, environments installed, the output named."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opperf.execution.fleet.nodes import FleetOptions
from opperf.frameworks.mentioned import FrameworkChoice
from opperf.instruments.compilation import COMPILATION, FIRST_CALL
from opperf.model import DECLARED, Interpreter, Status, Wrapping
from opperf.requests.declaring import Request
from opperf.requests.replays import WrittenTraces
from opperf.sources.base import SourceFile
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes

if TYPE_CHECKING:
    from opperf.execution.case_source import CaseSource


@dataclass(frozen=True)
class ResolvedRun:
    """A run with its files, environments and output."""

    asked: Request
    """The request, with the values that others of its fields and files decide."""
    source: CaseSource
    framework: FrameworkChoice
    selection: Selection
    axes: Axes
    paths: tuple[Path, ...]
    """Files as the user named them, of which several may be one source."""
    files: tuple[SourceFile, ...]
    interpreters: tuple[Interpreter, ...]
    explicit: frozenset[str]
    labels: Mapping[str, str]
    output: Path
    output_format: str
    is_default_output: bool
    overwrite: bool
    resume: Path | None
    resuming: bool
    retry: frozenset[Status]
    list_only: bool
    dry_run: bool
    strict: bool
    quiet: bool
    cpus: str
    executor: str
    cluster: FleetOptions
    every_node: bool
    command: str
    columns: tuple[str, ...] = ()
    added: Mapping[str, Any] = field(default_factory=dict)
    """Options of other packages."""
    quick: bool = False
    list_format: str = ""
    """That of a list of cases; empty for text."""
    wrapping: Wrapping | None = None
    """Programs that the cases are profiled under; None without one."""
    traces: WrittenTraces | None = None
    """Traces that are written of replays; None for none."""
    dumps: tuple[str, ...] = ()
    """Names of the dumps that are written of the cases."""
    traced_s: float = 0.0
    """Seconds that the calls in a dumped trace take at least; 0 for one call."""
    bar: bool = False
    """Whether progress is a bar where standard error is no terminal too."""
    compile_ahead: bool = True
    """Whether cases are compiled together before the first is measured, where that can be."""
    echo: bool = False
    """Whether the output of the cases' processes is printed."""

    @property
    def has_operators(self) -> bool:
        """Whether cases of the registry are measured, not those of files or models alone."""
        from opperf.execution.planning import RegistrySource

        is_all = isinstance(self.source, RegistrySource) and not self.files
        return bool(self.selection.patterns) or is_all

    @property
    def may_compile_ahead(self) -> bool:
        """Whether cases are compiled beside others: not if how long that takes is asked for."""
        from opperf.execution.executor import LOCAL

        asked = {FIRST_CALL.name, COMPILATION}.intersection(self.columns)
        is_local = self.executor == LOCAL and self.wrapping is None
        return self.source.compiles_ahead and self.compile_ahead and is_local and not asked

    def on_every_node(self) -> ResolvedRun:
        """With an axis of the cluster's nodes, if it is for every one. A run that is resumed has it
        already. Raises as `measuring_nodes` does."""
        if not self.every_node or self.resuming:
            return self
        from opperf.execution.fleet.connecting import measuring_nodes

        axes = {**self.axes, "node": measuring_nodes(self.cluster)}
        return replace(self, axes=axes, explicit=self.explicit | {"node"})

    @property
    def overriding(self) -> frozenset[str]:
        """Names of the parameters that override a file's cases: counts of `--quick` do."""
        return self.explicit | (quick_settings(self.explicit).keys() if self.quick else set())


QUICK: dict[str, Any] = {"warmup": 2, "runs": 20, "max_time_s": 0.1, "configurations": 1}
"""Values of `--quick`: a tenth of a second an operator, so that a registry takes minutes."""


def quick_values(explicit: Collection[str]) -> dict[str, Any]:
    """Returns the values that `--quick` sets, without those that the user set."""
    return {name: value for name, value in QUICK.items() if name not in explicit}


def quick_settings(explicit: Collection[str]) -> dict[str, Any]:
    """Returns the settings among the values that `--quick` sets."""
    return {name: value for name, value in quick_values(explicit).items() if name in DECLARED}
