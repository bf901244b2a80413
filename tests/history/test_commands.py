"""The commands on a history, from the words to the exit code."""

import json

import msgspec
import pytest

from opperf.errors import OpperfError
from opperf.model import Status
from opperf.opperf import cli
from opperf.reports.writing import write
from tests.repositories import git


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A repository with three commits of a tracked file."""
    folder = tmp_path_factory.mktemp("repositories") / "kernels"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for number in range(3):
        (folder / "kernel.c").write_text(f"// {number}\n")
        git(folder, "add", "kernel.c")
        git(folder, "commit", "-q", "-m", f"change {number}")
    return folder


@pytest.fixture
def opperf(tmp_path, monkeypatch, capsys, repository):
    """Calls opperf in the repository, and returns what it prints."""
    monkeypatch.chdir(repository)
    monkeypatch.setenv("OPPERF_HISTORY", str(tmp_path / "history.sqlite"))
    for name in ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "BRANCH_NAME"):
        monkeypatch.delenv(name, raising=False)

    def called(*words, code=0):
        assert cli.main([*map(str, words)], standalone_mode=False) == code
        return capsys.readouterr().out

    return called


@pytest.fixture
def measured(tmp_path, run, make_record):
    """Writes a run of relu, and of exp which failed, and returns its path."""

    def write_run(name):
        records = (make_record("relu"), make_record("exp", Status.FAILED, reason="no kernel"))
        header = msgspec.structs.replace(run.header, id=name)
        cases = tuple(record.case for record in records)
        path = tmp_path / f"{name}.jsonl"
        write(
            msgspec.structs.replace(run, header=header, records=records, cases=cases), path, "jsonl"
        )
        return path

    return write_run


def test_runs_are_added_to_their_commits_and_shown_in_order(opperf, measured, repository):
    head, first = git(repository, "rev-parse", "HEAD"), git(repository, "rev-parse", "HEAD~2")
    added = opperf("history", "add", measured("new"))
    assert f"added to kernels at {head[:10]} (main)" in added
    opperf("history", "add", measured("old"), "--commit", "HEAD~2")
    runs = json.loads(opperf("history", "list", "--what", "runs", "-f", "json"))["runs"]
    assert [(run["commit"], run["position"], run["dirty"]) for run in runs] == [
        (first, 1, False),
        (head, 3, False),
    ]
    shown = opperf("history", "show", "relu", "--metric", "forward")
    assert shown.index(first[:10]) < shown.index(head[:10]) and "no kernel" not in shown
    listed = json.loads(opperf("history", "list", "-f", "json"))["series"]
    assert {row["operator"] for row in listed} == {"relu"}
    again = opperf("history", "add", measured("new"), "--branch", "other")
    assert "is in kernels already" in again and "(main), where it stays" in again


def test_series_are_drawn(opperf, measured, tmp_path):
    opperf("history", "add", measured("old"), "--commit", "HEAD~2")
    opperf("history", "add", measured("new"))
    assert "in the order of the commits" in opperf("history", "plot", "relu")
    opperf("history", "plot", "-o", tmp_path / "relu.svg")
    assert "forward" in (tmp_path / "relu.svg").read_text()


def test_a_changed_tree_is_dirty(opperf, measured, repository):
    (repository / "kernel.c").write_text("// not committed\n")
    try:
        assert "uncommitted changes" in opperf("history", "add", measured("run"))
    finally:
        git(repository, "checkout", "-q", "kernel.c")
    assert "0 runs" not in opperf("history", "gc", "--dirty", "--dry-run")
    assert opperf("history", "gc", "--dirty") == "1 run of kernels deleted\n"
    assert json.loads(opperf("history", "list", "--what", "runs", "-f", "json"))["runs"] == []


@pytest.mark.parametrize(
    "words, message",
    [
        (("add", "RUN", "--commit", "v9"), "the repository has no commit v9"),
        (("add", "RUN", "--repository", "/"), "in no git repository; name it with --repository"),
        (("add", "RUN", "--commits-of", "framework"), "was made with --commits-of code"),
        (("list", "softmx"), "no series is of 'softmx'"),
        (("list", "--project", "kernel"), "unknown project 'kernel'; did you mean kernels?"),
        (("show",), "name an operator or a series"),
        (("show", "#99"), "no series is of '#99'"),
        (("show", "relu", "--environment", "zz"), "no series is of 'zz'"),
        (("alias", "#1", "#99", "--why", "x"), "kernels has no case #99"),
        (("plot", "--branch", "none"), "these series have no figure of none"),
        (("plot", "-o", "relu.bmp"), "the name of an image ends in"),
        (("gc",), "say which runs"),
        (("gc", "--run", "zz"), "unknown run 'zz'"),
    ],
)
def test_wrong_words_are_one_line_and_change_nothing(opperf, measured, words, message):
    opperf("history", "add", measured("there"))
    before = opperf("history", "list", "--what", "runs", "-f", "json")
    words = [measured("more") if word == "RUN" else word for word in words]
    with pytest.raises(OpperfError, match=message) as caught:
        opperf("history", *words)
    assert "\n" not in str(caught.value)
    assert opperf("history", "list", "--what", "runs", "-f", "json") == before


def test_a_session_is_refused_and_a_run_without_records(opperf, tmp_path, run, make_case):
    empty = tmp_path / "empty.jsonl"
    write(msgspec.structs.replace(run, records=(), cases=(make_case("relu"),)), empty, "jsonl")
    with pytest.raises(OpperfError, match="no record yet; there is nothing to add"):
        opperf("history", "add", empty)


def test_a_file_that_was_cut_short_is_added_only_as_such(opperf, measured):
    path = measured("cut")
    lines = path.read_bytes().splitlines(keepends=True)
    last = max(i for i, line in enumerate(lines) if b'"line":"record"' in line)
    path.write_bytes(b"".join(lines[:last]) + lines[last][:30])
    with pytest.raises(OpperfError) as raised:
        opperf("history", "add", path)
    assert f"1 case without a record; finish it with `opperf run --resume {path}`" in str(
        raised.value
    )
    assert "3 figures added" in opperf("history", "add", path, "--partial")
