"""What `opperf run` does with a framework in this process: what is told, written and left."""

import json
import os
import re
import shlex
import sys

import click
import pytest

from opperf import frameworks
from opperf.commands import running
from opperf.commands.run import run
from opperf.errors import (
    FOUND,
    INTERRUPTED,
    OutputError,
    RunFileError,
    UnknownOperatorError,
    UsageError,
)
from opperf.machine.kernel import usable_cpus
from opperf.machine.pinning import NOT_PINNED, Pinning, manager_cpus
from opperf.reports import writing
from opperf.results import messages
from opperf.results.kept import kept_runs
from opperf.results.kept_facts import id_of
from opperf.results.runfile import RunWriter, read_run
from tests.verifications import FAILED, verified

NAMED = ("--framework", "mxnet")
COUNTS = ("-w", "0", "-r", "2", "--no-memory")


@pytest.fixture
def opperf(in_process, in_process_workers, monkeypatch, tmp_path, tmp_path_factory, capsys):
    """The command in an empty folder; its exit code, and what it printed on either stream."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("OPPERF_CACHE", raising=False)
    monkeypatch.setenv("OPPERF_DATA", str(tmp_path_factory.mktemp("data")))
    workers, started = in_process_workers
    monkeypatch.setattr("opperf.requests.running.Workers", workers)

    def called(*arguments, framework=("--framework", "fake")):
        monkeypatch.setattr(sys, "argv", ["opperf", "run", *arguments])
        code = run.main([*arguments, *framework], standalone_mode=False)
        return (code, *capsys.readouterr())

    called.started, called.worker, called.folder = started, in_process, tmp_path
    return called


def measured(opperf):
    return [case.label for case in opperf.worker.measured]


def run_files(opperf):
    return sorted((opperf.folder / "cache").rglob("*.jsonl"))


def interrupt_at(opperf, monkeypatch, number):
    """Press Ctrl-C when that many cases have been measured."""
    measure = opperf.worker.measure

    def until(case):
        if len(opperf.worker.measured) == number:
            raise KeyboardInterrupt
        return measure(case)

    monkeypatch.setattr(opperf.worker, "measure", until)


def test_a_run_is_announced_measured_shown_and_written(opperf):
    options = (*COUNTS, "-f", "jsonl", "-o", "run.jsonl", "--cpus", "none")
    code, out, err = opperf("relu", "add", *options)
    assert (code, measured(opperf)) == (0, ["add", "relu", "relu"])
    first, *rest = out.splitlines()
    assert first == (
        "3 cases of 2 operators: cpu(0), float32, native profiler, 0 warmup, 2 timed calls, "
        "to run.jsonl"
    )
    assert rest[-1] == "written to run.jsonl"
    assert any(line.split()[:1] == ["add"] for line in rest)
    made, _ = read_run(opperf.folder / "run.jsonl")
    assert made.closing.counts == {"ok": 3} and made.closing.elapsed_s >= 0
    assert made.header.options["command"].startswith("opperf run relu add -w 0")
    # The progress is beside it.
    assert "3/3 relu" in err and opperf.started == [("fake", None)]


def test_the_announcement_ends_with_the_workers_cores(opperf):
    usable = usable_cpus()
    _, out, _ = opperf("relu", "--dry-run", "--threads", "1", "-o", "out.json")
    with Pinning() as pinning:
        line = pinning.describe([1])
    assert line and out.endswith(f", to out.json; {line}\n")
    code, out, _ = opperf("relu", *COUNTS, "--cpus", str(min(usable)), "--quiet", "-o", "out.json")
    assert (code, out) == (0, "")


def test_quick_counts_for_the_cases_of_a_file_too(opperf):
    opperf("relu", *COUNTS, "-o", "run.jsonl")
    opperf("run.jsonl", "--quick", "-r", "3", "-o", "again.jsonl")
    settings = [case.settings for case in read_run(opperf.folder / "again.jsonl")[0].cases]
    (one,) = {(s.warmup, s.runs, s.max_time_s) for s in settings}
    assert one == (2, 3, 0.1)


def test_a_run_of_cases_with_counts_ends_with_their_ranking(opperf):
    assert "Time of" not in opperf("relu", "add", *COUNTS, "-o", "run.jsonl")[1]
    path = opperf.folder / "run.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if line["line"] == "case":
            line["case"]["count"] = 1500
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, out, _ = opperf("run.jsonl", *COUNTS, "-o", "again.jsonl")
    assert code == 0 and "Time of 4,500 calls of 3 cases: " in out
    assert out.splitlines()[-1] == "written to again.jsonl"
    counts = {case.count for case in read_run(opperf.folder / "again.jsonl")[0].cases}
    assert counts == {1500}
    assert opperf("run.jsonl", *COUNTS, "--quiet", "-o", "quiet.jsonl") == (0, "", "")


def test_a_long_run_says_so_before_it_begins(opperf, monkeypatch):
    long = ("relu", "add", "--max-time", "60", "--dry-run", "-o", "out.json", "--cpus", "none")
    _, out, err = opperf(*long)
    first, second = out.splitlines()
    assert first.startswith("3 cases of 2 operators: ")
    # A minute and a fifth of it for each of three cases; --max-time counts before --quick.
    assert second == (
        "3 cases: the run takes from less than 1 min, if its cases are soon precise, up to "
        "about 4 min; --quick measures 2 of them, the first of each operator, in less than 1 min"
    )
    for other in (("--quick",), ("--max-configs", "2")):
        assert "; --quick" not in opperf(*long, *other)[1]
    assert opperf(*long, "--quiet")[1] == ""
    assert len(opperf(*COUNTS, *long[:2], *long[4:])[1].splitlines()) == 1


def test_records_forecast_the_run_that_measures_their_cases_again(opperf, monkeypatch):
    opperf("relu", *COUNTS, "-o", "run.jsonl")
    path = opperf.folder / "run.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if line["line"] == "record":
            line["wall_s"] = 90.0
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    _, out, _ = opperf("run.jsonl", "--dry-run", "-o", "again.jsonl", "--cpus", "none")
    assert out.splitlines()[1:] == ["2 cases: the run takes about 3 min"]


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_forecast_fits_the_terminal(opperf, monkeypatch, width):
    monkeypatch.setattr(running, "terminal_width", lambda: width)
    monkeypatch.setattr(messages, "stream_width", lambda stream: width)
    _, out, _ = opperf("relu", "add", "--max-time", "60", "--dry-run", "-o", "out.json")
    assert max(map(len, out.splitlines())) <= width
    assert "if its cases are soon precise, up to about 4 min; --quick" in " ".join(out.split())


def test_cores_that_do_not_exist_are_refused(opperf):
    with pytest.raises(UsageError, match="this process may not use core 999999; usable: "):
        opperf("relu", *COUNTS, "--cpus", "999999", "-o", "out.json")
    assert measured(opperf) == [] and run_files(opperf) == []


def test_an_interrupted_run_gives_this_process_its_cores_back(opperf, monkeypatch):
    before = usable_cpus()
    during = []
    measure = opperf.worker.measure

    def interrupt(case):
        during.append(usable_cpus())
        measure(case)
        raise KeyboardInterrupt

    monkeypatch.setattr(opperf.worker, "measure", interrupt)
    cpus = str(max(before))
    code, _, err = opperf("relu", *COUNTS, "-o", "out.json", "--cpus", cpus)
    assert code == INTERRUPTED and going_on(err)[-2:] == ["--cpus", cpus]
    assert usable_cpus() == before
    with Pinning(cpus) as pinning:
        moved = pinning.choose(1) != NOT_PINNED and manager_cpus({max(before)}, before)
    assert during == [moved or before]


def test_quiet_is_nothing_but_the_file(opperf):
    assert opperf("relu", *COUNTS, "--quiet", "-o", "out.json") == (0, "", "")
    assert set(json.loads((opperf.folder / "out.json").read_text())) == {"relu"}


def test_another_format_keeps_its_records_in_the_cache_until_it_is_written(opperf, monkeypatch):
    seen = []
    write = writing.write

    def noted(*arguments):
        seen.extend(run_files(opperf))
        return write(*arguments)

    monkeypatch.setattr(writing, "write", noted)
    opperf("relu", *COUNTS, "-f", "md", "-o", "out.md")
    assert len(seen) == 1 and seen[0].name.startswith("out.md-")
    assert run_files(opperf) == [] and (opperf.folder / "out.md").exists()


def test_a_list_is_of_cases_with_their_rules_and_ids_and_runs_nothing(opperf):
    code, out, err = opperf("relu", "copyto", "placeholder", "--list", "--size", "small")
    table, closing = out.strip().split("\n\n")
    head, _, *rows = table.splitlines()
    assert head.split() == ["Operator", "Category", "Rule", "Id", "Inputs"]
    assert [row.split()[:3] for row in rows] == [
        ["copyto", "copying", "table:names"],
        *[["relu", "unary", "rule:fake_rules.unary"]] * 2,
    ]
    assert all(re.fullmatch(r"[0-9a-f]{16}", row.split()[3]) for row in rows)
    assert rows[1].endswith("data: (4, 4)") and not any(row != row.rstrip() for row in rows)
    assert closing.splitlines() == [
        "3 cases of 2 operators",
        "No benchmark for 1 operator: placeholder",
    ]
    assert (code, err, measured(opperf), list(opperf.folder.iterdir())) == (0, "", [], [])


SNIPPETS = """
from opperf.snippets import GroupedStmts

