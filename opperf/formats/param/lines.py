"""Results as PARAM's compute benchmarks write them, and the cases in such files: lines of JSON for
the run, for each case, and for the end. Times are in ms, memory is in MiB."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from opperf import model
from opperf.decoding import JsonObject, read_json
from opperf.errors import UsageError, one_line
from opperf.formats.param.arguments import device_name, written_argument
from opperf.instruments.memory import MEMORY, MEMORY_FORWARD
from opperf.instruments.times import BACKWARD, FORWARD
from opperf.instruments.wrapped.programs import METRICS as WRAPPED
from opperf.model.cases import SEPARATOR
from opperf.reading import READ_WHOLE, read_text

NS_PER_MS = 1e6
MIB = 2**20

LOST = ("settings", "passes", "origin", "why", "category", "tags", "count")
"""Fields of a case that are not read again of what was written: no line has a place for them."""


def param_text(run: model.Run, names: Sequence[str] = ()) -> str:
    """Returns the lines of a run."""
    return "".join(f"{json.dumps(line)}\n" for line in _lines(run))


def _lines(run: model.Run) -> Iterator[dict[str, Any]]:
    yield {"run_options": _options(run), "sys_info": _system(run), "start_time": run.header.started}
    for record in run.records:
        yield _record(record)
    yield from _profiles(run.records)
    if run.closing is not None:
        yield {"finish_time": run.closing.finished}


def _profiles(records: Sequence[model.Record]) -> Iterator[dict[str, Any]]:
    """Yields a line for each file of a program that cases were profiled under, with the ids of its
    first and last case."""
    found: dict[tuple[str, str], list[str]] = {}
    for record in records:
        for program, file in record.profiles.items():
            found.setdefault((program, file), []).append(case_line(record.case)["id"])
    for (program, file), ids in found.items():
        key = f"{program.replace(' ', '_')}_file"
        yield {key: file, "start_run_id": ids[0], "end_run_id": ids[-1]}


def _options(run: model.Run) -> dict[str, Any]:
    if not run.cases:
        return {}
    settings = run.cases[0].settings
    return {
        "device": device_name(settings.device),
        "pass_type": next(
            (BACKWARD.name for case in run.cases if BACKWARD.name in case.passes), FORWARD.name
        ),
        "warmup": settings.warmup,
        "iteration": settings.runs,
        "cuda_l2_cache": settings.cache == "hot",
        "time_unit": "millisecond",
        "profiler": settings.profiler,
        "command": run.header.options.get("command", ""),
    }


def _system(run: model.Run) -> dict[str, Any]:
    one = run.environment
    if one is None:
        return {}
    return {
        "hostname": one.hostname,
        "python_version": one.python,
        "cuda_available": bool(one.gpus),
        **{f"{name}_version": version for name, version in one.versions.items()},
        **({"pytorch_version": one.versions["torch"]} if "torch" in one.versions else {}),
        "opperf_version": one.opperf,
        "cpu": one.cpu,
        "gpus": list(one.gpus),
    }


def case_line(case: model.Case) -> dict[str, Any]:
    """Returns the line of a case that is not measured."""
    name, _, place = case.source_id.partition(SEPARATOR)
    return {
        "op_name": name or _operator_name(case),
        "id": place or case.id,
        "metric": {},
        "config": {"build": _build(case), "input": _spec(case.arguments)},
    }


def _record(record: model.Record) -> dict[str, Any]:
    line = case_line(record.case)
    if record.status is model.Status.OK:
        return {**line, "metric": _metric(record)}
    return {**line, "status": record.status.value, "reason": record.reason}


def _metric(record: model.Record) -> dict[str, dict[str, list[float]]]:
    peaks = {FORWARD.name: MEMORY_FORWARD.name, BACKWARD.name: MEMORY.name}
    is_gpu = not record.case.settings.device.startswith("cpu")
    found: dict[str, dict[str, list[float]]] = {}
    for name in model.PASSES:
        if name not in record.samples:
            continue
        peak = record.summaries.get(peaks[name]) if is_gpu else None
        found[name] = {
            "warmup.time": [ns / NS_PER_MS for ns in record.warmup.get(name, [])],
            "warmup.gpu.memory": [],
            "measure.time": [sample / NS_PER_MS for sample in record.samples[name]],
            "measure.gpu.memory": [] if peak is None else [peak.median / MIB],
            **_profiled(record, name),
        }
    return found


def _profiled(record: model.Record, name: model.Pass) -> dict[str, list[float]]:
    return {
        f"measure.{metric.forward or metric.name}": record.samples[metric.name]
        for metric in WRAPPED
        if metric.name in record.samples and bool(metric.forward) == (name == BACKWARD.name)
    }


def _operator_name(case: model.Case) -> str:
    match case.target:
        case model.OperatorTarget(framework="torch", name=name):
            return name if "::" in name else f"aten::{name}"
        case model.CallableTarget(path=path) | model.ObjectTarget(path=path):
            return path
    return case.label


def _build(case: model.Case) -> dict[str, Any] | None:
    match case.target:
        case model.ObjectTarget(arguments=arguments):
            return _spec(arguments)
        case model.OperatorTarget(framework="torch", overload=overload):
            end = "" if overload in ("", "default") else f".{overload}"
            return {"args": [written_argument(f"{_operator_name(case)}{end}")], "kwargs": {}}
    return None


def _spec(arguments: Mapping[str, model.Argument]) -> dict[str, Any]:
    unnamed, named = model.split_positional(arguments)
    return {
        "args": [written_argument(argument) for argument in unnamed],
        "kwargs": {name: written_argument(one) for name, one in named.items()},
    }


class CaseLine(NamedTuple):
    """The case of a line, as a configuration has it."""

    place: str
    """File and line."""
    operator: str
    id: str
    """Its own; empty if it has none."""
    entry: Mapping[str, Any]
    """The operator's entry in a configuration with this case alone."""


