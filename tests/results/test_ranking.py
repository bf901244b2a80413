"""Rankings without the times that are those of a launch."""

import msgspec
import numpy as np
import pytest

from opperf.instruments.profilers.summary import summarise as summarise_samples
from opperf.model import Case, GpuState, Note, NoteCode, OperatorTarget, Record, Status, TensorSpec
from opperf.reports.run_page import markdown_text
from opperf.reports.summary import SLOWEST, summarise
from opperf.results.figures import CaseFigures, explain_unranked
from opperf.results.outliers import outliers

LAUNCHES = Note("forward", NoteCode.LAUNCH_BOUND, "takes 1.1 times as long")


def record(name, ns, moved=4096, notes=(), **fields):
    case = Case(OperatorTarget("torch", name), {"data": TensorSpec((moved // 8,))})
    return Record(
        case=case,
        id=case.id,
        status=Status.OK,
        summaries={one: summarise_samples([ns, ns], "ns") for one in ("forward", "backward")},
        moved_bytes=moved,
        notes=notes,
        **fields,
    )


def of(run, records, **selection):
    header = msgspec.structs.replace(run.header, options={"selection": selection})
    return msgspec.structs.replace(run, header=header, records=tuple(records))


def names_in(text):
    return [line.split()[0] for line in text.splitlines() if line.startswith("op")]


def test_a_pass_alone_is_not_ranked():
    one = record("relu", 9.0, notes=(LAUNCHES,))
    found = CaseFigures(one).measured
    assert not found["forward"].is_ranked and found["backward"].is_ranked
    assert explain_unranked([one, record("exp", 9.0)]) == (
        "1 time is not ranked, as an empty kernel takes hardly less"
    )
    assert explain_unranked([one, one]).startswith("2 times are not")
    assert explain_unranked([one], ["backward"]) == ""


@pytest.fixture
def launched():
    """The times of many operators, the slowest of which is that of a launch."""
    slowest = record("op99", 99e6, notes=(LAUNCHES,))
    return [slowest, *(record(f"op{n}", 1e6 * n) for n in range(10, 12 + SLOWEST))]


def test_the_slowest_are_without_launches(run, launched):
    text = summarise(of(run, launched), 1.0)
    assert names_in(text)[0] == f"op{11 + SLOWEST}" and "op99" not in names_in(text)
    assert text.count("1 time is not ranked") == 1


def test_a_run_of_launches_alone_says_so(run, launched):
    alone = [msgspec.structs.replace(one, notes=(LAUNCHES,)) for one in launched]
    text = summarise(of(run, alone), 1.0)
    assert names_in(text) == [] and f"{len(alone)} times are not ranked" in text


def test_outliers_are_without_launches(run):
    sizes = np.geomspace(2**10, 2**24, 12).astype(int)
    fit = [record("relu", 4000 + 0.1 * size, int(size)) for size in sizes]
    launch = record("relu", 5e6, 2**20 + 8, notes=(LAUNCHES,))
    found = outliers([*fit, launch])
    assert (launch.id, "forward") not in {(one.record.id, one.time.metric.name) for one in found}
    assert (launch.id, "backward") in {(one.record.id, one.time.metric.name) for one in found}
    fuzzed = of(run, [*fit, launch], fuzz={"count": 12})
    for text in (summarise(fuzzed, 1.0), markdown_text(fuzzed)):
        assert "1 time is not ranked" in text


def test_shapes_that_are_all_launches_have_no_line(run):
    notes = tuple(Note(one, NoteCode.LAUNCH_BOUND, "short") for one in ("forward", "backward"))
    fuzzed = of(
        run, [record("relu", 4000.0, 2**n, notes) for n in range(10, 20)], fuzz={"count": 10}
    )
    for text in (summarise(fuzzed, 1.0), markdown_text(fuzzed)):
        assert "20 times are not ranked" in text


def test_the_summary_counts_what_was_measured_at_lowered_clocks(run):
    state = GpuState(readings=3, throttled=1, reasons=("power cap",))
    lowered = record("relu", 9.0, notes=(Note("", NoteCode.THROTTLED, "lowered"),), gpu=state)
    text = summarise(of(run, [lowered, record("exp", 9.0)]), 1.0)
    sentence = "measured while the GPU lowered its clocks (power cap); see the notes"
    assert f"1 case was {sentence}" in text.replace("\n", " ")
    text = summarise(of(run, [lowered, lowered]), 1.0)
    assert f"2 cases were {sentence}" in text.replace("\n", " ")
    assert "clocks" not in summarise(of(run, [record("exp", 9.0)]), 1.0)