open("runs", "a").write("x")
BENCHMARKS = {"add": GroupedStmts("x + 1", setup="x = torch.ones(2)")}
"""


def test_a_file_of_snippets_is_run_once(opperf):
    (opperf.folder / "added.py").write_text(SNIPPETS)
    code, out, _ = opperf("added.py", "--list", "--runs", "3")
    assert code == 0 and "1 case of 1 operator" in out
    assert (opperf.folder / "runs").read_text() == "x"


def test_a_list_where_all_have_a_benchmark_says_no_more(opperf):
    _, out, _ = opperf("add", "--list")
    assert out.endswith("\n1 case of 1 operator\n")


def test_a_dry_run_says_what_it_would_do_and_does_not(opperf):
    code, out, _ = opperf("relu", "--dry-run", "-o", "out.json", "--cpus", "none")
    assert code == 0 and measured(opperf) == [] and not (opperf.folder / "out.json").exists()
    assert out == (
        "2 cases of 1 operator: cpu(0), float32, native profiler, medians to 2.0%, "
        "at most 1 s a case, to out.json\n"
    )


@pytest.mark.parametrize(
    "options, words",
    [
        (("-w", "3", "-r", "1"), "3 warmup, 1 timed call, to"),
        (("--precision", "0.005", "--max-time", "0.25"), "medians to 0.5%, at most 0.25 s a case,"),
        (("-r", "5", "--max-time", "9"), "5 timed calls, at most 9 s a case, to"),
        (("--quick",), "2 warmup, 20 timed calls, at most 0.1 s a case, to"),
        (("--rounds", "3"), "2 cases of 1 operator, 3 rounds: cpu(0)"),
        (("--dtype", "FLOAT64", "-p", "Python"), "cpu(0), float64, python profiler, "),
    ],
)
def test_what_is_announced_is_what_was_asked_for(opperf, options, words):
    _, out, _ = opperf("relu", "--dry-run", *options)
    expected = words if "--quick" not in options else words
    assert expected in out


def test_another_name_is_told_to_be_one(opperf):
    _, out, _ = opperf("neg", "--dry-run")
    assert out.startswith("neg is an alias of negative; its results are under negative\n2 cases")


def test_threads_are_the_workers(opperf):
    opperf("relu", *COUNTS, "--threads", "3,all", "-f", "jsonl", "-o", "run.jsonl")
    assert opperf.started == [("fake", None), ("fake", 3)]
    threads = [case.settings.threads for case in opperf.worker.measured]
    assert threads == [3, 3, None, None]


def test_options_of_the_framework_are_those_of_the_cases(opperf):
    both = ("--set", "fake.turbo=True|false", "--set", "fake.stretch=2")
    _, out, _ = opperf("relu", *COUNTS, *both, "-f", "jsonl", "-o", "run.jsonl")
    found = [case.settings.options for case in opperf.worker.measured]
    turbos = ("true", "true", "false", "false")
    assert found == [{"fake.turbo": turbo, "fake.stretch": "2"} for turbo in turbos]
    assert "options fake.turbo=true fake.stretch=2 and fake.turbo=false fake.stretch=2" in out
    with pytest.raises(RunFileError, match="--set"):
        opperf("--resume", "run.jsonl", "--set", "fake.turbo=true", "--set", "fake.stretch=2")
    assert opperf("--resume", "run.jsonl", *both)[0] == 0
    opperf("run.jsonl", *COUNTS, "--set", "fake.turbo=true", "-f", "jsonl", "-o", "again.jsonl")
    assert [one.settings.options for one in opperf.worker.measured[4:]] == [
        {"fake.turbo": "true"}
    ] * 2


def test_a_wrong_option_of_the_framework_is_refused_for_the_cases_of_a_file(opperf):
    opperf("relu", *COUNTS, "-f", "jsonl", "-o", "run.jsonl")
    with pytest.raises(UsageError, match="unknown option 'turbo'"):
        opperf("run.jsonl", "--set", "turbo=true", "-o", "again.json")


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("relu", "--category", "binary"), "no operator matches --category, --namespace"),
        (
            ("placeholder",),
            "nothing to run: the selected operator has no benchmark: placeholder: "
            "it does nothing on its own",
        ),
        (("relu", "--min-elements", "2"), "--min-elements needs --fuzz-shapes"),
        (("relu", "--retry", "failed"), "--retry needs --resume"),
        (
            ("relu", "--set", "fake.turb=true"),
            "unknown option 'fake.turb'; did you mean fake.turbo?; fake has: ",
        ),
        (("relu", "--set", "fake.turbo=true|maybe"), "fake.turbo is true or false, not 'maybe'"),
        (("relu", "--mode", "eagre"), "unknown mode 'eagre'; did you mean eager?"),
        (
            ("relu", "--memory-format", "channels_last"),
            "unknown memory format 'channels_last'; fake has: contiguous",
        ),
        (("relu", "--autocast", "bfloat16"), "unknown autocast 'bfloat16'; fake has: off"),
    ],
)
def test_what_is_refused(opperf, arguments, words):
    with pytest.raises(UsageError, match=re.escape(words)):
        opperf(*arguments)
    assert measured(opperf) == [] and list(opperf.folder.iterdir()) == []


@pytest.mark.parametrize(
    "name, strict, code",
    [
        ("fails", True, FOUND),
        ("refuses", True, FOUND),
        ("fails", False, 0),
        ("gpu_only", True, 0),
        ("relu", True, 0),
    ],
)
def test_strict_is_about_what_failed_and_not_about_what_was_skipped(opperf, name, strict, code):
    assert opperf(name, "negative", *COUNTS, *(["--strict"] if strict else []))[0] == code


def test_a_wrong_result_is_found_under_strict(opperf, monkeypatch):
    measure = opperf.worker.measure
    monkeypatch.setattr(opperf.worker, "measure", lambda case: verified(measure(case), FAILED))
    code, out, _ = opperf("relu", *COUNTS, "--strict")
    assert code == FOUND and "2 of 2 results are wrong (2 FAIL): relu in mode" in out
    assert opperf("relu", *COUNTS, "--overwrite")[0] == 0


@pytest.mark.parametrize(
    "names, end",
    [
        (["gpu_only"], "nothing was measured: 2 skipped; e.g. only on GPU"),
        (["refuses", "gpu_only"], "nothing was measured: 2 skipped, 2 failed; e.g. only on GPU"),
    ],
)
def test_a_run_that_measures_nothing_fails(opperf, names, end):
    code, _, errors = opperf(*names, *COUNTS)
    assert code == FOUND
    assert end in errors


@pytest.mark.parametrize("limit, shown", [(2, True), (1, False)])
def test_a_long_run_has_no_table(opperf, monkeypatch, limit, shown):
    monkeypatch.setattr(running, "TABLE_LIMIT", limit)
    _, out, _ = opperf("relu", *COUNTS)
    assert ("data: (64, 64)" in out.split("\n\n")[1]) is shown
    assert "ok" in out and "written to fake_operator_benchmarks.json" in out


def test_columns_are_those_of_the_table_and_of_the_page(opperf):
    columns = ("--columns", "Ratio,bandwidth", "--columns", "memory_forward,ratio")
    _, out, _ = opperf("relu", "-r", "9", "-f", "md", "-o", "out.md", *columns)
    titles = out.split("\n\n")[1].splitlines()[0]
    assert titles.split("  ")[-3:] == ["Backward/forward", "Bandwidth GB/s", "Memory forward kB"]
    page = (opperf.folder / "out.md").read_text()
    assert "|   Backward/forward |   Bandwidth (GB/s) |   Memory forward (kB) |" in page
    assert " 2.500 " in out and " 2.500 " in page


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("forward,bandwith", "unknown column 'bandwith'; did you mean bandwidth?; known: "),
        ("", "'' is empty"),
        ("xyzzy", "unknown column 'xyzzy'; known: attainable, "),
    ],
)
def test_a_wrong_column_is_refused_before_anything_is_measured(opperf, columns, words):
    with pytest.raises(click.UsageError, match=re.escape(words)) as refused:
        opperf("relu", "--columns", columns)
    assert refused.value.exit_code == 2 and "\n" not in refused.value.format_message()
    assert measured(opperf) == [] and list(opperf.folder.iterdir()) == []


@pytest.mark.parametrize("width", [80, 120, 200])
def test_what_a_run_prints_fits_the_terminal(opperf, monkeypatch, width):
    monkeypatch.setattr(running, "terminal_width", lambda: width)
    monkeypatch.setattr(messages, "stream_width", lambda stream: width)
    columns = "forward,backward,total,ratio,bandwidth,memory,memory_forward,memory_backward,p90"
    _, out, _ = opperf("relu", "add", "-r", "1", "-o", "out.json", "--columns", columns)
    assert max(map(len, out.splitlines())) <= width
    assert "6 of 6 figures are uncertain; -r 1 takes a single sample" in " ".join(out.split())
    assert out.count(" ?") >= 6 and "data: (64, 64)" in out


def test_a_file_that_is_there_is_not_replaced_unless_that_is_asked_for(opperf):
    path = opperf.folder / "out.json"
    path.write_text("precious")
    with pytest.raises(OutputError, match="out.json"):
        opperf("relu", *COUNTS, "-o", "out.json")
    assert path.read_text() == "precious" and measured(opperf) == []
    assert opperf("relu", *COUNTS, "-o", "out.json", "--overwrite")[0] == 0
    assert set(json.loads(path.read_text())) == {"relu"}


@pytest.mark.parametrize("form", ["json", "csv", "md", "jsonl"])
def test_a_dash_is_standard_output_and_messages_go_elsewhere(opperf, form):
    code, out, err = opperf("relu", *COUNTS, "-f", form, "-o", "-")
    begins = {
        "json": "{\n",
        "csv": "id,operator,",
        "md": "# Operator benchmarks",
        "jsonl": '{"line"',
    }
    assert code == 0 and out.startswith(begins[form]) and "\nOperator " not in out
    assert err.startswith("2 cases of 1 operator") and "to standard output" in err
    assert "Medians" in err and "written to" not in err
    assert [path.name for path in opperf.folder.iterdir()] == ["cache"] and not run_files(opperf)


def test_a_run_to_standard_output_can_be_resumed(opperf, monkeypatch):
    with monkeypatch.context() as patched:
        interrupt_at(opperf, patched, 1)
        code, out, err = opperf("relu", "add", *COUNTS, "-o", "-")
    assert (code, out) == (INTERRUPTED, "")
    again = ["--resume", "-f", "json", "-o", "-"]
    assert going_on(err) == again and measured(opperf) == ["add"]
    opperf("relu", *COUNTS, "-o", "-")
    code, out, _ = opperf(*again)
    assert code == 0 and list(json.loads(out)) == ["add", "relu"]
    assert measured(opperf) == ["add", "relu", "relu", "relu", "relu"]


def test_a_command_without_an_output_can_be_repeated(opperf, monkeypatch):
    """The file of the default name is replaced as long as nobody changed it, and a run that was
    interrupted is in no one's way."""
    default = opperf.folder / "fake_operator_benchmarks.json"
    opperf("relu", *COUNTS)
    first = kept_runs()[-1]
    with monkeypatch.context() as patched:
        interrupt_at(opperf, patched, 3)
        assert opperf("relu", "add", *COUNTS)[0] == INTERRUPTED
    code, out, _ = opperf("add", *COUNTS)
    assert code == 0 and list(json.loads(default.read_text())) == ["add"]
    last = kept_runs()[-1]
    assert out.endswith(f"written to {default.name}; the run file is kept as {last.name}\n")
    assert read_run(last.path)[0].records and last.id != first.id and first in kept_runs()
    cut_short = [run for run in kept_runs() if run.is_cut_short]
    assert [run.path for run in cut_short] == run_files(opperf)
    # By its name, it is finished where it is kept, and has that name then too.
    code, out, _ = opperf("--resume", cut_short[0].name)
    assert code == 0 and out.endswith(f"written to {cut_short[0].name}\n")
    assert run_files(opperf) == [] and kept_runs()[-1].id == cut_short[0].id
    with pytest.raises(OutputError, match="exists; add --overwrite"):
        opperf("add", *COUNTS, "-o", default.name)
    default.write_text(default.read_text() + " ")
    with pytest.raises(OutputError, match="exists; add --overwrite"):
        opperf("add", *COUNTS)


