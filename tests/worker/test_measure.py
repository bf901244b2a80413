"""From a case to a record, with a framework whose every step is known."""

import math
import time

import msgspec
import pytest

from opperf.errors import OpperfError, UnsupportedError, UsageError
from opperf.frameworks.timing import PhaseTimes, Recording
from opperf.instruments import memory as memory_module
from opperf.instruments import sampled_passes
from opperf.instruments import visit as visit_module
from opperf.instruments.peaks import LOCAL_METER, Peaks, estimated_bytes, guard
from opperf.instruments.prepared import NOTHING_BOUND, Bound, PreparedCase, key_of
from opperf.instruments.profilers.reference_work import WORKS, ReferenceWork
from opperf.instruments.visit import Conditions, FewCalls
from opperf.model import (
    OWN,
    Case,
    Fill,
    MetricKind,
    Note,
    NoteCode,
    OperatorTarget,
    Settings,
    Status,
    TensorSpec,
)
from opperf.rules.deviations import NotFinite
from opperf.rules.engine import rules_module
from opperf.worker import pristine as pristine_meter
from opperf.worker.measure import measure
from opperf.worker.pristine import PristineMeter

BOTH = ("forward", "backward")
FLOATS = TensorSpec((4, 4), gradient=True)


def traces(fake):
    """The calls made while each trace ran, by the phases it was given."""
    found = []
    for call in fake.calls:
        if call[0] == "trace":
            found.append([])
        elif found:
            found[-1].append(call)
    return found


def test_forward_and_backward_are_separate_phases(fake, make_case):
    record = measure(make_case("relu", passes=BOTH, warmup=2, runs=5), fake)
    assert record.status is Status.OK and record.reason == ""
    assert record.samples == {
        "forward": [1000.0] * 5,
        "backward": [2500.0] * 5,
        "total": [3500.0] * 5,
    }
    assert {name: s.unit for name, s in record.summaries.items()} == {
        "forward": "ns",
        "backward": "ns",
        "total": "ns",
        "flops": "count",
        "flops_backward": "count",
        "memory": "B",
        "memory_forward": "B",
    }
    assert record.summaries["backward"].median == 2500.0
    assert record.notes == ()


def test_the_forward_pass_is_timed_without_recording(fake, make_case):
    measure(make_case("relu", passes=BOTH, warmup=0, runs=4), fake)
    forward, both = traces(fake)
    assert forward[:4] == ["call"] * 4
    assert "record" not in forward[:4] and both == ["record", "call", "backward"] * 4


def test_fixed_work_is_timed_between_the_calls_and_is_no_part_of_them(fake, make_case, monkeypatch):
    monkeypatch.setattr(ReferenceWork, "__call__", noted(fake.calls, ReferenceWork.__call__))
    case = make_case("relu", passes=BOTH, warmup=0, runs=2)
    worked = Conditions(LOCAL_METER, reference_work=True)
    reference_work, plain = measure(case, fake, conditions=worked), measure(case, fake)
    assert reference_work.reference.keys() == set(BOTH) and plain.reference == {}
    assert all(works.keys() == {OWN, *WORKS} for works in reference_work.reference.values())
    assert reference_work.id == plain.id
    forward, both = traces(fake)[:2]
    assert [call for call in forward if call != "wait"][:4] == ["pace", "call"] * 2
    assert [call for call in both if call != "wait"][:10] == [
        *("pace", "record", "call", "pace", "backward"),
        *("pace", "record", "call", "pace", "backward"),
    ]


def noted(calls, function):
    def called(self):
        calls.append("pace")
        function(self)

    return called


def test_without_backward_nothing_is_differentiated(fake, make_case):
    record = measure(make_case("relu"), fake)
    assert "backward" not in record.summaries and not record.notes
    assert not {"record", "backward"} & {call for call in fake.calls if isinstance(call, str)}
    assert record.samples["total"] == record.samples["forward"]


def test_warm_up_and_runs_are_what_was_asked_for(fake, make_case):
    counts = {}
    for warmup in (0, 7):
        fake.calls.clear()
        measure(make_case("relu", passes=BOTH, warmup=warmup, runs=3), fake)
        assert [c for c in fake.calls if c[0] == "trace"] == [("trace", 1, 3), ("trace", 2, 3)]
        counts[warmup] = {what: fake.calls.count(what) for what in ("call", "record", "backward")}
    more = {what: counts[7][what] - counts[0][what] for what in counts[0]}
    # Seven calls for the forward trace, and seven recorded ones for that of both.
    assert more == {"call": 14, "record": 7, "backward": 7}


