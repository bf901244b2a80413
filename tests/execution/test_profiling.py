"""Cases that are profiled under other programs, for which stand-ins check what they are given."""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import msgspec
import pytest
from profiling_programs import write_program

from opperf.errors import UsageError, WorkerError
from opperf.execution.executor import InProcess, Task
from opperf.execution.profiling import check_programs, profiling
from opperf.instruments.wrapped.programs import OTHER, name_of
from opperf.machine.pinning import NONE, Pinning
from opperf.model import NoteCode, Record, Status, Wrapper, Wrapping

BOTH = ("forward", "backward")


@pytest.fixture
def programs(tmp_path, monkeypatch, variables):
    """A folder of stand-ins, in an environment whose workers find the fake framework."""
    for name, value in (variables | {"FAKE_GPU": "1"}).items():
        monkeypatch.setenv(name, value)
    made = tmp_path / "programs"
    made.mkdir()
    for name in ("ncu", "nsys", "perf"):
        write_program(made, name)
    monkeypatch.setenv("PATH", os.pathsep.join([str(made), os.environ["PATH"]]))
    return made


def wrapper(*words, warmup=1, runs=2):
    return Wrapper(name_of(words), words, warmup, runs)


class Measuring(InProcess):
    """Measures nothing, so that only profiling takes time; one case fails."""

    def measure(self, case):
        status = Status.FAILED if case.label == "refuses" else Status.OK
        return Record(case=case, id=case.id, status=status)


@pytest.fixture
def profile(programs, fake, tmp_path):
    """Returns the records of cases that are profiled under programs, by label."""

    def done(cases, *wrappers, release=int, **wrapping):
        made = Wrapping(tuple(wrappers), **wrapping)
        with executor_of(cases, made, fake, tmp_path, release) as executor:
            return {case.label: executor.measure(case) for case in cases}

    return done


def executor_of(cases, wrapping, fake, tmp_path, release=int):
    task, folder = Task(tuple(cases)), tmp_path / "profiles"
    return profiling(Measuring({"fake": fake}), wrapping, task, Pinning(NONE), folder, release)


def files(tmp_path):
    return sorted(path.name for path in (tmp_path / "profiles").iterdir())


def test_records_have_what_ncu_found_of_their_calls_alone(profile, make_case, tmp_path):
    names = ("relu", "refuses", "rounded", "negative")
    cases = [make_case(name, passes=BOTH, device="gpu(0)") for name in names]
    records = profile(cases, wrapper("ncu", runs=3))
    for name in ("relu", "negative"):
        # Of two kernels in each of three calls: a sum, a mean by their times, and a number.
        found = records[name].samples
        assert found["ncu_time"] == found["ncu_time_backward"] == [4096.0] * 3
        assert found["ncu_compute"] == [25.0] * 3 and found["ncu_kernels"] == [2.0] * 3
        assert "ncu_l1_hits" not in found
        assert records[name].summaries["ncu_read"].unit == "B" and not records[name].notes
    # It has no gradient, which is no fault of a program's.
    assert "ncu_time_backward" not in records["rounded"].samples and not records["rounded"].notes
    assert records["refuses"].status is Status.FAILED and not records["refuses"].profiles
    assert {record.profiles.get("ncu") for record in records.values()} == {
        None,
        "opperf-ncu-1.ncu-rep",
    }
    assert files(tmp_path) == ["opperf-ncu-1.ncu-rep"]


def test_a_case_that_ends_the_process_costs_itself_only(profile, make_case, tmp_path):
    names = ("relu", "leaves", "negative", "segfaults", "rounded")
    cases = [make_case(name, device="gpu(0)") for name in names]
    records = profile(cases, wrapper("ncu"), batch_size=4)
    for name in ("relu", "negative", "rounded"):
        assert records[name].samples["ncu_time"] == [4096.0] * 2, name
    for name, why in (("leaves", "exit code 8"), ("segfaults", "ended by SIGSEGV")):
        (note,) = records[name].notes
        assert note.code == NoteCode.NOT_PROFILED and why in note.message
        assert note.message.startswith("not profiled by ncu: the process")
        assert records[name].status is Status.OK
    # Two batches, of which the first one has three processes.
    files_used = [records[name].profiles.get("ncu", "")[-10:-8] for name in names]
    assert files_used == ["-1", "", "-2", "", "-3"]


def test_several_programs_profile_each_batch(profile, make_case, tmp_path):
    cases = [make_case(name, device="gpu(0)") for name in ("relu", "negative", "rounded")]
    released = []
    records = profile(
        cases, wrapper("ncu"), wrapper("nsys"), batch_size=2, release=lambda: released.append(1)
    )
    # The measuring process leaves the GPU's memory to those of each batch.
    assert released == [1, 1]
    assert [record.profiles["nsys"] for record in records.values()] == [
        "opperf-nsys-1.nsys-rep",
        "opperf-nsys-1.nsys-rep",
        "opperf-nsys-2.nsys-rep",
    ]
    assert all(len(record.profiles) == 2 for record in records.values())
    assert (tmp_path / "profiles/opperf-nsys-1.nsys-rep").read_text() == "cuda,nvtx"


