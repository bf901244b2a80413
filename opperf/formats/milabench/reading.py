"""Reads a folder of milabench's layout as a run: a stream for each process, `<tags>.data`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

from opperf.errors import RunFileError
from opperf.formats.documents import MEMORY, Known
from opperf.formats.figures import (
    Benchmark,
    ForeignFile,
    Given,
    Intake,
    Machine,
    figure,
    outcome,
    point_of_samples,
)
from opperf.formats.milabench.database import SOURCE, facts_of
from opperf.formats.milabench.streams import (
    STREAM_MB,
    Observed,
    Stream,
    is_stream,
    mapping,
    observe,
    read_stream,
    warmup_of,
)
from opperf.formats.model import Entry, Point
from opperf.instruments.observations import read_number
from opperf.instruments.profilers.summary import summarise
from opperf.instruments.program_metrics import RATE
from opperf.model import (
    SCHEMA_VERSION,
    BenchFacts,
    Case,
    Header,
    ProcessResult,
    Record,
    Run,
    ScriptTarget,
    Status,
)
from opperf.plurals import pluralize

DATA = ".data"

PRINTED = frozenset({".stdout", ".stderr"})
"""Extensions of the files of a process's output, beside its stream."""

REPEAT = re.compile(r"R(\d+)")
DEVICE = re.compile(r"D(.+)")

USAGE_THRESHOLD = 0.5
"""Milabench's own, of load and of memory, where its files set none."""


class Folder(NamedTuple):
    """A folder, read."""

    run: Run
    streams: Mapping[str, Stream]
    """By the name of their file."""
    warnings: tuple[str, ...]


class _File(NamedTuple):
    """The stream of a process, and what its configuration says of it."""

    stream: Stream
    observed: Observed

    @property
    def bench(self) -> str:
        return str(self.observed.config.get("name") or self.stream.name)

    def number(self, option: str) -> int:
        """Returns an option of voir; 0 without it."""
        options = mapping(mapping(self.observed.config.get("voir")).get("options"))
        return int(read_number(options.get(option)) or 0)

    @property
    def repeat(self) -> int:
        found = (REPEAT.fullmatch(tag) for tag in self.observed.tags[1:])
        return next((int(match[1]) for match in found if match), 0)

    @property
    def process(self) -> str:
        """Tags of the process alone: `0`, `D1`."""
        return ".".join(tag for tag in self.observed.tags[1:] if not REPEAT.fullmatch(tag))


def read_folder(path: Path) -> Folder:
    """Returns the run of a folder, or of a single stream; a file that is no stream is named and
    costs itself. Raises `RunFileError` where there is no stream."""
    files, warnings = _files(path)
    by_bench: dict[str, list[_File]] = {}
    for file in files:
        by_bench.setdefault(file.bench, []).append(file)
    records, benches = [], []
    for name, members in by_bench.items():
        own = [_record(attempt) for attempt in _attempts(members)]
        records += own
        benches.append(_facts(name, members, own))
    begun = min((file.observed.started or 0.0 for file in files), default=0.0)
    header = Header(
        schema=SCHEMA_VERSION,
        started=datetime.fromtimestamp(begun, timezone.utc).isoformat(timespec="seconds"),
        options={"command": f"milabench, {path.name}"},
        benches=tuple(benches),
    )
    run = Run(header, tuple(records), cases=tuple(record.case for record in records))
    return Folder(run, {file.stream.path.name: file.stream for file in files}, tuple(warnings))


def _files(path: Path) -> tuple[list[_File], list[str]]:
    single = not path.is_dir()
    candidates = [path] if single else sorted(file for file in path.iterdir() if file.is_file())
    streams = [file for file in candidates if file.suffix == DATA] or [
        file for file in candidates if file.suffix not in PRINTED and (single or is_stream(file))
    ]
    found, warnings = [], []
    for file in streams:
        stream = read_stream(file)
        observed = observe(stream.events)
        if observed.config:
            found.append(_File(stream, observed))
        else:
            warnings.append(f"{file}: no event says which benchmark it is; ignored")
    if not found:
        said = f"; {warnings[0]}" if warnings else ""
        raise RunFileError(
            f"{path} has no stream of milabench's, NAME.data with an event `config`{said}"
        )
    return found, warnings


