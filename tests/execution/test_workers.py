"""The workers of a run: one at a time, each for its own process settings."""

import sys

import pytest

from opperf.errors import WorkerError
from opperf.execution import workers as module
from opperf.execution.workers import Workers, build, interpreter_of
from opperf.machine.pinning import NOT_PINNED
from opperf.model import Case, Interpreter, Settings, SnippetTarget


class Started:
    """Stands in for a worker, and logs its life."""

    log = []

    def __init__(self, framework, settings, python="", cpus=NOT_PINNED, profiles=None):
        self.name, self.cpus = (framework, settings.threads, python), cpus
        self.log.append(("start", self.name))

    def __exit__(self, *error):
        self.log.append(("end", self.name))

    def environment(self):
        return f"environment of {self.name}"

    def build(self, cases):
        self.log.append(("build", self.name, [case.label for case in cases]))

    def measure(self, case, ahead=None):
        return f"record of {case.label} by {self.name}"


@pytest.fixture
def log(monkeypatch):
    monkeypatch.setattr(module, "Worker", Started)
    monkeypatch.setattr(Started, "log", [])
    return Started.log


def test_a_worker_is_kept_while_its_settings_are_asked_for_and_ended_before_another(log, make_case):
    two = make_case("add", threads=2)
    with Workers() as workers:
        first = workers.of("fake")
        assert workers.of("fake", Settings(dtype="int8")) is first
        assert workers.measure(two) == "record of add by ('fake', 2, '')"
        assert workers.environment(two) == "environment of ('fake', 2, '')"
        workers.of("other")
    assert log == [
        (what, name)
        for name in (("fake", None, ""), ("fake", 2, ""), ("other", None, ""))
        for what in ("start", "end")
    ]


def test_code_is_compiled_together_in_the_worker_of_its_first_case(log, make_case):
    def snippet(name, language="c++", **settings):
        target = SnippetTarget("fake", "f();", language=language, name=name)
        return Case(target, {}, Settings(**settings))

    said = []
    plain = [make_case("add"), snippet("of python", "python")]
    with Workers() as workers:
        build(workers, plain, said.append)
        assert not log and not said
        own = [snippet("a", threads=1), *plain, snippet("b", threads=2)]
        build(workers, own, said.append)
    assert said == ["compiling what is not cached of 2 cases in C++"]
    assert log[1] == ("build", ("fake", 1, ""), ["a", "b"])


class Kept:
    """Stands in for a choice of cores: as many as threads, and logs which are kept off."""

    def __init__(self):
        self.kept_off = []

    def core_count(self, settings, variables):
        return settings.threads or 4

    def choose(self, count):
        return range(count)

    def keep_off(self, cpus):
        self.kept_off.append(cpus)


def test_every_worker_has_the_cores_of_its_threads_and_this_process_keeps_off_them(log):
    pinning = Kept()
    with Workers(pinning=pinning) as workers:
        cpus = [workers.of("fake", Settings(threads=n)).cpus for n in (1, 1, 2, None)]
    assert cpus == [range(1), range(1), range(2), range(4)]
    assert pinning.kept_off == [range(1), range(2), range(4)]


def test_an_interpreter_is_found_by_its_label_and_framework(log):
    interpreters = (
        Interpreter("/a/python", "old"),
        Interpreter("/b/python", "new"),
        Interpreter("/c/python", "", "mxnet"),
    )
    with Workers(interpreters) as workers:
        assert workers.of("fake", Settings(python="new")).name == ("fake", None, "/b/python")
        assert workers.of("mxnet").name == ("mxnet", None, "/c/python")
        assert workers.of("fake").name == ("fake", None, "")
    with pytest.raises(WorkerError, match="name it with --python newer:PATH"):
        interpreter_of(interpreters, "fake", "newer")


def test_cases_are_measured_with_their_own_settings(variables, make_case, monkeypatch):
    """By processes, as users have them."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    cases = [make_case("relu", threads=1), make_case("relu", env={"FAKE_THREADS": "9"})]
    cases.append(make_case("relu", python="again"))
    with Workers([Interpreter(sys.executable, "again")]) as workers:
        found = [(workers.environment(case), workers.measure(case)) for case in cases]
    assert [record.status.value for _, record in found] == ["ok"] * 3
    threads = [environment.threads for environment, _ in found]
    assert threads[0]["OMP_NUM_THREADS"] == "1" and "FAKE_THREADS" not in threads[0]
    assert threads[1]["FAKE_THREADS"] == "9"
    assert {environment.id for environment, _ in found} != {found[0][0].id}
