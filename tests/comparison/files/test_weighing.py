"""Two files weighted by count."""

import json

import msgspec
import pytest

from opperf.comparison.files.reading import read
from opperf.errors import RunFileError, UsageError
from opperf.model import Status
from tests.writing import compared


@pytest.fixture
def seen(record):
    """Makes a record of a case that was seen so many times."""

    def made(name, factor=1.0, count=1, **changed):
        one = record(name, factor, **changed)
        return msgspec.structs.replace(one, case=msgspec.structs.replace(one.case, count=count))

    return made


@pytest.fixture
def programs(run, seen):
    """A program before and after: `relu` got slower, `dot` faster, `gone` is gone."""
    failed = {"status": Status.FAILED, "reason": "no kernel"}
    base = run(
        seen("relu", 1.0, 10),
        seen("dot", 20.0, 2),
        seen("gone", 1.0, 3),
        seen("bad", 0, 4, **failed),
    )
    new = run(seen("relu", 2.0, 10), seen("dot", 10.0, 2), seen("bad", 0, 4, **failed))
    return base, new


def test_totals_are_of_both_passes(asked, programs):
    found = asked(*programs, weight="count").weighted
    assert found.metrics == ("forward", "backward") and found.cases == 2
    # A millisecond forward and two backward, ten times; and twenty times that, twice.
    assert found.base_ns == pytest.approx(150e6, rel=0.02)
    assert found.new_ns == pytest.approx(120e6, rel=0.02)
    assert [one.operator for one in found.operators] == ["dot", "relu"]
    assert found.geometric_mean == pytest.approx(2 ** (8 / 12), rel=0.02)
    assert found.unmeasured_calls == 4
    assert [(one.side, one.operator, one.calls) for one in found.alone] == [("base", "gone", 3)]
    assert 0 < found.half_width_ns < 30e6


def test_totals_are_of_the_compared_passes(asked, programs):
    found = asked(*programs, weight="count", metrics=("forward",)).weighted
    assert found.metrics == ("forward",) and found.base_ns == pytest.approx(50e6, rel=0.02)
    with pytest.raises(UsageError, match="add forward or backward to --metric"):
        asked(*programs, weight="count", metrics=("memory",))


def test_a_pass_of_one_side_is_in_no_total(asked, run, seen):
    found = asked(run(seen("relu")), run(seen("relu", backward=False)), weight="count").weighted
    assert found.base_ns == pytest.approx(1e6, rel=0.02) and found.alone == ()


def test_a_case_that_broke_is_named(asked, run, seen):
    broken = seen("dot", 1.0, 5, status=Status.CRASHED, reason="signal 11")
    base, new = run(seen("relu"), seen("dot", 1.0, 5)), run(seen("relu"), broken)
    found = asked(base, new, weight="count").weighted
    assert [(one.side, one.operator, one.calls) for one in found.alone] == [("base", "dot", 5)]
    found = asked(new, base, weight="count").weighted
    assert [(one.side, one.operator, one.calls) for one in found.alone] == [("new", "dot", 5)]


def test_counts_may_differ(asked, run, seen):
    found = asked(run(seen("relu", 1.0, 4)), run(seen("relu", 1.0, 2)), weight="count").weighted
    assert (found.base_calls, found.new_calls, found.recounted) == (4, 2, 1)
    assert found.ratio == pytest.approx(0.5) and found.geometric_mean == pytest.approx(1.0)


def test_averages_take_the_counts_of_the_other_file(asked, programs):
    for extensions in (("jsonl", "json"), ("json", "jsonl")):
        found = asked(*programs, extensions, weight="count").weighted
        assert found.base_calls == found.new_calls == 12 and found.half_width_ns is None
    with pytest.raises(RunFileError, match=r"neither file has counts; use run files \(-f jsonl\)"):
        asked(*programs, ("json", "json"), weight="count")


def test_nothing_to_weight(asked, run, seen):
    failed = run(seen("relu"), seen("exp", status=Status.FAILED, reason="no"))
    other = run(seen("relu", status=Status.FAILED, reason="no"), seen("exp"))
    with pytest.raises(RunFileError, match="no common case has a forward or backward time"):
        asked(failed, other, weight="count")


def test_no_totals_unless_asked_for(asked, programs):
    assert asked(*programs).weighted is None


def test_every_report_with_a_place_for_totals_has_them(asked, programs):
    without, found = asked(*programs), asked(*programs, weight="count")
    for name in ("text", "md", "html-fragment"):
        page = " ".join(compared(found, name).split())
        assert "Weighted by count (forward + backward time of 12 calls of 2 cases)" in page
        assert "Of the change" in page and "In base alone, and in no total: 1 case" in page
        assert "Weighted by count" not in compared(without, name)
    assert json.loads(compared(without, "json"))["weighted"] is None
    weighted = json.loads(compared(found, "json"))["weighted"]
    assert weighted["operators"][0]["operator"] == "dot" and weighted["base_calls"] == 12


def test_the_command_weights(saved, programs, outcome):
    files = [saved(run, f"{name}.jsonl") for name, run in zip("ab", programs, strict=True)]
    code, printed, _ = outcome(*files, "--weight", "count")
    assert code == 0 and "Weighted by count" in printed
    code, _, told = outcome(*files, "--weight", "count", "-f", "csv")
    assert code == 2 and "csv has rows of single cases only" in told
    code, printed, told = outcome(*files, "--weight", "counts")
    assert code == 2 and "'counts' is not" in printed + told


def test_files_have_the_counts_of_their_cases(saved, programs):
    base, _ = programs
    assert [one.count for one in read(saved(base, "base.jsonl")).entries] == [10, 2, 3, 4]
    assert {one.count for one in read(saved(base, "base.json")).entries} == {None}
