"""The options of `ab`, as the user gave them, turned into what is compared and how."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from opperf import defaults
from opperf.compare.ab.arms import ArmSpec, two_arms
from opperf.compare.statistics.data import Rules, Verdict
from opperf.errors import UsageError
from opperf.model import Settings
from opperf.runner.options import build_choice
from opperf.sources.selecting import Selection

PRECISION = 0.005
"""How well a process knows its median: a quarter of the usual threshold, so that what is left of
the noise of iterations is small beside that between processes, which is about one percent."""

SETTLING = 4
"""How many times as many confirm blocks as usual `--until-settled` gives a case at most, if it is
not told: two doublings, each of which halves the number of those that are ambiguous."""


@dataclass(frozen=True)
class Options:
    """The options of a session that are not part of what is compared."""

    framework: str
    report: Path
    resume: bool
    overwrite: bool
    dry_run: bool
    quiet: bool
    output_format: str
    fail_on: tuple[Verdict, ...]
    budget_s: float | None
    command: str
    environment: Mapping[str, str]
    """Variables that the arms' are added to."""


def options_from(given: Mapping[str, Any]) -> Options:
    """The options. Raises `UsageError` for those that are at odds."""
    if given["resume"] and given["overwrite"]:
        raise UsageError("--resume goes on with a session and --overwrite replaces it; give one")
    return Options(
        framework=given["framework"],
        report=given["report"],
        resume=given["resume"],
        overwrite=given["overwrite"],
        dry_run=given["dry_run"],
        quiet=given["quiet"],
        output_format=given["output_format"].lower(),
        fail_on=tuple(map(Verdict, given["fail_on"])) or (Verdict.REGRESSED,),
        budget_s=given["budget"],
        command=shlex.join(["opperf", *sys.argv[1:]]),
        environment=dict(os.environ),
    )


def arms_from(given: Mapping[str, Any]) -> tuple[ArmSpec, ArmSpec]:
    """The two arms. Raises `UsageError` for what is no comparison."""
    return two_arms(given["a"], given["b"], bool(given["names"] or given["ops"]))


def rules_from(given: Mapping[str, Any]) -> Rules:
    """What the verdicts go by. Raises `UsageError` for a cap below what is measured anyway."""
    confirm = given["confirm_blocks"]
    settled = given["until_settled"]
    cap = SETTLING * confirm if settled == 0 else settled or confirm
    if cap < confirm:
        raise UsageError(
            f"--until-settled {cap} is a cap on the confirm blocks of a case, which are {confirm} "
            "anyway; allow more, or lower --confirm-blocks"
        )
    return Rules(
        threshold=given["threshold"],
        control_blocks=given["control_blocks"],
        screen_blocks=given["screen_blocks"],
        confirm_blocks=confirm,
        block_cap=cap,
    )


def selection_from(given: Mapping[str, Any]) -> Selection:
    """What the arms have in common; a device or profiler that is not given is empty."""
    return msgspec.structs.replace(
        build_choice(given),
        settings=Settings(
            device=given["device"] or "",
            dtype=given["dtype"],
            profiler=given["profiler"] or "",
            precision=PRECISION,
            seed=given["seed"],
            max_time_s=given["max_time_s"],
            timeout_s=defaults.TIMEOUT_S,
            memory=False,
        ),
    )
