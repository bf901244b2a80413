"""Figures that cannot be are refused where a run file is read: the file, the line and the key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from opperf.errors import RunFileError
from opperf.model import Run
from opperf.reports.writing import write
from opperf.results.possible import refused_summaries
from opperf.results.runfile import read_run
from tests.results.conftest import summary


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"min": -3.0}, "summaries.forward.min is -3 ns, which is below zero"),
        ({"median": -3.0}, "summaries.forward.median is -3 ns, which is below zero"),
        ({"mean": -3.0}, "summaries.forward.mean is -3 ns, which is below zero"),
        ({"median": 0.0}, "summaries.forward.median is 0, and min is 9: a median of 0 has a"),
        (
            {"median": 0.0, "min": float("nan")},
            "summaries.forward.median is 0, and min is nan: a median of 0 has a sample of 0",
        ),
        ({"ci_low": 11.0}, "summaries.forward.ci_low is 11, which is above median, 10"),
        ({"ci_high": 8.0}, "summaries.forward.median is 10, which is above ci_high, 8"),
        ({"max": 8.0}, "summaries.forward.median is 10, which is above max, 8"),
        ({"mad": -1.0}, "summaries.forward.mad is -1, which is below zero"),
        ({"median": float("inf")}, "summaries.forward.median is inf, which is above max, 20"),
        ({"unit": "s"}, "summaries.forward.unit is 's', and Forward is measured in ns"),
    ],
)
def test_a_figure_that_cannot_be_is_named(changed: dict[str, Any], said: str) -> None:
    found = msgspec.structs.replace(summary(10.0), **changed)
    assert refused_summaries({"forward": found}).startswith(said)


@pytest.mark.parametrize(
    "changed",
    [
        # An interval may be unknown, and a call as short as the overhead of timing it.
        {"ci_low": float("-inf"), "ci_high": float("inf")},
        {"ci_low": float("nan"), "ci_high": float("nan")},
        {"min": 0.0, "median": 0.0, "ci_low": 0.0, "ci_high": 0.0},
        # The mean of equal numbers is rounded.
        {"min": 10.0, "median": 10.0 - 1e-12},
    ],
)
def test_a_figure_that_can_be_is_read(changed: dict[str, float]) -> None:
    found = msgspec.structs.replace(summary(10.0), **changed)
    assert refused_summaries({"forward": found}) == ""


def test_what_another_package_measures_may_be_below_zero() -> None:
    found = summary(-10.0, "dB", min=-11.0, max=-9.0, ci_low=-10.5, ci_high=-9.5)
    assert refused_summaries({"loudness": found}) == ""


@pytest.mark.parametrize(
    "change, said",
    [
        (
            lambda line: line.replace('"ci_low":', '"ci_low":1e300,"other":'),
            "the record of {id}: summaries.forward.ci_low is 1e+300, which is above median",
        ),
        (
            lambda line: line.replace('"median":', '"median":1.0,"median":', 1),
            "not a line of a run file: the key 'median' is there twice in one object",
        ),
    ],
)
def test_a_run_file_is_refused_with_its_line(
    tmp_path: Path, run: Run, change: Any, said: str
) -> None:
    path = tmp_path / "run.jsonl"
    write(run, path, "jsonl")
    lines = path.read_text().splitlines(keepends=True)
    number = next(place for place, line in enumerate(lines) if '"ci_low"' in line)
    id = json.loads(lines[number])["id"]
    lines[number] = change(lines[number])
    path.write_text("".join(lines))
    with pytest.raises(RunFileError) as raised:
        read_run(path)
    assert str(raised.value).startswith(f"{path}:{number + 1}: {said.format(id=id)}")
