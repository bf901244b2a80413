"""Facts of an environment, and differences between two."""

from pathlib import Path

import msgspec
import psutil
import pytest

from opperf.machine import environment as module
from opperf.machine.environment import (
    FACTS,
    comparability,
    differences,
    environment,
    incomparable,
    incomparable_facts,
    lasting_differences,
    notable_differences,
)
from opperf.machine.health.examine import PROBES, TRANSIENT
from opperf.machine.health.finding import Reading
from opperf.machine.kernel import USABLE_CPUS, Machine
from opperf.model import SCHEMA_VERSION, Environment, Header, Run
from opperf.reports.run_page import environment_facts


def test_load_cores_and_threads_are_this_processes(fake, monkeypatch):
    nowhere = Path("/nowhere")
    settings = {"OMP_NUM_THREADS": None, "FAKE_THREADS": "3"}
    machine = Machine(nowhere, nowhere, frozenset({0, 5}), settings)
    monkeypatch.setattr(psutil, "getloadavg", lambda: (1.2345, 8.0, 9.0))
    monkeypatch.setattr(module, "this_machine", {("FAKE_THREADS",): machine}.get)
    found = environment(fake)
    assert found.load_1min == 1.23
    assert found.cores == 2 and found.threads == {"FAKE_THREADS": "3"}
    assert found.memory_bytes == psutil.virtual_memory().total
    assert (found.framework, found.versions, found.devices) == (
        "fake",
        {"fake": "1.0"},
        ("cpu(0)",),
    )


@pytest.mark.parametrize(
    "online, own, usable, expected",
    [
        ("0-3", {3}, "", (1, "3")),
        ("0-3", {3}, "0,1,3", (3, "3")),
        ("0-3", {0, 1, 2}, "0,1,2", (3, "0-2")),
        ("0-3", {0, 1, 2, 3}, "0,1,2,3", (4, "")),
        ("nonsense", {0, 2}, "", (2, "")),
    ],
)
def test_cores_are_those_of_opperf_and_cpus_those_of_the_process(
    fake, monkeypatch, tmp_path, online, own, usable, expected
):
    folder = tmp_path / "devices/system/cpu"
    folder.mkdir(parents=True)
    (folder / "online").write_text(f"{online}\n")
    machine = Machine(tmp_path, Path("/nowhere"), frozenset(own), {})
    monkeypatch.setattr(module, "this_machine", lambda variables: machine)
    monkeypatch.setenv(USABLE_CPUS, usable)
    found = environment(fake)
    assert (found.cores, found.cpus) == expected
    if expected[1]:
        # Those that opperf may use, without their numbers.
        count = "all of 4" if expected[0] == 4 else f"{expected[0]} of 4"
        assert found.health["affinity"] == f"{count} CPUs"


@pytest.mark.parametrize(
    "read, governor",
    [
        (Reading("performance"), "performance"),
        (Reading("powersave", "warn"), "powersave"),
        (Reading("no frequency scaling is visible", "unknown"), "unknown"),
    ],
)
def test_the_governor_or_that_it_is_unknown(fake, monkeypatch, read, governor):
    monkeypatch.setattr(module.examine, "take_reading", lambda probe, machine: read)
    assert environment(fake).governor == governor


@pytest.fixture
def here(fake) -> Environment:
    return environment(fake)


def test_a_run_has_the_short_form_in_its_environment(here):
    assert set(here.health) == {probe.name for probe in PROBES if not probe.has_own_field}
    assert all(here.health.values()) and here.governor


def test_the_same_environment_differs_in_nothing(here):
    environment = here
    assert differences(environment, msgspec.structs.replace(environment)) == []
    again = msgspec.json.decode(msgspec.json.encode(environment), type=type(environment))
    assert differences(environment, again) == []


