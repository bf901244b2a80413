"""The command line as a user types it, with real MXNet in real processes.

Every start of MXNet takes seconds, so each test looks at all there is to see after one.
"""

import csv
import json
import re
import sys
from pathlib import Path

import pytest

from opperf import opperf as command_line
from opperf.errors import DeviceError
from opperf.execution.run_header import read_selection
from opperf.model import Status
from opperf.results.runfile import read_run

ROOT = Path(__file__).resolve().parents[2]
FAST = ("--size", "small", "-w", "1", "-r", "3")


def test_names_as_arguments_and_as_an_option_and_the_usual_output(command_here):
    out, err = command_here(
        "run",
        "relu",
        "nd.exp",
        "--ops",
        "broadcast_add,re:^sum$|^mean$",
        "--ops",
        "nan*",
        "--exclude",
        "nanp*",
        "--no-backward",
        "--seed",
        "3",
        "--threads",
        "1",
        "--timeout",
        "60",
        "--size",
        "small",
        "-w",
        "0",
        "-r",
        "3",
    )
    assert command_here.files() == [
        "mxnet_operator_benchmarks.environment.json",
        "mxnet_operator_benchmarks.json",
    ]
    assert command_here.unfinished() == []
    results = json.loads((command_here.folder / "mxnet_operator_benchmarks.json").read_text())
    assert (
        list(results)
        == sorted(results)
        == ["broadcast_add", "exp", "mean", "nansum", "relu", "sum"]
    )
    for name, configurations in results.items():
        assert configurations
        for result in configurations:
            assert set(result) - {"details"} == {
                "inputs",
                "max_storage_mem_alloc_cpu/0",
                f"avg_time_forward_{name}",
                f"p50_time_forward_{name}",
            }
            assert result[f"avg_time_forward_{name}"] >= 0
            assert result["max_storage_mem_alloc_cpu/0"] > 0
    beside = json.loads(
        (command_here.folder / "mxnet_operator_benchmarks.environment.json").read_text()
    )
    selection = beside["options"]["selection"]
    assert beside["environment"]["threads"]["OMP_NUM_THREADS"] == "1"
    assert "mxnet" in beside["environment"]["versions"]
    assert (
        selection["settings"] | {"warmup": 0, "runs": 3, "seed": 3, "timeout_s": 60.0}
        == selection["settings"]
    )
    assert beside["options"]["axes"]["threads"] == [1]
    total = sum(map(len, results.values()))
    assert f"{total} cases of 6 operators: cpu(0), float32, native profiler, threads 1, 0 " in out
    assert f"6 operators, {total} records ({total} ok), in " in out
    assert "Slowest" in out and "written to mxnet_operator_benchmarks.json" in out
    assert re.match(rf"1/{total} \w+, .+ elapsed, about .+ left\n", err)
    assert f"\n{total}/{total} " in err and "\x1b" not in err


def test_without_a_command_from_the_file_itself_and_with_capitals(command):
    script = (sys.executable, str(ROOT / "opperf" / "opperf.py"))
    out, _ = command(
        "relu",
        "--ctx",
        "CPU(0)",
        "--dtype",
        "FLOAT64",
        "-f",
        "MD",
        "-p",
        "PYTHON",
        "--size",
        "SMALL",
        "--int64-tensor",
        "OFF",
        "--warmup",
        "1",
        "--runs",
        "4",
        program=script,
    )
    assert command.files() == ["mxnet_operator_benchmarks.md"]
    page = (command.folder / "mxnet_operator_benchmarks.md").read_text()
    assert "Runtime Features" in page and "float64" in page
    (head,) = re.findall(r"^\|\s*Operator .*$", page, re.MULTILINE)
    # The units follow from the times.
    assert [cell.partition(" (")[0].strip() for cell in head.strip("|").split("|")] == [
        "Operator",
        "Inputs",
        "Forward",
        "Backward",
        "Memory",
        "P50",
        "P90",
        "P99",
    ]
    rows = re.findall(r"^\|\s*relu .*$", page, re.MULTILINE)
    # Three dense ones, and one of each sparse layout.
    assert len(rows) == 5 and not any("---" in row for row in rows)
    assert "float64, python profiler, 1 warmup, 4 timed calls" in out