def test_a_run_file_of_the_default_name_is_kept_before_it_is_replaced(opperf, monkeypatch):
    with monkeypatch.context() as patched:
        interrupt_at(opperf, patched, 1)
        opperf("relu", "add", *COUNTS, "-o", "fake_operator_benchmarks.jsonl")
    (path,) = opperf.folder.glob("fake_*.jsonl")
    id = id_of(path)
    for kept in kept_runs():
        kept.path.unlink()
    code, out, _ = opperf("relu", *COUNTS, "-f", "jsonl")
    assert code == 0 and f"{path.name} was interrupted, and is kept as @{id}; finish it with" in out
    assert [run.id for run in kept_runs()] == [id, id_of(path)]
    assert opperf("relu", *COUNTS, "-f", "jsonl")[0] == 0


def test_runs_without_an_output_that_overlap_exclude_and_replace_nothing(opperf, monkeypatch):
    """Each has a run file of its own; the default output is that of the one which ended last."""
    default = opperf.folder / "fake_operator_benchmarks.jsonl"
    measure, plain = opperf.worker.measure, ("-f", "jsonl")

    def beside_another(case):
        monkeypatch.setattr(opperf.worker, "measure", measure)
        assert opperf("add", *COUNTS, *plain)[0] == 0
        assert [one.label for one in read_run(default)[0].cases] == ["add"]
        return measure(case)

    monkeypatch.setattr(opperf.worker, "measure", beside_another)
    assert opperf("relu", *COUNTS, *plain)[0] == 0
    kept = [read_run(run.path)[0] for run in kept_runs()]
    assert [{one.case.label for one in run.records} for run in kept] == [{"add"}, {"relu"}]
    assert default.read_bytes() == kept_runs()[-1].path.read_bytes() and run_files(opperf) == []