def test_each_round_has_a_sample_of_its_own_and_a_second_measurement_none(
    programs, fake, make_case, tmp_path
):
    one, other = (make_case(name, device="gpu(0)") for name in ("relu", "negative"))
    made = Wrapping((wrapper("ncu", runs=1),))
    with executor_of([one, other, other, one], made, fake, tmp_path) as executor:
        found = [executor.measure(case) for case in (one, other, other, one, one)]
    assert [len(record.samples.get("ncu_time", [])) for record in found] == [1, 1, 1, 1, 0]
    used = [record.profiles.get("ncu", "") for record in found]
    # The first process had one visit of each, and the others too.
    assert used[0] == used[1] != used[2] == used[3] and not used[4]


def test_perf_counts_each_pass_without_what_counting_costs(profile, make_case, tmp_path):
    cases = [make_case("relu", passes=BOTH)]
    kept = partial(pytest.fail, "a process on the CPU keeps no memory of a device")
    found = profile(cases, wrapper("perf", "stat", runs=4), release=kept)["relu"]
    assert found.samples["perf_cycles"] == [12000 / 4]
    assert found.samples["perf_instructions_backward"] == [12000 / 4]
    (first, *_) = found.notes
    assert first.message.startswith("perf stat: cache-misses: not supported here")
    # It leaves no report.
    assert not found.profiles and not (tmp_path / "profiles").exists()


def test_calls_are_repeated_for_a_tenth_of_a_second_if_their_number_is_not_set(profile, make_case):
    cases = [make_case("relu")]
    found = profile(cases, wrapper("perf", "stat", runs=None))["relu"]
    assert 0 < found.samples["perf_cycles"][0] < 12000 / 100


def test_any_other_program_runs_the_calls_and_its_report_is_kept(profile, make_case, tmp_path):
    script = 'echo "$CUDA_VISIBLE_DEVICES" > {report}.own; echo printed; exec "$@"'
    cases = [make_case("relu", device="gpu(1)")]
    with_report = wrapper("sh", "-c", script, "sh")
    without = wrapper("env", "NAME=value")
    records = profile(cases, with_report, without, cuda_device=1)
    assert records["relu"].profiles == {"sh": "opperf-sh-1.own", "env": "opperf-env-1.txt"}
    # The process sees one GPU, which is the first one there.
    assert (tmp_path / "profiles/opperf-sh-1.own").read_text() == "1\n"
    assert not records["relu"].notes and records["relu"].case == cases[0]


def test_a_case_that_takes_too_long_costs_itself_only(profile, make_case, monkeypatch):
    monkeypatch.setattr(OTHER, "slowdown", 1.0)
    cases = [make_case("hangs", timeout_s=0.5), make_case("relu")]
    records = profile(cases, wrapper("env"))
    (note,) = records["hangs"].notes
    assert note.message == "not profiled by env: not finished after 0.5 s; raise --timeout"
    assert records["relu"].profiles == {"env": "opperf-env-2.txt"}


def test_a_program_that_does_not_come_to_a_case_ends_the_run_in_a_line(profile, make_case):
    cases = [make_case("relu", device="gpu(0)")]
    with pytest.raises(WorkerError, match="unrecognized arguments: --sett; finish the run") as one:
        profile(cases, wrapper("ncu", "--sett"))
    assert "\n" not in str(one.value) and str(one.value).startswith("ncu ended before it profiled")


def test_without_ranges_ncu_would_find_nothing(programs, profile, make_case):
    (programs / "ncu").write_text('#!/bin/sh\nwhile [ "${1##*python*}" ]; do shift; done\n"$@"\n')
    with pytest.raises(WorkerError, match="fake has no NVTX ranges.*pip install nvtx"):
        profile([make_case("relu", device="gpu(0)")], wrapper("ncu"))


def test_a_kill_from_another_thread_ends_what_is_profiled(programs, fake, make_case, tmp_path):
    cases = [make_case("hangs")]
    executor = executor_of(cases, Wrapping((wrapper("env"),)), fake, tmp_path)
    with executor as running, ThreadPoolExecutor(1) as thread:
        ended = thread.submit(running.measure, cases[0])
        running.kill()
        with pytest.raises(WorkerError, match="ended before it profiled"):
            ended.result(60)


def check(case, *words, is_local=True):
    check_programs([case], Wrapping((wrapper(*words),)), is_local)


@pytest.mark.parametrize(
    ("words", "settings", "message"),
    [
        (("nowhere/ncu",), {"device": "gpu(0)"}, "no program nowhere/ncu: install NVIDIA Nsight C"),
        (("nowhere/nsys",), {}, "no program nowhere/nsys: install NVIDIA Nsight Systems"),
        (("nowhere/perf", "stat"), {}, "apt-get install linux-perf"),
        (("nowhere/vtune",), {}, "no program nowhere/vtune: install it, or name it by its path"),
        (("ncu",), {}, r"profiles kernels of a GPU, and these cases run on cpu\(0\); add --ctx gp"),
    ],
)
def test_what_cannot_be_profiled_is_a_line_before_the_run(
    programs, make_case, words, settings, message
):
    with pytest.raises(UsageError, match=message):
        check(make_case("relu", **settings), *words)


def test_another_executor_does_not_profile(make_case):
    with pytest.raises(UsageError, match="on this machine only; omit --executor"):
        check(make_case("relu"), "env", is_local=False)
    check_programs([make_case("relu")], None, is_local=False)


def test_a_run_file_has_the_programs_and_the_reports(make_case):
    made = Wrapping((wrapper("ncu", "--set", "full"),), 10, 1)
    assert msgspec.json.decode(msgspec.json.encode(made), type=Wrapping) == made
