"""A bisection as a report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from opperf.comparison.compared import interval_text, ratio_text, tone_of
from opperf.comparison.explaining.reports.difference_report import change_text, share_text
from opperf.errors import one_line
from opperf.history.bisection.results import BUILDS, Bisection, Figure, Other, Step
from opperf.plurals import pluralize
from opperf.reports.fields import LABEL, NAME, NUMBER, TEXT, WORD, Field, table_of
from opperf.reports.model import Cell, Report, Section
from opperf.repository import Commit
from opperf.results.text import duration
from opperf.shares import share_text as percent
from opperf.statistics.data import Verdict

COLUMNS = (
    *("step", "commit", "ratio", "low", "high", "verdict", "blocks", "seconds", "subject"),
    "reason",
)


def report_for(found: Bisection, folder: Path) -> Report:
    """Returns the report of a bisection, whose sessions are in `folder`."""
    good, bad = found.state.commits[0], found.state.commits[-1]
    return Report(
        command="bisect",
        title=f"Bisection of {good.short} to {bad.short}",
        sections=[
            Section(prose=list(_prose(found)), commands=list(_commands(found, folder))),
            *_confirmed(found),
            *_functions(found),
            *_steps(found),
            *_others(found),
            *_skipped(found),
        ],
        data=_data(found, folder),
        header=COLUMNS,
        rows=[list(_row(found, number, step)) for number, step in enumerate(found.state.steps)],
    )


def _prose(found: Bisection) -> Iterator[str]:
    end = found.end
    if end is None:
        good, bad = found.state.commits[0], found.state.commits[-1]
        notes = "; ".join(found.notes)
        if any(figure.fails for figure in found.ends):
            yield f"BAD, {bad}, fails where GOOD, {good}, does not: {notes}."
        else:
            verb = "is not shown to differ" if found.is_open else "does not differ"
            yield f"BAD, {bad}, {verb} from GOOD, {good}: {notes}."
        return
    yield _answer(found)
    yield _change(end, found.loss)
    yield _cost(found)
    for place in found.misfits:
        yield (
            f"{found.state.commits[place]} is at neither level: more than one commit may have "
            "changed the figure."
        )
    seen = (step.seen(end) for step in found.state.steps)
    if any(figure is not None and not figure.blocks for figure in seen):
        yield (
            "Steps of no block were decided by single calls; what a first call does once is a part "
            "of their ratios."
        )
    for note in found.notes:
        yield f"{note[0].upper()}{note[1:]}."


def _change(end: Figure, loss: tuple[float, float, float] | None) -> str:
    if end.metric == BUILDS:
        return f"From there on a commit {end.note}."
    if loss is None:
        case = f"{end.operator} ({end.inputs})"
        return f"GOOD runs {case}, and from there on it does not run: {end.note}."
    ratio, low, high = loss
    return (
        f"From there on {end.operator} {end.metric} takes {ratio:.3f} times as much (90 % interval "
        f"{low:.3f} to {high:.3f}), by all steps together; BAD against GOOD {end.ratio:.3f}."
    )


def _answer(found: Bisection) -> str:
    commits = found.candidates
    share = percent(math.floor(1000 * found.probability) / 1000)
    if found.outcome == "found":
        commit = commits[0]
        return (
            f"{commit.sha} changed it, with a probability of {share}: {commit.subject!r}, by "
            f"{commit.author}, {commit.date}."
        )
    why = (
        "the others cannot be measured"
        if found.outcome == "range"
        else "no further step would tell, or --steps allows none"
    )
    return (
        f"One of {pluralize(len(commits), 'commit')}, {commits[0]} to {commits[-1]}, changed it, "
        f"with a probability of {share}; {why}."
    )


def _cost(found: Bisection) -> str:
    state = found.state
    seconds = math.fsum(step.seconds for step in state.steps)
    skipped = f", {len(state.skipped)} of them skipped" if state.skipped else ""
    # Of a resumed bisection, those of this call.
    made = f", {pluralize(found.builds, 'build')} made" if found.builds else ""
    return (
        f"{pluralize(state.last, 'commit')} after GOOD{skipped}; "
        f"{pluralize(len(state.steps), 'step')} in {duration(seconds)}{made}."
    )


def _commands(found: Bisection, folder: Path) -> Iterator[tuple[str, str]]:
    if found.outcome == "found":
        yield "The change", f"git -C {found.state.repository} show {found.candidates[0].short}"
    if found.functions is not None and found.end is not None:
        file = next(name for name in found.state.confirmed if name.endswith("-counts.jsonl"))
        yield "All functions", f"opperf explain {folder / file} {found.end.operator}"
    if found.outcome in ("same", "inconclusive"):
        last = next((step.file for step in reversed(found.state.steps) if step.file), "")
        if last:
            yield "The last step", f"opperf compare --from-ab {folder / last}"


def _confirmed(found: Bisection) -> Iterator[Section]:
    if not found.confirmed or found.before is None:
        return
    before, after = found.state.commits[found.before], found.state.commits[found.last]
    figures = found.confirmed
    yield Section(
        title=f"{after.short} against {before.short}, the commit before it that can be measured"
        if found.last - found.before > 1
        else f"{after.short} against {before.short}, the commit before it",
        table=table_of(FIGURES, figures),
        below=list(_agreement(figures)),
    )


def _ratio(figure: Figure | None) -> str:
    return "" if figure is None else ratio_text(figure.ratio)


def _interval(figure: Figure | None) -> str:
    return "" if figure is None else interval_text(figure.low, figure.high)


def _verdict(figure: Figure) -> Cell:
    text = one_line(figure.shown) if figure.fails else figure.verdict.value
    return Cell(text, tone_of(figure.verdict))


FIGURES: tuple[Field[Figure], ...] = (
    Field("", "Operator", NAME, lambda figure: figure.operator),
    Field("", "Metric", LABEL, lambda figure: figure.metric),
    Field("", "Ratio", NUMBER, _ratio),
    Field("", "90 % interval", NUMBER, _interval),
    Field("", "Verdict", LABEL, lambda figure: figure.verdict.value, _verdict),
    Field("", "Inputs", TEXT, lambda figure: figure.inputs),
)


AGREEMENT = {
    (True, True): "Time and instructions show the change.",
    (
        True,
        False,
    ): "Time shows a change that instructions do not: look for caches, branches, memory "
    "and the order of code.",
    (False, True): "Instructions show a change that time does not.",
    (False, False): "Neither time nor instructions show a change between these two alone.",
}
"""Sentences, by whether time and instructions changed."""


def _agreement(figures: Sequence[Figure]) -> Iterator[str]:
    changed: dict[bool, bool] = {}
    for figure in figures:
        is_count = figure.low == figure.high
        is_changed = figure.verdict in (Verdict.REGRESSED, Verdict.IMPROVED)
        changed[is_count] = changed.get(is_count, False) or is_changed
    if len(changed) > 1:
        yield AGREEMENT[changed[False], changed[True]]


def _functions(found: Bisection) -> Iterator[Section]:
    data = found.functions
    if data is None:
        return
    rows = data["functions"]
    yield Section(
        title="Functions whose instructions changed",
        prose=[] if rows else ["No function differs."],
        table=table_of(FUNCTIONS, rows),
    )


FUNCTIONS: tuple[Field[dict[str, Any]], ...] = (
    Field("", "Function", NAME, lambda row: row["name"]),
    Field("", "Object", WORD, lambda row: row["object"]),
    Field("", "Change per call", NUMBER, lambda row: change_text(row["exclusive_change"], 1)),
    Field(
        "",
        "Of its own",
        NUMBER,
        lambda row: share_text(
            row["exclusive_change"], (row["base"] or {}).get("exclusive") or 0.0
        ),
    ),
)


def _row(found: Bisection, number: int, step: Step) -> Iterator[Any]:
    commit = found.state.commits[step.place]
    figure = found.end and step.seen(found.end)
    yield from (number, commit.sha)
    if figure is None:
        yield from (None, None, None, "invalid" if step.reason else "", 0)
    else:
        blocks = 0 if figure.fails else figure.blocks
        yield from (figure.ratio, figure.low, figure.high, figure.verdict.value, blocks)
    why = step.reason or step.why_not(found.end.id if found.end else "")
    yield from (step.seconds, commit.subject, why)


def _steps(found: Bisection) -> Iterator[Section]:
    steps = found.state.steps
    figures = [found.end and step.seen(found.end) for step in steps]
    if found.end is None:
        yield Section(title="BAD against GOOD", table=table_of(FIGURES, found.ends))
        return
    commits = [found.state.commits[step.place] for step in steps]
    whys = [step.why_not(found.end.id) for step in steps]
    yield Section(
        title="Steps, each against GOOD",
        table=table_of(STEPS, map(ShownStep, steps, commits, figures, whys)),
    )


class ShownStep(NamedTuple):
    """A step with what was seen of the figure that is looked for."""

    step: Step
    commit: Commit
    figure: Figure | None
    why_not: str
    """Why there is no figure."""


def _step_verdict(row: ShownStep) -> Cell:
    if row.figure is None or (row.step.reason and not row.figure.fails):
        return Cell(one_line(row.step.reason or row.why_not), "open")
    return _verdict(row.figure)


STEPS: tuple[Field[ShownStep], ...] = (
    Field("", "Commit", NAME, lambda row: row.commit.short),
    Field("", "Number", NUMBER, lambda row: row.step.place),
    Field("", "Ratio", NUMBER, lambda row: _ratio(row.figure)),
    Field("", "90 % interval", NUMBER, lambda row: _interval(row.figure)),
    Field("", "Verdict", WORD, lambda row: row.why_not, _step_verdict),
    Field("", "Blocks", NUMBER, lambda row: row.figure and row.figure.blocks),
    Field("", "Subject", TEXT, lambda row: row.commit.subject),
)


def _others(found: Bisection) -> Iterator[Section]:
    if not found.others:
        return
    yield Section(
        title="Other figures that changed, and where by the same steps",
        table=table_of(OTHERS, found.others),
    )


OTHERS: tuple[Field[Other], ...] = (
    *(field.of(lambda other: other.figure) for field in FIGURES[:3]),
    Field("", "First", LABEL, lambda other: other.first[:10]),
    Field("", "Last", LABEL, lambda other: other.last[:10]),
    Field("", "Probability", NUMBER, lambda other: percent(other.probability)),
)


def _skipped(found: Bisection) -> Iterator[Section]:
    commits = [commit for commit in found.state.commits if commit.sha in found.state.skipped]
    if commits:
        items = [f"{commit}: {found.state.skipped[commit.sha]}" for commit in commits]
        yield Section(title="Skipped", items=items)


def _data(found: Bisection, folder: Path) -> dict[str, Any]:
    state = found.state
    end = found.end
    return {
        "outcome": found.outcome,
        "is_open": found.is_open,
        "repository": state.repository,
        "good": _commit(state.commits[0]),
        "bad": _commit(state.commits[-1]),
        "commits": state.last,
        "first_bad": [_commit(commit) for commit in found.candidates],
        "probability": found.probability,
        "figure": None if end is None else _figure(end),
        "ratio": None if found.loss is None else found.loss[0],
        "low": None if found.loss is None else found.loss[1],
        "high": None if found.loss is None else found.loss[2],
        "ends": [_figure(figure) for figure in found.ends],
        "steps": [
            dict(zip(COLUMNS, _row(found, number, step), strict=True))
            for number, step in enumerate(state.steps)
        ],
        "builds": found.builds,
        "skipped": state.skipped,
        "misfits": [state.commits[place].sha for place in found.misfits],
        "others": [
            {
                **_figure(other.figure),
                "first": other.first,
                "last": other.last,
                "probability": other.probability,
            }
            for other in found.others
        ],
        "confirmed_against": None if found.before is None else state.commits[found.before].sha,
        "confirmed": [_figure(figure) for figure in found.confirmed],
        "sessions": [{"file": str(folder / file), "a": a, "b": b} for file, a, b in found.sessions],
        "functions": found.functions,
        "notes": list(found.notes),
    }


def _commit(commit: Commit) -> dict[str, str]:
    return {name: getattr(commit, name) for name in ("sha", "author", "date", "subject")}


def _figure(figure: Figure) -> dict[str, Any]:
    names = ("id", "operator", "inputs", "metric", "verdict", "ratio", "low", "high")
    return {**{name: getattr(figure, name) for name in names}, "reason": figure.note}