@pytest.mark.parametrize("form", ["jsonl", "json"])
def test_an_interrupted_run_without_an_output_goes_on_as_it_says(opperf, monkeypatch, form):
    with monkeypatch.context() as patched:
        interrupt_at(opperf, patched, 1)
        _, _, err = opperf("relu", "add", *COUNTS, "-f", form)
    (run,) = kept_runs()
    assert going_on(err) == ["--resume", run.name, "-f", form] and run.is_cut_short
    assert list(opperf.folder.glob("fake_*")) == []
    # The framework is that of the run.
    code, out, _ = opperf(*going_on(err), framework=())
    name = f"fake_operator_benchmarks.{form}"
    assert code == 0 and f"\nwritten to {name}" in out and (opperf.folder / name).is_file()
    assert [one.id for one in kept_runs()] == [run.id] and run_files(opperf) == []
    with monkeypatch.context() as patched:
        interrupt_at(opperf, patched, 4)
        opperf("relu", "add", *COUNTS, "-f", form)
    assert opperf("--resume", "-f", form)[0] == 0 and len(kept_runs()) == 2
    if form == "jsonl":
        assert id_of(opperf.folder / name) == kept_runs()[-1].id


def test_a_run_that_cannot_be_kept_ends_as_ever(opperf, monkeypatch):
    (opperf.folder / "file").write_text("")
    monkeypatch.setenv("OPPERF_DATA", str(opperf.folder / "file"))
    code, out, err = opperf("relu", *COUNTS, "-o", "out.json")
    assert code == 0 and out.endswith("\nwritten to out.json\n")
    assert "warning: this run is not kept: " in err and "OPPERF_DATA names another" in err
    assert (opperf.folder / "out.json").is_file() and run_files(opperf) == []
    # Its default output can be replaced all the same, unless it is older or newer than its sidecar.
    default = opperf.folder / "fake_operator_benchmarks.json"
    assert [opperf("relu", *COUNTS)[0] for _ in range(2)] == [0, 0]
    os.utime(default, (0, 0))
    with pytest.raises(OutputError, match="exists; add --overwrite"):
        opperf("relu", *COUNTS)


