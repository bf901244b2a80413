"""Judges candidates for the problems of another tool's folder: `opperf versus FOLDER`."""

from __future__ import annotations

import dataclasses
import importlib.metadata
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from opperf.candidates.formats.base import FRAMEWORK, Asked, Judged, Made, ProblemSet
from opperf.candidates.formats.known import COUNTED, NAMELESS, read, results, scored
from opperf.candidates.model import Verdict
from opperf.candidates.report import report_of
from opperf.errors import INTERRUPTED, OutputError, UsageError, WorkerError
from opperf.machine.topology import cpu_model
from opperf.plurals import pluralize
from opperf.reports.fields import LABEL, Field, number, table_of
from opperf.reports.model import Report, Section
from opperf.requests.declaring import Say, unsaid
from opperf.requests.versus.candidates import JudgedCandidates, judge_of, judged
from opperf.requests.versus.request import VersusRequest
from opperf.results.output import replace_all, unwritable


def judge_problems(request: VersusRequest, path: Path, say: Say) -> JudgedCandidates:
    """Judges each candidate for each problem; those that were judged before an interruption are
    kept, and the exit code is then that of one. Raises `OpperfError`."""
    quiet_say = unsaid if request.quiet else say
    if request.results is not None:
        _check_results(request.results, request.overwrite)
    done: list[Judged] = []
    with TemporaryDirectory() as folder:
        found = _read(request, path, Path(folder))
        posed = [each for each in found.problems if each.candidates]
        ended = ""
        try:
            with closing(judge_of(request, FRAMEWORK)) as judge:
                for at, each in enumerate(posed, 1):
                    count = pluralize(len(each.candidates), "candidate")
                    quiet_say(f"judging {each.problem.name} ({at} of {len(posed)}): {count}")
                    own: list[Verdict] = []
                    done.append(Judged(each, own))
                    for candidate in each.candidates:
                        own.append(judge.verdict(each.problem, candidate))
        except (KeyboardInterrupt, WorkerError) as error:
            if not any(each.verdicts for each in done):
                raise
            ended = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
    done = [each for each in done if each.verdicts]
    verdicts = [verdict for each in done for verdict in each.verdicts]
    outcome = judged(verdicts, _report(found, done))
    if request.results is not None:
        _write(request.results, results(found.format, done, _made()))
        quiet_say(f"written to {request.results}")
    if not ended:
        return outcome
    reason = f"{ended}; {len(done)} of {pluralize(len(posed), 'problem')} judged"
    code = INTERRUPTED if ended == "interrupted" else WorkerError.exit_code
    return dataclasses.replace(outcome, code=code, reason=reason)


def _read(request: VersusRequest, path: Path, folder: Path) -> ProblemSet:
    if not path.exists():
        raise UsageError(f"{path}: there is no such file or folder")
    files = [Path(text) for text in request.candidates]
    for file in files:
        if not file.is_file():
            raise UsageError(f"--candidate {file}: there is no such file")
    found = read(Asked(path, folder, request.sets, files))
    tasks = {posed.problem.name.partition("/")[0] for posed in found.problems}
    if files and len(tasks) > 1 and found.format in NAMELESS:
        raise UsageError(
            f"--candidate {files[0]}: {path} has {len(tasks)} problems; name the folder of the one "
            "that it solves"
        )
    stems = {
        name.rpartition("/")[2]
        for posed in found.problems
        for name in [each.name for each in posed.candidates] + [each.name for each in posed.refused]
    }
    for file in files:
        if file.suffix != ".json" and file.stem not in stems:
            raise UsageError(
                f"--candidate {file} fits no problem; see them with: opperf list {path}"
            )
    if not any(posed.candidates for posed in found.problems):
        reason = "".join(f"; {name}: {why}" for name, why in _left_out(found)[:1])
        raise UsageError(f"{path} has no candidate to judge{reason}; add --candidate FILE")
    given = {name: getattr(request, name) for name in request.given & {"rtol", "atol"}}
    own = [
        msgspec.structs.replace(posed, problem=msgspec.structs.replace(posed.problem, **given))
        for posed in found.problems
    ]
    return found._replace(problems=own)


SCORES: tuple[Field[tuple[str, float]], ...] = (
    Field("score", "Score", LABEL, lambda row: row[0]),
    Field("value", "Value", number("{:.3f}".format), lambda row: row[1]),
)


def _left_out(found: ProblemSet) -> list[tuple[str, str]]:
    refused = [
        (f"{posed.problem.name}, {each.name}", each.refusal)
        for posed in found.problems
        for each in posed.refused
    ]
    return [*refused, *found.skipped.items()]


def _report(found: ProblemSet, done: Sequence[Judged]) -> Report:
    report = report_of([verdict for each in done for verdict in each.verdicts])
    unsolved = [Judged(posed, ()) for posed in found.problems if not posed.candidates]
    scores = scored(found.format, [*done, *unsolved])
    sections = list(report.sections)
    several = (
        f"Of several candidates of one author for a problem, the {COUNTED[found.format]} counts."
    )
    prose = [several] if any(len(each.verdicts) > 1 for each in done) else []
    table = table_of(SCORES, list(scores.items()))
    sections.insert(1, Section(title="Scores", prose=prose, table=table))
    left_out = _left_out(found)
    if left_out:
        items = [f"{name}: {why}" for name, why in left_out]
        sections.append(Section(title="Not judged", items=items))
    data = {**report.data, "format": found.format, "scores": scores, "not_judged": dict(left_out)}
    return dataclasses.replace(report, title=found.format, sections=sections, data=data)


def _made() -> Made:
    libraries = {FRAMEWORK: importlib.metadata.version(FRAMEWORK)}
    return Made(cpu_model(), libraries, datetime.now(timezone.utc).isoformat(timespec="seconds"))


def _check_results(folder: Path, overwrite: bool) -> None:
    """Raises `OutputError` for a folder that has files, unless they may be replaced, and for one
    that cannot be made."""
    if folder.is_dir() and any(folder.iterdir()) and not overwrite:
        raise OutputError(f"{folder} has files; add --overwrite to replace them, or name another")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error


def _write(folder: Path, texts: dict[str, str]) -> None:
    for name in texts:
        parent = (folder / name).parent
        try:
            parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(parent, error) from error
    replace_all({folder / name: text.encode() for name, text in texts.items()})
