"""The worker process: what it survives, and what it says of what it does not."""

import os
import re
import signal
import subprocess
import sys
import time
from threading import Thread

import msgspec
import psutil
import pytest

from opperf.errors import DeviceError, FrameworkError, UnknownOperatorError, UsageError, WorkerError
from opperf.execution.workers import Workers
from opperf.machine import kernel as module_of_kills
from opperf.machine.kernel import memory_advice, memory_kills
from opperf.model import Case, FileTarget, Settings, Status, TensorSpec, VerificationCode
from opperf.processes.children import LOG_TAIL_BYTES
from opperf.sources.choices import choices
from opperf.sources.selecting import Selection
from opperf.worker import case_process
from opperf.worker.answers import list_operators
from opperf.worker.client import Worker
from opperf.worker.program import WorkerDied, describe_end
from tests.running import is_running

WAIT_S = 30
"""How long a process may take to do what it is about to do, on a busy machine."""


def on(device):
    return Selection(settings=Settings(device=device))


def pid_of(worker):
    return worker._process.pid


def wait_for(condition):
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def test_a_case_that_succeeds(worker, make_case):
    case = make_case("relu", passes=("forward", "backward"))
    record = worker.measure(case)
    assert (record.status, record.reason) == (Status.OK, "")
    assert record.case == case and record.id == case.id
    assert record.samples["forward"] == [1000.0] * 3
    assert record.samples["backward"] == [2500.0] * 3
    assert record.wall_s > 0


DIES_IN_FLOAT64 = """
import os
def function(x):
    return x + 1 if x.dtype == "float32" else os._exit(8)
"""


def test_a_process_that_ends_in_the_verification_costs_no_times(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(DIES_IN_FLOAT64)
    settings = Settings(profiler="python", runs=2, warmup=1, memory=False, verify=True)
    target = FileTarget("numpy", str(file), "function")
    case = Case(target, {"x": TensorSpec((3,))}, settings, ("forward",))
    with Worker("numpy") as worker:
        record = worker.measure(case)
        assert record.status is Status.OK and len(record.samples["forward"]) == 2
        assert record.verification.code is VerificationCode.VERIFIER_DIDNT_RUN
        assert "exit code 8" in record.verification.reason
        # What was kept is of that case alone.
        refused = worker.measure(Case(target, {"y": TensorSpec((3,))}, settings, ("forward",)))
        assert refused.status is Status.FAILED and not refused.samples
        assert refused.verification.code is VerificationCode.EAGER_FAILED


def test_one_process_measures_many_cases(worker, make_case):
    worker.measure(make_case("relu"))
    first = pid_of(worker)
    worker.measure(make_case("fails"))
    worker.measure(make_case("refuses"))
    assert pid_of(worker) == first


@pytest.mark.parametrize(
    "name, reason",
    [("fails", "RuntimeError: bad luck, over two lines"), ("refuses", "shapes do not match")],
)
def test_an_operator_that_raises_has_failed(worker, make_case, name, reason):
    record = worker.measure(make_case(name))
    assert (record.status, record.reason) == (Status.FAILED, reason)


@pytest.mark.parametrize(
    "name, words",
    [
        ("segfaults", ["SIGSEGV", "last output: about to die"]),
        ("is_killed", ["by SIGKILL; last output: about to die"]),
        ("leaves", ["exit code 8"]),
        ("exits", ["exit code 7"]),
    ],
)
def test_a_worker_that_dies_costs_one_case(worker, make_case, name, words):
    worker.measure(make_case("relu"))
    first = pid_of(worker)
    case = make_case(name)
    record = worker.measure(case)
    assert record.status is Status.CRASHED
    assert record.case == case and record.id == case.id
    assert all(word in record.reason for word in words), record.reason
    assert "\n" not in record.reason
    after = worker.measure(make_case("relu"))
    assert after.status is Status.OK
    assert pid_of(worker) != first


@pytest.mark.parametrize(
    "code, log, reason",
    [
        (-11, "", "the process was ended by SIGSEGV"),
        (3, "", "the process ended with exit code 3"),
        # A handler of the framework's own, as MXNet 1 has one.
        (255, "\nSegmentation fault: 11\n", "the process was ended by SIGSEGV, with exit code 255"),
        (1, "Floating point exception: 8\nat x", "the process was ended by SIGFPE, with exit code"),
        (1, "no Segmentation fault: 11 here", "the process ended with exit code 1;"),
    ],
)
def test_how_a_worker_ended_is_told_by_its_signal_or_its_exit_code(code, log, reason):
    assert describe_end(WorkerDied(code, log)).startswith(reason)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (-signal.SIGILL, "Valgrind does not know an instruction of the operator, 0x62 0xF1; use"),
        # A library tried the instruction, and went on without it.
        (-signal.SIGKILL, "the process was ended by SIGKILL"),
        (1, "the process ended with exit code 1"),
    ],
)
def test_an_unknown_instruction_is_a_reason_where_it_ended_the_process(code, reason):
    log = "vex amd64->IR: unhandled instruction bytes: 0x62 0xF1\n"
    assert describe_end(WorkerDied(code, log)).startswith(reason)