def test_a_run_file_that_is_there_is_not_begun_anew(opperf):
    arguments = ("relu", *COUNTS, "-f", "jsonl", "-o", "run.jsonl")
    opperf(*arguments)
    before = (opperf.folder / "run.jsonl").read_bytes()
    with pytest.raises(OutputError, match="run.jsonl"):
        opperf(*arguments)
    assert (opperf.folder / "run.jsonl").read_bytes() == before


def test_what_a_run_is_gone_on_with_is_not_written_over_another_file(cut_short):
    (path,) = run_files(cut_short)
    (cut_short.folder / "page.md").write_text("precious")
    with pytest.raises(OutputError, match="page.md"):
        cut_short("--resume", str(path), "-f", "md", "-o", "page.md")
    assert (cut_short.folder / "page.md").read_text() == "precious"
    assert measured(cut_short) == []


@pytest.mark.parametrize(
    "arguments, error, words",
    [
        (("nosuch",), UnknownOperatorError, "no operator is called 'nosuch'"),
        (("relu", "--exclude", "nosuch"), UnknownOperatorError, "no operator is called 'nosuch'"),
        (("--category", "nosuch"), UsageError, "unknown category 'nosuch'"),
        (("relu", "-p", "nosuch"), UsageError, "unknown profiler 'nosuch'"),
        (("relu",), OutputError, "fake_operator_benchmarks.json exists; add --overwrite"),
        ((), OutputError, "fake_operator_benchmarks.json exists; add --overwrite"),
    ],
)
def test_names_are_checked_before_files(opperf, arguments, error, words):
    existing = opperf.folder / "fake_operator_benchmarks.json"
    existing.write_text("precious")
    with pytest.raises(error, match=words):
        opperf(*arguments)
    assert existing.read_text() == "precious" and measured(opperf) == []


