"""The benches of a suite as a source of cases, with what reports need to know of each."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from opperf.errors import OpperfError, UsageError, one_line, unknown
from opperf.execution.case_source import Asked, CaseSource, Planned, plan_source
from opperf.execution.experiments import Models
from opperf.execution.fleet.connecting import NodeCounts
from opperf.execution.planning import RegistrySource
from opperf.frameworks import default_framework
from opperf.machine.gpus import has_driver, visible_gpus
from opperf.model import (
    DECLARED,
    MAPPINGS,
    BenchFacts,
    Case,
    Interpreter,
    ScriptTarget,
    ServerProgram,
    Settings,
)
from opperf.model.declaring import digest
from opperf.programs.launching import process_count
from opperf.reading import read_text
from opperf.results.settings import PROFILER
from opperf.sources.base import open_files
from opperf.sources.model_matrix import Matrix
from opperf.sources.models import ModelWord, read_word
from opperf.sources.registry import Plan
from opperf.sources.varying import Axes, vary
from opperf.suites.bench import Bench
from opperf.suites.job_script import words_of

MAX_DURATION_S = 600.0
"""Limit on the time of a bench that has none: milabench's."""

FRAMEWORK, SIZE, CONFIGURATIONS, BATCH_SIZE = "framework", "size", "max_configs", "batch_size"
"""Keys beside settings of a bench that is no script."""

OWN_KEYS = (FRAMEWORK, SIZE, CONFIGURATIONS, BATCH_SIZE)


class BenchEnvironment(NamedTuple):
    """An environment that a bench is run in."""

    interpreter: Interpreter | None = None
    """None for opperf's own."""
    variables: Mapping[str, str] = {}
    """Environment variables with the folders of the data of a script."""

    @property
    def label(self) -> str:
        return self.interpreter.label if self.interpreter else ""


Environments = Mapping[str, Sequence[BenchEnvironment] | str]
"""By the name of a bench, the environments that make its cases, or why there is none."""


@dataclass(frozen=True)
class Benches:
    """The benches of a suite in their order. What cannot be planned costs its own bench."""

    benches: tuple[Bench, ...]
    environments: Environments
    obstacles: Mapping[str, str]
    """By name, why a bench is not run."""
    nodes: tuple[NodeCounts, ...] = ()
    """Nodes of the cluster that runs them; none for this machine."""
    at_nodes: Mapping[str, Mapping[str, Bench]] = field(default_factory=dict)
    """By the name of a node, the benches with what placeholders are there, by name."""
    table: str = ""
    """The file that sizes of batches are saved to; empty for none."""
    program = "suite run"
    groups = False
    compiles_ahead = False
    # How long a program takes, only its own limit says.
    is_forecast = False
    repeats = False

    def find(self, asked: Asked) -> Planned:
        """Returns the cases of the benches. Raises `UsageError` if there is none."""
        found = [self._find(bench, asked) for bench in self.benches]
        facts = tuple(fact for _, fact in found)
        whole = united(plan for plan, _ in found)
        if not whole.cases:
            reasons = [f"{fact.name}: {fact.why_not}" for fact in facts if fact.why_not]
            raise UsageError(f"nothing to run: {'; '.join(reasons) or 'the suite has no bench'}")
        return Planned(whole, asked.axes, benches=facts)

    def _find(self, bench: Bench, asked: Asked) -> tuple[Plan, BenchFacts]:
        """Returns the plan of a bench, and what reports need of it; says why there is none."""
        obstacle = self.obstacles.get(bench.name, "")
        installed = self.environments.get(bench.name, (BenchEnvironment(),))
        reason = obstacle or (installed if isinstance(installed, str) else "")
        envs = () if isinstance(installed, str) else installed
        settings = asked.selection.settings
        share = share_of(bench, settings, asked.workers.program_cpus, self.nodes)
        plan = united(())
        if not reason:
            try:
                made = united(plan_bench(bench, env, share, asked) for env in envs)
                cases = vary(_at_nodes(made.cases, bench, self.at_nodes), asked.axes)
                plan = msgspec.structs.replace(made, cases=cases)
            except OpperfError as error:
                reason = one_line(str(error))
        if reason and bench.enabled:
            asked.say(f"bench {bench.name} is not run: {reason}")
        env = envs[0].label if len(envs) == 1 else ""
        own = facts_of(bench, plan.cases, env, share, reason)
        return plan, msgspec.structs.replace(own, is_broken=bool(reason) and not obstacle)