def _attempts(files: Iterable[_File]) -> Iterable[Sequence[_File]]:
    by_repeat: dict[int, list[_File]] = {}
    for file in files:
        by_repeat.setdefault(file.repeat, []).append(file)
    return by_repeat.values()


def _facts(name: str, files: Sequence[_File], records: Sequence[Record]) -> BenchFacts:
    config = files[0].observed.config
    usage = mapping(mapping(config.get("validation")).get("usage"))
    return BenchFacts(
        name=name,
        group=str(config.get("group") or name),
        tags=tuple(map(str, config.get("tags") or ())),
        enabled=bool(config.get("enabled", True)),
        weight=read_number(config.get("weight")) or 0.0 if "weight" in config else 1.0,
        cases=tuple(dict.fromkeys(record.id for record in records)),
        expected=files[0].number("stop"),
        processes=_planned(files),
        gpus=len({device for file in files for device in _gpus_of(file)}),
        gpu_load=_threshold(usage, "gpu_load_threshold"),
        gpu_memory=_threshold(usage, "gpu_mem_threshold"),
        config=dict(config),
    )


def _threshold(usage: Mapping[str, Any], name: str) -> float:
    found = read_number(usage.get(name))
    return USAGE_THRESHOLD if found is None else found


def _gpus_of(file: _File) -> Sequence[str]:
    config = file.observed.config
    if config.get("device") is not None:
        return [str(config["device"])]
    return file.observed.devices or sorted({sample.device for sample in file.observed.gpus})


def _planned(files: Sequence[_File]) -> int:
    """Returns how many processes a bench was to have: of a plan that has one on each GPU, as many
    as the machine has, and 0 if no stream says how many."""
    config = files[0].observed.config
    plan = mapping(config.get("plan"))
    if plan.get("method") == "njobs":
        return int(read_number(plan.get("n")) or 1)
    known = {sample.device for file in files for sample in file.observed.gpus}
    accelerators = mapping(mapping(files[0].observed.meta).get("accelerators"))
    return max(len(mapping(accelerators.get("gpus"))), len(known))


def _record(files: Sequence[_File]) -> Record:
    case = _case(files)
    names = [file.process for file in files]
    shared = len(set(names)) < len(names)
    processes = tuple(
        _result(file, file.stream.name if shared else file.process or "0", rank)
        for rank, file in enumerate(files)
    )
    failed = next((process for process in processes if process.status is not Status.OK), None)
    began = [file.observed.started for file in files if file.observed.started is not None]
    ended = [file.observed.ended for file in files if file.observed.ended is not None]
    return Record(
        case=case,
        id=case.id,
        status=failed.status if failed else Status.OK,
        reason=failed.reason if failed else "",
        processes=processes,
        wall_s=max(0.0, max(ended) - min(began)) if began and ended else 0.0,
    )


def _case(files: Sequence[_File]) -> Case:
    first = files[0]
    config = first.observed.config
    plan = mapping(config.get("plan"))
    target = ScriptTarget(
        name=first.bench,
        script=str(config.get("script") or f"{config.get('definition') or first.bench}/main.py"),
        argv=_words(config.get("argv")),
        method=str(plan.get("method") or "per_gpu"),
        processes=_planned(files),
        nodes=int(read_number(config.get("num_machines")) or 1),
        stop=first.number("stop"),
        skip=first.number("skip"),
        # Of streams of opperf.
        observe=_words(config.get("observe")),
    )
    return Case(target, {}, passes=(), origin="milabench", repeat=first.repeat)


def _words(argv: Any) -> tuple[str, ...]:
    if isinstance(argv, list):
        return tuple(map(str, argv))
    words: list[str] = []
    for name, value in mapping(argv).items():
        if value is None or value is False:
            continue
        words.append(str(name))
        if value is not True:
            words.append(",".join(map(str, value)) if isinstance(value, list) else str(value))
    return tuple(words)


