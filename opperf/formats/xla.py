"""The JSON lines of PyTorch/XLA's benchmarks, which hold records of models: read, older keys too,
and written."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

import msgspec

from opperf.decoding import EqualKeysError, are_distinct, read_json
from opperf.errors import RunFileError
from opperf.formats.measured_models import models_of
from opperf.formats.model_records import LARGEST, ModelRecord
from opperf.model import Run

TEXT, NUMBER, INTEGER = (str,), (int, float), (int,)

MODEL: Mapping[str, tuple[type, ...]] = {"suite_name": TEXT, "model_name": TEXT}

EXPERIMENT: Mapping[str, tuple[type, ...]] = {
    "accelerator": TEXT,
    "accelerator_model": TEXT,
    "xla": TEXT,
    "xla_flags": (str, list),
    "dynamo": TEXT,
    "torch_xla2": TEXT,
    "test": TEXT,
    "enable_functionalization": (bool,),
    "batch_size": INTEGER,
    "outputs_file": TEXT,
}

TOP: Mapping[str, tuple[type, ...]] = {
    "repeat": INTEGER,
    "iterations_per_run": INTEGER,
    "metrics": (dict,),
    "outputs_file": TEXT,
    "timestamp": NUMBER,
    "verification_code": TEXT,
    "verification_mean_rel_error": NUMBER,
    "verification_max_rel_error": NUMBER,
    "command": TEXT,
}

FIELDS = {"model": MODEL, "": TOP, "experiment": EXPERIMENT}
"""Types of the keys, by the object that has them; null is none of any. What two have is that of
the last."""


def _struct(name: str, fields: Mapping[str, tuple[type, ...]], **objects: type) -> type:
    keys = {key: reduce(or_, kinds) | None for key, kinds in fields.items()}
    return msgspec.defstruct(
        name,
        # A record without one of its objects is none.
        [
            *objects.items(),
            *((key, kind, None) for key, kind in keys.items() if key not in objects),
        ],
        forbid_unknown_fields=True,
    )


LINE: msgspec.json.Decoder[Any] = msgspec.json.Decoder(
    _struct(
        "Line",
        TOP,
        model=_struct("Model", MODEL),
        experiment=_struct("Experiment", EXPERIMENT),
        metrics=dict[str, Any],
    )
)
"""Reads a usual record several times as fast as `record_of`, which takes all others."""

NAMES = {
    str: "text",
    float: "a number",
    int: "an integer",
    bool: "true or false",
    dict: "an object",
    list: "a list",
}

NEEDED = ("model", "experiment", "metrics")
"""Objects without which a line is no record of this form."""

START = b'{"model"'
"""How a record begins; after a crash the next one follows a part of the last on its line."""


def read_lines(path: Path, lines: Iterable[bytes]) -> Iterator[tuple[ModelRecord | None, str]]:
    """Yields the records of JSON lines, each with a warning; of a line that is cut off, the warning
    alone. Raises `RunFileError` for an object that is no record."""
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text:
            continue
        place = f"{path}:{number}"
        record = _usual_record(text, place)
        if record is not None:
            yield record, ""
            continue
        try:
            value, warning = _decode(text)
        except EqualKeysError as error:
            raise RunFileError(f"{place}: {error}") from error
        record = None if value is None else record_of(value, place)
        yield record, f"{place}: {warning}" if warning else ""


def _usual_record(text: bytes, place: str) -> ModelRecord | None:
    if not are_distinct(text):
        return None
    try:
        line = LINE.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    values = {
        key: value
        for owner, fields in ((line.model, MODEL), (line, TOP), (line.experiment, EXPERIMENT))
        for key in fields
        if (value := getattr(owner, key)) is not None
    }
    at, metrics = line.timestamp, line.metrics
    if line.model.model_name is None or (at is not None and not in_range(at)):
        return None
    if any(key in metrics for key in VERIFICATION) or _impossible_time(metrics):
        return None
    return ModelRecord(**{"suite_name": "", **values}, place=place)


def _decode(text: bytes) -> tuple[Any, str]:
    value = _value(text)
    if value is not None:
        return value, ""
    start = text.rfind(START)
    if start > 0:
        value = _value(text[start:])
        if value is not None:
            return value, "the record before the last on this line is cut off, and omitted"
    return None, "the line is cut off or no JSON, and omitted"


def _value(text: bytes) -> Any:
    try:
        # Python also writes NaN and Infinity, which JSON lacks.
        return read_json(text)
    except EqualKeysError:
        raise
    except ValueError:
        return None


TIMES = ("total_time", "per_iter_time", "mean_total_time")
"""Metrics that are measured times, of which none is below zero."""


def _impossible_time(metrics: Mapping[str, Any]) -> str:
    """Returns the key path of a time that cannot be; empty without one."""
    for key in TIMES:
        value = metrics.get(key)
        times: list[Any] = value if isinstance(value, list) else [value]
        for time in times:
            if type(time) not in (int, float):
                continue
            if time < 0:
                return f"metrics.{key} has {_shown(time)}, and no time is below zero"
            if 0 < time < 1 / LARGEST or LARGEST <= time < math.inf:
                return f"metrics.{key} has {_shown(time)}, and no time takes so many seconds"
    return ""


def record_of(value: Any, place: str) -> ModelRecord:
    """Returns the record of a line's value. Raises `RunFileError` if it is none, with `place`."""
    if not isinstance(value, dict) or any(not isinstance(value.get(key), dict) for key in NEEDED):
        raise RunFileError(f"{place}: {_what(value)}")
    found: dict[str, Any] = {}
    others: dict[str, dict[str, Any]] = {}
    for name, fields in FIELDS.items():
        owner = value[name] if name else value
        for key, one in owner.items():
            kinds = fields.get(key)
            if kinds is None:
                if name or key not in NEEDED:
                    others.setdefault(name, {})[key] = one
            elif type(one) in kinds:
                found[key] = one
            elif one is not None:
                raise RunFileError(_wrong(one, kinds, f"{name}.{key}".lstrip("."), place))
    at = found.get("timestamp")
    if at is not None and not in_range(at):
        raise RunFileError(_wrong(at, NUMBER, "timestamp", place))
    metrics = found["metrics"]
    refused = _impossible_time(metrics)
    if refused:
        raise RunFileError(f"{place}: {refused}; correct or remove the record")
    for key in VERIFICATION:
        one = metrics.get(key)
        if type(one) in TOP[key]:
            # There they were once written.
            found.setdefault(key, one)
    if "model_name" not in found:
        raise RunFileError(f"{place}: the record has no model.model_name; correct or remove it")
    found.setdefault("suite_name", "")
    return ModelRecord(**found, others=others, place=place)


