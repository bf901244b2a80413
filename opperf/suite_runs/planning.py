"""Plans the run of a suite: from its benches to cases, and what reports need to know of each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from opperf.errors import OpperfError, UsageError, one_line, unknown
from opperf.execution.fleet.counting import NodeCounts
from opperf.execution.planning import filter_by_id, filter_by_partition, plan_run
from opperf.execution.workers import Workers
from opperf.experiments.matrix import Matrix
from opperf.experiments.planning import plan_experiments
from opperf.experiments.repeating import PROFILER
from opperf.frameworks import default_framework
from opperf.machine.gpu_use import has_driver, visible_gpus
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
from opperf.programs.launching import process_count
from opperf.sources.base import open_files
from opperf.sources.models import ModelWord, read_word
from opperf.sources.registry import Plan
from opperf.sources.selecting import Selection
from opperf.sources.varying import Axes, deduplicate, disambiguate
from opperf.suite_runs.script_files import script_of, script_version, voirfiles_of
from opperf.suites.bench import Bench
from opperf.suites.pasting import words_of

Say = Callable[[str], None]

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
"""By the name of a bench, the environments that it is run in, each of which makes its cases, or why
there is none."""


class SuiteRun(NamedTuple):
    """The benches of a run, and what is known of them before it is planned."""

    benches: tuple[Bench, ...]
    environments: Environments
    obstacles: Mapping[str, str]
    """By name, why a bench is not run."""
    nodes: tuple[NodeCounts, ...] = ()
    """Nodes of the cluster that runs them; none for this machine."""
    at_nodes: Mapping[str, Mapping[str, Bench]] = {}
    """By the name of a node, the benches with what placeholders are there, by name."""


class SuitePlan(NamedTuple):
    """The plan of a suite."""

    plan: Plan
    benches: tuple[BenchFacts, ...]


def plan_suite(workers: Workers, asked: SuiteRun, selection: Selection, say: Say) -> SuitePlan:
    """Returns the plan of the benches in their order. What cannot be planned costs its own bench.
    Raises `UsageError` if nothing is left."""
    plans: list[Plan] = []
    facts: list[BenchFacts] = []
    # All parts of a run have the same benches; cases are selected when all are known.
    every = msgspec.structs.replace(selection, ids=(), partition=None)
    for bench in asked.benches:
        obstacle = reason = asked.obstacles.get(bench.name, "")
        installed = asked.environments.get(bench.name, (BenchEnvironment(),))
        found: Sequence[BenchEnvironment] = ()
        if isinstance(installed, str):
            reason = reason or installed
        else:
            found = installed
        plan = united(())
        share = share_of(bench, selection.settings, workers.program_cpus, asked.nodes)
        if not reason:
            try:
                plan = united(plan_bench(workers, bench, env, share, every, say) for env in found)
                plan = at_nodes(plan, bench, asked.at_nodes)
            except OpperfError as error:
                reason = one_line(str(error))
        if reason and bench.enabled:
            say(f"bench {bench.name} is not run: {reason}")
        plans.append(plan)
        env = found[0].label if len(found) == 1 else ""
        own = facts_of(bench, plan.cases, env, share, reason)
        facts.append(msgspec.structs.replace(own, is_broken=bool(reason) and not obstacle))
    cases = [case for plan in plans for case in plan.cases]
    if not cases:
        reasons = [f"{fact.name}: {fact.why_not}" for fact in facts if fact.why_not]
        raise UsageError(f"nothing to run: {'; '.join(reasons) or 'the suite has no bench'}")
    whole = msgspec.structs.replace(united(plans), cases=disambiguate(deduplicate(cases)))
    chosen = filter_by_partition(filter_by_id(whole, selection), selection)
    return SuitePlan(chosen, tuple(facts))


def at_nodes(plan: Plan, bench: Bench, benches: Mapping[str, Mapping[str, Bench]]) -> Plan:
    """Returns the plan of a bench whose case, if it is a script, has what is other on nodes."""
    if bench.workload != "script":
        return plan
    own = words_of(bench)
    there = {node: words_of(found[bench.name]) for node, found in benches.items()}
    other = {node: words for node, words in there.items() if words != own}
    cases = (
        msgspec.structs.replace(case, target=msgspec.structs.replace(case.target, at_nodes=other))
        for case in plan.cases
    )
    return msgspec.structs.replace(plan, cases=tuple(cases)) if other else plan


def united(plans: Iterable[Plan]) -> Plan:
    """Returns one plan of several."""
    parts = list(plans)
    return Plan(
        cases=tuple(case for plan in parts for case in plan.cases),
        excluded={name: why for plan in parts for name, why in plan.excluded.items()},
    )


def facts_of(
    bench: Bench,
    cases: Sequence[Case],
    env: str,
    share: Share,
    why_not: str,
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


def plan_bench(
    workers: Workers,
    bench: Bench,
    environment: BenchEnvironment,
    share: Share,
    selection: Selection,
    say: Say,
) -> Plan:
    """Returns the plan of a bench in an environment. Raises `UsageError`, with the place in its
    file, for what it cannot be of, and the errors of sources."""
    if environment.interpreter is not None:
        workers.add_interpreters((environment.interpreter,))
    label = environment.label
    if bench.workload == "script":
        case = script_case(bench, label, share, selection.settings, environment.variables)
        return Plan(cases=(case,), excluded={})
    axes = axes_of(bench)
    if label:
        axes["python"] = (label,)
    if bench.env.variables:
        axes["env"] = (bench.env.variables,)
    limits = limits_of(bench)
    settings = msgspec.structs.replace(selection.settings, **limits)
    frameworks = bench.settings.get(FRAMEWORK) or (default_framework(()),)
    own = msgspec.structs.replace(
        selection,
        settings=settings,
        size=one_of(bench, SIZE, "default"),
        configurations=number_of(bench, CONFIGURATIONS),
        dtype_given="dtype" in axes,
    )
    if bench.workload == "model":
        return plan_models(workers, bench, frameworks, own, axes, say)
    is_of_files = bench.workload != "operators"
    own = msgspec.structs.replace(own, patterns=() if is_of_files else bench.content)
    files = open_files(map(Path, bench.content)) if is_of_files else ()
    overriding = {*axes, *limits}
    return united(
        plan_run(workers, framework, own, axes, files, overriding, say)[0]
        for framework in (frameworks[:1] if is_of_files else frameworks)
    )


def plan_models(
    workers: Workers,
    bench: Bench,
    frameworks: tuple[str, ...],
    selection: Selection,
    axes: Axes,
    say: Say,
) -> Plan:
    """Returns the plan of a bench of models, as `opperf experiment` has it."""
    axes.setdefault("profiler", (PROFILER,))
    matrix = Matrix(
        frameworks=frameworks,
        models=tuple(models_of(bench)),
        sizes=(selection.size,),
        batch_sizes=(number_of(bench, BATCH_SIZE),),
    )
    return plan_experiments(workers, matrix, selection, axes, (), (), say).plan


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
        settings,
        env=variables_of(bench, settings),
        python=label,
        memory=False,
        **limits_of(bench),
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
