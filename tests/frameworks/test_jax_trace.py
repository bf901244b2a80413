"""Kernel times from the events of JAX's profiler."""

import itertools
import os
import subprocess
import sys
from contextlib import contextmanager, nullcontext

import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402  (jax may be missing)

from opperf.errors import ProfilerError  # noqa: E402
from opperf.frameworks import recording  # noqa: E402
from opperf.frameworks.jax import private, programs, recorder, thunks  # noqa: E402
from opperf.frameworks.jax.thunks import (  # noqa: E402
    MARKER,
    MODULE,
    THUNK,
    WAIT,
    NativeProfiler,
    read_trace,
    thunk_ns,
)
from opperf.frameworks.timing import CompiledRuns  # noqa: E402
from opperf.model import MetricKind  # noqa: E402
from tests.listed_jax import of_the_listed_jax  # noqa: E402


class Event:
    def __init__(self, name, begin, end, stats=()):
        self.name, self.start_ns, self.duration_ns, self.stats = name, begin, end - begin, stats


def thunk(begin, end, name="add.1"):
    return Event(name, begin, end, [(THUNK, name)])


class Holder:
    """A profile, plane or line of the profiler's."""

    def __init__(self, **held):
        vars(self).update(held)


def profile(*lines):
    return Holder(planes=[Holder(lines=[Holder(events=events) for events in lines])])


def test_events_are_sorted_by_what_they_are():
    found = read_trace(
        profile(
            [Event(MARKER, 200, 300), Event("PjitFunction(f)", 205, 295), Event(MARKER, 0, 100)],
            [thunk(210, 220), thunk(10, 20), Event("ThreadpoolListener::Record", 5, 6)],
            [Event(WAIT, 20, 60), thunk(12, 15, "mul.2")],
        )
    )
    assert found.calls == [(0, 100), (200, 300)]
    assert found.thunks == [(10, 20), (12, 15), (20, 60), (210, 220)]
    assert found.events == 8


def test_a_kernel_of_a_program_has_its_time_without_those_inside(monkeypatch):
    def of(module, begin, end, name):
        return Event(name, begin, end, [(THUNK, name), (MODULE, module)])

    found = [
        profile(
            [of("jit_f", 0, 100, "call"), of("jit_f", 10, 40, "dot"), of("jit_f", 50, 90, "add")],
            [of("jit_g", 0, 5, "dot"), of("jit_unknown", 6, 9, "dot"), Event("Execute", 0, 9)],
            [of("jit__lambda", 0, 7, "mul")],
        )
    ]
    monkeypatch.setattr(thunks, "record", lambda: nullcontext(found))
    runs = CompiledRuns()
    kernels = recorder.ProgramKernels(runs)
    kernels.begin()
    # The program's first run comes before a profile.
    kernels.add("first", "first (a.py:0)")
    # Nobody knows of which of two functions of a name it is.
    for name, program in (("f", "f (a.py:1)"), ("<lambda>", "<lambda> (a.py:2)")):
        runs.add(program, 100)
        kernels.add(name, program)
    for program in ("g (a.py:3)", "g (b.py:3)"):
        runs.add(program, 100)
        kernels.add("g", program)
    kernels.end()
    assert {program.name: program.kernels for program in runs.recorded()} == {
        "f (a.py:1)": {"dot": 30, "add": 40, "call": 30},
        "<lambda> (a.py:2)": {"mul": 7},
        "g (a.py:3)": {},
        "g (b.py:3)": {},
    }


def test_the_program_that_waits_for_others_is_no_work_of_a_call():
    last, module = "population_count.2", (MODULE, programs.LAST_MODULE)
    own = Event(last, 30, 40, [(THUNK, last), module])
    users = Event(last, 50, 60, [(THUNK, last), (MODULE, "jit_f")])
    found = read_trace(
        profile(
            [
                Event(MARKER, 0, 100),
                thunk(10, 20),
                own,
                Event(WAIT, 40, 45),
                users,
                Event(WAIT, 61, 62),
            ]
        )
    )
    assert found.thunks == [(10, 20), (50, 60), (61, 62)]


def test_the_program_that_waits_for_others_is_known_by_its_names():
    # The first call makes the program and its argument.
    programs.settled(None)
    with thunks.record() as recorded:
        programs.settled(None)
        jax.block_until_ready(programs._last_program(jax.devices()[0])())
    assert read_trace(recorded[0]).thunks == []


