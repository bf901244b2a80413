"""Pass rates by week, and what fails since when."""

import shlex

import pytest

from opperf.experiments.outcomes import (
    NO_TIMES,
    Group,
    Outcome,
    outcome_of,
    outcomes_of,
    report_of,
    week_of,
)
from opperf.formats.xla import command_of
from opperf.reports.markdown import write_markdown
from opperf.reports.pages.page import write_page
from opperf.reports.text import write_text
from tests.experiments.lines import DAY, MONDAY, record

WEEK = 7 * DAY

ERROR = {"error": "RuntimeError: <b>no</b> kernel"}


def at(week, model="a", **more):
    return record(model, at=MONDAY + week * WEEK + DAY, **more)


@pytest.mark.parametrize(
    ("more", "outcome", "reason"),
    [
        ({}, Outcome.PASSED, ""),
        ({"metrics": ERROR}, Outcome.FAILED, ERROR["error"]),
        ({"metrics": {"error": "SKIP"}}, Outcome.SKIPPED, "not compatible"),
        ({"metrics": {"total_time": None}}, Outcome.FAILED, NO_TIMES),
        ({"metrics": {}, "verification_code": "PASS"}, Outcome.PASSED, ""),
        ({"metrics": {}, "verification_code": "FAIL"}, Outcome.FAILED, "wrong result"),
        ({"verification_code": "VERIFIER_DIDNT_RUN"}, Outcome.PASSED, ""),
        (
            {"metrics": {}, "verification_code": "NONDETERMINISTIC_EAGER_RUN"},
            Outcome.SKIPPED,
            "eager is not deterministic",
        ),
    ],
)
def test_a_record_passes_fails_or_is_skipped(more, outcome, reason):
    assert outcome_of(record(**more)) == (outcome, reason)


def test_weeks_begin_on_monday():
    assert week_of(MONDAY) == week_of(MONDAY + WEEK - 1) == "2023-11-20"
    assert week_of(MONDAY - 1) == "2023-11-13"


def test_a_rate_counts_the_last_record_of_a_cell_in_a_week():
    records = [
        at(0, metrics=ERROR),
        # The same cell again, after it and in the same second.
        at(0),
        at(0, "b", metrics=ERROR),
        at(1, "b"),
        at(1, "c", metrics={"error": "SKIP"}),
    ]
    found = outcomes_of(records)
    group = Group("torchbench", "eval", "inductor", "Tesla V100")
    assert found.rates == {group: {"2023-11-20": (1, 1), "2023-11-27": (1, 0)}}
    assert (found.weeks, found.cells, found.skipped) == (("2023-11-20", "2023-11-27"), 2, 1)
    assert found.failures == []


def test_a_failure_begins_after_the_last_pass():
    records = [at(3, metrics=ERROR), at(0, metrics=ERROR), at(1), at(2, metrics=ERROR)]
    (failure,) = outcomes_of(records).failures
    assert failure.since == records[3].timestamp and failure.passed == records[2].timestamp
    assert failure.last is records[0]
    (never,) = outcomes_of([at(1, metrics=ERROR), at(0, metrics=ERROR)]).failures
    assert (never.since, never.passed) == (MONDAY + DAY, None)


def test_settings_are_cells_of_their_own():
    records = [at(0), at(0, metrics=ERROR, batch_size=32), at(0, metrics=ERROR, test="train")]
    records.append(at(0, metrics=ERROR, enable_functionalization=True))
    assert len(outcomes_of(records).failures) == 3


@pytest.mark.parametrize("write", [write_text, write_markdown, write_page])
def test_the_report_has_rates_failures_and_commands(write):
    text = write(report_of(outcomes_of([at(0), at(0, "b"), at(1, "b", metrics=ERROR)])), None)
    assert "1 cell of 2 failed when last run." in text
    assert "100 % 2/2" in text and "0 % 0/1" in text and "2023-11-27" in text
    assert "2023-11-28 00:00:00" in text and "2023-11-21 00:00:00" in text
    assert "--dynamo=inductor --test=eval --batch-size=16" in text
    assert ("<b>" in text) == (write is write_text)


def test_without_a_failure_it_says_so():
    report = report_of(outcomes_of([at(0)]))
    assert "all passed when last run." in write_text(report) and report.rows == []


def test_a_command_repeats_the_record_and_leaves_other_results_alone():
    words = shlex.split(command_of(record("a.b", "openxla+lazytensor", xla_flags="--x=1 --y=2")))
    assert words[1].endswith("experiment_runner.py")
    assert {r"--filter=^a\.b$", "--xla=PJRT", "--dynamo=None", "--xla-flags=--x=1 --y=2"} < set(
        words
    )
    assert words[words.index("--output-basename") + 1] == "repeated.jsonl"
    assert command_of(record(command="opperf experiment a")) == "opperf experiment a"
