"""Options of programs that cases are profiled under, and a run of the command with one."""

import os
from pathlib import Path

import profiling_programs
import pytest
from moments import signal_at_record

from opperf.commands.run import run
from opperf.errors import UsageError
from opperf.model import Wrapper, Wrapping
from opperf.results.runfile import read_run


def read(*words):
    request = run.request_of(run.make_context("run", ["--framework", "fake", *words]))
    return request.programs.wrapping(request.settings.warmup, request.settings.runs)


def test_calls_are_as_many_as_in_params_benchmarks():
    found = read("--ncu", "--nsys", "--batch-cmd", "perf stat -d")
    assert found == Wrapping(
        (
            Wrapper("ncu", ("ncu",), 5, 1),
            Wrapper("nsys", ("nsys",), 5, 10),
            Wrapper("perf stat", ("perf", "stat", "-d"), 5, None),
        ),
        50,
        None,
    )
    assert read() is None


def test_each_program_has_its_options(tmp_path):
    path = tmp_path / "arguments"
    path.write_text("# what to measure\n--set full\n--kernel-name 'regex:a b'\n")
    words = ["--ncu", "--ncu-bin", "/opt/ncu", "--ncu-args-file", str(path), "--ncu-warmup", "0"]
    words += ["--ncu-iteration", "3", "--run-batch-size", "7", "--batch-cuda-device", "0"]
    arguments = ("--set", "full", "--kernel-name", "regex:a b")
    assert read(*words) == Wrapping((Wrapper("ncu", ("/opt/ncu", *arguments), 0, 3),), 7, 0)
    (other,) = read("--batch-cmd", "/opt/vtune 'a b' --", "-w", "0", "-r", "9").wrappers
    assert other == Wrapper("vtune", ("/opt/vtune", "a b", "--"), 0, 9)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--ncu-warmup", "0"), "--ncu-warmup needs --ncu"),
        (("--ncu", "--nsys-bin", "x"), "--nsys-bin needs --nsys"),
        (("--run-batch-size", "3"), "--run-batch-size needs --ncu or --nsys or --batch-cmd"),
        (("--batch-cuda-device", "0"), "--batch-cuda-device needs"),
        (("--ncu", "--ncu-args-file", "none"), "--ncu-args-file none: No such file"),
        (("--batch-cmd", "'a"), "--batch-cmd: No closing quotation: 'a"),
        (("--batch-cmd", " "), "--batch-cmd names no program"),
        (("--batch-cmd", "/opt/nsys profile"), "use --nsys, and --nsys-args-file for its arg"),
    ],
)
def test_what_has_no_effect_or_cannot_be_read_is_a_line(words, message):
    with pytest.raises(UsageError, match=message):
        read(*words)


@pytest.fixture
def ncu(tmp_path):
    return str(profiling_programs.write_program(tmp_path, "ncu"))


def test_an_interrupted_run_goes_on_under_its_programs(start, folder, tmp_path, ncu):
    words = ["run", "relu", "negative", "--ctx", "gpu(0)", "-w", "0", "-r", "2"]
    words += ["--ncu", "--ncu-bin", ncu, "--run-batch-size", "3", "-o", "run.jsonl"]
    gpu = {"FAKE_GPU": "1"}
    watched = signal_at_record(tmp_path / "moment", 2, 2)
    with start(*words, variables=watched | gpu) as process:
        _, error = process.communicate()
    assert process.returncode == 130 and "Resume with: opperf run --resume run.jsonl" in error
    before, _ = read_run(folder / "run.jsonl")
    assert 0 < len(before.records) < 4
    other = ["run", "--resume", "run.jsonl", "--ncu", "--ncu-bin", ncu, "--ncu-warmup", "9"]
    fake = Path(profiling_programs.__file__).parent
    paths = os.pathsep.join(map(str, (fake, fake.parents[1])))
    again = gpu | {"PYTHONPATH": paths}
    with start(*other, variables=again) as process:
        _, error = process.communicate()
    assert process.returncode == 2 and f"was profiled under {ncu}, with other options" in error
    with start("run", "--resume", "run.jsonl", variables=again) as process:
        out, error = process.communicate()
    assert process.returncode == 0, error
    assert "profiled under ncu too" in out and "ncu time" in out
    assert "what the profiling programs wrote is in run.profiles" in out
    done, _ = read_run(folder / "run.jsonl")
    assert len(done.records) == 4
    for record in done.records:
        assert record.summaries["ncu_time"].median == 4096.0
        assert (folder / "run.profiles" / record.profiles["ncu"]).is_file()
