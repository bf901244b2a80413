"""A run as a Markdown page: what it ran on, runtime features, and the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tabulate import tabulate

from opperf.metrics import BACKWARD, FORWARD, TOTAL
from opperf.model import MetricKind, Record, Run, Settings, Status
from opperf.results.figures import by_operator, shown_kb, shown_ms
from opperf.results.outliers import (
    COLUMNS,
    EXPLAINED,
    TEXTS,
    WORST,
    again,
    is_fuzzed,
    outliers,
)
from opperf.results.settings import settings_text, varying
from opperf.results.text import duration, inputs_text

GIB = 2**30

Column = tuple[str, Callable[[Record], str]]

OPERATOR: tuple[Column, ...] = (
    ("Operator", lambda record: record.case.label),
    ("Inputs", lambda record: inputs_text(record.case)),
)

MEASURED: tuple[Column, ...] = (
    ("Max Mem Usage (Storage) (kB)", shown_kb),
    ("Avg Forward Time (ms)", lambda record: shown_ms(record, FORWARD.name, "mean")),
    ("Avg Backward Time (ms)", lambda record: shown_ms(record, BACKWARD.name, "mean")),
)

PERCENTILES: tuple[Column, ...] = (
    ("P50 Time (ms)", lambda record: shown_ms(record, TOTAL.name, "p50")),
    ("P90 Time (ms)", lambda record: shown_ms(record, TOTAL.name, "p90")),
    ("P99 Time (ms)", lambda record: shown_ms(record, TOTAL.name, "p99")),
)
"""Of forward and backward together; what the python profiler gives beside the means."""

SETTINGS: tuple[tuple[str, Callable[[Settings], object]], ...] = (
    ("ctx", lambda settings: settings.device),
    ("dtype", lambda settings: settings.dtype),
    ("Profiler", lambda settings: settings.profiler),
    ("Warm-up", lambda settings: settings.warmup),
    ("Runs", lambda settings: settings.runs),
    ("Cache", lambda settings: settings.cache),
    ("Threads", lambda settings: settings.threads),
    ("Seed", lambda settings: settings.seed),
    ("Precision of medians", lambda settings: settings.precision),
    ("Time limit of a case (s)", lambda settings: settings.max_time_s or "none"),
    ("Timeout (s)", lambda settings: settings.timeout_s),
)

UNMEASURED: tuple[Column, ...] = (
    ("Status", lambda record: record.status.value),
    ("Reason", lambda record: record.reason),
)


def markdown_text(run: Run) -> str:
    """The page."""
    records = by_operator(run.records)
    measured = [record for record in records if record.status is Status.OK]
    others = [record for record in records if record.status is not Status.OK]
    percentiles = any(record.time_kind is MetricKind.WALL for record in measured)
    operator = OPERATOR + _settings_columns(records)
    columns = operator + MEASURED + (PERCENTILES if percentiles else ())
    sections = [
        ("# Operator benchmarks", _bullets(environment_facts(run))),
        ("## Runtime Features", features_text(run.environment.features)),
        ("## Results", _table(measured, columns, len(operator))),
    ]
    if is_fuzzed(run):
        sections.append(("## Out of line", _out_of_line(run)))
    unmeasured = operator + UNMEASURED
    if others:
        sections.append(("## Not measured", _table(others, unmeasured, len(unmeasured))))
    if run.header.excluded:
        rows = sorted(run.header.excluded.items())
        sections.append(("## No benchmark", grid(("Operator", "Reason"), rows, 2)))
    return "\n\n".join(f"{title}\n\n{body}" for title, body in sections) + "\n"


def _settings_columns(records: Sequence[Record]) -> tuple[Column, ...]:
    """The settings in which the records differ, if they do."""
    names = varying(records)
    return (("Settings", lambda record: settings_text(record.case, names)),) if names else ()


def _out_of_line(run: Run) -> str:
    """The shapes furthest above the line of their operator."""
    found = outliers(run.records)[:WORST]
    if not found:
        return "Too few shapes of any operator for a line."
    rows = [[cell(outlier) for _, cell in COLUMNS] for outlier in found]
    table = grid([title for title, _ in COLUMNS], rows, TEXTS)
    commands = [f"    {again(command, run, found[0].record)}" for command in ("run", "show")]
    return "\n".join((EXPLAINED, "", table, "", "The first one again:", "", *commands))


def environment_facts(run: Run) -> list[tuple[str, str]]:
    """What a reader needs in order to trust or distrust the numbers, as label and text."""
    header, environment = run.header, run.environment
    versions = [f"{name} {version}" for name, version in environment.versions.items()]
    facts = [
        ("opperf", environment.opperf),
        ("Framework", environment.framework),
        ("Versions", ", ".join(versions)),
        ("Python", environment.python),
        ("Platform", environment.platform),
        ("Commit", environment.commit),
        ("CPU", f"{environment.cpu}, {environment.cores} cores"),
        ("Caches", ", ".join(f"{k} {v}" for k, v in environment.caches.items())),
        ("GPUs", "; ".join(" ".join(gpu.values()) for gpu in environment.gpus)),
        ("Memory", f"{environment.memory_bytes / GIB:.1f} GiB"),
        ("Thread settings", ", ".join(f"{k}={v}" for k, v in environment.threads.items())),
        ("Governor", environment.governor),
        ("Load at the start", f"{environment.load_1min:.2f}"),
        ("Health", ", ".join(f"{k.replace('_', ' ')}: {v}" for k, v in environment.health.items())),
        ("Allocator", environment.allocator),
        ("Devices", ", ".join(environment.devices)),
        *_settings_facts(run.records),
        *((name.capitalize().replace("_", " "), value) for name, value in flat(header.options)),
        *((f"Label {key}", text) for key, text in header.labels.items()),
        ("Date", header.started),
    ]
    if run.closing is not None:
        facts.append(("Time taken", duration(run.closing.elapsed_s)))
    return [(label, text) for label, text in facts if text]


def _settings_facts(records: Sequence[Record]) -> list[tuple[str, str]]:
    """How the cases were run, every value in use where they differ."""
    facts = []
    for label, value in SETTINGS:
        used = dict.fromkeys(value(record.case.settings) for record in records)
        facts.append((label, ", ".join(str(one) for one in used if one is not None)))
    return facts


def flat(options: dict[str, Any]) -> list[tuple[str, str]]:
    """Options that have a value, those of a nested group beside the others.

    A group of settings is left out: the settings in use are told from the records.
    """
    found: list[tuple[str, str]] = []
    for name, value in options.items():
        if isinstance(value, dict):
            if name != "settings":
                found += flat(value)
        elif value not in (None, "", [], ()):
            text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            found.append((name, text))
    return found


def features_text(features: dict[str, bool]) -> str:
    """Build features as a list."""
    if not features:
        return "The framework does not tell."
    return _bullets([(name, "on" if on else "off") for name, on in sorted(features.items())])


def _bullets(facts: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"- {_escaped(label)}: {_escaped(text)}" for label, text in facts)


def _table(records: Sequence[Record], columns: Sequence[Column], text_columns: int) -> str:
    if not records:
        return "Nothing was measured."
    rows = [[cell(record) for _, cell in columns] for record in records]
    return grid([title for title, _ in columns], rows, text_columns)


def grid(titles: Sequence[str], rows: Iterable[Sequence[str]], text_columns: int = 4) -> str:
    """A table whose columns after the first few hold numbers, aligned to the right."""
    table: str = tabulate(
        [[_escaped(cell) for cell in row] for row in rows],
        headers=titles,
        tablefmt="pipe",
        disable_numparse=True,
        colalign=["left" if i < text_columns else "right" for i in range(len(titles))],
    )
    return table


def _escaped(text: str) -> str:
    """Text that stays in its cell: no newline, no bar, no backslash that eats the escape."""
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").split())
