"""A session from the command line to its verdicts, with the fake framework in real processes."""

import dataclasses
import json
import math
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from moments import signal_at_record

from opperf.commands.compare import compare
from opperf.comparison.ab.process import key
from opperf.comparison.ab.session_file import SessionWriter, read_session
from opperf.errors import OutputError, UsageError
from opperf.instruments.profilers.reference_work import WORKS
from opperf.machine.kernel import THREAD_VARIABLES
from opperf.model import OWN
from opperf.results.kept import new_id
from opperf.statistics.blocks import cases_of

TESTS = Path(__file__).resolve().parents[2]
WAIT_S = 120
FEW = ("--control-blocks", "2", "--blocks", "4")
QUICK = ("--framework", "fake", "--case-time", "0.001", "--threads", "1", *FEW)

PROCESS = b'"line":"process"'

NOISE = "0.001"
"""What processes scatter by: far below the threshold, so that the first look decides."""


@pytest.fixture(scope="module")
def variables():
    paths = [str(TESTS / "fake"), str(TESTS.parent)]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "FAKE_NOISE": NOISE,
        "FAKE_FORKS": "1",
    }


@pytest.fixture(scope="module")
def start(variables):
    def started(folder, *arguments, **more):
        return subprocess.Popen(
            [sys.executable, "-m", "opperf", *arguments],
            env={**variables, **more},
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A shell starts what runs in its background with SIGINT ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    return started


@pytest.fixture(scope="module")
def command(start):
    """Run a command to its end; what it prints, and what it says beside that."""

    def done(folder, *arguments, code=0, **more):
        with start(folder, *arguments, **more) as process:
            out, err = process.communicate(timeout=WAIT_S)
        assert process.returncode == code, out + err
        assert "Traceback" not in err
        return out, err

    return done


@pytest.fixture(scope="module")
def session(start, command, tmp_path_factory):
    """A session that was interrupted, killed, and gone on with to its end: the folder, and what
    was printed at the end."""
    folder = tmp_path_factory.mktemp("session")
    path = folder / "opperf_ab.jsonl"
    mood = folder / "mood"
    begin = (
        *("ab", "relu", "negative", "add", "flaky", "segfaults", *QUICK, "--seed", "1"),
        *("--a", f"env:FAKE_FLAKY={mood}"),
        *("--b", "env:FAKE_SLOWDOWN=relu=1.1,negative=0.9"),
        *("--b", "env:FAKE_SLOWDOWN_ALL=add=2,relu=1.15"),
        *("-f", "text", "--fail-on", "regressed"),
    )
    moment = folder / "moment"
    # In the third process, as each has six cases.
    _, err = command(folder, *begin, code=130, **signal_at_record(moment, signal.SIGINT, 2 * 6 + 3))
    assert "2 processes measured, in opperf_ab.jsonl. Resume with: opperf ab --resume" in err
    again = shlex.split(err.partition("Resume with: opperf ")[2])
    options = ["-f", "text", "--fail-on", "regressed"]
    assert again == ["ab", "--resume", "--report", "opperf_ab.jsonl", *options]
    before = path.read_bytes()
    assert before.count(PROCESS) == 2

    # In the next process of A, an operator ends it.
    mood.touch()
    killed = signal_at_record(moment, signal.SIGKILL, 2 * 6 + 3)
    command(folder, *again, code=-signal.SIGKILL, **killed)
    assert path.read_bytes().startswith(before)
    assert 2 < path.read_bytes().count(PROCESS) <= 4
    assert not mood.exists()
    with path.open("ab") as file:
        file.write(b'{"line":"process","place":{"pha')
    out, err = command(folder, *again, code=1)
    assert "warning: opperf_ab.jsonl: the last line was cut short" in err
    return folder, out


def again(folder, output_format, capsys, *words):
    """What `compare --from-ab` prints, and its exit code."""
    formats = ["-f", output_format] if output_format else []
    words = ["--from-ab", str(folder / "opperf_ab.jsonl"), *formats, *words]
    code = compare.main(words, standalone_mode=False)
    return capsys.readouterr().out, code


def test_what_differs_is_found_and_nothing_else(session, capsys):
    folder, _ = session
    out, code = again(folder, "json", capsys)
    report = json.loads(out)
    assert code == 1 and report["environment"] == []
    assert report["session"]["valid"] and report["session"]["complete"]
    said = {}
    for row in report["rows"]:
        said.setdefault(row["operator"], []).append((row["metric"], row["verdict"]))
    flaky = said.pop("flaky")
    assert {verdict for _, verdict in flaky} == {"ambiguous"}
    expected = {"relu": "regressed", "negative": "improved", "add": "same"}
    assert {name: {verdict for _, verdict in found} for name, found in said.items()} == {
        name: {verdict} for name, verdict in expected.items()
    }
    assert all(
        {metric for metric, _ in found} == {"forward", "backward"} for found in said.values()
    )
    for row in report["rows"]:
        factor = {"relu": 1.1, "negative": 0.9}.get(row["operator"], 1.0)
        assert row["ratio"] is None or abs(row["ratio"] / factor - 1) < 0.01
    assert report["rows"][0]["operator"] == "relu"


def test_a_session_is_listed_read_and_resumed_by_its_name(session, here):
    folder, printed = session
    name = f"@{read_session(folder / 'opperf_ab.jsonl')[0].header.id}"
    (row,) = json.loads(here(folder, "runs", name, "--json")[0])
    assert (row["kind"], row["state"], row["cases"]) == ("ab", "finished", 6)
    assert sorted(row["operators"]) == ["add", "flaky", "negative", "relu"]
    for arguments in (("compare", name), ("compare", "--from-ab", name), ("ab", "--resume", name)):
        out, err = here(folder, *arguments, code=1)
        assert out == printed, arguments
    assert f"all measurements are in {name}\n" in err
    for arguments in (("report", name), ("export", name, "--to", "md"), ("show", name)):
        assert "relu" in here(folder, *arguments)[0]
    for arguments, words in (
        (("--id", "zz"), "--id zz: no case of"),
        (("--size", "small"), "--size does not apply to"),
    ):
        _, err = here(folder, "show", name, *arguments, code=2)
        assert words in err and err.count("\n") == 1
    _, err = here(folder, "run", "--resume", name, code=2)
    assert f"{name} is a session of `opperf ab`; resume it with opperf ab --resume {name}" in err


def test_every_place_has_one_process_and_every_process_its_cases(session):
    folder, _ = session
    read, warnings = read_session(folder / "opperf_ab.jsonl")
    assert warnings == [] and read.closing is not None
    places = [(one.phase, one.block, one.position) for one in read.replicates]
    assert len(set(places)) == len(places) == 4 * (2 + 4)
    kept = {pair.id for pair in read.pairs if pair.label != "flaky"}
    whole = {f"{name} {metric}" for name in kept for metric in ("forward", "backward")}
    assert all(whole <= one.values.keys() for one in read.replicates)


def copy_session(source, target, change, **thresholds):
    """Copies a session, without its closing line, as another one. `change` returns the values of a
    replicate; `thresholds` are those of the copy that differ."""
    read, _ = read_session(source)
    replace = msgspec.structs.replace
    plan = replace(read.plan, thresholds=replace(read.plan.thresholds, **thresholds))
    # Under its own name, or it would be kept in place of the other one.
    header = replace(read.header, session=msgspec.to_builtins(plan), id=new_id())
    copy = dataclasses.replace(read, header=header, plan=plan, processes=[], closing=None)
    with SessionWriter.create(target, copy, overwrite=False) as writer:
        for process, one in zip(read.processes, read.replicates, strict=True):
            values, records = change(one), []
            for record in process.records:
                group = read.group_of[record.id]
                summaries = {
                    metric: moved(summary, math.exp(values[key(group, metric)]))
                    for metric, summary in record.summaries.items()
                    if key(group, metric) in values
                }
                if summaries:
                    records.append(replace(record, summaries=summaries, reference={}))
                    writer.store.record(records[-1])
            writer.add(process.line, records)


TIMES = ("mean", "median", "min", "max", "p50", "p90", "p99", "mad", "ci_low", "ci_high")


def moved(summary, median):
    """Returns the summary of times that have that median, and are all longer by one factor."""
    factor = median / summary.median
    times = {name: getattr(summary, name) * factor for name in TIMES}
    return msgspec.structs.replace(summary, **times | {"median": median})


def drop_last(path, number):
    """Cuts off the closing line, and the last processes."""
    lines = path.read_bytes().splitlines(keepends=True)
    if b'"line":"closing"' in lines[-1]:
        del lines[-1]
    ends = [place for place, line in enumerate(lines) if PROCESS in line]
    path.write_bytes(b"".join(lines[: ends[-1 - number] + 1]))


def count_processes(path):
    return path.read_bytes().count(PROCESS)


def test_undecided_figures_are_measured_further_and_no_others(session, here, tmp_path, capsys):
    folder, _ = session
    path = tmp_path / "opperf_ab.jsonl"
    read, _ = read_session(folder / "opperf_ab.jsonl")
    (pair,) = (pair.id for pair in read.pairs if pair.label == "add")
    figure = key(pair, "backward")

    def change(one):
        swing = 0.3 * (-1) ** one.block if one.arm == "B" else 0.0
        return {name: value + swing * (name == figure) for name, value in one.values.items()}

    copy_session(folder / "opperf_ab.jsonl", path, change, block_cap=6)
    before = count_processes(path)
    _, err = here(tmp_path, "ab", "--resume", code=1)
    assert "A against B, blocks 5 to 6 of at most 6: 8 processes, 1 case each" in err
    after, _ = read_session(path)
    assert [(one.block, one.position) for one in after.replicates[before:]] == [
        (block, position) for block in (4, 5) for position in range(4)
    ]
    assert all(one.values.keys() == {figure} for one in after.replicates[before:])
    report = json.loads(again(tmp_path, "json", capsys)[0])
    blocks = {(row["operator"], row["metric"]): row["blocks"] for row in report["rows"]}
    assert blocks["add", "backward"] == report["session"]["blocks"] == 6
    assert blocks["add", "forward"] == blocks["relu", "forward"] == 4


def test_the_coarse_look_finds_what_takes_longer_with_all_threads(session, here, tmp_path, capsys):
    folder, _ = session
    path = tmp_path / "opperf_ab.jsonl"
    # The copy has the look whatever the cores of this machine.
    copy_session(folder / "opperf_ab.jsonl", path, lambda one: one.values, coarse_blocks=2)
    before = count_processes(path)
    verdicts = json.loads(again(tmp_path, "json", capsys)[0])["rows"]
    out, err = here(tmp_path, "ab", "--resume", code=1, **dict.fromkeys(THREAD_VARIABLES, ""))
    assert "A against B with all threads: 8 processes, 6 cases each" in err
    after, _ = read_session(path)
    added = after.processes[before:]
    assert {one.line.place.phase for one in added} == {"coarse"} and len(added) == 8
    assert not any(one.reference for one in added)
    report = json.loads(again(tmp_path, "json", capsys)[0])
    found = {(row["operator"], row["verdict"]) for row in report["session"]["coarse"]["rows"]}
    assert {one for one in found if one[1] != "no clear change"} == {("add", "regressed")}
    assert "With all threads (2 blocks of 4): 2 figures changed by more than 20%" in out
    assert report["rows"] == verdicts
    drop_last(path, 2)
    unfinished = json.loads(again(tmp_path, "json", capsys)[0])
    assert unfinished["session"]["coarse"] is None and unfinished["rows"] == report["rows"]


def test_an_unfinished_session_has_the_verdicts_of_its_latest_look(session, capsys, tmp_path):
    folder, out = session
    path = tmp_path / "opperf_ab.jsonl"
    path.write_bytes((folder / "opperf_ab.jsonl").read_bytes())
    drop_last(path, 0)
    found, code = again(tmp_path, "text", capsys)
    unfinished = "Unfinished: verdicts after 4 of at most 4 blocks; --resume continues.\n"
    assert code == 1 and unfinished in found and found.replace(unfinished, "") == out
    drop_last(path, 1)
    found, code = again(tmp_path, "text", capsys)
    assert "Unfinished: no verdicts before 4 blocks; --resume continues." in found
    assert code == 3 and "Regressed" not in found


def test_fixed_work_is_timed_beside_every_figure(session):
    folder, _ = session
    read, _ = read_session(folder / "opperf_ab.jsonl")
    assert read.plan.reference_work
    for one in read.replicates:
        assert one.reference.keys() == one.values.keys()
        assert all(works.keys() == {OWN, *WORKS} for works in one.reference.values())


def test_a_case_that_ends_its_process_is_excluded(session, capsys):
    folder, out = session
    read, _ = read_session(folder / "opperf_ab.jsonl")
    (lost,) = read.lost.values()
    assert lost.ended and lost.reason.startswith("A: crashed: the process was ended by SIGSEGV")
    assert "flaky (data: (4,))" in out and "Not measured in some process" in out
    assert "segfaults (data: (64, 64))" in out and "Not measured in both A and B" in out


def test_the_verdicts_are_made_again_from_the_file(session, capsys):
    folder, out = session
    before = (folder / "opperf_ab.jsonl").read_bytes()
    assert again(folder, "text", capsys) == (out, 1)
    assert (folder / "opperf_ab.jsonl").read_bytes() == before


def test_formats(session, tmp_path, capsys):
    folder, _ = session
    page, _ = again(folder, "md", capsys)
    assert page.startswith("## Of ") and "\n\n**What to do:** " in page
    assert "### Slower\n" in page and "| `relu` " in page
    both = (tmp_path / "suite.xml", tmp_path / "page.md")
    printed, _ = again(folder, "", capsys, *(f"-o{file}" for file in both))
    assert printed == "" and b"<testsuite " in both[0].read_bytes()
    assert both[1].read_text() == page
    same = tmp_path / "same.csv"
    same.symlink_to(folder / "opperf_ab.jsonl")
    with pytest.raises(OutputError, match="is an input, and would be overwritten"):
        again(folder, "", capsys, "-o", str(same), "--overwrite")


def test_totals_weighted_by_count_are_in_every_format_that_has_a_place_for_them(session, capsys):
    folder, _ = session
    text, _ = again(folder, "text", capsys, "--weight", "count")
    assert "Weighted by count (forward" in text and "Operators that made the difference" in text
    found = json.loads(again(folder, "json", capsys, "--weight", "count")[0])["weighted"]
    assert found["cases"] == found["base_calls"] > 1
    assert sum(one["change_ns"] for one in found["operators"]) == pytest.approx(
        found["new_ns"] - found["base_ns"]
    )
    assert json.loads(again(folder, "json", capsys)[0])["weighted"] is None
    for output_format in ("md", "html-fragment"):
        page, _ = again(folder, output_format, capsys, "--weight", "count")
        assert "Operators that made the difference" in page
    with pytest.raises(UsageError, match="junit has rows of single cases only"):
        again(folder, "junit", capsys, "--weight", "count")


@pytest.mark.parametrize(
    "looked_for, code", [("ambiguous", 3), ("improved,ambiguous", 1), ("regressed", 1)]
)
def test_what_is_looked_for(session, capsys, looked_for, code):
    folder, _ = session
    assert again(folder, "text", capsys, "--fail-on", looked_for)[1] == code


def test_what_a_session_does_not_have_cannot_be_looked_for(session, capsys):
    with pytest.raises(UsageError, match="--fail-on suspect"):
        again(session[0], "text", capsys, "--fail-on", "suspect")


def test_going_on_with_a_finished_session_measures_nothing(session, here):
    folder, out = session
    lines = (folder / "opperf_ab.jsonl").read_bytes().count(b"\n")
    found, _ = here(folder, "ab", "--resume", "--fail-on", "improved", code=1)
    assert found == out
    assert (folder / "opperf_ab.jsonl").read_bytes().count(b"\n") == lines


@pytest.mark.parametrize(
    "contrary, words",
    [
        (("--b", "env:X=1"), "made with --a 'env:FAKE_FLAKY="),
        (("relu",), "OPERATOR"),
        (("--threshold", "5%"), "--threshold 0.02, not 0.05"),
        (("--blocks", "9"), "--blocks 4, not 9"),
        (("--until-settled",), "--until-settled 4, not 48"),
        (("--until-settled", "8"), "--until-settled 4, not 8"),
        (("--same-within", "5%"), "--same-within 0.04, not 0.05"),
        (("--control-blocks", "3"), "--control-blocks 2, not 3"),
        (("--no-pace",), "--no-pace False, not True"),
        (("--threads", "2"), "--threads '1', not '2'"),
        (("--case-time", "1"), "--case-time 0.001, not 1.0"),
        (("--dtype", "float64"), "--dtype 'float32', not 'float64'"),
        (("--ctx", "cpu(1)"), "--ctx '', not 'cpu(1)'"),
        (("--framework", "numpy"), "--framework 'fake', not 'numpy'"),
        (("--overwrite",), "--resume and --overwrite exclude each other"),
    ],
)
def test_going_on_as_another_session_is_refused(session, here, contrary, words):
    folder, _ = session
    before = (folder / "opperf_ab.jsonl").read_bytes()
    _, err = here(folder, "ab", "--resume", *contrary, code=2)
    assert words in err and err.count("\n") == 1
    assert (folder / "opperf_ab.jsonl").read_bytes() == before


def test_going_on_in_another_environment_is_refused(session, here):
    folder, _ = session
    before = (folder / "opperf_ab.jsonl").read_bytes()
    _, err = here(folder, "ab", "--resume", code=2, FAKE_THREADS="7")
    assert "arm A of the session was measured in another environment: " in err
    assert "threads.FAKE_THREADS was 'absent' and is '7'" in err
    assert (folder / "opperf_ab.jsonl").read_bytes() == before


def test_a_report_needs_a_file(session, here):
    _, err = here(session[0], "ab", "add", *QUICK, "--b", "env:X=1", "--report", "-", code=2)
    assert (
        err
        == "opperf: --report needs a file, to which each process appends its results; name one\n"
    )


def test_a_file_that_exists_is_not_replaced(session, here):
    folder, _ = session
    before = (folder / "opperf_ab.jsonl").read_bytes()
    named = ("--b", "env:X=1", "--report", "opperf_ab.jsonl")
    _, err = here(folder, "ab", "add", *QUICK, *named, code=2)
    assert "opperf_ab.jsonl exists; add --overwrite to replace it, or --resume" in err
    assert err.count("\n") == 1
    assert (folder / "opperf_ab.jsonl").read_bytes() == before


def test_two_arms_that_are_alike_without_fixed_work(here, tmp_path):
    arms = ("--a", "env:FAKE_THREADS=1", "--b", "env:FAKE_THREADS=2")
    # Which of them has an interpreter of its own is in its cases.
    arms += ("--b", f"python:{sys.executable}")
    usual = ("--no-pace", "--report", "like.jsonl", "--fail-on", "improved")
    some = ("add", "rounded", *QUICK, *arms, *usual)
    out, err = here(tmp_path, "ab", *some, "--format", "md")
    assert "3 same" in out or "4 same" in out
    assert "| `threads.FAKE_THREADS` | 1 " in out
    assert "Regressed" not in out and "All operators together: same" in out
    assert "about" in err and "A against A: 8 processes, 3 cases each" in err
    assert [path.name for path in tmp_path.iterdir()] == ["like.jsonl"]
    read, _ = read_session(tmp_path / "like.jsonl")
    for name, interpreter in (("A", ""), ("B", "B")):
        assert {case.settings.python for case in read.cases_of(name).values()} == {interpreter}
    assert not read.plan.reference_work and not any(one.reference for one in read.replicates)
    out, err = here(tmp_path, "ab", *some, "--resume")
    assert f"{len(read.replicates)} processes measured already" in err and "pace" not in out


@pytest.fixture
def bare_python(tmp_path):
    """Makes an interpreter of an environment that has nothing."""

    def made():
        words = [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")]
        subprocess.run(words, check=True, timeout=WAIT_S)
        return tmp_path / "bare" / "bin" / "python"

    return made


@pytest.fixture
def refused(here, tmp_path):
    """Says why a session of arms does not begin."""

    def of(*arms):
        path = tmp_path / "opperf_ab.jsonl"
        path.write_text("precious")
        named = [] if any(word.startswith("ops:") for word in arms) else ["add"]
        out, err = here(tmp_path, "ab", *named, *QUICK, *arms, "--overwrite", "--quiet", code=2)
        assert err.count("\n") == 1 and out == "" and path.read_text() == "precious"
        return err

    return of


@pytest.mark.parametrize(
    "arms, words",
    [
        (("--b", "python:/nowhere/python"), "--b 'python:/nowhere/python': no such"),
        (
            ("--b", "python:/bin/cat"),
            "arm B (python:/bin/cat): /bin/cat does not run opperf's worker: it",
        ),
        (
            ("--b", "python:{bare}", "--b", "env:OPPERF_FALLBACK_PACKAGES=2.7"),
            "bin/python has no msgspec: ",
        ),
        (("--b", "env:PYTHONPATH=/nowhere"), "arm B (env:PYTHONPATH=/nowhere): unknown framework"),
    ],
)
def test_an_arm_that_cannot_start(refused, bare_python, arms, words):
    assert words in refused(*(w.format(bare=bare_python()) if "{" in w else w for w in arms))


@pytest.mark.parametrize(
    "arms, words",
    [
        (("--b", "dtype:float31"), "arm B (dtype:float31): unknown dtype 'float31'"),
        (("--b", "profiler:none"), "arm B (profiler:none): unknown profiler 'none'"),
        (
            ("--b", "options:fake.turb=true"),
            "arm B (options:fake.turb=true): unknown option 'fake.turb'; did you mean fake.turbo?",
        ),
        (("--b", "device:gpu(0)"), "arm B (device:gpu(0)): gpu(0): the fake has no GPU"),
        (("--a", "ops:add", "--b", "ops:placeholder"), "has no case to measure: it does nothing"),
        (
            ("--a", "ops:placeholder", "--b", "ops:placeholder", "--b", "dtype:float64"),
            "nothing on its own; arm B (dtype:float64 ops:placeholder): ops:placeholder has no",
        ),
        (("--a", "ops:add", "--b", "ops:relu"), "no case is in both arms, e.g. add (lhs: (64,)"),
        (("--a", "ops:add", "--b", "ops:adds"), "no operator is called 'adds'"),
    ],
)
def test_an_arm_without_a_case(refused, planning, arms, words):
    assert words in refused(*arms)


@pytest.mark.parametrize("framework", ["dying", "absent", "refusing"])
def test_a_framework_that_cannot_be_imported(here, tmp_path, framework):
    some = ("relu", "--framework", framework, "--b", "env:X=1")
    out, err = here(tmp_path, "ab", *some, "--quiet", code=2)
    assert err.startswith("opperf: arm A (nothing set): ") and err.count("\n") == 1
    assert out == "" and list(tmp_path.iterdir()) == []


def test_a_dry_run_measures_nothing(here, planning, tmp_path):
    out, _ = here(tmp_path, "ab", "relu", "add", *QUICK, "--b", "threads:2", "--dry-run")
    assert (
        "A: nothing set\nB: threads:2\nVerdicts with 1 thread where an arm sets none\n"
        "3 cases: 24 processes up to the first look take about" in out
    )
    assert "data: (64, 64)" in out
    assert list(tmp_path.iterdir()) == []


def test_a_budget_that_is_too_small(here, planning, tmp_path):
    some = ("relu", "add", "--framework", "fake", "--b", "threads:1")
    _, err = here(tmp_path, "ab", *some, "--budget", "5", "--quiet", code=2)
    assert "and --budget allows 5.0 s" in err and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_operators_without_a_case_in_common_with_their_options(here, planning, tmp_path):
    _, err = here(tmp_path, "ab", "placeholder", *QUICK, "--b", "threads:1", "--quiet", code=2)
    assert "none of the operators has a benchmark, e.g. placeholder: it does nothing" in err


def test_a_session_whose_control_differs_is_invalid(session, here, tmp_path):
    folder, _ = session
    path = tmp_path / "opperf_ab.jsonl"

    def change(one):
        slow = 0.5 if one.phase == "control" and one.arm == "B" else 0.0
        return {name: value + slow for name, value in one.values.items()}

    copy_session(folder / "opperf_ab.jsonl", path, change, block_cap=12)
    lines = path.read_bytes().count(b"\n")
    out, _ = here(tmp_path, "ab", "--resume", code=3)
    # By exp(0.5) - 1, and by what the load on this machine adds.
    assert re.search(r"Invalid: A differs from itself by \+[\d.]+% in all cases together: ", out)
    figures = len(cases_of(read_session(path)[0].replicates))
    assert f"\n{figures} figures of 6 cases: {figures} invalid.\n" in out
    assert "Regressed" not in out and "Unfinished" not in out
    # Nothing but the closing line came after the first look.
    assert path.read_bytes().count(b"\n") == lines + 1
