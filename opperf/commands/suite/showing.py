"""Prints a bench: what it runs, and where its values are from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from opperf.commands.suite.listing import bench_row, resolved
from opperf.environments.building import installed
from opperf.environments.specification import EnvironmentSpec
from opperf.errors import UsageError, suggest
from opperf.plurals import pluralize
from opperf.results.terminal import Column, table_text
from opperf.results.text import terminal_width, wrap
from opperf.suites.bench import Bench, Plan
from opperf.suites.capabilities import obstacles
from opperf.suites.environments import suite_environments
from opperf.suites.pasting import commands_of
from opperf.suites.resolving import Suite


def show_command(options: Mapping[str, Any], name: str, in_json: bool) -> int:
    """Prints a bench of a suite, or JSON; the exit code. Raises `UsageError` if there is none of
    this name."""
    suite = resolved(options)
    bench = find_bench(suite, name)
    environment = suite_environments(suite, [name])[name]
    commands = commands_of(bench, suite.system, environment)
    if in_json:
        sources = {path: str(at) for path, at in bench.locations.items()}
        row = {**bench_row(bench, suite), "commands": commands, "locations": sources}
        print(msgspec.json.format(msgspec.json.encode(row), indent=2).decode())
        return 0
    print(f"{bench.name}: {_described(bench)}\n")
    # Not wrapped: what a shell reads is pasted as it is.
    print("\n".join(f"  {command}" for command in commands))
    remarks = list(_remarks(bench, suite, environment))
    if remarks:
        width = terminal_width()
        print()
        for text in remarks:
            print(text if width is None else wrap(text, width))
    print()
    print(table_text(_values(bench), terminal_width()))
    return 0


def find_bench(suite: Suite, name: str) -> Bench:
    """Returns the bench of a name. Raises `UsageError`, with near names, if there is none."""
    for bench in suite.benches:
        if bench.name == name:
            return bench
    if name in suite.templates:
        raise UsageError(f"{name} is a template, from which benches inherit")
    names = [bench.name for bench in suite.benches]
    raise UsageError(f"no bench is called {name}{suggest(name, names)}; suite list has all")


def _described(bench: Bench) -> str:
    """Returns what runs, and in how many processes."""
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


def _remarks(bench: Bench, suite: Suite, environment: EnvironmentSpec) -> Iterator[str]:
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


def _values(bench: Bench) -> list[Column]:
    """Returns the table of a bench's values, each with the place that it is from."""
    rows = list(_rows(bench))
    titles = ("Key", "Value", "From")
    return [
        Column(title, [row[index] for row in rows], wraps=title == "Value", is_whole=title == "Key")
        for index, title in enumerate(titles)
    ]


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