def _result(file: _File, name: str, rank: int) -> ProcessResult:
    seen = file.observed
    warmup = warmup_of(seen.rates, file.number("skip"))
    # A program that is not stopped at once makes more than were wanted.
    rates = seen.rates[warmup:][: file.number("stop") or None]
    status, reason = _status(seen)
    device = seen.config.get("device")
    tagged = (DEVICE.fullmatch(tag) for tag in seen.tags[1:])
    return ProcessResult(
        name=name,
        rank=rank,
        device=next((match[1] for match in tagged if match), "" if device is None else str(device)),
        status=status,
        reason=reason,
        exit_code=seen.exit_code,
        stopped=seen.stopped,
        rate=summarise(rates, seen.unit) if rates else None,
        warmup=warmup,
        losses=seen.losses,
        stream=file.stream.path.name,
    )


def _status(seen: Observed) -> tuple[Status, str]:
    said = f": {seen.errors[-1]}" if seen.errors else ""
    if seen.timeout:
        return Status.TIMEOUT, f"timeout: {seen.timeout}"
    if seen.ended is None:
        return Status.CRASHED, f"it never said that it ended{said}"
    if seen.exit_code is None and not seen.stopped:
        return Status.CRASHED, f"it was killed{said}"
    if seen.exit_code and not seen.stopped:
        return Status.FAILED, f"exit code {seen.exit_code}{said}"
    return Status.OK, ""


def recognise_path(path: Path) -> bool:
    """Whether a folder is of streams, or a file is one."""
    if path.is_dir():
        return any(file.suffix == DATA for file in path.iterdir())
    return path.is_file() and is_stream(path)


def read(path: Path, given: Given) -> Intake:
    """Returns the run of a folder, at the commit that the user states: the commit in its streams is
    milabench's own. Raises `RunFileError`."""
    file = ForeignFile(SOURCE, path, given, [])
    commit, folder = file.commit(), read_folder(path)
    seen = {name: observe(stream.events) for name, stream in folder.streams.items()}
    file.warnings.extend(folder.warnings)
    for stream in folder.streams.values():
        file.warnings.extend(stream.faults)
    machine = file.machine(
        facts_of(next(filter(None, (stream.meta for stream in seen.values())), {}))
    )
    header = folder.run.header
    names = sorted(bench.name for bench in header.benches)
    submission = file.run(
        [commit.sha, machine.key, header.started, names],
        commit,
        datetime.fromisoformat(header.started).timestamp(),
        _entries(folder.run, seen, machine),
        [machine],
        command=str(header.options.get("command", "")),
    )
    return file.intake([submission])


def _entries(run: Run, seen: Mapping[str, Observed], machine: Machine) -> Iterator[Entry]:
    for bench in run.header.benches:
        benchmark = Benchmark(bench.name, category=bench.group)
        attempts = [record for record in run.records if record.id in bench.cases]
        failures = (_failure(record, bench.processes) for record in attempts)
        failure = next(filter(None, failures), "" if attempts else "it did not run")
        if failure:
            yield outcome(benchmark, machine, "failed", failure)
            continue
        rate = _rate(attempts, seen)
        # Some benchmarks say no rates, and are none the worse for it.
        if rate.n:
            yield figure(benchmark, RATE.name, RATE.unit, machine, rate, RATE.lower_is_better)
        used = [
            sample.used_mb
            for record in attempts
            for process in record.processes
            for sample in seen[process.stream].gpus
            if sample.used_mb
        ]
        if used:
            point = Point(n=len(used), median=max(used))
            yield figure(benchmark, "gpu_memory", Known(MEMORY, STREAM_MB), machine, point)


def _failure(record: Record, planned: int) -> str:
    target = record.case.target
    if record.status is not Status.OK:
        word, reason = record.status.value, record.reason
        return reason if reason.startswith(word) else f"{word}: {reason}"
    missing = planned - len(record.processes)
    counts = isinstance(target, ScriptTarget) and target.method == "njobs"
    return f"{missing} of {pluralize(planned, 'process')} missing" if counts and missing > 0 else ""


def _rate(attempts: Sequence[Record], seen: Mapping[str, Observed]) -> Point:
    if all(len(record.processes) == 1 for record in attempts):
        return point_of_samples(
            [
                rate
                for record in attempts
                for process in record.processes
                if process.rate
                for rate in seen[process.stream].rates[process.warmup :][: process.rate.n]
            ]
        )
    return point_of_samples(
        [
            sum(process.rate.median for process in record.processes if process.rate)
            for record in attempts
        ]
    )
