"""Cases are compiled into a cache in several processes, before the first is measured."""

import io
import threading

import msgspec
import pytest

from opperf.errors import WorkerError
from opperf.execution import ahead as module
from opperf.execution.ahead import FEWEST, compile_ahead
from opperf.execution.progress import Plain, Progress
from opperf.instruments.visit import CompiledAhead
from opperf.model import Case, OperatorTarget, Settings

DEADLY = "deadly"


class Compiler:
    """Stands in for a worker. One that is asked for a deadly case ends."""

    def __init__(self, log):
        self.log, self.ended = log, False

    def uncompiled(self, cases):
        return tuple(case.id for case in cases if case.label != "done")

    def compile(self, cases):
        labels = [case.label for case in cases]
        self.log.append(labels)
        if DEADLY in labels:
            raise WorkerError("the worker ended")
        return {case.id: CompiledAhead(1.0, 1.0, 1) for case in cases}

    def kill(self):
        self.ended = True

    def __exit__(self, *error):
        self.ended = True


class Workers:
    def __init__(self, cores=2, compiler=Compiler):
        self.ahead, self.log, self.begun = {}, [], []
        self._cores, self._compiler = cores, compiler

    def core_count(self, settings):
        return self._cores

    def of(self, framework, settings):
        return Compiler(self.log)

    def begin(self, framework, settings):
        self.begun.append(self._compiler(self.log))
        return self.begun[-1]


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """A machine of many cores and much memory."""
    monkeypatch.setattr(module, "count_fitting", lambda cores: cores)


def cases(count=FEWEST, framework="jax", **settings):
    plain = Settings(**{"device": "cpu(0)", "mode": "jit", "profiler": "python"} | settings)
    return [Case(OperatorTarget(framework, f"jnp.f{i}"), {}, plain) for i in range(count)]


def silent(total):
    return Progress()


def named(case, name):
    return msgspec.structs.replace(case, target=OperatorTarget("jax", name))


def test_every_case_that_the_cache_lacks_is_compiled_once():
    workers, said = Workers(), []
    listed = [named(cases()[0], "done"), *cases(), *cases()]
    compile_ahead(workers, listed, said.append, silent)
    labels = [label for batch in workers.log for label in batch]
    assert sorted(labels) == sorted(case.label for case in cases())
    assert set(workers.ahead) == {case.id for case in cases()}
    assert said == ["compiling 20 cases in 2 processes before the first is measured"]
    assert all(worker.ended for worker in workers.begun)


def test_how_far_it_is_is_shown_and_what_a_process_did_not_compile_counts():
    stream = io.StringIO()
    listed = [*cases(), named(cases()[0], DEADLY)]
    compile_ahead(
        Workers(), listed, lambda text: None, lambda total: Plain(stream, total, title="compiled ")
    )
    first, *_, last = stream.getvalue().splitlines()
    assert first.startswith("compiled 1/21 jnp.f") and last.startswith("compiled 21/21 ")


@pytest.mark.parametrize(
    "listed, cores",
    [
        (cases(FEWEST - 1), 2),
        (cases(), 1),
        ([named(case, "done") for case in cases()], 2),
        # Another process would reserve the GPU's memory, and measure kernels at the same time.
        (cases(device="cuda(0)"), 2),
        (cases(profiler="instructions"), 2),
        # It has no cache of programs.
        (cases(framework="numpy"), 2),
    ],
)
def test_cases_that_are_few_or_unsuitable_are_compiled_when_they_are_measured(listed, cores):
    workers, said = Workers(cores), []
    compile_ahead(workers, listed, said.append, silent)
    assert not (workers.begun or workers.ahead or said)


def test_what_ends_a_process_costs_its_batch_alone():
    workers, listed = Workers(), [*cases(), named(cases()[0], DEADLY)]
    compile_ahead(workers, listed, lambda text: None, silent)
    lost = next(batch for batch in workers.log if DEADLY in batch)
    compiled = {case.id for case in listed if case.label not in lost}
    assert set(workers.ahead) == compiled
    assert len(compiled) >= FEWEST - module.BATCH


def test_at_an_interrupt_the_processes_are_killed():
    class Hanging(Compiler):
        first = threading.Event()

        def __init__(self, log):
            super().__init__(log)
            self.killed = threading.Event()

        def compile(self, cases):
            if not self.first.is_set():
                self.first.set()
                raise KeyboardInterrupt
            self.killed.wait()
            raise WorkerError("the worker was killed")

        def kill(self):
            self.killed.set()

    workers = Workers(compiler=Hanging)
    with pytest.raises(KeyboardInterrupt):
        compile_ahead(workers, cases(), lambda text: None, silent)
    assert all(worker.killed.is_set() and worker.ended for worker in workers.begun)
    assert not workers.ahead
