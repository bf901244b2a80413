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
from opperf.frameworks.mentioned import FrameworkChoice
from opperf.model import Interpreter, Settings, Status
from opperf.model.declaring import integer_from
from opperf.requests.declaring import Chosen, Declared, Group, Option, Request, Say, declared
from opperf.requests.fields import Columns
from opperf.requests.operators import Ids, Partition, Shuffle
from opperf.requests.outputs import Labels, NamedOutput, Overwrite, Resumption
from opperf.requests.places import Cluster, Environments
from opperf.requests.resolved_run import ResolvedRun
from opperf.requests.settings import Cpus, Interpreters
from opperf.sources.selecting import Selection
from opperf.sources.varying import check_combinations

if TYPE_CHECKING:
    from opperf.execution.case_source import CaseSource
    from opperf.requests.running import EndedRun, Watch


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

    def run(self, watch: Watch, command: str, keeps: bool = True) -> EndedRun | None:
        """Measures, as `perform` says; None as `resolve` does."""
        from opperf.requests.running import perform

        resolved = self.resolve(watch.say, command)
        return None if resolved is None else perform(resolved, watch, keeps)

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
        given: Collection[str] = (),
    ) -> ResolvedRun:
        """Returns the run of a source, without files, whose environments are installed; `given` are
        further names of what the user set. Raises `UsageError` and `InstallationError`."""
        interpreters = self.installed(say)
        axes, explicit, resumption = dict(self.axes), {*self.given, *given}, self.resumption
        if interpreters:
            axes["python"] = tuple(dict.fromkeys(each.label for each in interpreters))
            explicit.add("python")
        check_combinations(axes.values())
        resume = resumption.run_file()
        return ResolvedRun(
            asked=self,
            source=source,
            framework=dataclasses.replace(choice, elsewhere=bool(interpreters)),
            selection=selection,
            axes=axes,
            paths=(),
            files=(),
            interpreters=interpreters,
            explicit=frozenset(explicit),
            labels=self.labels,
            output=output.path,
            output_format=output.format,
            is_default_output=output.is_default,
            overwrite=self.overwrite,
            resume=Path(resume) if resume else None,
            resuming=resume is not None,
            retry=frozenset(map(Status, resumption.retry)),
            list_only=self.list_only,
            dry_run=self.dry_run,
            strict=resumption.strict,
            quiet=resumption.quiet,
            cpus=self.cpus,
            executor=self.executor,
            cluster=self.cluster.options(self.executor, self.given),
            every_node=self.cluster.every_node,
            command="",
            columns=self.columns,
            added=self.added,
        )
