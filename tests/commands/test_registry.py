"""What `list`, `show` and `coverage` print of the fake framework, asked in this process."""

import json
import re

import msgspec
import pytest
from fake_framework import OPERATORS

from opperf import frameworks
from opperf.commands.registry import coverage, list_operators, show
from opperf.errors import (
    FOUND,
    INTERRUPTED,
    OutputError,
    RunFileError,
    UnknownOperatorError,
    UsageError,
)
from opperf.execution import paces, planning, workers
from opperf.model import Status
from opperf.results.runfile import read_run
from opperf.worker import client

HARMLESS = ("add", "fails", "gpu_only", "mystery", "negative", "placeholder", "relu", "rounded")
"""None of these ends the process that calls it."""


@pytest.fixture
def opperf(in_process, in_process_workers, monkeypatch, tmp_path, capsys):
    """A command; its exit code, and what it printed on either stream."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    operators = tuple(one for one in OPERATORS if one.name in HARMLESS)
    monkeypatch.setattr(in_process.fake, "operators", lambda: operators)
    monkeypatch.setattr(client, "Worker", lambda framework, settings, python="": in_process)
    monkeypatch.setattr(workers, "Workers", in_process_workers[0])

    def called(command, *arguments, framework=("--framework", "fake")):
        code = command.main([*arguments, *framework], standalone_mode=False)
        return (code, *capsys.readouterr())

    called.worker, called.folder = in_process, tmp_path
    return called


def listed(opperf, *arguments):
    code, out, _ = opperf(list_operators, *arguments, "--format", "json")
    assert code == 0
    return [one["operator"]["name"] for one in json.loads(out)]


def test_the_operators_that_are_listed(opperf):
    assert listed(opperf) == list(HARMLESS)
    assert listed(opperf, "neg", "re:^a") == ["add", "negative"]
    assert listed(opperf, "--category", "BINARY") == ["add"]
    assert listed(opperf, "--namespace", "NP") == ["negative"]
    assert listed(opperf, "a*", "relu", "--exclude", "add") == ["relu"]


def test_a_list_is_a_line_for_each(opperf):
    code, out, err = opperf(list_operators, "relu", "placeholder", "mystery")
    head, _, *rows, _, closing = out.splitlines()
    assert ["rule:fake_rules.unary" in row for row in rows] == [False, False, True]
    assert " search" in rows[0] and " none" in rows[1] and rows[2].split()[:2] == ["relu", "2"]
    assert (code, closing, err) == (
        0,
        "3 operators, 2 cases, 1 without a rule, 1 with inputs to search for",
        "",
    )


def test_categories_are_listed_with_their_numbers(opperf):
    _, out, _ = opperf(list_operators, "add", "relu", "neg", "--categories", "--format", "json")
    assert {one["category"]: one["operators"] for one in json.loads(out)} == {
        "binary": 1,
        "unary": 2,
    }
    _, out, _ = opperf(list_operators, "add", "--categories")
    assert out.splitlines()[2].split()[:2] == ["binary", "1"]


@pytest.mark.parametrize("command, of", [(list_operators, []), (show, ["relu"]), (coverage, [])])
@pytest.mark.parametrize("form, begins", [("csv", ("operator,", "id,", "kind,")), ("md", "|#")])
def test_the_formats_of_tables(opperf, command, of, form, begins):
    code, out, _ = opperf(command, *of, "--format", form)
    assert code == 0 and out.startswith(tuple(begins)) and "unary" in out


def test_names_ignore_case(opperf):
    assert listed(opperf, "RELU", "Ne*") == ["negative", "relu"]
    assert json.loads(opperf(show, "RELU", "--format", "json")[1])["operator"]["name"] == "relu"


@pytest.mark.parametrize("command, of", [(list_operators, []), (show, ["relu"]), (coverage, [])])
def test_a_framework_that_nobody_named_is_said_beside_the_json(opperf, monkeypatch, command, of):
    monkeypatch.setattr(frameworks, "PREFERENCE", ("fake", "numpy"))
    code, out, err = opperf(command, *of, "--format", "json", framework=())
    assert code == 0 and json.loads(out)
    assert err.splitlines()[0].startswith("framework: fake, the first installed of ")
    assert "framework:" not in opperf(command, *of, "--format", "json")[2]


def test_a_quiet_command_does_not_say_its_framework(opperf, monkeypatch):
    monkeypatch.setattr(frameworks, "PREFERENCE", ("fake", "numpy"))
    assert opperf(coverage, "--quiet", framework=())[2] == ""


def test_a_cache_that_cannot_be_used_is_a_warning(opperf, monkeypatch):
    monkeypatch.setattr(paces, "load_listing", lambda name, ask: (ask(), ["it is full"]))
    _, out, err = opperf(list_operators, "relu")
    assert err == "warning: it is full\n" and "1 operator" in out


def test_an_operator_is_shown_with_its_cases_and_their_scripts(opperf):
    code, out, _ = opperf(show, "neg", "--size", "small", "--dtype", "FLOAT64", "--format", "json")
    shown = json.loads(out)
    assert (code, shown["operator"]["name"]) == (0, "negative")
    assert shown["rule"] == "rule:fake_rules.unary"
    cases = [one["case"] for one in shown["cases"]]
    assert [case["arguments"]["data"]["shape"] for case in cases] == [[4, 4], [4]]
    assert all(case["settings"]["dtype"] == "float64" for case in cases)
    assert [one["script"] for one in shown["cases"]] == ["fake.negative(data)\n"] * 2
    assert all(re.fullmatch("[0-9a-f]{16}", one["id"]) for one in shown["cases"])
    _, text, _ = opperf(show, "negative", "--size", "small")
    assert text.count("fake.negative(data)") == 2 and "_np_negative" in text


def test_one_of_its_cases_is_shown_by_its_id(opperf):
    def shown(*arguments):
        return json.loads(opperf(show, "relu", "--format", "json", *arguments)[1])["cases"]

    (first, second) = shown()
    assert shown("--id", second["id"]) == [second] and first != second


def test_its_random_shapes_are_those_of_the_seed(opperf):
    def shown(seed):
        code, out, err = opperf(
            show, "relu", "--fuzz-shapes", "3", "--seed", seed, "--format", "json"
        )
        assert "trying which extents" in err
        return [one["id"] for one in json.loads(out)["cases"]]

    assert len(shown("1")) == 3 and shown("1") == shown("1") != shown("2")


def test_what_has_no_rule_is_searched_for(opperf):
    _, out, err = opperf(show, "mystery", "--size", "small", "--format", "json")
    shown = json.loads(out)
    assert shown["rule"] == "search" and len(shown["cases"]) == 1
    assert "searching for inputs of mystery" in err


def test_what_has_excluded_says_why(opperf, monkeypatch):
    _, out, _ = opperf(show, "placeholder")
    assert "none: it does nothing on its own" in out
    refuses = planning.plan_cases
    reason = "none of 300 proposals was taken"

    def nothing_found(*arguments):
        plan = refuses(*arguments)
        return msgspec.structs.replace(plan, cases=(), excluded={"mystery": reason})

    monkeypatch.setattr(planning, "plan_cases", nothing_found)
    _, out, _ = opperf(show, "mystery")
    assert f"none: {reason}" in out


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("*e*",), "'*e*' matches several operators, and show takes one: mystery, negative, "),
        (("relu", "--max-elements", "5000"), "--max-elements needs --fuzz-shapes"),
        (("relu", "--shape", "data=nx2"), "--shape data=nx2: variables are for --sweep of opperf"),
    ],
)
def test_what_is_not_shown(opperf, arguments, words):
    with pytest.raises(UsageError, match=re.escape(words)):
        opperf(show, *arguments)


MEASURED = {"add", "mystery", "negative", "relu", "rounded"}


def test_coverage_runs_every_operator_once_and_counts_those_that_ran(opperf):
    code, out, err = opperf(coverage, "--format", "json")
    found = json.loads(out)
    assert code == 0
    assert (found["distinct"], found["forward"]) == (len(HARMLESS), len(MEASURED))
    assert found["backward"] == len(MEASURED - {"rounded"})
    assert {case.settings.runs for case in opperf.worker.measured} == {1}
    assert {case.settings.profiler for case in opperf.worker.measured} == {"python"}
    assert "12/12 rounded" in err
    run, _ = read_run(opperf.folder / "opperf" / "coverage" / "fake.jsonl")
    assert {one.case.label for one in run.records if one.status is Status.OK} == MEASURED
    assert run.header.options["command"] == "opperf coverage"


def test_coverage_is_quiet_if_that_is_asked_for(opperf):
    _, out, err = opperf(coverage, "--quiet")
    assert err == "" and "relu" not in out


@pytest.mark.parametrize("least, code", [("62.5", 0), ("62.6", FOUND), ("0", 0)])
def test_a_share_that_is_to_be_reached(opperf, least, code):
    # Five of eight.
    ended, _, err = opperf(coverage, "--quiet", "--min", least)
    assert ended == code
    expected = "opperf: 62.50 % of the distinct operators are measured, less than 62.6 %\n"
    assert err == (expected if code else "")


@pytest.fixture
def run_file(opperf):
    """A run file of all operators."""
    opperf(coverage, "--quiet")
    path = opperf.folder / "opperf" / "coverage" / "fake.jsonl"
    opperf.worker.measured.clear()
    return path.rename(opperf.folder / "run.jsonl")


def test_inputs_are_not_those_of_a_run_files_cases(opperf, run_file):
    with pytest.raises(UsageError, match="^--shape does not apply to"):
        opperf(show, str(run_file), "--shape", "data=2x3", framework=())


def test_coverage_of_a_run_file_runs_nothing(opperf, run_file):
    code, out, _ = opperf(coverage, str(run_file), "--format", "json")
    assert code == 0 and json.loads(out)["forward"] == len(MEASURED)
    assert opperf.worker.measured == []


def test_a_run_file_of_another_version_is_refused(opperf, run_file, monkeypatch):
    monkeypatch.setattr(opperf.worker.fake, "version", lambda: "2.0")
    with pytest.raises(
        RunFileError, match=r"is a run of fake 1\.0, but the framework here is fake 2\.0"
    ):
        opperf(coverage, str(run_file))


def test_what_is_wrong_with_a_run_file_is_told(opperf, run_file):
    with run_file.open("a") as file:
        file.write('{"line":')
    _, _, err = opperf(coverage, str(run_file))
    assert err.startswith("warning: ")


def test_an_interrupt_leaves_the_records(opperf, monkeypatch):
    def interrupted(case):
        raise KeyboardInterrupt

    monkeypatch.setattr(opperf.worker, "measure", interrupted)
    code, out, err = opperf(coverage, "--quiet")
    assert (code, out) == (INTERRUPTED, "")
    assert err.startswith("interrupted; the records are in ") and "fake.jsonl" in err


@pytest.mark.parametrize("name, option", [("unary", "--category unary"), ("NP", "--namespace np")])
def test_show_of_a_group_names_the_command_that_lists_it(opperf, name, option):
    with pytest.raises(UsageError) as refused:
        opperf(show, name)
    assert str(refused.value) == (
        f"{name!r} is a group of operators, and show takes one operator: opperf list {option} "
        "prints them"
    )


def test_functions_are_suggested(opperf, monkeypatch):
    paths = ("nd.added", "np.added")
    monkeypatch.setattr(opperf.worker.fake.naming, "function_paths", lambda: paths)
    with pytest.raises(UnknownOperatorError, match=r"did you mean nd\.added, np\.added\?"):
        opperf(list_operators, "added")


@pytest.mark.parametrize(
    "command, arguments",
    [(list_operators, ("relu",)), (show, ("relu",)), (coverage, ("run.jsonl",))],
    ids=["list", "show", "coverage"],
)
def test_the_output_is_written_to_a_file(opperf, in_process, monkeypatch, command, arguments):
    monkeypatch.chdir(opperf.folder)
    if command is coverage:
        opperf(coverage)
        (opperf.folder / "opperf" / "coverage" / "fake.jsonl").rename("run.jsonl")
    for name, words in (("out.md", ("-f", "md")), ("out.txt", ()), ("out.csv", ("-f", "csv"))):
        code, printed, _ = opperf(command, *arguments, *words)
        _, rest, err = opperf(command, *arguments, "-o", name)
        assert (code, rest, err) == (0, "", f"written to {name}\n")
        assert (opperf.folder / name).read_text() == printed
    with pytest.raises(OutputError, match="out.md exists; add --overwrite to replace it"):
        opperf(command, *arguments, "-o", "out.md")
    assert opperf(command, *arguments, "-o", "out.md", "--overwrite")[0] == 0


@pytest.mark.parametrize("command", [list_operators, show], ids=["list", "show"])
def test_names_are_checked_before_files(opperf, monkeypatch, command):
    monkeypatch.chdir(opperf.folder)
    (opperf.folder / "out.md").write_text("precious")
    with pytest.raises(UnknownOperatorError, match="no operator is called 'nosuch'"):
        opperf(command, "nosuch", "-o", "out.md")
    assert (opperf.folder / "out.md").read_text() == "precious"


def test_coverage_does_not_overwrite_its_run_file(opperf, monkeypatch):
    monkeypatch.chdir(opperf.folder)
    opperf(coverage)
    (opperf.folder / "opperf" / "coverage" / "fake.jsonl").rename("run")
    with pytest.raises(OutputError, match="run is an input, and would be overwritten"):
        opperf(coverage, "run", "-o", "run", "--overwrite")
    assert len(read_run(opperf.folder / "run")[0].records) == 12