def read_lines(path: Path) -> Iterator[CaseLine | UsageError]:
    """Yields the case of each line that has one, and the error of each that is wrong; of equal
    lines, which a file has that was appended to, the first."""
    try:
        lines = read_text(path, READ_WHOLE).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {one_line(str(error))}") from None
    seen = set()
    for number, text in enumerate(lines, 1):
        place = f"{path}: line {number}"
        try:
            line = read_json(text)
        except json.JSONDecodeError as error:
            yield UsageError(f"{place}: not JSON, {error.msg.lower()}; is it truncated?")
            continue
        except ValueError as error:
            yield UsageError(f"{place}: {error}")
            continue
        if not isinstance(line, dict) or "op_name" not in line:
            continue
        key = json.dumps([line.get(name) for name in ("op_name", "id", "config")])
        if key not in seen:
            seen.add(key)
            yield _case_line(line, place)


def _case_line(line: JsonObject, place: str) -> CaseLine | UsageError:
    name, config, own = line["op_name"], line.get("config"), line.get("id")
    if not isinstance(name, str) or not isinstance(config, dict):
        return UsageError(f"{place}: expected `op_name`, a text, and `config`, an object")
    for at, time in _times(line.get("metric")):
        if type(time) not in (int, float) or time < 0:
            return UsageError(f"{place}: metric.{at} has {time!r}, and no time is below zero")
    build = config.get("build")
    entry = {"config": [{"input": [config.get("input")], **({"build": [build]} if build else {})}]}
    return CaseLine(place, name, own if isinstance(own, str) else "", entry)


def _times(metric: Any) -> Iterator[tuple[str, Any]]:
    for name, found in (metric if isinstance(metric, dict) else {}).items():
        for key, listed in (found if isinstance(found, dict) else {}).items():
            if key.endswith(".time") and isinstance(listed, list):
                yield from ((f"{name}.{key}", time) for time in listed)
