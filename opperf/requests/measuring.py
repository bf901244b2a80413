"""The fields of every request that measures cases of a source, and how they become a run."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from opperf.declared import declared as entries_of
from opperf.declared import load_declared
from opperf.errors import UsageError
from opperf.execution.fleet.nodes import FleetOptions
from opperf.frameworks.mentioned import FrameworkChoice
from opperf.instruments.compilation import COMPILATION, FIRST_CALL
from opperf.model import DECLARED, Interpreter, Settings, Status, Wrapping
from opperf.model.declaring import integer_from
from opperf.requests.declaring import Chosen, Declared, Group, Option, Request, Say, declared
from opperf.requests.operators import Columns, Ids, Partition, Shuffle
from opperf.requests.outputs import Labels, NamedOutput, Overwrite, Resumption
from opperf.requests.places import Cluster, Environments
from opperf.requests.replays import WrittenTraces
from opperf.requests.settings import Cpus, Interpreters
from opperf.sources.base import SourceFile
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes, check_combinations

if TYPE_CHECKING:
    from opperf.execution.case_source import CaseSource


GROUP = "opperf.options"


@dataclass(frozen=True)
class AddedOptions(Chosen):
    """The fields of every `Group` that is an entry point of the group `opperf.options`."""

    def fields(self) -> Iterator[Declared]:
        """Yields the field of each. Raises `UsageError` for an entry point that is none."""
        for entry in entries_of(GROUP):
            kind = load_declared(entry)
            if not (isinstance(kind, type) and issubclass(kind, Group)):
                raise UsageError(
                    f"{entry.value}, an entry point of the group {GROUP}, is not a subclass of "
                    "Group; fix its package, or remove it"
                )
            yield from declared(kind).values()


class MeasuringRequest(Request, frozen=True, kw_only=True):
    """Measures cases in worker processes, and writes a run file and an output. A subclass declares
    the axes and settings that it has, the executor and the output."""

    axes: dict[str, tuple[Any, ...]] = {}
    settings: Settings = Settings()
    executor: str = "local"
    output_file: Path | None = None
    output_format: str = ""
    overwrite: Overwrite = False
    columns: Columns = ()
    interpreters: Interpreters = ()
    environments: Environments = Environments()
    cpus: Cpus = "auto"
    cluster: Cluster = Cluster()
    ids: Ids = ()
    partition: Partition = Partition()
    rounds: Annotated[
        int,
        Option(
            "Measure all cases K times, each time in another random order, so that a drift of the "
            "machine affects all of them.",
            integer_from(1),
            metavar="K",
            section="Time and precision",
        ),
    ] = 1
    shuffle: Shuffle = False
    labels: Labels = {}
    list_only: Annotated[
        bool,
        Option(
            "Print the cases, with their inputs and the rule that made them, and measure nothing; "
            "with -f jsonl as a run file, which `run` takes.",
            section="Plan, resumption and exit code",
            spellings="--list",
        ),
    ] = False
    dry_run: Annotated[
        bool,
        Option(
            "Check all options, print the plan, and measure nothing.",
            section="Plan, resumption and exit code",
        ),
    ] = False
    resumption: Resumption = Resumption()
    added: Annotated[dict[str, Any], AddedOptions()] = {}

    def resolve(self, say: Say, command: str) -> ResolvedRun | None:
        """Opens files, installs environments and names the output; `command` is kept in the run
        file. None, also said, where nothing is to be measured."""
        raise NotImplementedError

    def installed(self, say: Say) -> tuple[Interpreter, ...]:
        """Returns the interpreters of the workers, whose environments are installed; none for
        opperf's own. Raises `UsageError` and `InstallationError`."""
        return self.environments.installed(self.interpreters, say)

    def resolved(
        self,
        source: CaseSource,
        choice: FrameworkChoice,
        selection: Selection,
        output: NamedOutput,
        say: Say,
        command: str,
        **more: Any,
    ) -> ResolvedRun:
        """Returns the run of a source, whose environments are installed; `more` are further fields
        of it. Raises `UsageError` and `InstallationError`."""
        interpreters = self.installed(say)
        axes, explicit, resumption = dict(self.axes), self.given, self.resumption
        if interpreters:
            axes["python"] = tuple(dict.fromkeys(each.label for each in interpreters))
            explicit |= {"python"}
        check_combinations(axes.values())
        resume = resumption.run_file()
        run = ResolvedRun(
            asked=self,
            source=source,
            framework=dataclasses.replace(choice, elsewhere=bool(interpreters)),
            selection=selection,
            axes=axes,
            interpreters=interpreters,
            explicit=explicit,
            output=output.path,
            output_format=output.format,
            is_default_output=output.is_default,
            resume=Path(resume) if resume else None,
            resuming=resume is not None,
            retry=frozenset(map(Status, resumption.retry)),
            quiet=resumption.quiet,
            executor=self.executor,
            cluster=self.cluster.options(self.executor, self.given),
            command=command,
        )
        return dataclasses.replace(run, **more)


@dataclass(frozen=True)
class ResolvedRun:
    """A run with its files, environments and output."""

    asked: MeasuringRequest
    """The request, with the values that others of its fields and files decide."""
    source: CaseSource
    framework: FrameworkChoice
    selection: Selection
    axes: Axes
    interpreters: tuple[Interpreter, ...]
    explicit: frozenset[str]
    output: Path
    output_format: str
    is_default_output: bool
    resume: Path | None
    resuming: bool
    retry: frozenset[Status]
    quiet: bool
    executor: str
    cluster: FleetOptions
    command: str
    paths: tuple[Path, ...] = ()
    """Files as the user named them, of which several may be one source."""
    files: tuple[SourceFile, ...] = ()
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

        asked = {FIRST_CALL.name, COMPILATION}.intersection(self.asked.columns)
        is_local = self.executor == LOCAL and self.wrapping is None
        return self.source.compiles_ahead and self.compile_ahead and is_local and not asked

    def on_every_node(self) -> ResolvedRun:
        """With an axis of the cluster's nodes, if it is for every one. A run that is resumed has it
        already. Raises as `measuring_nodes` does."""
        if not self.asked.cluster.every_node or self.resuming:
            return self
        from opperf.execution.fleet.connecting import measuring_nodes

        nodes = tuple(node.name for node in measuring_nodes(self.cluster))
        axes = {**self.axes, "node": nodes}
        return dataclasses.replace(self, axes=axes, explicit=self.explicit | {"node"})

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