def profiled(monkeypatch, made, phases=1, count=2, cost=0.0):
    """Times of phases from profiles made here."""
    monkeypatch.setattr(thunks, "thunk_ns", lambda: cost)
    monkeypatch.setattr(recording, "FIRST_CALLS", count)

    @contextmanager
    def record():
        yield [made]

    monkeypatch.setattr(thunks, "record", record)
    # Every call takes longer than its thunks.
    monkeypatch.setattr(thunks, "perf_counter_ns", itertools.count(0, 10_000).__next__)
    return NativeProfiler("cpu(0)").trace([lambda: None] * phases, count)


def test_nested_thunks_count_once_and_waits_count(monkeypatch):
    made = profile(
        [Event(MARKER, 0, 1000), Event(MARKER, 2000, 3000)],
        # A thunk of a loop, with those of its body inside; another beside it.
        [thunk(100, 400, "while"), thunk(150, 200), thunk(250, 300)],
        [thunk(350, 500), Event(WAIT, 500, 650)],
        # The first of the second call, and one outside any call.
        [thunk(2100, 2130), thunk(1500, 1900)],
    )
    (timed,) = profiled(monkeypatch, made)
    assert timed.times == [550, 30]
    assert len(timed.walls) == 2


def test_the_cost_of_recording_nested_thunks_is_subtracted(monkeypatch):
    calls = [Event(MARKER, 0, 1000), Event(MARKER, 2000, 3000)]
    inside = [thunk(100 + 10 * i, 105 + 10 * i) for i in range(20)]
    made = profile(calls, [thunk(100, 400, "while"), *inside, thunk(2100, 2130)])
    (timed,) = profiled(monkeypatch, made, cost=10.0)
    # A fifth of the cost of one that is in no other.
    assert timed.times == [300 - 20 * 10 - 2, 30 - 2]
    assert timed.recording.events == 11


def test_a_large_cost_is_measured_on_the_case_itself_where_thunks_fill_its_calls(monkeypatch):
    begins = [0, 20_000]
    made = profile(
        [Event(MARKER, begin, begin + 10_000) for begin in begins],
        [thunk(begin + 100, begin + 9_600, "while") for begin in begins],
        [thunk(begin + 110 + i, begin + 111 + i) for begin in begins for i in range(20)],
    )
    # Every call takes the same time, recorded or not.
    (timed,) = profiled(monkeypatch, made, cost=10.0)
    assert timed.times == [9_500, 9_500]
    (timed,) = profiled(monkeypatch, made, cost=1.0)
    assert timed.times == [9_500 - 20 - 0.2] * 2


def loops_recorded(monkeypatch, lengths, events):
    """The cost of a thunk by calls of two loops whose thunks and plain calls take that long."""
    program = [*lengths["recorded"]] * thunks.CALLS
    calls = [Event(MARKER, 10_000 * i, 10_000 * i + 9_999) for i in range(len(program))]
    made = []
    for call, length, count in zip(calls, program, [*events] * thunks.CALLS, strict=True):
        begin = call.start_ns + 1
        made.append(thunk(begin, begin + length, "while"))
        made += [thunk(begin + 1, begin + 2)] * (count - 1)

    @contextmanager
    def record():
        yield [profile(calls, made)]

    monkeypatch.setattr(thunks, "record", record)
    monkeypatch.setattr(
        thunks, "run_in_turns", lambda phases, count: ([*lengths["plain"]] * thunks.CALLS, None)
    )
    monkeypatch.setattr(thunks, "_loop", lambda steps: lambda: None)
    return thunk_ns.__wrapped__()


def test_recording_costs_what_it_adds_to_the_steps_of_a_loop(monkeypatch):
    lengths = {"recorded": (1_000, 5_000), "plain": (700, 900)}
    assert loops_recorded(monkeypatch, lengths, (5, 15)) == (4_000 - 200) / 10
    # Both loops as one kernel each.
    assert loops_recorded(monkeypatch, lengths, (1, 1)) == 0
    busy = {"recorded": (1_000, 1_100), "plain": (700, 900)}
    assert loops_recorded(monkeypatch, busy, (5, 15)) == 0


# Newer versions record no thunk of a loop's body.
@of_the_listed_jax
def test_recording_a_thunk_costs_less_than_an_interpreted_call():
    calls = [thunks._loop(steps) for steps in thunks.STEPS]
    with thunks.record() as profiles:
        thunks.run_in_turns(calls, 1)
    trace = thunks.read_trace(profiles[0])
    few, many = (union.events for union in thunks.unions_in(trace.calls, trace.thunks))
    assert few < many, "a version that records no thunks of a loop's body"
    # A busy machine's times may differ by nothing.
    assert 0 <= thunk_ns() < 100_000


