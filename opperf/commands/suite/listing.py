"""Resolves suite files for commands, and prints their benches and what they lack."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from opperf.errors import FOUND
from opperf.plurals import pluralize
from opperf.results.messages import tell
from opperf.results.terminal import Column, table_text
from opperf.results.text import terminal_width
from opperf.suites.bench import Bench
from opperf.suites.capabilities import obstacles
from opperf.suites.resolving import Options, Suite, resolve, suite_file
from opperf.suites.system import Machine


def resolved(options: Mapping[str, Any], machine: Machine | None = None) -> Suite:
    """Returns the suite of a command's files and options on a machine, by default this one. Raises
    as `resolve`."""
    return resolve(
        [suite_file(str(path)) for path in options["files"]],
        Options(
            select=tuple(options["select"] or ()),
            exclude=tuple(options["exclude"] or ()),
            overrides=options["overrides"],
            capabilities=options["capabilities"],
            system=options["system"],
            base=options["base"],
            variables=dict(os.environ),
        ),
        machine,
    )


def check_command(options: Mapping[str, Any]) -> int:
    """Prints what a suite has and what it lacks on this machine; the exit code."""
    suite = resolved(options)
    for path in suite.files:
        print(path)
    enabled = sum(bench.enabled for bench in suite.benches)
    print(
        f"{pluralize(len(suite.benches), 'bench')}, {enabled} enabled, "
        f"{pluralize(len(suite.templates), 'template')}"
    )
    unmet = [
        (reason, bench.name) for bench in suite.benches for reason in obstacles(bench, suite.system)
    ]
    notes = [*suite.notes, *_by_text(unmet)]
    lacking = _by_text((problem, name) for name, problem in suite.problems.items())
    for kind, texts in (("note", notes), ("problem", lacking)):
        for text in texts:
            tell(f"{kind}: {text}", sys.stdout)
    return FOUND if lacking else 0


def _by_text(found: Iterable[tuple[str, str]]) -> list[str]:
    """Returns each text once, with the benches that it is about."""
    benches: dict[str, list[str]] = {}
    for text, name in found:
        benches.setdefault(text, []).append(name)
    return [f"{text} ({', '.join(names)})" for text, names in benches.items()]


def list_command(options: Mapping[str, Any], in_json: bool) -> int:
    """Prints the benches of a suite, as a table or as JSON; the exit code."""
    suite = resolved(options)
    if in_json:
        rows = [bench_row(bench, suite) for bench in suite.benches]
        print(msgspec.json.format(msgspec.json.encode(rows), indent=2).decode())
        return 0
    if suite.benches:
        print(table_text(_columns(suite.benches), terminal_width()))
        print()
    enabled = sum(bench.enabled for bench in suite.benches)
    print(f"{pluralize(len(suite.benches), 'bench')}, {enabled} enabled")
    return 0


def bench_row(bench: Bench, suite: Suite) -> dict[str, Any]:
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


CELLS: dict[str, Callable[[Bench], str]] = {
    "Bench": lambda bench: bench.name,
    "Enabled": lambda bench: "yes" if bench.enabled else "no",
    "Weight": lambda bench: f"{bench.weight:g}",
    "Runs": lambda bench: f"{bench.workload}: {', '.join(map(_short, bench.content))}",
    "Plan": _plan,
    "Group": lambda bench: bench.group,
    "Tags": lambda bench: ", ".join(bench.tags),
    "Matrix": lambda bench: ", ".join(f"{key}={value}" for key, value in bench.point.items()),
}
"""Columns of the table; those that are empty for all benches are not shown."""


def _short(word: str) -> str:
    """Returns the last part of a path, and any other word as it is."""
    return Path(word).name if word.startswith("/") else word


def _columns(benches: Sequence[Bench]) -> list[Column]:
    return [
        Column(
            title,
            cells,
            is_text=title != "Weight",
            extra=int(title in ("Runs", "Plan")),
            wraps=title == "Tags",
            is_whole=title not in ("Runs", "Tags", "Matrix"),
        )
        for title, read in CELLS.items()
        if any(cells := [read(bench) for bench in benches])
    ]