def _at_nodes(
    cases: tuple[Case, ...], bench: Bench, benches: Mapping[str, Mapping[str, Bench]]
) -> tuple[Case, ...]:
    """Returns the cases of a bench, of which that of a script has what is other on nodes."""
    if bench.workload != "script":
        return cases
    own = words_of(bench)
    there = {node: words_of(found[bench.name]) for node, found in benches.items()}
    other = {node: words for node, words in there.items() if words != own}
    if not other:
        return cases
    return tuple(
        msgspec.structs.replace(case, target=msgspec.structs.replace(case.target, at_nodes=other))
        for case in cases
    )


def united(plans: Iterable[Plan]) -> Plan:
    """Returns one plan of several."""
    parts = list(plans)
    return Plan(
        cases=tuple(case for plan in parts for case in plan.cases),
        excluded={name: why for plan in parts for name, why in plan.excluded.items()},
    )


def facts_of(
    bench: Bench, cases: Sequence[Case], env: str, share: Share, why_not: str
) -> BenchFacts:
    """Returns what reports need to know of a bench, whose only environment has the label `env`."""
    is_script = bench.workload == "script"
    return BenchFacts(
        name=bench.name,
        group=bench.group,
        tags=bench.tags,
        enabled=bench.enabled,
        weight=bench.weight,
        point=bench.point,
        cases=tuple(case.id for case in cases),
        expected=bench.voir.stop if is_script else 0,
        processes=share.processes * (bench.num_machines if is_script else 1),
        gpus=share.gpus * bench.num_machines,
        gpu_load=bench.usage.load,
        gpu_memory=bench.usage.memory,
        env=env,
        version=script_version(bench) if is_script and not why_not else "",
        why_not=why_not,
        config=msgspec.to_builtins(bench),
    )


class Share(NamedTuple):
    """GPUs and processes of a bench on each machine."""

    gpus: int
    processes: int


def share_of(
    bench: Bench, settings: Settings, cpus: frozenset[int], nodes: Sequence[NodeCounts] = ()
) -> Share:
    """Returns what a script has of each node, the fewest that one of them has, so that any can run
    it; without nodes of this machine, of whose cores it may use `cpus`. What is no script
    is one process."""
    if bench.workload != "script":
        return Share(0, 1)
    if nodes:
        fewest, cores = min(node.gpus for node in nodes), min(node.cores for node in nodes)
        counts = {"per_gpu": max(1, fewest), "per_core": cores}
        return Share(fewest, counts.get(bench.plan.method, bench.plan.n))
    gpus = visible_gpus({**os.environ, **variables_of(bench, settings)})
    # The variable may list GPUs that are not there.
    count = len(gpus) if has_driver() else 0
    return Share(count, process_count(bench.plan.method, bench.plan.n, gpus, cpus))


def variables_of(bench: Bench, settings: Settings) -> dict[str, str]:
    """Returns the environment variables that a script's case sets."""
    return {**settings.env, **bench.env.variables}


def plan_bench(bench: Bench, environment: BenchEnvironment, share: Share, asked: Asked) -> Plan:
    """Returns the plan of a bench in an environment. Raises `UsageError`, with the place in its
    file, for what it cannot be of, and the errors of sources."""
    if environment.interpreter is not None:
        asked.workers.add_interpreters((environment.interpreter,))
    label, selection = environment.label, asked.selection
    if bench.workload == "script":
        case = script_case(bench, label, share, selection.settings, environment.variables)
        return Plan(cases=(case,), excluded={})
    axes = axes_of(bench)
    if label:
        axes["python"] = (label,)
    if bench.env.variables:
        axes["env"] = (bench.env.variables,)
    limits = limits_of(bench)
    frameworks = bench.settings.get(FRAMEWORK) or (default_framework(()),)
    is_of_files = bench.workload not in ("operators", "model")
    own = msgspec.structs.replace(
        selection,
        settings=msgspec.structs.replace(selection.settings, **limits),
        size=one_of(bench, SIZE, "default"),
        configurations=number_of(bench, CONFIGURATIONS),
        dtype_given="dtype" in axes,
        patterns=bench.content if bench.workload == "operators" else (),
    )
    sources: list[CaseSource] = list(
        map(RegistrySource, frameworks[:1] if is_of_files else frameworks)
    )
    if bench.workload == "model":
        axes.setdefault("profiler", (PROFILER,))
        sources = [_models(bench, frameworks, own.size)]
    files = open_files(map(Path, bench.content)) if is_of_files else ()
    here = replace(asked, selection=own, axes=axes, files=files, overriding={*axes, *limits})
    return united(plan_source(source, here).plan for source in sources)


def _models(bench: Bench, frameworks: tuple[str, ...], size: str) -> Models:
    return Models(
        Matrix(
            frameworks=frameworks,
            models=tuple(models_of(bench)),
            sizes=(size,),
            batch_sizes=(number_of(bench, BATCH_SIZE),),
        )
    )