def test_calls_of_phases_take_turns(monkeypatch):
    calls = [(0, 100), (200, 300), (400, 500), (600, 700)]
    made = profile(
        [Event(MARKER, *call) for call in calls],
        [thunk(begin + 10, begin + 20 + 10 * i) for i, (begin, _) in enumerate(calls)],
    )
    first, second = profiled(monkeypatch, made, phases=2)
    assert (first.times, second.times) == ([10, 30], [20, 40])


def test_a_phase_without_thunks_has_no_times(monkeypatch):
    made = profile([Event(MARKER, 0, 100), Event(MARKER, 200, 300)])
    (timed,) = profiled(monkeypatch, made)
    assert timed.times == [] and len(timed.walls) == 2


@pytest.mark.parametrize("events", [[], [thunk(10, 20)], [Event(MARKER, 0, 100)]])
def test_a_trace_without_the_calls_is_an_error(monkeypatch, events):
    with pytest.raises(ProfilerError, match="did not record the calls.*--profiler python"):
        profiled(monkeypatch, profile(events))


def test_a_profiler_that_writes_nothing_is_an_error(monkeypatch):
    monkeypatch.setattr(jax.profiler, "start_trace", lambda folder, profiler_options: None)
    monkeypatch.setattr(jax.profiler, "stop_trace", lambda: None)
    with pytest.raises(ProfilerError, match="did not record the calls"), thunks.record():
        pass


def compiled(function, *arrays):
    program = jax.jit(function).lower(*arrays).compile()
    return lambda: jax.block_until_ready(program(*arrays))


def test_real_calls_have_times_of_thunks():
    data = jnp.ones((64, 64))
    product, nothing = compiled(lambda x: jnp.sin(x @ x), data), lambda: None
    timed, idle = NativeProfiler("cpu(0)").trace([product, nothing], 4, loops=2)
    assert len(timed.times) == len(timed.walls) == 4
    assert all(0 <= time <= wall for time, wall in zip(timed.times, timed.walls, strict=True))
    # The product and the sines.
    assert timed.recording.events >= 2
    assert idle.times == [] and len(idle.walls) == 4


@pytest.mark.parametrize("loops", [1, 2])
def test_the_caller_looks_at_the_time_where_calls_have_many_events(monkeypatch, loops):
    read = []
    plain = thunks.read_trace
    thunk_ns()

    def counted(made):
        found = plain(made)
        read.append(len(found.calls))
        return found

    monkeypatch.setattr(thunks, "read_trace", counted)
    # Fewer events than any call has, so that each has a recording of its own.
    monkeypatch.setattr(recording, "MOST_EVENTS", 1)
    timer, phases = NativeProfiler("cpu(0)"), [compiled(jnp.exp, jnp.ones(8))]
    for count in (20, 19, 1):
        (timed,) = timer.trace(phases, count, loops)
        assert len(timed.times) == 1
    assert read == [1] * 3 * loops


def test_an_error_of_a_phase_ends_the_recording():
    def refuse():
        raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        NativeProfiler("cpu(0)").trace([refuse], 1)
    (timed,) = NativeProfiler("cpu(0)").trace([compiled(jnp.exp, jnp.ones(8))], 1)
    assert timed.times


def test_its_times_are_of_kernels():
    assert NativeProfiler("cpu(0)").kind is MetricKind.KERNEL


@pytest.mark.parametrize("is_known", [True, False])
def test_a_recording_is_read_whether_or_not_its_session_is_known(monkeypatch, is_known):
    if not is_known:
        monkeypatch.setattr(private.PROFILE_STATE, "places", ("opperf:gone",))
    added = jax.jit(lambda x: x + 1)
    added(jnp.ones(8)).block_until_ready()
    for _ in range(2):
        with thunks.record() as profiles, jax.profiler.TraceAnnotation(MARKER):
            added(jnp.ones(8)).block_until_ready()
        found = read_trace(profiles[0])
        assert len(found.calls) == 1
        assert found.thunks


def test_the_profiler_prints_nothing():
    code = (
        "from opperf.frameworks.jax.thunks import NativeProfiler; import jax.numpy as jnp; "
        "NativeProfiler('cpu(0)').trace([lambda: jnp.ones(2).block_until_ready()], 3)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_other_messages_are_printed(capfd):
    with thunks._without_messages():
        os.write(thunks.STDERR, b"XLA: out of memory\nCan't import tensorflow.python\nlast")
    assert capfd.readouterr().err == "XLA: out of memory\nlast"


def test_a_closed_standard_error_stays_closed():
    code = (
        "import os; from opperf.frameworks.jax.thunks import record; os.close(2)\n"
        "with record() as profiles: pass\n"
        "print(len(profiles))"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert done.stdout == "1\n"