def test_the_warm_up_is_over_before_the_trace_begins(fake, make_case):
    measure(make_case("relu", warmup=3, runs=2), fake)
    before = fake.calls[: fake.calls.index(("trace", 1, 2))]
    assert before[-6:] == ["call", "wait"] * 3
    # And two that come first: one that compiles, and one whose memory is read.
    assert before.count("call") == 5


@pytest.mark.parametrize(
    ("few", "profiler", "samples", "calls"),
    [
        (None, "python", 3, 4),
        (FewCalls(), "python", 1, 2),
        (FewCalls(first_s=math.inf), "python", 1, 2),
        (FewCalls(first_s=0.0), "python", 1, 1),
        # A first call is timed by the wall clock.
        (FewCalls(first_s=0.0), "native", 1, None),
    ],
)
def test_a_slow_case_has_one_sample_which_may_be_the_first_call(
    fake, make_case, few, profiler, samples, calls
):
    case = make_case("relu", profiler=profiler, max_time_s=1e-9, memory=False)
    record = measure(case, fake, conditions=Conditions(LOCAL_METER, few=few))
    assert record.summaries["forward"].n == record.summaries["total"].n == samples
    assert record.waits.keys() == {"forward"}
    if calls is not None:
        assert fake.calls.count("call") == calls
    else:
        assert any(call[0] == "trace" for call in fake.calls)


def test_beside_long_calls_no_reference_work_is_timed(fake, make_case):
    case = make_case("relu", profiler="python", warmup=0, runs=2)
    for is_gauged in (False, True):
        few = FewCalls(is_gauged=is_gauged)
        done = measure(case, fake, conditions=Conditions(LOCAL_METER, reference_work=True, few=few))
        assert bool(done.reference) == is_gauged


def test_the_python_profiler_waits_for_every_call(fake, make_case):
    record = measure(make_case("relu", passes=BOTH, profiler="python", warmup=0, runs=6), fake)
    assert {name: len(times) for name, times in record.samples.items()} == {
        "forward": 6,
        "backward": 6,
        "total": 6,
    }
    assert all(t >= 0 for times in record.samples.values() for t in times)
    assert fake.calls[-30:] == ["record", "call", "wait", "backward", "wait"] * 6


@pytest.mark.parametrize(
    "name, arguments, note",
    [
        ("rounded", None, "its gradient is zero everywhere"),
        ("relu", {"data": TensorSpec((4,), "int32")}, "none of its inputs takes a gradient"),
    ],
)
def test_no_gradient_is_a_note_and_no_failure(fake, make_case, name, arguments, note):
    record = measure(make_case(name, passes=BOTH, arguments=arguments), fake)
    assert record.status is Status.OK
    assert record.notes == (Note("backward", NoteCode.NO_GRADIENT, note),)
    assert "forward" in record.summaries and "backward" not in record.summaries
    assert record.samples["total"] == record.samples["forward"]


def test_a_pass_that_runs_no_kernel_is_a_note(fake, make_case, monkeypatch):
    class Silent:
        kind = MetricKind.KERNEL
        resolution_ns = 1.0

        def trace(self, phases, count, loops=1):
            return [PhaseTimes([], [], []) for _ in phases]

    monkeypatch.setattr(fake.profilers, "own", lambda: {"native": lambda device: Silent()})
    for reference_work in (False, True):
        record = measure(
            make_case("relu", passes=BOTH),
            fake,
            conditions=Conditions(LOCAL_METER, reference_work=reference_work),
        )
        assert record.status is Status.OK and record.reference == {}
        assert set(record.summaries) == {"memory", "memory_forward", "flops"}
        assert {(note.metric, note.code) for note in record.notes} == {
            (metric, NoteCode.NO_KERNEL) for metric in ("forward", "backward", "total")
        }
        # What it returns is no view.
        assert all("native sees no kernel in calls;" in note.message for note in record.notes)


