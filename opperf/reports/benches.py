"""Reports on benches of suite files: their table, what they lack, and the values of one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from opperf.environments.building import installed
from opperf.environments.specification import EnvironmentSpec
from opperf.plurals import pluralize
from opperf.reports.fields import GENERAL, LABEL, TEXT, WORD, Field, rows_of, table_of
from opperf.reports.model import Report, Section
from opperf.results.projection import group
from opperf.suites.bench import Bench, Plan
from opperf.suites.resolving import Suite
from opperf.suites.system import obstacles


def enabled_text(suite: Suite) -> str:
    """Returns how many benches a suite has, and how many of them are enabled."""
    enabled = sum(bench.enabled for bench in suite.benches)
    return f"{pluralize(len(suite.benches), 'bench')}, {enabled} enabled"


def notes_of(suite: Suite) -> list[str]:
    """Returns what there is to know of a suite, and why benches cannot run on its system."""
    unmet = [
        (reason, bench.name) for bench in suite.benches for reason in obstacles(bench, suite.system)
    ]
    return [*suite.notes, *_by_text(unmet)]


def lacking_of(suite: Suite) -> list[str]:
    """Returns which scripts and files of benches are not there."""
    return _by_text((problem, name) for name, problem in suite.problems.items())


def _by_text(found: Iterable[tuple[str, str]]) -> list[str]:
    """Returns each text once, with the benches that it is about."""
    texts, names = zip(*pairs, strict=True) if (pairs := list(found)) else ((), ())
    return [f"{text} ({', '.join(own)})" for text, own in group(names, texts).items()]


def _bench_row(bench: Bench, suite: Suite) -> dict[str, Any]:
    """Returns a bench as JSON has it: its fields, also those at their defaults, and why it cannot
    run on this system."""
    # A suite's paths of values are many, and `show` has them.
    found = _whole(msgspec.structs.replace(bench, locations={}))
    del found["locations"]
    return {**found, "obstacles": obstacles(bench, suite.system)}


def _whole(value: Any) -> Any:
    """Returns a value with all fields of structures, which JSON omits at their defaults."""
    if isinstance(value, msgspec.Struct):
        return {field: _whole(getattr(value, field)) for field in value.__struct_fields__}
    return value


def _plan(bench: Bench) -> str:
    """Returns how many processes a bench has, and on how many machines."""
    if bench.workload != "script":
        return ""
    plan = bench.plan
    processes = f"njobs {plan.n}" if plan.method == "njobs" else plan.method
    return f"{processes} x {bench.num_machines}" if bench.num_machines > 1 else processes


def _short(word: str) -> str:
    """Returns the last part of a path, and any other word as it is."""
    return Path(word).name if word.startswith("/") else word


COLUMNS: tuple[Field[Bench], ...] = (
    Field("name", "Bench", LABEL, lambda bench: bench.name),
    Field(
        "enabled",
        "Enabled",
        LABEL,
        lambda bench: bench.enabled,
        lambda bench: "yes" if bench.enabled else "no",
    ),
    Field("weight", "Weight", GENERAL, lambda bench: bench.weight),
    Field(
        "runs",
        "Runs",
        WORD,
        lambda bench: f"{bench.workload}: {', '.join(map(_short, bench.content))}",
        extra=1,
    ),
    Field("plan", "Plan", LABEL, _plan, extra=1, is_optional=True),
    Field("group", "Group", LABEL, lambda bench: bench.group, is_optional=True),
    Field("tags", "Tags", TEXT, lambda bench: bench.tags, is_optional=True),
    Field(
        "matrix",
        "Matrix",
        WORD,
        lambda bench: ", ".join(f"{key}={value}" for key, value in bench.point.items()),
        is_optional=True,
    ),
)


def report_of(suite: Suite) -> Report:
    """Returns the benches of a suite."""
    benches = suite.benches
    return Report(
        "suite list",
        "",
        (Section(table=table_of(COLUMNS, benches)), Section(prose=[enabled_text(suite)])),
        [_bench_row(bench, suite) for bench in benches],
        *rows_of(COLUMNS, benches),
    )


def _described(bench: Bench) -> str:
    what = "a script" if bench.workload == "script" else bench.workload
    if bench.workload != "script":
        return what
    processes = {
        "njobs": pluralize(bench.plan.n, "process") + (" at once" if bench.plan.n > 1 else ""),
        "per_gpu": "a process for each GPU",
        "per_core": "a process for each core",
    }[bench.plan.method]
    machines = f" on {pluralize(bench.num_machines, 'machine')}" if bench.num_machines > 1 else ""
    return f"{what}, {processes}{machines}"


def _remarks_on(bench: Bench, suite: Suite, environment: EnvironmentSpec) -> Iterator[str]:
    if not environment.is_own:
        here = "" if installed(environment) else "; opperf suite install installs it"
        yield f"in an environment with {environment.text}{here}"
    if not bench.enabled:
        yield f"not enabled: a run has it if it is named, --select {bench.name}"
    for reason in obstacles(bench, suite.system):
        yield f"not run on this system: {reason}"
    if bench.name in suite.problems:
        yield f"problem: {suite.problems[bench.name]}"


FIELDS = (
    *("content", "argv", "client_argv", "server", "server_argv", "plan", "num_machines"),
    *("max_duration_s", "voir", "observe", "settings", "group", "tags", "enabled", "weight"),
    *("requires_capabilities", "usage", "env", "dirs", "point", "others"),
)
"""Fields of a bench that are shown as values, in this order."""

KEYS = {
    "client_argv": "client.argv",
    "server_argv": "server.argv",
    "max_duration_s": "max_duration",
    "usage": "validation",
    "point": "matrix",
}
"""Keys in a file of fields that have another name."""


NESTED = {"settings": True, "point": True, "others": False}
"""Fields that have a row for each key, and whether the rows have the field's key, too."""

