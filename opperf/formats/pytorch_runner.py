"""Tables of PyTorch's own runner of models (`benchmarks/dynamo`): a row for each model, compiled
and, by its speed-up, eager. Read as records, and written from them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from opperf.errors import RunFileError
from opperf.formats.model_records import TESTS, ModelRecord, is_number
from opperf.results.columns import rows_text

COLUMNS = (
    "dev",
    "name",
    "batch_size",
    "speedup",
    "abs_latency",
    "compilation_latency",
    "compression_ratio",
    "eager_peak_mem",
    "dynamo_peak_mem",
)
"""Columns of a table of performance; the runner has counts of graphs after them. Latencies are in
milliseconds, that of the compilation in seconds, memory is in GB."""

NEEDED = ("dev", "name", "batch_size")
"""Columns without which a table is another one; its first line begins with them."""

MS = 1e3

NAME = re.compile(
    r"(?P<backend>.+?)_(?P<suite>torchbench|huggingface|timm_models|timm)"
    r"_(?P<dtype>\w+?)_(?P<test>training|inference)_.*"
)
"""How the runner's scripts name a table:
`inductor_huggingface_amp_training_cuda_performance.csv`."""

SCRIPTS = {"timm": "timm_models"}
"""Names of the runner's scripts, where they are not the suites'."""

VERIFIED = {
    "pass": "PASS",
    "pass_due_to_skip": "VERIFIER_SKIPPED",
    "fail_accuracy": "FAIL",
    "eager_1st_run_fail": "EAGER_FAILED",
    "eager_2nd_run_fail": "EAGER_FAILED",
    "eager_two_runs_differ": "NONDETERMINISTIC_EAGER_RUN",
    "eager_fail_to_run": "EAGER_FAILED",
    "model_fail_to_load": "EAGER_FAILED",
}
"""Words of its column `accuracy`, each with its code of verification; other words are errors."""

NOTHING = ("", "nan")
"""Cells without a value."""


class Named(NamedTuple):
    """Facts about all rows of a table that its name says."""

    backend: str = "inductor"
    suite: str = ""
    dtype: str = ""
    test: str = "inference"


def name_of(path: Path) -> Named | None:
    """Returns what a file's name says; None if it is not one of the runner's."""
    found = NAME.fullmatch(path.stem)
    return Named(**found.groupdict()) if found else None


def is_runner_csv(content: bytes) -> bool:
    """Whether a file begins as a table of the runner."""
    first = content.split(b"\n", 1)[0].decode("utf-8-sig", "replace")
    return first.strip().split(",")[: len(NEEDED)] == list(NEEDED)


def numbered_rows(path: Path, text: str) -> Iterator[tuple[str, list[str]]]:
    """Yields the rows of a table, each with its file and line. Raises `RunFileError`."""
    reader = csv.reader(io.StringIO(text))
    try:
        for cells in reader:
            yield f"{path}:{reader.line_num}", cells
    except csv.Error as error:
        raise RunFileError(f"{path}:{reader.line_num}: it is no CSV: {error}") from error


def read_rows(path: Path, content: bytes, warnings: list[str]) -> Iterator[ModelRecord]:
    """Yields the records of each row: of the backend, and of eager where there is a speed-up. Adds
    a line to `warnings` for a row that is cut off. Raises `RunFileError` for a wrong value."""
    named = name_of(path)
    if named is None:
        named = Named()
        warnings.append(
            f"{path}: its name is not BACKEND_SUITE_DTYPE_TEST_..., so its rows are taken for "
            "inductor, inference"
        )
    rows = numbered_rows(path, content.decode("utf-8-sig", "replace"))
    _, header = next(rows)
    for place, cells in rows:
        if cells == header or not cells:
            # The runner repeats the header where it appends to a file.
            continue
        if len(cells) != len(header):
            warnings.append(
                f"{place}: the row has {len(cells)} of {len(header)} cells, and is omitted"
            )
            continue
        row = dict(zip(header, cells, strict=True))
        yield from _records(row, named, place)


def _records(row: Mapping[str, str], named: Named, place: str) -> Iterator[ModelRecord]:
    numbers = {
        key: value
        for key in row
        if key not in ("dev", "name", "accuracy")
        and (value := _number(row[key], key, place)) is not None
    }
    size = numbers.pop("batch_size", None)
    latency, speedup = numbers.get("abs_latency"), numbers.get("speedup")
    # A model that failed has a row of zeros.
    works = bool(latency and speedup) if "speedup" in row else "accuracy" in row
    common: dict[str, Any] = {
        "suite_name": named.suite,
        "model_name": row["name"],
        "accelerator": row["dev"],
        "accelerator_model": row["dev"],
        "test": TESTS[named.test],
        "batch_size": None if size is None else int(size),
        "place": place,
    }
    metrics: dict[str, Any] = dict(numbers)
    verified, error = _verified(row.get("accuracy", ""))
    if works and latency and speedup:
        eager = {"mean_total_time": speedup * latency / MS}
        if "eager_peak_mem" in numbers:
            eager["peak_mem"] = numbers["eager_peak_mem"]
        yield ModelRecord(metrics=eager, **common)
        metrics["mean_total_time"] = latency / MS
    elif not works:
        error = error or "no speed-up: the model failed"
    if error is not None:
        metrics["error"] = error
    yield ModelRecord(
        metrics=metrics,
        dynamo=named.backend,
        verification_code=verified,
        command=_command(row, named),
        **common,
    )


def _number(text: str, key: str, place: str) -> float | None:
    if text.strip().lower() in NOTHING:
        return None
    try:
        value = float(text)
    except ValueError:
        if key in (*COLUMNS, "batch_size"):
            raise RunFileError(f"{place}: {key} is {text[:40]!r}, and not a number") from None
        # Columns that later versions add may be texts.
        return None
    if key in COLUMNS and value < 0:
        raise RunFileError(f"{place}: {key} is {text[:40]}, and none is below zero")
    return value if is_number(value) else None


def _verified(word: str) -> tuple[str | None, str | None]:
    if not word:
        return None, None
    return VERIFIED.get(word), None if word in VERIFIED else word


def _command(row: Mapping[str, str], named: Named) -> str | None:
    if not named.suite:
        return None
    script = SCRIPTS.get(named.suite, named.suite)
    kind = "accuracy" if "accuracy" in row else "performance"
    words = [
        f"python benchmarks/dynamo/{script}.py --{kind} --backend {named.backend}",
        f"--{named.test} --{named.dtype} --device {row['dev']} --only {row['name']}",
    ]
    return " ".join(words)


LOST = (
    *("accelerator_model", "xla_flags", "enable_functionalization", "repeat"),
    *("iterations_per_run", "outputs_file", "timestamp", "verification_code"),
    *("verification_mean_rel_error", "verification_max_rel_error", "command", "others"),
)
"""Fields of a record that are not read again of what was written: a row has no place for them."""


def runner_csv_text(records: Iterable[ModelRecord]) -> str:
    """Returns the table of some records: a row for each that is compiled, with its speed-up over
    the eager one of the same run. A figure that is not known is an empty cell, and a model that
    failed has a speed-up of 0, which is how the runner writes it."""
    listed = list(records)
    eager = {_key(record): record for record in listed if record.backend == "eager"}
    compiled = (record for record in listed if record.backend != "eager")
    return rows_text([COLUMNS, *(_cells(each, eager.get(_key(each))) for each in compiled)])


def _key(record: ModelRecord) -> tuple[Any, ...]:
    return (
        record.timestamp,
        record.suite_name,
        record.model_name,
        record.accelerator,
        record.accelerator_model,
        record.test,
        record.batch_size,
    )


def _cells(record: ModelRecord, eager: ModelRecord | None) -> list[Any]:
    own = record.time("exec")
    base = None if eager is None else eager.time("exec")
    compilation = record.time("compile")
    peak = _metric(record, "dynamo_peak_mem", "peak_mem")
    eager_peak = _metric(record, "eager_peak_mem")
    if eager_peak is None and eager is not None:
        eager_peak = _metric(eager, "peak_mem")
    # A wrong result is no faster.
    is_compared = not record.is_wrong and not (eager is not None and eager.is_wrong)
    speedup = base.value / own.value if own and base and is_compared else None
    return [
        record.accelerator,
        record.model_name,
        record.batch_size,
        0.0 if record.error is not None else speedup,
        0.0 if record.error is not None else own and own.value * MS,
        compilation and compilation.value,
        eager_peak / peak if eager_peak and peak else None,
        eager_peak,
        peak,
    ]


def _metric(record: ModelRecord, *names: str) -> float | None:
    for name in names:
        value = record.metrics.get(name)
        if isinstance(value, (int, float)):
            return float(value)
    return None
