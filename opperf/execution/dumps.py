"""Writes traces of cases, what compilers make of them and what they compute, beside the records.
Each case has other processes for it than the one that measured it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from opperf.errors import OpperfError, one_line
from opperf.execution.workers import Workers
from opperf.folders import part_folder
from opperf.frameworks import package_of
from opperf.frameworks.installed import CompilerDump
from opperf.model import Case, Run, Status
from opperf.plurals import pluralize
from opperf.worker.client import Worker
from opperf.worker.protocol import Observed

TRACE, IR, HLO, RESULTS = "trace", "ir", "hlo", "results"
STABLEHLO, COUNTERS, XLA_METRICS = "stablehlo", "counters", "xla_metrics"

INSIDES = (TRACE, IR, HLO)

DUMPS = (*INSIDES, STABLEHLO, COUNTERS, XLA_METRICS, RESULTS)

NOT_IN_NAMES = re.compile(r"[^\w.=-]+")
"""Signs of a case's label that the name of its folder has not."""


def compilers_of(case: Case) -> list[CompilerDump]:
    """Returns what compilers can write of a case."""
    package = package_of(case.target.framework)
    known = package.dumps if package is not None else ()
    return [made for made in known if made.compiles(case.settings.mode)]


def write_dumps(
    workers: Workers, run: Run, dumps: Collection[str], folder: Path, traced_s: float = 0.0
) -> Iterator[str]:
    """Writes the dumps of each case that was measured, in a folder of its own, and yields a line on
    what is missing, and where the others are. A trace has calls of `traced_s` seconds at least."""
    reasons: dict[str, None] = {}
    written = 0
    for record in run.records:
        if record.status is not Status.OK:
            continue
        label = NOT_IN_NAMES.sub("-", record.case.label)
        own = (folder / f"{label}-{record.id}").resolve()
        own.mkdir(parents=True, exist_ok=True)
        found = [*_dump(workers, record.case, dumps, own, traced_s)]
        reasons.update(dict.fromkeys(filter(None, found)))
        if any(own.rglob("*")):
            written += 1
        else:
            own.rmdir()
    yield from reasons
    yield from _lacking([record.case for record in run.records], dumps)
    if written:
        yield f"dumps of {written} of {pluralize(len(run.records), 'case')} are in {folder}"


def _lacking(cases: Collection[Case], dumps: Collection[str]) -> Iterator[str]:
    """Yields a line on each dump that no case's compiler writes, unless all were asked for."""
    for dump in dumps if not set(INSIDES) <= set(dumps) else ():
        made = (compiler.dump for case in cases for compiler in compilers_of(case))
        if dump not in (TRACE, RESULTS, *made):
            yield f"no {dump}: no case has a compiler that writes it"


def _dump(
    workers: Workers, case: Case, dumps: Collection[str], folder: Path, traced_s: float
) -> Iterator[str]:
    compilers = [compiler for compiler in compilers_of(case) if compiler.dump in dumps]
    variables: dict[str, str] = {}
    for compiler in compilers:
        inside = folder / compiler.dump
        inside.mkdir(exist_ok=True)
        for name, text in compiler.variables.items():
            own = case.settings.env.get(name, "")
            variables[name] = text.format(own=own, folder=inside).strip()
    if variables:
        settings = msgspec.structs.replace(
            case.settings,
            env={**case.settings.env, **variables},
            # What is in a cache is not compiled, and not written.
            compile_cache="cold",
            warmup=0,
            runs=1,
            memory=False,
        )
        yield _once(workers, msgspec.structs.replace(case, settings=settings))
    if TRACE in dumps:
        yield _trace(workers, case, folder / "trace.json", traced_s)
    if RESULTS in dumps:
        yield _results(workers, case, folder / RESULTS)


@contextmanager
def _new_worker(workers: Workers, case: Case) -> Iterator[Worker]:
    workers.close()
    try:
        yield workers.of(case.target.framework, case.settings)
    finally:
        workers.close()


def _once(workers: Workers, case: Case) -> str:
    with _new_worker(workers, case) as worker:
        record = worker.measure(case)
    return "" if record.status is Status.OK else f"no dump of {case.label}: {record.reason}"


def _trace(workers: Workers, case: Case, file: Path, traced_s: float) -> str:
    try:
        with _new_worker(workers, case) as worker:
            failed = worker.trace((case,), str(file), "", traced_s)
    except OpperfError as error:
        return f"no trace: {one_line(str(error))}"
    return "".join(f"no trace of {case.label}: {reason}" for reason in failed.values())


def _results(workers: Workers, case: Case, folder: Path) -> str:
    folder.mkdir(exist_ok=True)
    try:
        with part_folder(folder.parent) as fresh, _new_worker(workers, case) as worker:
            observed = worker.observe(case, fresh)
            _keep_arrays(observed, fresh, folder)
    except OpperfError as error:
        return f"no results of {case.label}: {one_line(str(error))}"
    return f"no results of {case.label}: {observed.refusal}" if observed.refusal else ""


def _keep_arrays(observed: Observed, written: Path, folder: Path) -> None:
    """Moves files to their places' names, in place of those of an earlier run."""
    taken: Counter[str] = Counter()
    for value in filter(lambda value: value.file, observed.values):
        name = NOT_IN_NAMES.sub("-", value.place).strip("-")
        taken[name] += 1
        # Places that differ by a sign alone have one name.
        number = f"-{taken[name]}" if taken[name] > 1 else ""
        (written / value.file).replace(folder / f"{name}{number}.npy")
