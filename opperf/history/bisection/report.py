"""A bisection as a report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from opperf.comparison.compared import interval_text, ratio_text, tone_of
from opperf.comparison.explaining.difference_report import change_text, share_text
from opperf.errors import one_line
from opperf.history.bisection.results import BUILDS, Bisection, Figure, Other, Step
from opperf.plurals import pluralize
from opperf.reports.fields import (
    LABEL,
    NAME,
    NUMBER,
    TEXT,
    WORD,
    Field,
    objects_of,
    rows_of,
    table_of,
)
from opperf.reports.model import Cell, Report, Section
from opperf.repository import Commit
from opperf.results.text import duration
from opperf.shares import share_text as percent
from opperf.statistics.data import Verdict


def report_for(found: Bisection, folder: Path) -> Report:
    """Returns the report of a bisection, whose sessions are in `folder`."""
    good, bad = found.state.commits[0], found.state.commits[-1]
    steps = [_shown(found, number, step) for number, step in enumerate(found.state.steps)]
    header, rows = rows_of(STEPS, steps)
    return Report(
        command="bisect",
        title=f"Bisection of {good.short} to {bad.short}",
        sections=[
            Section(prose=list(_prose(found)), commands=list(_commands(found, folder))),
            *_confirmed(found),
            *_functions(found),
            Section(title="BAD against GOOD", table=table_of(FIGURES, found.ends))
            if found.end is None
            else Section(title="Steps, each against GOOD", table=table_of(STEPS, steps)),
            *_others(found),
            *_skipped(found),
        ],
        data=_data(found, folder, steps),
        header=header,
        rows=rows,
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
    further = " that can be measured" if found.last - found.before > 1 else ""
    yield Section(
        title=f"{after.short} against {before.short}, the commit before it{further}",
        table=table_of(FIGURES, found.confirmed),
        below=list(_agreement(found.confirmed)),
    )


def _ratio(figure: Figure | None) -> str:
    return "" if figure is None else ratio_text(figure.ratio)


def _interval(figure: Figure | None) -> str:
    return "" if figure is None else interval_text(figure.low, figure.high)


def _verdict(figure: Figure) -> Cell:
    text = one_line(figure.shown) if figure.fails else figure.verdict.value
    return Cell(text, tone_of(figure.verdict))


FIGURES: tuple[Field[Figure], ...] = (
    Field("id", None, LABEL, lambda figure: figure.id),
    Field("operator", "Operator", NAME, lambda figure: figure.operator),
    Field("metric", "Metric", LABEL, lambda figure: figure.metric),
    Field("ratio", "Ratio", NUMBER, lambda figure: figure.ratio, _ratio),
    Field("low", None, NUMBER, lambda figure: figure.low),
    Field("high", None, NUMBER, lambda figure: figure.high),
    Field("", "90 % interval", NUMBER, _interval),
    Field("verdict", "Verdict", LABEL, lambda figure: figure.verdict.value, _verdict),
    Field("inputs", "Inputs", TEXT, lambda figure: figure.inputs),
    Field("reason", None, TEXT, lambda figure: figure.note),
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


class ShownStep(NamedTuple):
    """A step with what was seen of the figure that is looked for."""

    number: int
    step: Step
    commit: Commit
    figure: Figure | None
    why_not: str
    """Why there is no figure."""

    @property
    def verdict(self) -> str:
        if self.figure is not None:
            return self.figure.verdict.value
        return "invalid" if self.step.reason else ""

    @property
    def shown_verdict(self) -> Cell:
        if self.figure is None or (self.step.reason and not self.figure.fails):
            return Cell(one_line(self.step.reason or self.why_not), "open")
        return _verdict(self.figure)


def _shown(found: Bisection, number: int, step: Step) -> ShownStep:
    figure = found.end and step.seen(found.end)
    why_not = step.why_not(found.end.id if found.end else "")
    return ShownStep(number, step, found.state.commits[step.place], figure, why_not)


STEPS: tuple[Field[ShownStep], ...] = (
    Field("step", None, NUMBER, lambda row: row.number),
    Field("commit", "Commit", NAME, lambda row: row.commit.sha, lambda row: row.commit.short),
    Field("", "Number", NUMBER, lambda row: row.step.place),
    Field(
        "ratio",
        "Ratio",
        NUMBER,
        lambda row: row.figure and row.figure.ratio,
        lambda row: _ratio(row.figure),
    ),
    Field("low", None, NUMBER, lambda row: row.figure and row.figure.low),
    Field("high", None, NUMBER, lambda row: row.figure and row.figure.high),
    Field("", "90 % interval", NUMBER, lambda row: _interval(row.figure)),
    Field("verdict", "Verdict", WORD, lambda row: row.verdict, lambda row: row.shown_verdict),
    Field(
        "blocks",
        "Blocks",
        NUMBER,
        lambda row: 0 if row.figure is None or row.figure.fails else row.figure.blocks,
        lambda row: str(row.figure.blocks) if row.figure else "",
    ),
    Field("seconds", None, NUMBER, lambda row: row.step.seconds),
    Field("subject", "Subject", TEXT, lambda row: row.commit.subject),
    Field("reason", None, TEXT, lambda row: row.step.reason or row.why_not),
)


def _others(found: Bisection) -> Iterator[Section]:
    if not found.others:
        return
    yield Section(
        title="Other figures that changed, and where by the same steps",
        table=table_of(OTHERS, found.others),
    )


OTHERS: tuple[Field[Other], ...] = (
    *(
        replace(
            field, title=field.title if field.key in ("operator", "metric", "ratio") else None
        ).of(lambda other: other.figure)
        for field in FIGURES
    ),
    Field("first", "First", LABEL, lambda other: other.first, lambda other: other.first[:10]),
    Field("last", "Last", LABEL, lambda other: other.last, lambda other: other.last[:10]),
    Field(
        "probability",
        "Probability",
        NUMBER,
        lambda other: other.probability,
        lambda other: percent(other.probability),
    ),
)


def _skipped(found: Bisection) -> Iterator[Section]:
    commits = [commit for commit in found.state.commits if commit.sha in found.state.skipped]
    if commits:
        items = [f"{commit}: {found.state.skipped[commit.sha]}" for commit in commits]
        yield Section(title="Skipped", items=items)


def _data(found: Bisection, folder: Path, steps: Sequence[ShownStep]) -> dict[str, Any]:
    state = found.state
    ratio, low, high = found.loss or (None, None, None)
    return {
        "outcome": found.outcome,
        "is_open": found.is_open,
        "repository": state.repository,
        "good": _commit(state.commits[0]),
        "bad": _commit(state.commits[-1]),
        "commits": state.last,
        "first_bad": [_commit(commit) for commit in found.candidates],
        "probability": found.probability,
        "figure": objects_of(FIGURES, [found.end])[0] if found.end else None,
        "ratio": ratio,
        "low": low,
        "high": high,
        "ends": objects_of(FIGURES, found.ends),
        "steps": objects_of(STEPS, steps),
        "builds": found.builds,
        "skipped": state.skipped,
        "misfits": [state.commits[place].sha for place in found.misfits],
        "others": objects_of(OTHERS, found.others),
        "confirmed_against": None if found.before is None else state.commits[found.before].sha,
        "confirmed": objects_of(FIGURES, found.confirmed),
        "sessions": [{"file": str(folder / file), "a": a, "b": b} for file, a, b in found.sessions],
        "functions": found.functions,
        "notes": list(found.notes),
    }


def _commit(commit: Commit) -> dict[str, str]:
    return {name: getattr(commit, name) for name in ("sha", "author", "date", "subject")}