def test_each_field_that_differs_is_told_with_both_values(here):
    one = here
    other = msgspec.structs.replace(
        one,
        cores=one.cores + 1,
        threads={"OMP_NUM_THREADS": "3"},
        features={**one.features, "CUDA": True},
    )
    found = differences(one, other)
    assert ("cores", one.cores, one.cores + 1) in found
    assert ("features.CUDA", False, True) in found
    assert ("threads.OMP_NUM_THREADS", one.threads.get("OMP_NUM_THREADS", "absent"), "3") in found
    assert {name.partition(".")[0] for name, _, _ in found} == {"cores", "features", "threads"}


def test_a_key_that_only_one_has_is_absent_in_the_other(here):
    one = msgspec.structs.replace(here, threads={"A": "1"})
    other = msgspec.structs.replace(one, threads={"B": "2"})
    assert differences(one, other) == [("threads.A", "1", "absent"), ("threads.B", "absent", "2")]


def test_health_is_compared_where_both_were_asked(here):
    one = msgspec.structs.replace(here, health={"turbo": "on", "old": "ok"})
    other = msgspec.structs.replace(one, health={"turbo": "off", "new": "ok"})
    assert differences(one, other) == [("health.turbo", "on", "off")]


@pytest.mark.parametrize(
    "before, after, differs",
    [
        ("3", "2", False),
        ("0-1", "2,4", False),
        ("", "0-3", False),
        ("3", "", True),
        ("3", "2-3", True),
    ],
)
def test_the_number_of_cores_matters_and_not_which(fake, before, after, differs):
    here = msgspec.structs.replace(environment(fake), cores=4, cpus=before)
    there = msgspec.structs.replace(here, cpus=after)
    found = [("cpus", before, after)] if differs else []
    assert lasting_differences(here, there) == found


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
    assert lasting_differences(here, msgspec.structs.replace(here, health=worse)) == []
    other = msgspec.structs.replace(here, health=here.health | {"turbo": "off for once"})
    ((name, _, after),) = lasting_differences(here, other)
    assert (name, after) == ("health.turbo", "off for once")


def test_the_page_has_the_short_form_on_a_line(here):
    def facts(health):
        environment = msgspec.structs.replace(here, health=health)
        head = Header(schema=SCHEMA_VERSION, started="", options={})
        there = {environment.id: environment}
        return dict(environment_facts(Run(header=head, records=(), environments=there)))

    assert facts({"turbo": "on", "clock_source": "tsc"})["Health"] == "turbo: on, clock source: tsc"
    assert "Health" not in facts({})


def test_every_field_is_declared_and_read(here):
    assert sorted(fact.name for fact in FACTS) == sorted(Environment.__struct_fields__)


def changed(here, **fields):
    return msgspec.structs.replace(here, **fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"cpu": "another"},
        {"gpus": ({"model": "H100", "driver": "550"},)},
        {"versions": {"fake": "9.9"}},
        {"features": {"CUDA": True}},
        {"commit": "beef"},
        {"threads": {"OMP_NUM_THREADS": "9"}},
        {"governor": "another"},
        {"cpus": "0", "cores": 2},
    ],
)
def test_another_cpu_gpu_build_governor_or_number_of_threads_is_not_comparable(here, fields):
    there = changed(here, **fields)
    assert comparability(there) != comparability(here)
    assert incomparable_facts(here, there) == (next(iter(fields)),)
    (difference,) = incomparable(here, there)
    assert difference.name.partition(".")[0] == next(iter(fields))
    of_build = {"versions", "commit", "features"} & set(fields)
    is_same = comparability(there, any_build=True) == comparability(here, any_build=True)
    assert is_same == bool(of_build)


def test_times_of_another_host_moment_and_choice_of_cores_may_be_joined(here):
    here = changed(here, cores=4, cpus="0-1")
    there = changed(here, hostname="b", load_1min=99.0, cpus="2-3", python="3.99", health={})
    assert comparability(there) == comparability(here) and incomparable_facts(here, there) == ()
    names = [difference.name for difference in notable_differences(here, there)]
    assert names == ["cpus", "hostname", "load_1min", "python"]