@pytest.mark.parametrize(
    ("counted", "told"),
    [
        ((3, 3), ""),
        ((3, 4), " (out of memory; choose a smaller --size)"),
        ((None, 4), " (perhaps out of memory; choose a smaller --size)"),
    ],
)
def test_a_kill_is_for_memory_if_the_kernel_counts_it(monkeypatch, tmp_path, counted, told):
    before, after = counted
    (tmp_path / "vmstat").write_text(f"nr_free_pages 5\noom_kill {after}\nswap_ra 0\n")
    assert memory_kills(tmp_path) == after and memory_kills(tmp_path / "none") is None
    monkeypatch.setattr(module_of_kills, "memory_kills", lambda: after)
    died = WorkerDied(-signal.SIGKILL, "", memory_advice(signal.SIGKILL, before))
    assert describe_end(died) == f"the process was ended by SIGKILL{told}"
    assert memory_advice(signal.SIGSEGV, before) == ""


def test_a_worker_that_is_killed_from_elsewhere_ends_its_case_and_starts_no_more(
    make_case, variables, monkeypatch
):
    # One of its own, as no other case can have it.
    with Worker("fake", environment=variables) as worker:
        worker.measure(make_case("relu"))
        pid = pid_of(worker)
        wait = worker._line

        def killed(timeout_s):
            Thread(target=worker.kill).start()
            return wait(timeout_s)

        # Whatever the load, the case has been asked for.
        monkeypatch.setattr(worker, "_line", killed)
        record = worker.measure(make_case("hangs", timeout_s=WAIT_S))
        assert record.status is Status.CRASHED and "SIGKILL" in record.reason
        assert not is_running(pid)
        with pytest.raises(WorkerError, match="the worker was killed"):
            worker.measure(make_case("relu"))