def test_the_extension_is_the_format(opperf):
    opperf("relu", *COUNTS, "-o", "out.md")
    assert (opperf.folder / "out.md").read_text().startswith("# Operator benchmarks")
    opperf("relu", *COUNTS, "-o", "out.jsonl")
    assert len(read_run(opperf.folder / "out.jsonl")[0].records) == 2


def going_on(err):
    return shlex.split(err.partition("Resume with: opperf run ")[2].splitlines()[0])


@pytest.mark.parametrize(
    "named, again",
    [
        (("-f", "jsonl", "-o", "run.jsonl"), ["--resume", "run.jsonl"]),
        (("-f", "jsonl", "-o", "run"), ["--resume", "run", "-f", "jsonl"]),
        (("-o", "out.json"), ["--resume", "-f", "json", "-o", "out.json"]),
        (("-f", "md", "-o", "my out.md"), ["--resume", "-f", "md", "-o", "my out.md"]),
    ],
)
def test_an_interrupted_run_says_how_to_go_on_and_that_finishes_it(
    opperf, monkeypatch, named, again
):
    with monkeypatch.context() as patched:
        interrupt_at(opperf, patched, 1)
        code, _, err = opperf("relu", "add", *COUNTS, *named, "--quiet")
    assert code == INTERRUPTED and err.startswith("interrupted; the records are in ")
    assert going_on(err) == again and measured(opperf) == ["add"]
    code, out, _ = opperf(*again)
    assert code == 0 and measured(opperf) == ["add", "relu", "relu"]
    assert out.startswith("3 cases of 2 operators, 1 of them already done: ")
    assert f"\nwritten to {named[-1]}" in out and run_files(opperf) == []


def test_visits_are_counted_in_rounds(opperf, monkeypatch):
    with monkeypatch.context() as patched:
        interrupt_at(opperf, patched, 3)
        opperf("relu", *COUNTS, "--rounds", "4", "-f", "jsonl", "-o", "run.jsonl")
    _, out, _ = opperf("--resume", "run.jsonl", "--dry-run")
    assert out.startswith("2 cases of 1 operator, 4 rounds, 3 of 8 measurements already done: ")
    opperf("--resume", "run.jsonl")
    assert len(measured(opperf)) == 8
    records = read_run(opperf.folder / "run.jsonl")[0].records
    assert [record.rounds for record in records] == [4, 4]