def models_of(bench: Bench) -> Iterator[ModelWord]:
    """Yields the models of a bench. Raises `UsageError` for what names none."""
    for word in bench.content:
        found = read_word(word)
        if found is None:
            raise UsageError(
                f"{place(bench, 'model')}: {word!r} is no model; write SUITE:NAME, FILE.py:NAME or "
                "MODULE:NAME"
            )
        yield found


def script_case(
    bench: Bench, label: str, share: Share, settings: Settings, variables: Mapping[str, str]
) -> Case:
    """Returns the case of a bench that is a script. Raises `UsageError` if that is not there."""
    script = script_of(bench)
    if not script.is_file():
        raise UsageError(f"{place(bench, 'definition')}: {script}: no such script")
    words = words_of(bench)
    target = ScriptTarget(
        name=bench.name,
        script=str(script.resolve()),
        argv=words.argv,
        method=bench.plan.method,
        processes=share.processes,
        nodes=bench.num_machines,
        stop=bench.voir.stop,
        skip=bench.voir.skip,
        interval_s=bench.voir.interval_s,
        observe=bench.observe,
        voirfile=os.pathsep.join(str(file.resolve()) for file in voirfiles_of(script)),
        point=bench.point,
        variables=dict(variables),
        server=None
        if bench.server is None
        else ServerProgram(words.server, bench.server.port, bench.server.health),
    )
    own = msgspec.structs.replace(
        settings, env=variables_of(bench, settings), python=label, memory=False, **limits_of(bench)
    )
    origin = str(bench.locations.get("definition", ""))
    return Case(target, {}, own, ("forward",), origin=origin, category="program", tags=bench.tags)


def limits_of(bench: Bench) -> dict[str, Any]:
    """Returns the limit on a bench's time, as a setting."""
    if bench.workload == "script":
        return {"timeout_s": bench.max_duration_s or MAX_DURATION_S}
    return {} if bench.max_duration_s is None else {"timeout_s": bench.max_duration_s}


def axes_of(bench: Bench) -> Axes:
    """Returns the axes that a bench's settings set. Raises `UsageError`, with the place in its
    file, for a setting that there is not, and a value that it does not have."""
    found: dict[str, tuple[Any, ...]] = {}
    # Environment variables and interpreters are those of the bench's environment.
    known = {
        name: setting
        for name, setting in DECLARED.items()
        if setting.axis and name not in (*MAPPINGS, "python")
    }
    for name, texts in bench.settings.items():
        if name in OWN_KEYS:
            continue
        if name not in known:
            raise UsageError(
                f"{place(bench, name)}: {unknown('setting', name, (*known, *OWN_KEYS))}"
            )
        try:
            found[name] = tuple(map(known[name].read, texts))
        except ValueError as error:
            raise UsageError(f"{place(bench, name)}: {error}") from error
    return found


def one_of(bench: Bench, key: str, default: str) -> str:
    """Returns the only value of a key. Raises `UsageError` for several."""
    values = bench.settings.get(key) or (default,)
    if len(values) > 1:
        raise UsageError(f"{place(bench, key)}: {', '.join(values)}; give one, or make a matrix")
    return values[0]


def number_of(bench: Bench, key: str) -> int | None:
    """Returns the only value of a key as a number, None without one. Raises `UsageError`."""
    text = one_of(bench, key, "")
    if not text:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"{place(bench, key)}: {text!r} is not a number of at least 1")
    return int(text)


def place(bench: Bench, key: str) -> str:
    """Returns where a key of a bench is, for errors."""
    found = bench.locations.get(key) or bench.locations.get(f"settings.{key}")
    return str(found or f"{bench.name}.{key}")


SCRIPT = "main.py"
"""The script of a bench that is a folder."""

VOIRFILE = "voirfile.py"
VOIRFILE_VARIABLE = "VOIRFILE"
"""Environment variable of voir: paths, separated by blanks."""


def script_version(bench: Bench) -> str:
    """Returns a hash of a bench's script and of voir's instruments beside it."""
    script = script_of(bench)
    files = (script, *voirfiles_of(script))
    return digest([read_text(file, errors="replace") for file in files if file.is_file()])


def voirfiles_of(script: Path) -> list[Path]:
    """Returns the files of voir's instruments for a script: those of the variable `VOIRFILE`, or
    its own one and those of its folder and of the folders above, as voir has them."""
    given = os.environ.get(VOIRFILE_VARIABLE)
    if given is not None:
        return [Path(file) for file in given.split()]
    own = script.with_name(f"{script.stem}.{VOIRFILE}")
    folders = script.resolve().parents
    return [file for file in (own, *(each / VOIRFILE for each in folders)) if file.is_file()]


def script_of(bench: Bench) -> Path:
    """Returns the path of a bench's script, whether it is there or not."""
    path = Path(bench.content[0])
    return path / SCRIPT if path.is_dir() else path