def test_memory_is_the_calls_own(fake, make_case):
    size = 4 * 4 * 4
    record = measure(make_case("relu"), fake)
    assert record.summaries["memory"].max == size
    record = measure(make_case("with_workspace"), fake)
    assert record.summaries["memory"].max == 11 * size
    record = measure(make_case("relu", passes=BOTH), fake)
    assert record.summaries["memory_forward"].max == size
    # The output and the gradient of the one input.
    assert record.summaries["memory"].max == 2 * size


def test_memory_does_not_depend_on_what_ran_before(fake, make_case):
    case = make_case("relu", passes=BOTH)
    first = measure(case, fake).summaries["memory"]
    for _ in range(5):
        measure(make_case("with_workspace", shape=(64, 64), passes=BOTH), fake)
    assert measure(case, fake).summaries["memory"] == first


def test_everything_is_freed_after_a_case(fake, make_case):
    for name in ("relu", "fails", "refuses", "rounded"):
        measure(make_case(name, passes=BOTH), fake)
        assert fake.level == 0, name


def test_the_mode_is_the_cases(fake, make_case):
    measure(make_case("relu", phase="train"), fake)
    measure(make_case("relu"), fake)
    assert [c for c in fake.calls if c[0] == "scope"] == [("scope", "train"), ("scope", "predict")]


def test_a_case_that_does_not_fit_is_skipped_with_the_figures(fake, make_case):
    fake.free = 2 * 2**30
    record = measure(make_case("relu", shape=(1 << 15, 1 << 15)), fake)
    assert record.status is Status.SKIPPED
    # 4 GiB of input, and an output with an allowance as large again.
    assert record.reason.startswith(
        "needs about 12.0 GiB and cpu(0) has 2.0 GiB free; use --size small"
    )
    assert fake.calls == [], "it was refused before anything was made"


def test_the_guard_lets_pass_what_fits_exactly(fake, make_case):
    case = make_case("relu", passes=BOTH)
    fake.free = estimated_bytes(case, None)
    guard(case, fake)
    fake.free -= 1
    with pytest.raises(UnsupportedError):
        guard(case, fake)


def test_what_a_case_needs():
    spec = TensorSpec((1024,), "float32", gradient=True)
    forward = Case(OperatorTarget("fake", "f"), {"a": spec, "b": (spec, spec)}, passes=("forward",))
    both = msgspec.structs.replace(forward, passes=BOTH)
    small = {"a": TensorSpec((1024,), "int8")}
    assert estimated_bytes(forward, None) == 4096 * (3 + 2)
    assert estimated_bytes(both, None) == 4096 * (3 + 3 + 2)
    assert estimated_bytes(msgspec.structs.replace(forward, arguments=small), None) == 1024 * 3
    assert estimated_bytes(msgspec.structs.replace(forward, arguments={}), [(10, 10)]) == 800
    assert estimated_bytes(forward, [(1024,), (2048,)]) == 4096 * (3 + 2 * 3)


