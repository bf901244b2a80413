"""The short form of the machine's health in a run's environment."""

from opperf.machine import gpus
from opperf.machine.health.examine import PROBES, TRANSIENT, short_form

NVIDIA_DRIVER = f"proc/{gpus.DRIVER}"


def test_the_short_form_has_what_lasts_as_it_is_and_the_moment_only_if_it_is_bad(quiet):
    states = short_form(quiet())
    assert (states["turbo"], states["clock_source"], states["cpu_quota"]) == ("off", "tsc", "none")
    assert {states[name] for name in TRANSIENT} == {"ok"}
    assert "governor" not in states and "threads" not in states
    noisy = short_form(quiet(**{"proc/loadavg": "9 0 0 1/2 3"}))
    assert noisy["load"] == "9.00 in the last minute, 4 usable cores"


def test_what_cannot_be_read_is_unknown_in_the_short_form(faked, monkeypatch):
    monkeypatch.setattr(gpus, "nvidia_library", lambda: None)
    states = short_form(faked({NVIDIA_DRIVER: "version 1"}))
    assert set(states.values()) == {"unknown"} and len(states) == len(PROBES) - 2


def test_how_often_a_quota_was_used_up_is_of_the_moment(quiet):
    group = "sys/fs/cgroup/a/b"
    machine = quiet(
        **{
            f"{group}/cpu.max": "250000 100000",
            f"{group}/cpu.stat": "nr_periods 50\nnr_throttled 7",
        }
    )
    assert short_form(machine)["cpu_quota"] == "2.5 CPUs for 4 usable"