ALWAYS = ("content", "group", "enabled", "weight")
"""Fields that are shown also where no file has them."""


class _BenchValue(NamedTuple):
    key: str
    value: str
    place: str


VALUE_FIELDS: tuple[Field[_BenchValue], ...] = (
    Field("key", "Key", LABEL, lambda row: row.key),
    Field("value", "Value", TEXT, lambda row: row.value),
    Field("from", "From", WORD, lambda row: row.place),
)


def bench_report(
    suite: Suite, bench: Bench, environment: EnvironmentSpec, commands: Sequence[str]
) -> Report:
    """Returns what a bench runs, as commands to paste, and its values."""
    rows = [_BenchValue(*row) for row in _rows(bench)]
    sources = {path: str(at) for path, at in bench.locations.items()}
    return Report(
        "suite show",
        "",
        (
            Section(prose=[f"{bench.name}: {_described(bench)}"], code=commands),
            Section(prose=list(_remarks_on(bench, suite, environment))),
            Section(table=table_of(VALUE_FIELDS, rows, is_ranked=True)),
        ),
        {**_bench_row(bench, suite), "commands": commands, "locations": sources},
        *rows_of(VALUE_FIELDS, rows),
    )


def _rows(bench: Bench) -> Iterator[tuple[str, str, str]]:
    for field in FIELDS:
        value = getattr(bench, field)
        key = _content_key(bench) if field == "content" else KEYS.get(field, field)
        if field in NESTED:
            for name, inner in value.items():
                path = f"{key}.{name}" if NESTED[field] else name
                if path in bench.locations or field == "point":
                    yield path, _text(inner), _sources(bench, path)
        elif field in ALWAYS or _sources(bench, key):
            yield key, _text(value), _sources(bench, key)


def _content_key(bench: Bench) -> str:
    return "definition" if bench.workload == "script" else bench.workload


def _sources(bench: Bench, key: str) -> str:
    """Returns the files and lines that a key's values are from."""
    own = bench.locations.get(key)
    inner = [at for path, at in bench.locations.items() if path.startswith(f"{key}.")]
    lines: dict[str, set[int]] = {}
    for at in inner or ([own] if own else []):
        lines.setdefault(at.file, set()).add(at.line)
    return ", ".join(f"{file}{_lines(numbers)}" for file, numbers in lines.items())


def _lines(numbers: set[int]) -> str:
    first, last = min(numbers), max(numbers)
    if not last:
        # The command line, or a variable of the environment.
        return ""
    return f":{first}" if first == last else f":{first}-{last}"


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return " ".join(map(str, value))
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Plan) and value.method != "njobs":
        return value.method
    if isinstance(value, msgspec.Struct):
        given = {key: one for key, one in msgspec.structs.asdict(value).items() if one}
        return ", ".join(f"{key} {_text(one)}" for key, one in given.items())
    return json.dumps(value) if isinstance(value, dict) else str(value)