@pytest.mark.parametrize(
    "name, status, reason",
    [
        ("refuses", Status.FAILED, "shapes do not match"),
        ("fails", Status.FAILED, "RuntimeError: bad luck, over two lines"),
        ("gpu_only", Status.SKIPPED, "only on GPU"),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_refusals_in_every_dtype(fake, make_case, name, status, reason, dtype):
    record = measure(make_case(name, passes=BOTH, dtype=dtype), fake)
    assert (record.status, record.reason) == (status, reason)
    assert record.summaries == {} and record.samples == {}


def test_a_dtype_the_operator_does_not_take_is_skipped(fake, make_case):
    record = measure(make_case("needs_floats", dtype="int32"), fake)
    assert record.status is Status.SKIPPED
    assert record.reason == "does not take int32: expected floats, got int32"
    assert record.case.settings.dtype == "int32", "the case is the one that was asked for"
    assert fake.level == 0


def test_what_is_of_a_fixed_dtype_is_not_the_users_dtypes_fault(fake, make_case):
    arguments = {"data": TensorSpec((4,), "int64")}
    record = measure(make_case("needs_floats", dtype="int32", arguments=arguments), fake)
    assert record.status is Status.FAILED
    assert record.reason == "expected floats, got int64"


def test_other_dtypes_are_measured_like_any(fake, make_case):
    assert measure(make_case("relu", dtype="int32"), fake).status is Status.OK
    assert measure(make_case("needs_floats", dtype="float64"), fake).status is Status.OK


@pytest.mark.parametrize(
    "error, status",
    [
        (UnsupportedError("no such array"), Status.SKIPPED),
        (OpperfError("a rule is wrong"), Status.FAILED),
        (MemoryError("no more"), Status.FAILED),
        (KeyError("x"), Status.FAILED),
    ],
)
def test_errors_while_inputs_are_made(fake, make_case, monkeypatch, error, status):
    def tensor(spec, device, seed):
        raise error

    monkeypatch.setattr(fake, "tensor", tensor)
    record = measure(make_case("relu"), fake)
    assert record.status is status
    assert str(error) in record.reason


def test_an_unknown_profiler_is_in_the_record(fake, make_case):
    record = measure(make_case("relu", profiler="nativ"), fake)
    assert record.status is Status.SKIPPED
    assert "unknown profiler 'nativ'; did you mean native" in record.reason


def test_an_interrupt_is_not_a_record(fake, make_case):
    def interrupted(array):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure(make_case("relu"), fake, Bound(function=interrupted))


def test_what_a_caller_holds_is_adopted(fake, make_case):
    held = object()
    given = TensorSpec((4,), fill=Fill("given", digest="abc"), gradient=True)
    case = make_case("relu", arguments={"data": given}, passes=BOTH)
    record = measure(case, fake, Bound(arrays={key_of(given): held}))
    assert record.status is Status.OK
    assert ("adopt", held) in fake.calls


def test_a_function_a_caller_holds_is_called(fake, make_case):
    seen = []
    measure(make_case("relu"), fake, Bound(function=seen.append))
    assert seen


def test_lists_of_tensors_and_plain_values_reach_the_call(fake, monkeypatch):
    bound = {}

    def bind(case, arguments, function=None):
        bound.update(arguments)
        return lambda: None

    monkeypatch.setattr(fake, "bind", bind)
    arguments = {"args": (FLOATS, FLOATS), "axis": (0, 1), "p": 0.5, "data": FLOATS}
    case = Case(OperatorTarget("fake", "f"), arguments, Settings(runs=1), passes=("forward",))
    assert measure(case, fake).status is Status.OK
    assert [array.shape for array in bound["args"]] == [(4, 4)] * 2
    assert bound["axis"] == (0, 1) and bound["p"] == 0.5 and bound["data"].shape == (4, 4)


def test_the_record_is_of_the_case(fake, make_case):
    for name in ("relu", "fails", "refuses"):
        case = make_case(name)
        record = measure(case, fake)
        assert record.case is case and record.id == case.id
        assert record.wall_s > 0


def test_bad_settings_of_the_whole_run_are_the_plans_to_refuse(fake):
    from opperf.sources.registry import plan
    from opperf.sources.selecting import Selection

    with pytest.raises(UsageError, match="unknown profiler"):
        plan(fake, Selection(settings=Settings(profiler="nativ")))


def timed_calls(fake, make_case, max_time_s, warmup):
    case = make_case("relu", warmup=warmup, runs=40)
    settings = msgspec.structs.replace(case.settings, max_time_s=max_time_s, profiler="python")
    case = msgspec.structs.replace(case, settings=settings)
    slow = Bound(function=lambda *arrays, **values: time.sleep(0.01))
    return measure(case, fake, slow).summaries["forward"].n


def test_a_slow_operator_makes_do_with_fewer_calls_within_its_time(fake, make_case):
    # At 10 ms a call, 0.1 s are ten calls, or fewer where the machine is slow to wake up.
    assert 3 <= timed_calls(fake, make_case, max_time_s=0.1, warmup=2) <= 10


def test_a_time_limit_leaves_at_least_three_calls(fake, make_case):
    assert timed_calls(fake, make_case, max_time_s=0.001, warmup=2) == 3


@pytest.mark.parametrize("limit", [None, 60.0])
def test_without_a_limit_or_within_it_every_call_is_made(fake, make_case, limit):
    assert timed_calls(fake, make_case, max_time_s=limit, warmup=2) == 40


def with_times(fake, monkeypatch, kernel_ns, wall_ns):
    """A profiler that tells these times of every call."""

    class Told:
        kind = MetricKind.KERNEL
        resolution_ns = 1.0

        def trace(self, phases, count, loops=1):
            times = [kernel_ns] * count
            return [PhaseTimes(times, [wall_ns] * count, times) for _ in phases]

    monkeypatch.setattr(fake.profilers, "own", lambda: {"native": lambda device: Told()})


@pytest.mark.parametrize(("loops", "noted"), [(1, []), (20, ["20 calls are queued between two"])])
def test_calls_that_are_timed_together_are_noted(fake, make_case, monkeypatch, loops, noted):
    class Queueing:
        kind = MetricKind.WALL
        resolution_ns = 1.0

        def trace(self, phases, count, loops=1):
            times = [1000.0] * count
            return [PhaseTimes(times, times, times, batch=loops) for _ in phases]

    monkeypatch.setattr(fake.profilers, "own", lambda: {"native": lambda device: Queueing()})
    monkeypatch.setattr(sampled_passes, "loops_for", lambda *given: loops)
    record = measure(make_case("relu", runs=None, max_time_s=0.01), fake)
    assert record.time_kind is MetricKind.WALL and record.summaries["forward"].loops == loops
    notes = [note for note in record.notes if note.code is NoteCode.BATCHED]
    assert [note.message[: len("20 calls are queued between two")] for note in notes] == noted
    assert {note.metric for note in notes} <= {"forward"}


@pytest.mark.parametrize(
    ("wall_ns", "note"),
    [
        (4000.0, None),
        (
            4100.0,
            "kernels take 2.0 us of the 4.1 us that a call takes: at this size the time is mostly "
            "dispatch",
        ),
    ],
)
def test_kernels_of_less_than_half_of_a_call_are_mostly_dispatch(
    fake, make_case, monkeypatch, wall_ns, note
):
    with_times(fake, monkeypatch, 2000.0, wall_ns)
    record = measure(make_case("relu", passes=BOTH), fake)
    found = [record.note(metric, NoteCode.DISPATCH) for metric in BOTH]
    assert [one and one.message for one in found] == [note, note]


@pytest.mark.parametrize(
    ("share", "note"),
    [
        (0.2, None),
        (0.463, "recording 753 events inside a call took 46% of the time, which was subtracted"),
    ],
)
def test_a_large_cost_of_recording_is_noted(fake, make_case, monkeypatch, share, note):
    class Slowing:
        kind = MetricKind.KERNEL
        resolution_ns = 1.0

        def trace(self, phases, count, loops=1):
            # A nanosecond, as a call without recording may not be shorter.
            times = [1.0] * count
            timed = PhaseTimes(times, times, times, recording=Recording(753.0, share))
            return [timed for _ in phases]

    monkeypatch.setattr(fake.profilers, "own", lambda: {"native": lambda device: Slowing()})
    record = measure(make_case("relu", passes=BOTH), fake)
    found = [record.note(metric, NoteCode.RECORDING) for metric in BOTH]
    assert [one and one.message for one in found] == [note, note]


@pytest.mark.parametrize("too_long", ["forward", "backward"])
def test_times_that_calls_without_recording_do_not_take_are_the_wall_clocks(
    fake, make_case, monkeypatch, too_long
):
    class Slowed:
        kind = MetricKind.KERNEL
        resolution_ns = 1.0

        def trace(self, phases, count, loops=1):
            one = 14e9 if (len(phases) == 1) == (too_long == "forward") else 1.0
            times = [one] * count
            return [PhaseTimes(times, times, times, recording=Recording(400.0)) for _ in phases]

    monkeypatch.setattr(fake.profilers, "own", lambda: {"native": lambda device: Slowed()})
    record = measure(make_case("relu", passes=BOTH, runs=60), fake)
    (note,) = (note for note in record.notes if note.code is NoteCode.WALL)
    assert note.metric == too_long and note.message.startswith("the profiler's time, 14.00 s, is")
    for metric in BOTH:
        summary = record.summaries[metric]
        assert summary.median < 14e9 and (summary.n < 60) == (metric == too_long)
    assert record.summaries["total"].n == record.summaries["backward"].n


def test_scattered_samples_are_noted_for_each_pass_and_not_for_both_together(
    fake, make_case, monkeypatch
):
    class Jumping:
        kind = MetricKind.KERNEL
        resolution_ns = 1.0

        def trace(self, phases, count, loops=1):
            times = [1000.0 if i < count // 2 else 2000.0 for i in range(count)]
            return [PhaseTimes(times, times, times) for _ in phases]

    monkeypatch.setattr(fake.profilers, "own", lambda: {"native": lambda device: Jumping()})
    notes = measure(make_case("relu", passes=BOTH, runs=60), fake).notes
    codes = (NoteCode.DRIFT, NoteCode.TWO_LEVELS, NoteCode.IMPRECISE)
    assert [(note.metric, note.code) for note in notes] == [(one, c) for one in BOTH for c in codes]
    assert "levels" in notes[1].message


def test_what_is_moved_is_inputs_and_outputs(fake, make_case):
    arguments = {"a": TensorSpec((4, 4)), "b": (TensorSpec((8,)), TensorSpec((2,)))}
    record = measure(make_case("of all of them", arguments=arguments), fake)
    # The output is as the first input.
    assert record.moved_bytes == 4 * 16 * 2 + 4 * 8 + 4 * 2


def test_nan_in_an_output_is_a_note(fake, make_case, monkeypatch):
    monkeypatch.setattr(fake.arrays, "has_nan", lambda outputs: True)
    record = measure(make_case("relu"), fake)
    assert record.status is Status.OK
    (note,) = record.notes
    assert (note.metric, note.code) == ("", NoteCode.NAN)


def test_nan_of_an_operator_that_may_have_it_is_no_note(fake, make_case, monkeypatch):
    monkeypatch.setattr(fake.arrays, "has_nan", lambda outputs: True)
    monkeypatch.setitem(rules_module(fake.rules).NOT_FINITE, "relu", NotFinite("unwritten"))
    assert measure(make_case("relu"), fake).notes == ()


class Peaked:
    """Has these peaks for every case, and a log of what it was asked."""

    def __init__(self, found, log=None):
        self.found, self.log = found, [] if log is None else log

    def begin(self, case, framework):
        self.log.append("begin")

    def peaks(self, prepared):
        self.log.append("peaks")
        return self.found


def test_memory_is_not_read_where_nobody_asks(fake, make_case):
    memory = Peaked(Peaks(1, None))
    record = measure(make_case("relu", memory=False), fake, conditions=Conditions(memory))
    assert set(record.summaries) == {"forward", "total", "flops"} and memory.log == []


def test_memory_is_measured_elsewhere_while_tensors_are_made(fake, make_case, monkeypatch):
    make = fake.tensor
    monkeypatch.setattr(fake, "tensor", lambda *spec: fake.calls.append("tensor") or make(*spec))
    memory = Peaked(Peaks(1, None), fake.calls)
    measure(make_case("relu", warmup=0, runs=1), fake, conditions=Conditions(memory))
    order = [call for call in fake.calls if call in ("begin", "tensor", "call", "peaks")]
    assert order[:4] == ["begin", "tensor", "call", "peaks"]


def test_memory_of_a_large_case_is_measured_after_its_first_call(fake, make_case, monkeypatch):
    memory = Peaked(Peaks(1, None))
    monkeypatch.setattr(memory_module, "EARLY_BYTES", 4 * 4 * 4 * 3)
    measure(make_case("relu"), fake, conditions=Conditions(memory))
    assert memory.log == ["begin", "peaks"], "its input, and twice its output"
    monkeypatch.setattr(memory_module, "EARLY_BYTES", 4 * 4 * 4 * 3 - 1)
    measure(make_case("relu"), fake, conditions=Conditions(memory))
    assert memory.log == ["begin", "peaks", "peaks"]


@pytest.mark.parametrize(("both", "highest"), [(None, 100), (300, 300)])
def test_the_peak_is_that_of_both_passes_where_there_are_two(fake, make_case, both, highest):
    note = Note("memory", NoteCode.NOT_PRISTINE, "of another process")
    found = Peaks(100, both, notes=(note,), busy_s=1000.0)
    record = measure(make_case("relu", passes=BOTH), fake, conditions=Conditions(Peaked(found)))
    assert record.summaries["memory"].median == highest
    assert record.summaries["memory_forward"].median == 100
    assert record.notes == (note,)
    assert record.busy_s <= record.wall_s, "the calls of another process ran beside"


@pytest.mark.parametrize(("reserved", "found"), [(None, set()), (0, {0.0}), (4096, {4096.0})])
def test_reserved_memory_is_a_metric_of_its_own(fake, make_case, reserved, found):
    peaks = Peaks(100, None, reserved=reserved)
    record = measure(make_case("relu"), fake, conditions=Conditions(Peaked(peaks)))
    shown = record.summaries.get("memory_reserved")
    assert {one.median for one in [shown] if one} == found
    assert record.summaries["memory"].median == 100


@pytest.fixture
def prepared(fake, make_case):
    def made(**arguments):
        case = make_case("relu", arguments=arguments or None)
        return PreparedCase(case, fake, Bound(arrays={("x", (4, 4), "float32"): object()}))

    return made


class Elsewhere:
    """A process that has run nothing, and gives this answer."""

    def __init__(self, answer):
        self.answer, self.asked, self.begun = answer, [], []

    def begin(self, case):
        self.begun.append(case)

    def peaks(self, case):
        self.asked.append(case)
        return self.answer


def test_memory_is_read_where_nothing_has_run(fake, prepared, monkeypatch):
    elsewhere = Elsewhere(Peaks(7, None))
    monkeypatch.setattr(fake.processes, "supports_fork", lambda device: True)
    monkeypatch.setattr(pristine_meter, "pristine_server", {"fake": elsewhere}.get)
    one = prepared()
    memory = PristineMeter(NOTHING_BOUND)
    memory.begin(one.case, fake)
    assert elsewhere.begun == [one.case] and elsewhere.asked == []
    assert memory.peaks(one) == Peaks(7, None) and elsewhere.asked == [one.case]


@pytest.mark.parametrize(
    ("forks", "answer", "bound", "given", "why"),
    [
        (False, Peaks(7, None), NOTHING_BOUND, False, "cpu(0) cannot be used in a fork"),
        (True, None, NOTHING_BOUND, False, "the fork made for it gave no answer"),
        (True, Peaks(7, None), Bound(function=len), False, "its function or its arrays are"),
        (True, Peaks(7, None), NOTHING_BOUND, True, "its function or its arrays are its caller's"),
    ],
)
def test_where_that_cannot_be_it_is_read_here_with_a_note(
    fake, prepared, monkeypatch, forks, answer, bound, given, why
):
    monkeypatch.setattr(fake.processes, "supports_fork", lambda device: forks)
    elsewhere = Elsewhere(answer)
    monkeypatch.setattr(pristine_meter, "pristine_server", {"fake": elsewhere}.get)
    spec = TensorSpec((4, 4), fill=Fill("given", digest="x") if given else Fill())
    one = prepared(data=spec)
    PristineMeter(bound).begin(one.case, fake)
    assert elsewhere.begun == [one.case] * (answer is None)
    found = PristineMeter(bound).peaks(one)
    assert found.forward == 4 * 4 * 4
    (note,) = found.notes
    assert (note.metric, note.code) == ("memory", NoteCode.NOT_PRISTINE)
    assert why in note.message


def test_a_framework_that_keeps_no_workspace_is_read_here_without_a_note(
    fake, prepared, monkeypatch
):
    monkeypatch.setattr(fake.memory, "keeps_workspace", lambda device: False)
    monkeypatch.setattr(pristine_meter, "pristine_server", lambda name: pytest.fail("a fork"))
    one = prepared(data=TensorSpec((4, 4)))
    memory = PristineMeter(NOTHING_BOUND)
    memory.begin(one.case, fake)
    found = memory.peaks(one)
    assert found.forward == 4 * 4 * 4 and found.notes == ()


@pytest.fixture
def warm_ups(monkeypatch):
    """What each warm-up was given: how many phases, how long it may take, how many calls."""
    seen = []
    warm_up = sampled_passes.warm_up

    def noted(phases, wait, first_s, longest_s, count):
        seen.append((len(phases), longest_s, count))
        return warm_up(phases, wait, first_s, longest_s, count)

    monkeypatch.setattr(sampled_passes, "warm_up", noted)
    return seen


@pytest.mark.parametrize(
    ("passes", "limit_s", "longest_s"),
    [
        (("forward",), 3.0, 0.6),
        # Each pass has half of the time, and a fifth of that goes to its warm-up.
        (BOTH, 3.0, 0.3),
        (BOTH, None, math.inf),
    ],
)
def test_the_time_of_a_case_is_shared_among_its_passes(
    fake, make_case, warm_ups, passes, limit_s, longest_s
):
    measure(make_case("relu", passes=passes, max_time_s=limit_s, warmup=2, runs=3), fake)
    assert warm_ups == [
        (phases, pytest.approx(longest_s), 2) for phases in range(1, len(passes) + 1)
    ]


@pytest.mark.parametrize("runs", [None, 4])
def test_calls_that_are_counted_are_samples_each(fake, make_case, monkeypatch, runs):
    monkeypatch.setattr(sampled_passes, "loops_for", lambda *arguments: 5)
    record = measure(make_case("relu", warmup=0, runs=runs, max_time_s=0.05), fake)
    assert record.summaries["forward"].loops == (5 if runs is None else 1)


def test_a_dtype_that_is_an_argument_is_turned_as_well(fake, make_case, monkeypatch):
    seen = []
    bind = fake.bind

    def noted(case, arguments, function=None):
        seen.append(case)
        return bind(case, arguments, function)

    monkeypatch.setattr(fake, "bind", noted)
    arguments = {
        "data": TensorSpec((4,), "int32"),
        "args": (TensorSpec((4,), "int32"), TensorSpec((4,), "int64")),
        "dtype": "int32",
        "other": "int32",
    }
    record = measure(make_case("needs_floats", dtype="int32", arguments=arguments), fake)
    assert record.status is Status.SKIPPED
    asked, again = seen
    assert asked.arguments == arguments and again.settings.dtype == "float32"
    assert again.arguments == {
        "data": TensorSpec((4,), "float32"),
        "args": (TensorSpec((4,), "float32"), TensorSpec((4,), "int64")),
        "dtype": "float32",
        "other": "int32",
    }


def test_a_refusal_in_float32_is_not_tried_again(fake, make_case):
    measure(make_case("refuses"), fake)
    assert fake.calls.count("call") == 1
    measure(make_case("refuses", dtype="int32"), fake)
    assert fake.calls.count("call") == 3


def test_the_wall_time_is_of_the_whole_case(fake, make_case, monkeypatch):
    clock = iter(range(0, 10**6, 10))
    monkeypatch.setattr(visit_module.time, "perf_counter", lambda: float(next(clock)))
    record = measure(make_case("refuses"), fake)
    assert record.wall_s == 30.0, "the call itself was begun and ended meanwhile"


def test_what_a_mode_that_compiles_takes_is_beside_the_times(fake, make_case):
    fake.modes.names, fake.modes.compiled = ("eager", "compile"), ("compile",)
    calls = []

    def slow_at_first(*arrays):
        if not calls:
            time.sleep(0.02)
        calls.append(arrays)

    case = make_case("relu", passes=BOTH, mode="compile")
    record = measure(case, fake, Bound(function=slow_at_first))
    assert record.status is Status.OK
    assert record.summaries["first_call"].median > 20e6
    assert record.summaries["graph_breaks"].median == 2
    assert record.summaries["recompilations"].median == 1
    # The first call and the first gradient compile, and are not taken for what a call takes.
    assert record.summaries["forward"].median == 1000.0
    eager = measure(make_case("relu", passes=BOTH, mode="eager"), fake)
    assert set(record.summaries) - set(eager.summaries) == {
        "first_call",
        "graph_breaks",
        "recompilations",
    }


def test_memory_of_compiled_calls_is_measured_where_they_were_compiled(
    fake, make_case, monkeypatch
):
    fake.modes.names, fake.modes.compiled = ("eager", "compile"), ("compile",)
    monkeypatch.setattr(fake.processes, "supports_fork", lambda device: True)
    monkeypatch.setattr(pristine_meter, "pristine_server", lambda name: pytest.fail("a fork"))
    case = make_case("relu", mode="compile", memory=True)
    record = measure(case, fake, conditions=Conditions(PristineMeter(NOTHING_BOUND)))
    assert record.summaries["memory"].median == 64
    (note,) = [one for one in record.notes if one.code is NoteCode.NOT_PRISTINE]
    assert "as another one would compile it a second time" in note.message
