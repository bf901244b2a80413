"""Series run by run, as a report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from opperf.history.reports.values import commit_date, figure_at, sha_text
from opperf.history.store.reading import Failure, StoredEnvironment
from opperf.history.store.rows import Project
from opperf.history.timelines import History, Timeline
from opperf.reports.model import Report, Section, Table, figures, numbers, texts, words

COMMAND = "history show"

COLUMNS = (
    *("series", "operator", "inputs", "metric", "environment", "run", "commit", "date", "branch"),
    *("dirty", "median", "low", "high", "unit"),
)


def show_report(
    history: History,
    project: Project,
    environments: Mapping[str, StoredEnvironment],
    failures: Iterable[Failure] = (),
) -> Report:
    """Returns every figure of some series; of a case that failed since, with its reason."""
    rows = [row for line in history.timelines for row in _rows(history, line)]
    at = {run.id: sha_text(run.commit.sha) for run in history.runs}
    failed = [
        f"{at[line.run]}: {line.status}: {line.reason}" for line in failures if line.run in at
    ]
    return Report(
        command=COMMAND,
        title=f"Series of {project.name}",
        sections=[
            *(_section(history, line, environments) for line in history.timelines),
            *([Section(title="Without a figure", items=failed)] if failed else []),
        ],
        data={
            "project": project.name,
            "figures": [dict(zip(COLUMNS, row, strict=True)) for row in rows],
            "commands": {
                line.id: line.facts.command for line in history.timelines if line.facts.command
            },
        },
        header=COLUMNS,
        rows=rows,
    )


def _rows(history: History, line: Timeline) -> Iterator[tuple[object, ...]]:
    for place, number in enumerate(line.run.tolist()):
        run = history.runs[number]
        low, high = float(line.low[place]), float(line.high[place])
        yield (
            *(line.id, line.facts.name, line.facts.inputs, line.key.metric, line.key.environment),
            *(run.identity, run.commit.sha, commit_date(run.commit, run.started), run.branch),
            *(run.is_dirty, float(line.median[place])),
            *(value if value == value else None for value in (low, high)),
            line.facts.unit,
        )


def _section(
    history: History, line: Timeline, environments: Mapping[str, StoredEnvironment]
) -> Section:
    runs = [history.runs[number] for number in line.run.tolist()]
    values = [figure_at(line, place) for place in range(len(runs))]
    changes = [
        f"{100 * (after.value / before.value - 1):+.1f} %" if before.value else ""
        for before, after in zip(values, values[1:], strict=False)
    ]
    table = Table(
        (
            words("Commit", [sha_text(run.commit.sha) for run in runs], is_whole=True),
            words("Date", [commit_date(run.commit, run.started) for run in runs], is_whole=True),
            words("Branch", [run.branch + (", dirty" if run.is_dirty else "") for run in runs]),
            figures("Median", values, line.facts.unit),
            numbers("Change", ["", *changes]),
            texts("Subject", [run.commit.subject for run in runs]),
        )
    )
    inputs = f" ({line.facts.inputs})" if line.facts.inputs else ""
    known = environments.get(line.key.environment)
    machine = known.label if known and known.label else line.key.environment
    settings = f"; {line.facts.settings}" if line.facts.settings else ""
    return Section(
        title=f"#{line.id} {line.facts.name}{inputs}: {line.key.metric}",
        prose=[f"On {machine}{settings}."],
        table=table,
        commands=[(line.facts.command, "measures it again")] if line.facts.command else [],
    )
