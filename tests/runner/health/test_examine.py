"""From a probe that reads, or cannot, to what a user and a run's environment are told."""

import pytest

from opperf.runner.health import examine as module
from opperf.runner.health.examine import examine, reading, short_form
from opperf.runner.health.finding import Finding, Probe, Reading
from opperf.runner.health.machine import Unreadable


def probe(read, told="lasting", name="one"):
    return Probe(name, read, "It matters.", told)


def raises(error):
    def read(machine):
        raise error

    return read


@pytest.mark.parametrize(
    "error, state",
    [
        (Unreadable("no sensor"), "no sensor"),
        (PermissionError(13, "Permission denied", "/proc/stat"), "/proc/stat: Permission denied"),
        (OSError("a pipe,\nbroken"), "in no known form: a pipe, broken"),
        (ValueError("no number"), "in no known form: no number"),
        (KeyError("MemTotal"), "in no known form: 'MemTotal'"),
        (IndexError("short"), "in no known form: short"),
    ],
)
def test_what_cannot_be_read_keeps_nothing_from_starting(error, state):
    assert reading(probe(raises(error)), None) == Reading(state, "unknown")


def test_a_fault_of_a_probe_is_not_taken_for_one_of_the_machine():
    with pytest.raises(TypeError):
        reading(probe(raises(TypeError("a fault"))), None)


def test_findings_keep_the_order_and_the_command():
    noisy = probe(lambda machine: Reading("on", "warn", "switch it off"), name="turbo")
    calm = probe(lambda machine: Reading("off"), name="smt")
    assert examine(None, [noisy, calm]) == [
        Finding("turbo", "on", "warn", "It matters.", "switch it off"),
        Finding("smt", "off", "ok", "It matters."),
    ]


@pytest.mark.parametrize(
    "told, read, short",
    [
        ("lasting", Reading("off"), "off"),
        ("lasting", Reading("on", "warn"), "on"),
        ("lasting", Reading("2 CPUs, used up", "warn", "", "2 CPUs"), "2 CPUs"),
        ("lasting", Reading("not told", "unknown"), "unknown"),
        ("passing", Reading("0.1"), "ok"),
        ("passing", Reading("9.0", "warn"), "9.0"),
        ("passing", Reading("not told", "unknown"), "unknown"),
        ("elsewhere", Reading("4", "warn"), None),
    ],
)
def test_the_moment_is_told_only_if_it_is_bad(monkeypatch, told, read, short):
    monkeypatch.setattr(module, "PROBES", [probe(lambda machine: read, told)])
    assert short_form(None).get("one") == short
