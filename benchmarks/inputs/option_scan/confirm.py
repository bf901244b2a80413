"""Confirms what a screening suspects, by the statistics of `opperf ab`.

A is a case, B the same with another value of an option, in interleaved blocks of fresh processes.
`opperf ab` itself pairs cases of the same arguments; the session, its blocks, order, measuring and
verdicts are its own here too. The threshold is a fifth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from benchmarks.inputs.option_scan.screen import CHANGE, Screened, paced
from opperf.comparison.ab.arms import ArmSpec
from opperf.comparison.ab.blocks import ArmProcesses, Blocks, Start
from opperf.comparison.ab.forecast import next_stage
from opperf.comparison.ab.session import Session
from opperf.comparison.ab.session_file import SessionWriter, new_session
from opperf.execution.execute import execute
from opperf.execution.progress import Progress
from opperf.model import Case, Pass
from opperf.model.declaring import Struct
from opperf.programs.launching import program_environment
from opperf.sources.selecting import Selection
from opperf.statistics.data import Analysis, Thresholds
from opperf.statistics.verdicts import analyse

THRESHOLDS = Thresholds(
    threshold=CHANGE,
    # Twice as much, as in `Thresholds` themselves.
    same_within=2 * CHANGE,
    # A change of a half is found in the first look; a quarter may take one or two further looks.
    block_cap=8,
)

SEED = 0
"""Of the orders of processes and cases."""

CONFIRM_S = 0.04
"""Time limit of a case: its error is then far below that between processes, some percent."""


class Pairs(Struct, frozen=True, tag="round", tag_field="line"):
    """A round: the variants that are confirmed together, each with its passes."""

    passes: dict[str, tuple[Pass, ...]]


def begin(path: Path, pairs: Pairs, screened: Mapping[str, Screened]) -> None:
    """Begins the session of a round."""
    groups: dict[str, list[Case]] = {}
    for name, passes in pairs.passes.items():
        one = screened[name]
        assert one.other is not None
        groups[name] = [
            msgspec.structs.replace(paced(case, one.call_s, CONFIRM_S), passes=passes)
            for case in (one.variant.case, one.other)
        ]
    framework = next(iter(groups.values()))[0].target.framework
    session = new_session(
        groups,
        {"A": ArmSpec(), "B": ArmSpec()},
        # Both are of this machine; records have the environments of their processes.
        dict.fromkeys("AB", program_environment()),
        Selection(),
        "benchmarks.inputs.option_scan",
        {},
        kind="times",
        framework=framework,
        thresholds=THRESHOLDS,
        seed=SEED,
        reference_work=True,
    )
    SessionWriter.create(path, session, overwrite=False).__exit__()


def confirm(path: Path, start: Start, may_go_on: Callable[[], bool]) -> Session:
    """Measures the rest of a round, block by block, while `may_go_on`; its session."""
    with SessionWriter.resume(path) as writer:
        session = writer.session
        while stage := next_stage(session.comparisons, THRESHOLDS, session.ended):
            for block in range(stage.first_block, stage.first_block + stage.n_blocks):
                if not may_go_on():
                    return session
                with ArmProcesses(start) as arms:
                    blocks = Blocks(writer, stage._replace(first_block=block, n_blocks=1), arms)
                    execute(blocks, arms, writer.store, Progress())
        return session


def is_complete(session: Session) -> bool:
    """Whether a round has all its processes."""
    return next_stage(session.comparisons, THRESHOLDS, session.ended) is None


def verdicts(session: Session) -> Analysis:
    """Returns the analysis of a round so far."""
    return analyse(session.replicates, THRESHOLDS)