def test_workers_that_are_killed_start_none(make_case, variables, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with Workers() as workers:
        workers.kill()
        with pytest.raises(WorkerError, match="the worker was killed"):
            workers.measure(make_case("relu"))


def test_last_words_are_one_short_line():
    log = "first\n" + "word " * 100 + "\n\n  \n"
    told = describe_end(WorkerDied(3, log))
    words = told.partition("; last output: ")[2]
    assert words.startswith("word word ") and len(words) <= 160
    assert describe_end(WorkerDied(3, " \n")) == "the process ended with exit code 3"


def test_of_what_a_worker_printed_the_end_is_kept():
    # One of its own: what is in the log comes before what the next process says.
    with Worker("fake") as worker:
        os.pwrite(worker._log.fileno(), b"x" * LOG_TAIL_BYTES + b"the end", 0)
        assert worker.log == "x" * (LOG_TAIL_BYTES - len("the end")) + "the end"


def test_a_process_that_takes_its_time_to_die_does_not_end_the_run(worker, make_case, monkeypatch):
    worker.measure(make_case("relu"))
    process = worker._process

    def wait(timeout):
        raise subprocess.TimeoutExpired("worker", timeout)

    monkeypatch.setattr(process, "wait", wait)
    record = worker.measure(make_case("hangs", timeout_s=0.5))
    assert record.status is Status.TIMEOUT
    assert worker.measure(make_case("relu")).status is Status.OK
    wait_for(lambda: process.poll() is not None)


def test_the_last_words_are_of_the_worker_that_died(worker, make_case):
    worker.measure(make_case("segfaults"))
    record = worker.measure(make_case("leaves"))
    assert record.reason == "the process ended with exit code 8"


def test_a_worker_that_dies_between_cases_costs_none(worker, make_case):
    assert worker.measure(make_case("relu")).status is Status.OK
    first = pid_of(worker)
    os.kill(first, signal.SIGKILL)
    # Waits until all its threads are gone, and leaves its exit code for the worker's manager.
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
    record = worker.measure(make_case("relu"))
    assert (record.status, record.reason) == (Status.OK, "")


def test_a_case_that_hangs_is_ended_and_costs_one_case(worker, make_case):
    worker.measure(make_case("relu"))
    first = pid_of(worker)
    record = worker.measure(make_case("hangs", timeout_s=0.5))
    assert record.status is Status.TIMEOUT
    assert "0.5 s" in record.reason and "--timeout" in record.reason
    assert 0.5 <= record.wall_s < WAIT_S
    assert not is_running(first)
    assert worker.measure(make_case("relu")).status is Status.OK


def test_what_is_printed_does_not_break_the_protocol(variables, make_case):
    with Worker("chatty", environment=variables) as worker:
        records = [worker.measure(make_case(name)) for name in ("prints", "relu", "prints")]
        assert "a banner on standard output" in worker.log
        assert "printed by Python" in worker.log and '{"type": "measured"}' in worker.log
    assert [record.case.label for record in records] == ["prints", "relu", "prints"]
    assert all(record.status is Status.OK for record in records)


def test_the_environment_is_the_workers(variables):
    with Worker("fake", Settings(threads=3, env={"OPPERF_TEST": "7"}), variables) as worker:
        environment = worker.environment()
    assert environment.framework == "fake"
    assert environment.versions == {"fake": "1.0"}
    assert environment.devices == ("cpu(0)",)
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    assert [environment.threads[name] for name in names] == ["3"] * 3


def test_process_settings_are_those_of_the_process(variables, make_case):
    case = make_case("relu", threads=3, env={"FAKE_THREADS": "5"})
    with Worker("fake", case.settings, variables) as worker:
        assert worker.environment().threads["FAKE_THREADS"] == "5"
        assert worker.measure(case).status is Status.OK
        for other in (make_case("relu"), make_case("relu", threads=2)):
            with pytest.raises(WorkerError, match="this one was started with"):
                worker.measure(other)
        assert worker.measure(case).status is Status.OK


def test_a_plan_crosses_the_border_whole(worker, fake):
    from opperf.sources.registry import plan

    selection = Selection(patterns=("relu", "add_n", "mystery", "dropout"))
    crossed = worker.plan(selection)
    assert crossed == plan(fake, selection)
    assert [case.id for case in crossed.cases] == [c.id for c in plan(fake, selection).cases]


def test_what_a_framework_offers_crosses_the_border(worker, fake):
    assert worker.choices() == choices(fake)


def test_ending_ends_the_process(variables, make_case):
    with Worker("fake", environment=variables) as worker:
        worker.measure(make_case("relu"))
        pid = pid_of(worker)
        assert is_running(pid)
    assert not is_running(pid)


def test_two_threads_may_end_a_process(variables, monkeypatch):
    with Worker("fake", environment=variables) as worker:
        worker.environment()
        process = worker._process
        wait = process.wait

        def wait_while_another_ends_it(timeout):
            worker.end()
            return wait(timeout)

        monkeypatch.setattr(process, "wait", wait_while_another_ends_it)
        worker.end()
        assert process.stdin.closed and process.stdout.closed and worker._process is None


def test_a_worker_that_was_never_asked_starts_no_process(variables):
    with Worker("fake", environment=variables) as worker:
        assert worker._process is None


@pytest.mark.parametrize(
    "ask, error, words",
    [
        (lambda w: w.resolve_selection(on("tpu")), UsageError, "unknown device 'tpu'"),
        (lambda w: w.resolve_selection(on("gpu(0)")), DeviceError, "gpu(0): the fake has no GPU"),
        (
            lambda w: w.plan(Selection(patterns=("rilu",))),
            UnknownOperatorError,
            "did you mean relu",
        ),
        (
            lambda w: w.plan(Selection(patterns=("nd.relu",))),
            UnknownOperatorError,
            "nd.relu: no such function",
        ),
    ],
)
def test_errors_cross_the_border_as_what_they_are(worker, ask, error, words):
    with pytest.raises(error) as caught:
        ask(worker)
    assert type(caught.value) is error
    assert words in str(caught.value)
    if hasattr(caught.value, "__notes__"):
        assert "Traceback" in "".join(caught.value.__notes__)
    # The worker lives on.
    settings = worker.resolve_selection(
        Selection(settings=Settings(device="", profiler=""))
    ).settings
    assert (settings.device, settings.profiler) == ("cpu(0)", "native")


@pytest.mark.parametrize(
    "framework, error, words, starts",
    [
        ("absent", FrameworkError, "absent cannot be imported", 1),
        ("refusing", DeviceError, "the driver is too old; install a newer one", 1),
        ("fakee", UsageError, "did you mean fake", 1),
        # Bad luck, perhaps, as when the kernel needed memory.
        ("dying", WorkerError, "SIGABRT; last output: about to die", 3),
    ],
)
def test_a_framework_that_cannot_be_loaded(variables, framework, error, words, starts):
    with Worker(framework, environment=variables) as worker:
        for times in (1, 2):
            with pytest.raises(error) as caught:
                worker.environment()
            assert words in str(caught.value)
            assert type(caught.value) is error
            assert worker.launches == times * starts


@pytest.mark.parametrize(
    "name, timeout_s, refusal",
    [
        ("segfaults", WAIT_S, "the process was ended by SIGSEGV; last output: about to die"),
        ("hangs", 0.5, "not finished after 0.5 s"),
    ],
)
def test_a_trial_that_ends_the_worker_says_so(worker, make_case, name, timeout_s, refusal):
    trial = worker.try_call(make_case(name), timeout_s)
    assert (trial.refusal, trial.ended) == (refusal, True)
    after = worker.try_call(make_case("relu"), WAIT_S)
    assert (after.refusal, after.ended) == ("", False)
    assert worker.try_call(make_case("refuses"), WAIT_S).refusal == "shapes do not match"


@pytest.mark.parametrize(("first", "ended"), [("", True), ("relu", False)])
def test_a_crash_that_an_earlier_case_may_have_caused_is_tried_again(
    variables, make_case, tmp_path, first, ended
):
    crashes_once = tmp_path / "crashes once"
    crashes_once.touch()
    with Worker("fake", environment={**variables, "FAKE_FLAKY": str(crashes_once)}) as worker:
        if first:
            worker.try_call(make_case(first), WAIT_S)
        assert worker.try_call(make_case("flaky"), WAIT_S).ended is ended
    assert not crashes_once.exists()


def test_a_worker_that_does_not_answer_in_time(worker, monkeypatch):
    worker.environment()
    with monkeypatch.context() as patched:
        patched.setattr(case_process, "PLAN_TIMEOUT_S", 0.0)
        with pytest.raises(WorkerError, match="planning took over 0 s"):
            worker.listing()
        patched.setattr(case_process, "START_TIMEOUT_S", 0.0)
        with pytest.raises(WorkerError, match="importing fake took over 0 s"):
            worker.environment()
    assert worker.environment().framework == "fake"


def test_what_else_can_be_asked_for(worker, fake, make_case):
    assert worker.listing() == list_operators(fake)
    assert worker.scripts((make_case("relu"), make_case("add"))) == (
        "fake.relu(data)\n",
        "fake.add(data)\n",
    )


def test_fixed_work_is_timed_where_that_is_asked_for(variables, make_case):
    with Worker("fake", environment=variables, reference_work=True) as worker:
        assert set(worker.measure(make_case("relu")).reference) == {"forward"}


def test_another_interpreter_is_another_installation(variables):
    with Worker("fake", environment=variables) as own:
        assert not own.is_foreign
    with Worker("fake", environment=variables, python="/elsewhere/python") as other:
        assert other.is_foreign
        with pytest.raises(WorkerError, match="cannot start a worker process: .*elsewhere"):
            other.environment()


def test_a_python_that_cannot_be_started(variables, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
    with (
        Worker("fake", environment=variables) as worker,
        pytest.raises(WorkerError, match="cannot start a worker process"),
    ):
        worker.environment()


PARENT = """
import sys
import msgspec
from opperf.model import Case
from opperf.worker import client
from opperf.worker.answers import list_operators
from opperf.worker.program import WorkerDied, describe_end
from opperf.worker.client import Worker

worker = Worker("fake")
worker.environment()
print(worker._process.pid, flush=True)
worker.measure(msgspec.json.decode(sys.argv[1], type=Case))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="prctl is Linux's")
@pytest.mark.parametrize("name", ["hangs", "relu"])
def test_a_worker_dies_with_its_parent(variables, make_case, name):
    case = msgspec.json.encode(make_case(name)).decode()
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT + "sys.stdin.read()", case],
        env=variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with parent:
        pid = int(parent.stdout.readline())
        assert is_running(pid)
        assert psutil.Process(pid).ppid() == parent.pid
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
        wait_for(lambda: not is_running(pid))


def test_options_of_the_framework_hold_for_the_process(variables, make_case):
    options = {"fake.turbo": "true", "fake.stretch": "3"}
    case = make_case("relu", options=options, memory=False)
    with Worker("fake", case.settings, environment=variables) as worker:
        record = worker.measure(case)
    assert record.samples["forward"] == [1500.0] * 3
    assert record.case.settings.options == options


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fake.turb": "true"}, "unknown option 'fake.turb'; did you mean fake.turbo?"),
        ({"fake.turbo": "2"}, "fake.turbo is true or false, not '2'"),
    ],
)
def test_a_wrong_option_of_the_framework_is_refused_at_the_start(variables, options, words):
    settings = Settings(options=options, memory=False)
    worker = Worker("fake", settings, environment=variables)
    with worker, pytest.raises(UsageError, match=re.escape(words)):
        worker.environment()
