"""Inputs that are searched for once, and kept for the build that they were found for."""

import pytest

from opperf.execution import paces, searching
from opperf.execution.searching import TRIAL_TIMEOUT_S, make_trier, search_inputs
from opperf.model import Settings
from opperf.rules.values import tensor
from opperf.sources.selecting import Selection

SMALL = Selection(size="small")


@pytest.fixture
def asked(in_process, tmp_path, monkeypatch):
    """Search with an empty cache; `tried` are the cases that were called."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(paces, "identity", lambda name: "build 1")
    tried, said, called = [], [], in_process.try_call

    def noted(case, timeout_s):
        tried.append((case, timeout_s))
        return called(case, timeout_s)

    monkeypatch.setattr(in_process, "try_call", noted)

    def made(*names, selection=SMALL):
        return search_inputs(in_process, "fake", names, selection, said.append)

    made.worker, made.tried, made.said, made.folder = in_process, tried, said, tmp_path
    return made


def test_what_was_found_is_of_the_size_and_what_was_not_has_a_reason(asked):
    found, reasons = asked("mystery", "stubborn")
    assert set(found) == {"mystery"} and found["mystery"]["charm"] == 1
    assert 2**11 <= found["mystery"]["data"].size <= 2**12
    assert set(reasons) == {"stubborn"} and reasons["stubborn"].endswith("last refusal: never")
    assert asked.said == ["searching for inputs of mystery, stubborn, which have no rule"]


def test_calls_are_of_single_precision_whatever_was_asked_for_and_limited_in_time(asked):
    asked("mystery", selection=Selection(size="small", settings=Settings(dtype="float64")))
    assert {timeout_s for _, timeout_s in asked.tried} == {TRIAL_TIMEOUT_S}
    case, _ = asked.tried[0]
    assert case.arguments["data"].dtype == "float32" and case.passes == ("forward",)
    assert case.settings.dtype == "float64" and case.label == "mystery"


def test_what_was_tried_is_not_measured_in_the_same_process(asked):
    asked("mystery")
    assert asked.worker.ends == 1
    asked("mystery")
    assert asked.worker.ends == 1 and len(asked.said) == 1


def test_another_size_is_scaled_from_the_same_search(asked):
    found, _ = asked("mystery")
    tries = len(asked.tried)
    larger, _ = asked("mystery", selection=Selection(size="default"))
    assert larger["mystery"]["data"].size > found["mystery"]["data"].size
    assert 0 < len(asked.tried) - tries <= tries
    # Neither size has cost the other one.
    tries = len(asked.tried)
    assert asked("mystery") == (found, {}) and len(asked.tried) == tries


def test_a_failed_search_is_not_made_again_at_another_size(asked):
    _, reasons = asked("stubborn")
    assert asked("stubborn", selection=Selection(size="large")) == ({}, reasons)
    assert len(asked.said) == 1


def test_large_tensors_have_a_size_of_their_own(asked, monkeypatch):
    sizes = []
    monkeypatch.setattr(
        searching, "scale", lambda found, tries, preset: sizes.append(preset.name) or found
    )
    asked("mystery", selection=Selection(size="small", int64_tensor=True))
    asked("mystery")
    assert sizes == ["int64", "small"]


def test_of_another_interpreters_framework_nothing_is_kept(asked, monkeypatch):
    monkeypatch.setattr(asked.worker, "is_foreign", True)
    assert asked("mystery") == asked("mystery") and len(asked.said) == 2
    assert list(asked.folder.rglob("*.json")) == []


def test_nothing_is_written_where_nothing_is_new(asked, monkeypatch):
    asked("mystery")
    monkeypatch.setattr(searching, "store", None)
    assert set(asked("mystery")[0]) == {"mystery"}


def test_a_cache_that_cannot_be_used_is_a_warning(asked, monkeypatch):
    monkeypatch.setattr(searching, "store", lambda path, entries, what: [f"{what}: no space"])
    asked("mystery")
    assert asked.said[-1] == "warning: the result of the search: no space"


def test_a_proposal_is_a_case_of_the_operator(in_process):
    tries = make_trier(in_process, in_process.fake.resolve("relu"), Settings())
    assert tries({"data": tensor(4)}).refusal == ""
