"""Peaks of memory, counted by a framework that counts every byte."""

from contextlib import contextmanager
from types import SimpleNamespace

import msgspec
import pytest
from fake_framework import Array

from opperf.instruments import peaks as module
from opperf.instruments.peaks import measure_case_peaks, peaks
from opperf.instruments.prepared import PreparedCase
from opperf.model import Case, OperatorTarget, Settings, TensorSpec
from opperf.worker.binding import bound_of

ARRAY = 8 * 8 * 4
BOTH = ("forward", "backward")


def case(name, passes=BOTH):
    spec = TensorSpec((8, 8), gradient=True)
    return Case(OperatorTarget("fake", name), {"data": spec}, Settings(), passes)


@pytest.mark.parametrize(
    "name, passes, forward, both",
    [
        ("relu", BOTH, ARRAY, 2 * ARRAY),
        ("relu", ("forward",), ARRAY, None),
        ("with_workspace", BOTH, 11 * ARRAY, 12 * ARRAY),
        # It has no gradient.
        ("rounded", BOTH, ARRAY, None),
    ],
)
def test_peaks_are_above_the_level_before_the_call(fake, name, passes, forward, both):
    found = measure_case_peaks(case(name, passes), fake, bound_of)
    assert (found.forward, found.both, found.clean) == (forward, both, True)
    here = peaks(PreparedCase(case(name, passes), fake))
    assert (here.forward, here.both) == (forward, both)
    assert not here.clean, "nobody has looked"


def test_a_process_in_which_something_was_kept_is_not_as_it_was(fake):
    assert not measure_case_peaks(case("keeps"), fake, bound_of).clean
    # What was there before is nobody's fault.
    assert measure_case_peaks(case("relu"), fake, bound_of).clean


def test_what_was_dropped_has_time_to_be_given_back(fake, monkeypatch):
    slept = []
    monkeypatch.setattr(module.time, "sleep", slept.append)
    peaks(PreparedCase(case("relu"), fake))
    assert len(slept) == 1 and 0 < slept[0] < 0.1
    measure_case_peaks(case("relu"), fake, bound_of)
    assert len(slept) == 3


def test_the_calls_time_is_told(fake, monkeypatch):
    clock = iter([10.0, 10.5, 11.5, 12.5])
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(clock))
    found = peaks(PreparedCase(case("relu", ("forward",)), fake))
    assert (found.busy_s, found.forward_s, found.gradient_s) == (2.5, 1.0, 0.0)


def test_the_gradients_time_is_told(fake, monkeypatch):
    clock = iter([10.0, 10.5, 11.5, 12.0, 14.0, 15.0])
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(clock))
    found = peaks(PreparedCase(case("relu", ("forward", "backward")), fake))
    assert (found.busy_s, found.forward_s, found.gradient_s) == (5.0, 1.0, 2.0)


@pytest.mark.parametrize("passes", [("forward",), ("forward", "backward")])
def test_what_the_allocator_reserved_is_that_of_the_most_passes(fake, monkeypatch, passes):
    opened = []

    @contextmanager
    def memory(device):
        opened.append(SimpleNamespace(peak_bytes=1, kept_bytes=0, reserved_bytes=len(opened)))
        yield opened[-1]

    monkeypatch.setattr(fake.memory, "measure", memory)
    # The first context is that of the whole case, each pass has one more.
    assert measure_case_peaks(case("relu", passes), fake, bound_of).reserved == len(passes)


def test_a_framework_without_a_reserving_allocator_has_no_figure(fake):
    assert measure_case_peaks(case("relu"), fake, bound_of).reserved is None


def test_the_compilers_tensors_are_not_counted(fake):
    fake.modes.names, fake.modes.compiled = ("eager", "compile"), ("compile",)
    compiled = set()

    def bind(mode):
        def call():
            if mode == "compile" and mode not in compiled:
                compiled.add(mode)
                workspace = Array(fake, (100, 8, 8))  # noqa: F841
            return Array(fake, (8, 8))

        return call

    fake.bind = lambda case, arguments, function=None: bind(case.settings.mode)
    eager = case("relu")
    both = msgspec.structs.replace(eager, settings=Settings(mode="compile"))
    for one in (eager, both):
        found = peaks(PreparedCase(one, fake))
        assert (found.forward, found.both) == (ARRAY, 2 * ARRAY)
    assert compiled == {"compile"}