@pytest.fixture
def cut_short(opperf, monkeypatch):
    """A run of two cases into out.json, of which one was measured."""
    with monkeypatch.context() as patched:
        interrupt_at(opperf, patched, 1)
        opperf("relu", *COUNTS, "--threads", "2", "-o", "out.json", "--quiet")
    opperf.started.clear()
    opperf.worker.measured.clear()
    return opperf


def test_what_was_cut_short_is_not_lost_to_a_new_run(cut_short):
    with pytest.raises(
        OutputError, match="an earlier run to out.json was interrupted, and its records are in"
    ):
        cut_short("relu", *COUNTS, "-o", "out.json")
    assert measured(cut_short) == [] and len(run_files(cut_short)) == 1
    assert cut_short("relu", *COUNTS, "-o", "out.json", "--overwrite")[0] == 0
    assert len(measured(cut_short)) == 2 and run_files(cut_short) == []


def test_a_list_may_be_had_meanwhile(cut_short):
    assert cut_short("relu", "--list", "-o", "out.json")[0] == 0


def test_a_run_goes_on_in_its_own_framework_with_its_own_threads(cut_short):
    _, _, err = cut_short("--resume", "-o", "out.json", framework=())
    assert "framework:" not in err
    assert cut_short.started == [("fake", 2)] and len(measured(cut_short)) == 1


def test_a_framework_that_nobody_named_is_said_first(opperf, monkeypatch):
    monkeypatch.setattr(frameworks, "PREFERENCE", ("absent", "fake"))
    some = ("relu", *COUNTS, "--overwrite")
    code, out, err = opperf(*some, framework=())
    assert code == 0 and opperf.started == [("fake", None)]
    assert err.startswith("framework: fake, the first installed of ") and "framework:" not in out
    assert "framework:" not in opperf(*some, "--quiet", framework=())[2]
    assert "framework:" not in opperf(*some)[2]


def test_a_framework_that_only_another_interpreter_has(opperf, monkeypatch):
    known = {"mxnet": "opperf.frameworks.mxnet:framework", "fake": "fake_framework:FakeFramework"}
    monkeypatch.setattr(frameworks, "available", lambda: known)
    monkeypatch.setattr(frameworks, "is_installed", {"numpy"}.__contains__)
    monkeypatch.setattr(frameworks, "PREFERENCE", ("mxnet", "fake"))
    named = opperf("relu", "--dry-run", "--python", sys.executable, framework=NAMED)
    assert named[0] == 0 and opperf.started == [("mxnet", None)] and named[2] == ""
    code, _, err = opperf("relu", "--dry-run", "--python", f"mxnet={sys.executable}", framework=())
    assert code == 0 and opperf.started == [("mxnet", None)]
    assert err.startswith("framework: mxnet, the first installed of ")


def test_only_files_need_no_framework(opperf):
    opperf("relu", *COUNTS, "-f", "jsonl", "-o", "run.jsonl")
    code, _, err = opperf("run.jsonl", "--dry-run", framework=())
    assert code == 0 and "framework:" not in err


def test_another_framework_or_setting_is_another_run(cut_short):
    with pytest.raises(RunFileError, match="framework 'fake', not 'numpy'"):
        cut_short("--resume", "-o", "out.json", framework=("--framework", "numpy"))
    with pytest.raises(RunFileError, match="dtype"):
        cut_short("--resume", "-o", "out.json", "--dtype", "float64")
    assert measured(cut_short) == []


def test_a_run_file_that_is_named_stays_beside_the_output(cut_short):
    (path,) = run_files(cut_short)
    kept = cut_short.folder / "kept.jsonl"
    path.rename(kept)
    code, out, _ = cut_short("--resume", "kept.jsonl", "-f", "md", "-o", "page.md")
    assert code == 0 and "\nwritten to page.md; the run file is kept as @" in out
    assert kept.exists() and (cut_short.folder / "page.md").exists()


def test_what_is_wrong_with_a_run_file_is_told(cut_short):
    (path,) = run_files(cut_short)
    with path.open("a") as file:
        file.write('{"line":"record","rec')
    _, _, err = cut_short("--resume", "-o", "out.json", "--quiet")
    assert err.startswith("warning: ")


def test_a_disk_that_fills_up_costs_nothing_that_was_measured(opperf, monkeypatch):
    def full(self, record):
        raise OutputError("no space left")

    monkeypatch.setattr(RunWriter, "record", full)
    with pytest.raises(OutputError, match="no space left; the records are in .*run.jsonl") as e:
        opperf("relu", *COUNTS, "-f", "jsonl", "-o", "run.jsonl")
    assert going_on(str(e.value)) == ["--resume", "run.jsonl"]