def test_shapes_and_csv(command_here):
    command_here(
        "broadcast_add",
        "--shape",
        "lhs=(8, 16)",
        "--shape",
        "rhs=8x1",
        *FAST,
        "--output-format",
        "csv",
        "--output-file",
        "out.csv",
    )
    assert command_here.files() == ["out.csv", "out.environment.json"]
    with (command_here.folder / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    (row,) = rows
    assert json.loads(row["inputs"]) == {"lhs": [8, 16], "rhs": [8, 1]}
    assert (row["operator"], row["status"], row["runs"]) == ("broadcast_add", "ok", "3")
    assert float(row["forward_median_ms"]) >= 0 and float(row["backward_median_ms"]) >= 0
    # The output, of 8 x 16 floats, and for the gradient at least another of these.
    assert float(row["memory_forward_kB"]) == 0.512
    assert float(row["memory_kB"]) >= 2 * 0.512


def test_a_dtype_that_some_operators_do_not_take_and_quiet(command_here):
    out, err = command_here(
        "broadcast_add",
        "relu",
        "_linalg_potrf",
        "--dtype",
        "int32",
        "--quiet",
        "-f",
        "jsonl",
        *FAST,
    )
    assert (out, err) == ("", "")
    assert command_here.files() == ["mxnet_operator_benchmarks.jsonl"]
    run, warnings = read_run(command_here.folder / "mxnet_operator_benchmarks.jsonl")
    assert warnings == []
    assert [record.id for record in run.records] == list(run.planned)
    assert run.closing is not None and sum(run.closing.counts.values()) == len(run.records)
    by_name = {}
    for record in run.records:
        by_name.setdefault(record.case.label, set()).add(record.status)
        assert record.case.settings.dtype == "int32"
        assert "backward" not in record.summaries
        if record.status is Status.SKIPPED:
            assert record.reason.startswith("does not take int32: ")
            assert "\n" not in record.reason
    assert by_name == {
        "broadcast_add": {Status.OK},
        "relu": {Status.OK},
        "linalg_potrf": {Status.SKIPPED},
    }


def test_list_shows_what_would_run_and_runs_nothing(command_here):
    (command_here.folder / "mxnet_operator_benchmarks.json").write_text("kept")
    out, err = command_here(
        "--list", "--category", "reduction,gemm", "--namespace", "nd", "--size", "small"
    )
    head, _, *rows = out.splitlines()
    assert head.split() == ["Operator", "Category", "Rule", "Id", "Inputs"]
    case = r"(?:rule|operation):{} +[0-9a-f]{{16}} +{}"
    wanted = (
        "sum +reduction +" + case.format(r"reductions\.\w+", r"data: \(64, 64\)"),
        "batch_dot +gemm +" + case.format(r"\w+\.\w+", r"lhs: \("),
    )
    for pattern in wanted:
        assert any(re.match(pattern, row) for row in rows), pattern
    assert not any(row.startswith("relu") for row in rows)
    assert re.search(r"^\d+ cases of \d+ operators$", out, re.MULTILINE)
    assert err == ""
    assert command_here.files() == ["mxnet_operator_benchmarks.json"]
    assert (command_here.folder / "mxnet_operator_benchmarks.json").read_text() == "kept"


def test_an_alias_is_told_under_which_name_it_is_reported(command_here):
    out, _ = command_here("sum_axis", "relu", "--size", "small", "-w", "0", "-r", "1")
    assert "sum_axis is an alias of sum; its results are under sum\n" in out
    assert "relu is an alias" not in out


def test_a_dry_run_checks_everything_and_writes_nothing(command_here):
    out, err = command_here(
        "--dry-run",
        "--namespace",
        "linalg",
        "-o",
        "results.json",
        "--dtype",
        "float64",
        "-w",
        "2",
        "-r",
        "1",
    )
    assert re.fullmatch(
        r"\d+ cases of \d+ operators: \w+\(0\), float64, native profiler, 2 warmup, "
        r"1 timed call, to results\.json(; workers .*)?\n",
        out,
    )
    assert err == ""
    assert command_here.files() == [] and list(command_here.home.iterdir()) == []


def test_an_output_file_that_exists(command_here):
    arguments = ("relu", "-o", "out.json", "--quiet", *FAST)
    output = command_here.folder / "out.json"
    output.write_text("precious")
    out, err = command_here(*arguments, code=2)
    assert out == "" and err.startswith("opperf: out.json exists; add --overwrite")
    assert output.read_text() == "precious"
    assert command_here(*arguments, "--overwrite") == ("", "")
    assert list(json.loads(output.read_text())) == ["relu"]
    assert command_here.files() == ["out.environment.json", "out.json"]


def test_a_case_that_fails_is_told_and_decides_the_exit_code_under_strict(command_here):
    own = command_here.folder / "own.py"
    own.write_text("def fails(data):\n    raise ValueError('bad luck,\\nover two lines')\n")
    arguments = (f"{own}:fails", "relu", "-f", "jsonl", "--overwrite", "--max-configs", "1", *FAST)
    for code, strict in ((0, ()), (1, ("--strict",))):
        out, err = command_here(*arguments, *strict, code=code)
        run, _ = read_run(command_here.folder / "mxnet_operator_benchmarks.jsonl")
        by_label = {record.case.label: record for record in run.records}
        assert {name: one.status for name, one in by_label.items()} == {
            "fails": Status.FAILED,
            "relu": Status.OK,
        }
        reason = by_label["fails"].reason
        assert reason == "ValueError: bad luck, over two lines"
        assert f"fails (failed: {reason})" in err
        assert "(1 ok, 1 failed)" in out and "1 failed: " in out


def test_strict_is_content_with_what_was_skipped(command_here):
    command_here("_linalg_potrf", "broadcast_add", "--dtype", "int32", "--strict", *FAST)


def test_a_case_that_takes_too_long_costs_itself_alone(command):
    # An hour, and none at all.
    (command.folder / "own.py").write_text(
        "import time\n\n\ndef slow(x):\n    time.sleep(3600)\n\n\ndef quick(x):\n    return x\n"
    )
    functions = ("own.py:slow", "own.py:quick", "--framework", "numpy", "--shape", "x=4")
    command("run", *functions, "--timeout", "3", "-w", "0", "-r", "2", "-o", "run.jsonl")
    run, _ = read_run(command.folder / "run.jsonl")
    statuses = {record.case.label: record.status for record in run.records}
    assert statuses == {"slow": Status.TIMEOUT, "quick": Status.OK}
    assert [record.id for record in run.records] == list(run.planned)
    assert read_selection(run)[0].settings.timeout_s == 3.0


def test_help_and_version_load_no_framework(command):
    program = (sys.executable, "-X", "importtime", "-m", "opperf")
    said = []
    for arguments in (("--version",), ("--help",), ("run", "--help")):
        out, err = command(*arguments, program=program)
        assert out
        assert not re.search(r"\| +(mxnet|numpy)$", err, re.MULTILINE)
        said.append(out)
    _, out, of_run = said
    assert "run" in out and "opperf relu" in out
    for flag in (
        "--ctx",
        "--dtype",
        "-f, --output-format",
        "-o, --output-file",
        "-p, --profiler",
        "-w, --warmup",
        "-r, --runs",
        "--int64-tensor",
        "--resume",
        "--seed",
    ):
        assert flag in of_run


def test_a_reader_that_goes_away_is_no_fault(command):
    # More lines than a pipe holds.
    with command.start("--list", "--framework", "numpy") as process:
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
    assert "Traceback" not in err and "Exception" not in err


@pytest.mark.parametrize(
    "error, code, words",
    [
        (DeviceError("no such\ndevice"), 2, "opperf: no such device\n"),
        (
            ZeroDivisionError("by zero"),
            3,
            "opperf: internal error, please report it: "
            "ZeroDivisionError: by zero; --debug shows the traceback\n",
        ),
    ],
)
def test_tracebacks_are_for_debugging(monkeypatch, capsys, error, code, words):
    def broken(request, finished=None):
        raise error

    monkeypatch.setattr("opperf.commands.running.run_command", broken)
    for arguments in (["relu"], ["relu", "--debug"]):
        with pytest.raises(SystemExit) as ended:
            command_line.main(arguments)
        err = capsys.readouterr().err
        assert ended.value.code == code
        assert err.endswith(words)
        assert (err == words) is ("--debug" not in arguments)
        assert ("Traceback" in err) is ("--debug" in arguments)


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        ((), "medians to 2.0%, at most 1 s a case"),
        (("--max-time", "2"), "at most 2 s a case"),
        (("-r", "3"), ""),
        (("-w", "3"), "3 warmup, medians to 2.0%, at most 1 s a case"),
    ],
)
def test_the_time_of_a_case_is_limited_unless_calls_are_counted(command_here, given, limit):
    out, _ = command_here("relu", "--size", "small", "--dry-run", *given)
    assert ("s a case" in out) == bool(limit)
    assert limit in out