def _what(value: Any) -> str:
    if not isinstance(value, dict):
        return "this is no record of a model: it is no JSON object; remove the line"
    missing = ", ".join(key for key in NEEDED if not isinstance(value.get(key), dict))
    has = ", ".join(list(value)[:6]) or "none"
    return (
        f"this is no record of PyTorch/XLA's benchmarks: it has no object {missing}; its keys are "
        f"{has}. Name files with records of one form only"
    )


def _wrong(value: Any, kinds: tuple[type, ...], key: str, place: str) -> str:
    wanted = " or ".join(NAMES[kind] for kind in kinds if kind is not int or float not in kinds)
    return f"{place}: {key} is {_shown(value)}, and not {wanted}"


def _shown(value: Any) -> str:
    return json.dumps(value)[:40]


VERIFICATION = ("verification_code", "verification_mean_rel_error", "verification_max_rel_error")


def in_range(seconds: float) -> bool:
    """Whether a time is one that a calendar has."""
    # 9999-12-31, the last day of Python's.
    return math.isfinite(seconds) and 0 <= seconds < 253402300800


def line_of(record: ModelRecord) -> str:
    """Returns a record as a line of JSON that PyTorch/XLA's tools read, without its end."""
    others = record.others
    value: dict[str, Any] = {
        "model": {key: getattr(record, key) for key in MODEL} | dict(others.get("model", {})),
        "experiment": {
            key: getattr(record, key)
            for key in EXPERIMENT
            # The record has it too, as the runner writes it, and here it is where the analyzer
            # reads it.
            if key != "outputs_file" or record.outputs_file is not None
        }
        | dict(others.get("experiment", {})),
    }
    value |= {key: one for key in TOP if (one := getattr(record, key)) is not None or key in ALWAYS}
    return json.dumps(value | dict(others.get("", {})))


ALWAYS = ("repeat", "iterations_per_run", "metrics", "outputs_file", "timestamp")
"""Keys of a record that tools look up without a default."""


def xla_text(run: Run, columns: Sequence[str] = ()) -> str:
    """Returns a run as the JSON lines of PyTorch/XLA's benchmarks."""
    lines = (line_of(record) for record in models_of(run, Path("results.jsonl")))
    return "".join(f"{line}\n" for line in lines)


RUNNER = "python xla/benchmarks/experiment_runner.py"
"""PyTorch/XLA's, from the folder that holds its checkout, as its documentation has it."""

OUTPUT = ("--no-resume", "--output-basename", "repeated.jsonl")
"""The runner omits what its file has, also what failed, and --no-resume deletes the file: thus
another one."""


def command_of(record: ModelRecord) -> str:
    """Returns the command: the record's own, or that of PyTorch/XLA's runner."""
    if record.command is not None:
        return record.command
    options = [
        ("--suite-name", record.suite_name or None),
        ("--filter", f"^{re.escape(record.model_name)}$"),
        ("--accelerator", record.accelerator or None),
        ("--xla", record.xla or "None"),
        ("--dynamo", record.dynamo or "None"),
        ("--torch-xla2", record.torch_xla2),
        ("--test", record.test),
        ("--batch-size", record.batch_size),
        ("--repeat", record.repeat),
        ("--iterations-per-run", record.iterations_per_run),
    ]
    words = [f"{name}={value}" for name, value in options if value is not None]
    flags = record.xla_flags
    if flags:
        words += [f"--xla-flags={flag}" for flag in ([flags] if isinstance(flags, str) else flags)]
    if record.enable_functionalization:
        words.append("--enable-functionalization")
    return f"{RUNNER} {shlex.join([*words, *OUTPUT])}"
