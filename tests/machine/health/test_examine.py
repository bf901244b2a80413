"""Findings and environments of probes that succeed, and that fail."""

import pytest

from opperf.machine.health import examine as module
from opperf.machine.health.examine import examine, short_form, take_reading
from opperf.machine.health.finding import Finding, Probe, Reading
from opperf.machine.kernel import Unreadable


def probe(read, persistence="lasting", name="one", has_own_field=False):
    return Probe(name, read, "It matters.", persistence, has_own_field)


def raises(error):
    def read(machine):
        raise error

    return read


@pytest.mark.parametrize(
    "error, state",
    [
        (Unreadable("no sensor"), "no sensor"),
        (PermissionError(13, "Permission denied", "/proc/stat"), "/proc/stat: Permission denied"),
        (OSError("a pipe,\nbroken"), "not in a known form: a pipe, broken"),
        (ValueError("no number"), "not in a known form: no number"),
        (KeyError("MemTotal"), "not in a known form: 'MemTotal'"),
        (IndexError("short"), "not in a known form: short"),
    ],
)
def test_what_cannot_be_read_keeps_nothing_from_starting(error, state):
    assert take_reading(probe(raises(error)), None) == Reading(state, "unknown")


def test_a_fault_of_a_probe_is_not_taken_for_one_of_the_machine():
    with pytest.raises(TypeError):
        take_reading(probe(raises(TypeError("a fault"))), None)


def test_findings_keep_the_order_and_the_command():
    noisy = probe(lambda machine: Reading("on", "warn", "switch it off"), name="turbo")
    calm = probe(lambda machine: Reading("off"), name="smt")
    assert examine(None, [noisy, calm]) == [
        Finding("turbo", "on", "warn", "It matters.", "switch it off"),
        Finding("smt", "off", "ok", "It matters."),
    ]


@pytest.mark.parametrize(
    "persistence, read, short",
    [
        ("lasting", Reading("off"), "off"),
        ("lasting", Reading("on", "warn"), "on"),
        ("lasting", Reading("2 CPUs, used up", "warn", "", "2 CPUs"), "2 CPUs"),
        ("lasting", Reading("no file", "unknown"), "unknown"),
        ("transient", Reading("0.1"), "ok"),
        ("transient", Reading("9.0", "warn"), "9.0"),
        ("transient", Reading("no file", "unknown"), "unknown"),
    ],
)
def test_a_transient_state_is_shown_only_if_it_is_bad(monkeypatch, persistence, read, short):
    monkeypatch.setattr(module, "PROBES", [probe(lambda machine: read, persistence)])
    assert short_form(None).get("one") == short


def test_a_probe_with_a_field_of_its_own_is_not_repeated(monkeypatch):
    monkeypatch.setattr(
        module, "PROBES", [probe(lambda machine: Reading("4", "warn"), has_own_field=True)]
    )
    assert short_form(None) == {}
