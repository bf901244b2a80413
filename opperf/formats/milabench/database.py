"""Milabench's runs in a database of SQLite: `execs`, whose benchmarks are `packs`, one for each
process, with the `metrics` that these reported."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from urllib.parse import quote

from msgspec import field

from opperf.errors import RunFileError, one_line
from opperf.formats.documents import as_form, parse, read_seconds, wrong
from opperf.formats.figures import (
    Benchmark,
    ForeignFile,
    Given,
    Intake,
    figure,
    outcome,
    point_of_samples,
)
from opperf.formats.milabench.streams import mapping, warmup_of
from opperf.formats.model import Entry, Point, Submission
from opperf.instruments.program_metrics import RATE
from opperf.model import Struct
from opperf.reading import check_database

SOURCE = "milabench"

TABLES = {"execs", "packs", "metrics"}

SUCCEEDED = ("done", "early_stop")
"""States of a process that did all that was wanted."""

RATES = "SELECT value FROM metrics WHERE pack_id = ? AND name = 'rate' ORDER BY _id"
CODES = "SELECT value FROM metrics WHERE pack_id = ? AND name = 'return_code'"


class Options(Struct, frozen=True):
    """How many observations are wanted, and how many of the first are not."""

    stop: int | None = 0
    skip: int | None = 0


class Voir(Struct, frozen=True):
    """The configuration of what observes a process."""

    options: Options = Options()


class Config(Struct, frozen=True):
    """The configuration of a process."""

    group: str | None = None
    voir: Voir = Voir()


class ExecRow(Struct, frozen=True):
    """A run in a database, of whose columns SQLite does not see to the types."""

    id: int = field(name="_id")
    name: str | None = None
    created_time: float | str | None = None
    meta: str | None = None


class PackRow(Struct, frozen=True):
    """A process in a database; early ones have no `status`."""

    id: int = field(name="_id")
    name: str
    config: str | None = None
    status: str | None = None


class Pack(NamedTuple):
    """A process of a benchmark."""

    name: str
    config: Config
    failure: str
    """The reason why it failed; empty if it did not."""
    rates: tuple[float, ...]
    """Those after the warm-up."""


def recognise_path(path: Path) -> bool:
    """Whether a file is a database of milabench's."""
    try:
        check_database(path)
        with closing(_open(path)) as database:
            found = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            return {name for (name,) in found} >= TABLES
    except (OSError, sqlite3.Error):
        return False


def read(path: Path, given: Given) -> Intake:
    """Returns the runs of a database, at the commit that the user states. Raises `RunFileError`."""
    file = ForeignFile(SOURCE, path, given, [])
    try:
        with closing(_open(path)) as database:
            rows = database.execute("SELECT * FROM execs ORDER BY _id").fetchall()
            return file.intake(
                [_run(database, as_form(dict(row), ExecRow, path, "execs"), file) for row in rows]
            )
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise RunFileError(
            f"{path} is no database of milabench's: {one_line(str(error))}"
        ) from error


def _open(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)
    database.row_factory = sqlite3.Row
    return database


def _run(database: sqlite3.Connection, row: ExecRow, file: ForeignFile) -> Submission:
    path, commit = file.path, file.commit()
    at = f"execs[{row.id}]"
    machine = file.machine(facts_of(_object(row.meta, path, f"{at}.meta")))
    created = row.created_time
    packs: dict[str, list[Pack]] = {}
    query = "SELECT * FROM packs WHERE exec_id = ? ORDER BY _id"
    for found in database.execute(query, (row.id,)).fetchall():
        pack = _pack(database, as_form(dict(found), PackRow, path, "packs"), path)
        packs.setdefault(pack.name, []).append(pack)
    entries: list[Entry] = []
    for name, members in packs.items():
        benchmark = Benchmark(name, category=members[0].config.group or name)
        failure = next((pack.failure for pack in members if pack.failure), "")
        if failure:
            entries.append(outcome(benchmark, machine, "failed", failure))
        elif all(pack.rates for pack in members):
            point = _rate(members)
            entries.append(
                figure(benchmark, RATE.name, RATE.unit, machine, point, RATE.lower_is_better)
            )
    return file.run(
        [commit.sha, row.name, created],
        commit,
        read_seconds(created, path, f"{at}.created_time"),
        entries,
        [machine],
    )


def facts_of(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the facts of a machine by milabench's own description of it."""
    cpu, torch = (mapping(meta.get(name)) for name in ("cpu", "pytorch"))
    gpus = mapping(mapping(meta.get("accelerators")).get("gpus"))
    models = [str(mapping(gpu).get("product") or "") for gpu in gpus.values()]
    return {
        "cpu": str(cpu.get("brand") or ""),
        "cores": cpu.get("count"),
        "gpus": [{"model": model} for model in models],
        "versions": {"torch": str(torch["torch"])} if torch.get("torch") else {},
    }


def _object(text: str | None, path: Path, at: str) -> Mapping[str, Any]:
    value = parse(text.encode(), path) if text else {}
    return as_form(value or {}, dict[str, Any], path, at)


def _pack(database: sqlite3.Connection, row: PackRow, path: Path) -> Pack:
    at = f"packs[{row.id}]"
    config = as_form(_object(row.config, path, f"{at}.config"), Config, path, f"{at}.config")
    options = config.voir.options
    reported = _numbers(database.execute(RATES, (row.id,)), path, f"{at}.rate")
    if reported and min(reported) < 0:
        raise wrong(path, f"{at}.rate", f"{min(reported):g} is below zero, as no rate is")
    rates = tuple(rate for rate in reported if rate > 0)
    warmup = warmup_of(rates, options.skip or 0)
    return Pack(
        row.name,
        config,
        _failure(row, _numbers(database.execute(CODES, (row.id,)), path, f"{at}.return_code"))
        or ("none of its rates is above 0" if reported and not rates else ""),
        rates[warmup:][: options.stop or None],
    )


def _numbers(rows: Iterable[sqlite3.Row], path: Path, at: str) -> list[float]:
    values = as_form([value for (value,) in rows], list[float | None], path, at)
    return [value for value in values if value is not None and math.isfinite(value)]


def _failure(row: PackRow, codes: Iterable[float]) -> str:
    if row.status and row.status not in SUCCEEDED:
        return f"its status is {row.status}"
    code = next((code for code in codes if code), 0.0)
    return f"exit code {code:.0f}" if code and row.status != "early_stop" else ""


def _rate(packs: Sequence[Pack]) -> Point:
    """Returns the items that all processes handle in a second: of several, the sum of medians."""
    if len(packs) == 1:
        return point_of_samples(packs[0].rates)
    return Point(n=1, median=sum(median(pack.rates) for pack in packs))