def test_an_output_that_cannot_be_written_is_made_from_the_records_later(opperf, monkeypatch):
    def fails(run, path, format, columns, streams):
        raise OutputError(f"{path} cannot be written")

    with monkeypatch.context() as patched:
        patched.setattr(writing, "write", fails)
        with pytest.raises(OutputError, match="out.json cannot be written; the records") as caught:
            opperf("relu", *COUNTS, "-o", "out.json")
    assert len(run_files(opperf)) == 1
    assert opperf(*going_on(str(caught.value)))[0] == 0
    assert len(measured(opperf)) == 2 and (opperf.folder / "out.json").exists()


SWEEP = ("--sweep", "n=8..32:x2", "--shape", "data=4xn")


def test_a_sweep_is_announced_measured_and_shown_by_size(opperf):
    code, out, _ = opperf("relu", *SWEEP, *COUNTS, "-f", "jsonl", "-o", "run.jsonl")
    assert code == 0
    assert [case.arguments["data"].shape for case in opperf.worker.measured] == [
        (4, 8),
        (4, 16),
        (4, 32),
    ]
    assert out.startswith("3 cases of 1 operator, n 8 to 32: cpu(0)")
    lines = [line.split()[:1] for line in out.splitlines()]
    assert out.endswith("\nwritten to run.jsonl\nPlot it with: opperf plot run.jsonl\n")
    assert "Slowest" not in out
    assert ["relu:"] in lines and lines[lines.index(["8"]) :][:3] == [["8"], ["16"], ["32"]]
    made, _ = read_run(opperf.folder / "run.jsonl")
    assert [record.case.point for record in made.records] == [{"n": 8}, {"n": 16}, {"n": 32}]


def test_the_cases_of_a_sweep_are_listed_with_their_points(opperf):
    _, out, _ = opperf("relu", "negative", *SWEEP, "--list")
    titles = out.splitlines()[0].split()
    assert titles[-2:] == ["Sweep", "Inputs"]
    assert sum(" n=16 " in line for line in out.splitlines()) == 2 and measured(opperf) == []


def test_a_sweep_is_measured_again_with_its_points(opperf):
    opperf("relu", *SWEEP, *COUNTS, "-f", "jsonl", "-o", "run.jsonl")
    _, out, _ = opperf("run.jsonl", "-f", "jsonl", "-o", "again.jsonl", "--threads", "1")
    assert out.startswith("3 cases of 1 operator, n 8 to 32:")
    again, _ = read_run(opperf.folder / "again.jsonl")
    assert [record.case.point for record in again.records] == [{"n": 8}, {"n": 16}, {"n": 32}]
    with pytest.raises(UsageError, match="--shape does not apply to run.jsonl"):
        opperf("run.jsonl", *SWEEP, "-o", "third.json")


def test_an_interrupted_sweep_is_resumed_at_its_next_point(opperf, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_at(opperf, patch, 1)
        options = ("-f", "jsonl", "-o", "run.jsonl")
        assert opperf("relu", *SWEEP, *COUNTS, *options)[0] == INTERRUPTED
    with pytest.raises(RunFileError, match="--sweep"):
        opperf("--resume", "run.jsonl", "--sweep", "n=8..64:x2", "--shape", "data=4xn")
    with pytest.raises(RunFileError, match="--shape"):
        opperf("--resume", "run.jsonl", "--sweep", "n=8..32:x2", "--shape", "data=5xn")
    assert opperf("--resume", "run.jsonl", *SWEEP)[0] == 0
    made, _ = read_run(opperf.folder / "run.jsonl")
    assert [record.case.point["n"] for record in made.records] == [8, 16, 32]
    assert len(opperf.worker.measured) == 3


@pytest.mark.parametrize(
    "words, message",
    [
        (("--sweep", "n=8"), "no shape and no value uses n"),
        (("--shape", "data=4xn"), "'n' is neither a number nor a swept variable"),
        (("--sweep", "n=0,4", "--shape", "data=4xn"), "0 is not an extent"),
        (("--sweep", "n=4", "--shape", "lhs=4xn"), "relu has no tensor argument 'lhs'"),
        (("--sweep", "n=4", "--fuzz-shapes", "3"), "--sweep has no effect with --fuzz-shapes"),
    ],
)
def test_a_sweep_that_cannot_be_is_refused_before_anything_is_measured(opperf, words, message):
    with pytest.raises(UsageError, match=message) as error:
        opperf("relu", *words, "-o", "out.json")
    assert error.value.exit_code == 2 and "\n" not in str(error.value)
    assert measured(opperf) == [] and not (opperf.folder / "out.json").exists()


@pytest.mark.parametrize(
    "text", ["n=1..8", "n=8..1:x2", "n=1..8:x1", "x=1..8:x2", "n", "=1", "n=a"]
)
def test_a_malformed_sweep_is_one_line(opperf, text):
    with pytest.raises(click.BadParameter) as error:
        opperf("relu", "--sweep", text, "--shape", "data=4xn", "-o", "out.json")
    assert text in str(error.value) and "\n" not in str(error.value)
