"""What a run's environment tells of the machine, and what two runs differ in."""

import msgspec
import pytest

from opperf.model import SCHEMA_VERSION, Environment, Header, Run
from opperf.results.environment import differences
from opperf.results.markdown import environment_facts
from opperf.runner.environment import environment
from opperf.runner.health import gpus
from opperf.runner.health.examine import PROBES, TRANSIENT, short_form
from opperf.runner.resuming import find_lasting_differences

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


@pytest.fixture
def here(fake) -> Environment:
    return environment(fake)


def test_a_run_has_the_short_form_in_its_environment(here):
    assert set(here.health) == {probe.name for probe in PROBES if not probe.has_own_field}
    assert all(here.health.values()) and here.governor


def differing(one, **changed):
    other = msgspec.structs.replace(one, health={**one.health, **changed})
    return differences(one, other)


def test_environments_differ_in_what_both_were_asked_for(here):
    here = msgspec.structs.replace(here, health={"turbo": "off", "load": "ok"})
    assert differing(here, turbo="on") == [("health.turbo", "off", "on")]
    assert differing(here, load="9.00") == [("health.load", "ok", "9.00")]
    assert differing(here, new_probe="x") == []
    assert differences(here, msgspec.structs.replace(here, health={})) == []


def test_a_run_goes_on_at_another_moment_and_not_on_another_setting(here):
    here = msgspec.structs.replace(here, health=here.health | dict.fromkeys(TRANSIENT, "ok"))
    worse = here.health | dict.fromkeys(TRANSIENT, "much")
    assert find_lasting_differences(here, msgspec.structs.replace(here, health=worse)) == []
    other = msgspec.structs.replace(here, health=here.health | {"turbo": "off for once"})
    ((name, _, after),) = find_lasting_differences(here, other)
    assert (name, after) == ("health.turbo", "off for once")


def test_the_page_has_the_short_form_on_a_line(here):
    def facts(health):
        environment = msgspec.structs.replace(here, health=health)
        head = Header(schema=SCHEMA_VERSION, started="", options={})
        there = {environment.id: environment}
        return dict(environment_facts(Run(header=head, records=(), environments=there)))

    assert facts({"turbo": "on", "clock_source": "tsc"})["Health"] == "turbo: on, clock source: tsc"
    assert "Health" not in facts({})
