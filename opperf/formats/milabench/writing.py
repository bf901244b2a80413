"""Writes a run as a folder of milabench's layout: a stream `<tags>.data` for each process, with its
events as they came, or, where there is no file of them any more, with what the record has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from opperf.errors import RunFileError
from opperf.formats.milabench import streams as events
from opperf.formats.milabench.reading import DATA
from opperf.formats.milabench.streams import Event, encode_event, read_stream
from opperf.instruments.program_metrics import RATE
from opperf.model import (
    BenchFacts,
    Case,
    Environment,
    ProcessResult,
    Record,
    Run,
    ScriptTarget,
    Status,
)
from opperf.results.benches import benches_of


def files_of(run: Run, streams: Path | None) -> dict[str, bytes]:
    """Returns the streams by name. A record of what is no program is in none. Raises `RunFileError`
    for a run without programs."""
    benches = {id: bench for bench in benches_of(run) for id in bench.cases}
    files: dict[str, bytes] = {}
    attempts: Counter[tuple[str, ...]] = Counter()
    for record in run.records:
        target, bench = record.case.target, benches.get(record.id)
        if not isinstance(target, ScriptTarget) or bench is None:
            continue
        environment = run.environments.get(record.environment)
        for result in record.processes:
            # Of several records, or rounds of one.
            own = [bench.name, *filter(None, [result.node]), result.name]
            repeat = attempts[tuple(own)]
            attempts[tuple(own)] += 1
            tags = [*own, *([f"R{repeat}"] if repeat else [])]
            config = _config(bench, record.case, result, tags, run)
            path = streams / result.stream if streams is not None and result.stream else None
            stored = read_stream(path).events if path is not None and path.is_file() else None
            written = _completed(stored, config, environment) if stored else None
            lines = written or list(_recorded(config, record, result, environment, run))
            name = ".".join(tags).replace("/", "_")
            files[f"{name}{DATA}"] = b"".join(map(encode_event, lines))
            files |= {f"{name}.{pipe}": text for pipe, text in _printed(lines)}
    if not files:
        raise RunFileError("the run has no program, and milabench's layout has a file for each")
    return files


def _printed(lines: Sequence[Event]) -> Iterator[tuple[str, bytes]]:
    for pipe in ("stdout", "stderr"):
        texts = [
            str(event.data) for event in lines if event.event == events.LINE and event.pipe == pipe
        ]
        if texts:
            yield (
                pipe,
                "".join(text if text.endswith("\n") else f"{text}\n" for text in texts).encode(),
            )


def _config(
    bench: BenchFacts, case: Case, result: ProcessResult, tags: Sequence[str], run: Run
) -> dict[str, Any]:
    target = case.target
    assert isinstance(target, ScriptTarget)
    device = result.device
    usage = {"gpu_load_threshold": bench.gpu_load, "gpu_mem_threshold": bench.gpu_memory}
    return {
        "name": bench.name,
        "group": bench.group or bench.name,
        "tag": list(tags),
        "tags": list(bench.tags),
        "enabled": bench.enabled,
        "weight": bench.weight,
        "run_name": run.header.id or run.header.started,
        "definition": str(Path(target.script).parent),
        "script": target.script,
        "observe": list(target.observe),
        "plan": {"method": target.method, "n": target.processes},
        "num_machines": target.nodes,
        "argv": list(target.argv),
        "voir": {"options": {"stop": target.stop, "skip": target.skip}},
        "validation": {
            "usage": {name: value for name, value in usage.items() if value is not None}
        },
        "devices": [device] if device else [str(number) for number in range(bench.gpus)],
        **({"device": int(device) if device.isdecimal() else device} if device else {}),
    }


def _completed(
    stored: Sequence[Event], config: Mapping[str, Any], environment: Environment | None
) -> list[Event]:
    """Returns the events, the first of which has all that milabench needs, and one of versions."""
    own = next((event.data for event in stored if event.event == events.CONFIG), None)
    merged = {**(own if isinstance(own, dict) else {}), **config}
    rest = [event for event in stored if event.event != events.CONFIG]
    has_meta = any(event.event == events.META for event in rest)
    return [Event(events.CONFIG, merged), *([] if has_meta else [_meta(environment)]), *rest]


def _meta(environment: Environment | None) -> Event:
    if environment is None:
        return Event(events.META, {}, "data")
    return Event(
        events.META,
        {
            "cpu": {"brand": environment.cpu, "count": environment.cores},
            "os": {"machine": environment.hostname, "platform": environment.platform},
            "accelerators": {
                "gpus": {
                    str(number): {"product": gpu.get("model", "")}
                    for number, gpu in enumerate(environment.gpus)
                }
            },
            "versions": environment.versions,
            "opperf": environment.opperf,
        },
        "data",
    )


def _recorded(
    config: Mapping[str, Any],
    record: Record,
    result: ProcessResult,
    environment: Environment | None,
    run: Run,
) -> Iterator[Event]:
    target = record.case.target
    assert isinstance(target, ScriptTarget)
    command = [target.script, *target.argv]
    begun = datetime.fromisoformat(run.header.started).timestamp()
    yield Event(events.CONFIG, dict(config))
    yield _meta(environment)
    yield Event(events.START, {"command": command, "time": begun})
    for loss in result.losses:
        yield Event(events.DATA, {"task": "train", "loss": loss}, "data")
    if result.rate is not None:
        own = record.samples.get(RATE.name, []) if len(record.processes) == 1 else []
        # Of several processes the record has a median each.
        for rate in own or [result.rate.median]:
            data = {"task": "train", "rate": rate, "units": result.rate.unit}
            yield Event(events.DATA, data, "data")
        made = result.warmup + result.rate.n
        progress = {"task": "early_stop", "progress": [made, target.stop]}
        yield Event(events.DATA, progress, "data")
    if result.stopped:
        yield Event(events.STOP, None, "data")
    if result.reason:
        yield Event(events.ERROR, {"type": result.status.value, "message": result.reason}, "data")
    if result.status is Status.TIMEOUT:
        yield Event(events.MESSAGE, {"message": f"timeout: {result.reason}"}, "data")
    code = 0 if result.status is Status.OK else result.exit_code or 1
    yield Event(
        events.END, {"command": command, "time": begun + record.wall_s, "return_code": code}
    )
