"""Distinct calls, added up."""

import sys

import pytest

from opperf.frameworks.calls import (
    MOST_TIMES,
    MOST_VARIANTS,
    Calls,
    Frames,
    RecordedCall,
    Site,
    site_at,
)
from opperf.frameworks.user_modules import after_import
from opperf.model import Case, OperatorTarget

CASE = Case(OperatorTarget("toy", "double"), {})


def test_a_call_has_the_number_and_time_of_each_site():
    call = RecordedCall(CASE)
    here, there = Site("net.a", "net.py", 3), Site("net.b", "net.py", 9)
    for site, time_ns in ((here, 5), (there, 7), (here, 6)):
        call.add(site, time_ns)
    assert [(site.module, site.count, site.time_ns) for site in call.call_sites()] == [
        ("net.a", 2, 11.0),
        ("net.b", 1, 7.0),
    ]
    assert call.times == [5, 7, 6]


def test_a_call_that_is_not_timed_has_no_time():
    call = RecordedCall(CASE)
    call.add(Site())
    assert call.call_sites()[0].time_ns is None and not call.times


def test_a_site_whose_calls_were_not_timed_has_no_time_beside_one_whose_were():
    call = RecordedCall(CASE)
    call.add(Site("alone"), 5)
    call.add(Site("net.compiled"), number=7)
    assert [(site.count, site.time_ns) for site in call.call_sites()] == [(1, 5.0), (7, None)]
    assert (call.count, call.times) == (8, [5])


def test_of_very_many_calls_the_times_are_a_sample_in_order():
    call = RecordedCall(CASE)
    number = 20 * MOST_TIMES
    for time_ns in range(number):
        call.add(Site(), time_ns)
    assert call.count == number
    assert MOST_TIMES / 2 <= len(call.times) <= MOST_TIMES
    gaps = {after - before for before, after in zip(call.times, call.times[1:], strict=False)}
    assert len(gaps) == 1 and call.times[-1] > number - 2 * gaps.pop()


def test_calls_that_differ_in_numbers_alone_are_merged_beyond_a_limit():
    calls = Calls()
    for number in range(3 * MOST_VARIANTS):
        found = calls.begin(("add", number), ("add",), lambda: RecordedCall(CASE))
        found.add(Site())
    assert len(calls.recorded()) == MOST_VARIANTS and calls.merged == 2 * MOST_VARIANTS
    assert sum(call.count for call in calls.recorded()) == 3 * MOST_VARIANTS


def test_the_users_line_is_found_around_a_librarys():
    own = sys._getframe()
    assert Frames().find(own) == (own.f_code, own.f_lineno)
    # This file hidden, pytest's are the user's.
    hidden = Frames(__file__).find(own)
    assert hidden[0].co_filename != __file__
    assert site_at("net", (None, 0), "forward") == Site("net")


def test_a_search_ends_at_the_frame_whose_line_is_known():
    def inner():
        return Frames(__file__).find(sys._getframe(), outer, ("known", 7))

    outer = sys._getframe()
    assert inner() == ("known", 7)


def test_a_function_is_called_after_an_import(tmp_path, monkeypatch):
    (tmp_path / "imported_later.py").write_text("value = 3")
    monkeypatch.syspath_prepend(str(tmp_path))
    seen = []
    after_import("imported_later", lambda: seen.append(sys.modules["imported_later"].value))
    cancel = after_import("never_imported", lambda: seen.append("never"))
    assert not seen
    import imported_later  # noqa: F401

    after_import("imported_later", lambda: seen.append("at once"))
    assert seen == [3, "at once"]
    cancel()
    with pytest.raises(ModuleNotFoundError):
        import never_imported  # noqa: F401
    del sys.modules["imported_later"]
