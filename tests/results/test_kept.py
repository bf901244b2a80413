"""The runs that are kept: their names, what they stand for, and how many there are."""

from pathlib import Path

import msgspec
import pytest

from opperf.api.compare import compare
from opperf.errors import OutputError, UsageError
from opperf.folders import data_folder, unfinished_folder
from opperf.model import CaseLine
from opperf.reports import writing
from opperf.reports.writing import export
from opperf.results import kept
from opperf.results.kept import display, keep, kept_runs, profile_folder, resolve, runs_folder
from opperf.results.kept_facts import read_facts
from opperf.results.run_files import is_default_output, locate, remember, run_of
from opperf.results.runfile import RunWriter, read_run


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("OPPERF_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("OPPERF_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def write(folders, run):
    """Writes a run file with an id and labels; its path."""

    def written(id, **header):
        changed = msgspec.structs.replace(run.header, id=id, **header)
        path = folders / f"{id}.jsonl"
        writing.write(msgspec.structs.replace(run, header=changed), path, "jsonl")
        return path

    return written


def test_the_folder_is_that_of_the_users_data_unless_it_is_named(monkeypatch):
    monkeypatch.setenv("OPPERF_DATA", "~/folder")
    assert data_folder() == Path.home() / "folder"
    monkeypatch.setenv("OPPERF_DATA", "")
    monkeypatch.setenv("XDG_DATA_HOME", "/of/data")
    assert data_folder() == Path("/of/data/opperf")


def test_runs_are_named_by_their_ids_and_their_places(write):
    paths = [write(id) for id in ("aa11", "aa22", "bb33")]
    stored = [keep(path).path for path in paths]
    assert [run.name for run in kept_runs()] == ["@aa11", "@aa22", "@bb33"]
    assert [resolve(f"@{name}") for name in ("last", "-1", "LAST")] == [stored[2]] * 3
    assert resolve("@-3") == stored[0] and resolve("@aa2") == stored[1]
    assert [read_run(path)[0] for path in stored] == [read_run(path)[0] for path in paths]
    assert [*map(display, stored)] == ["@aa11", "@aa22", "@bb33"]
    # A run that goes on later is the same run, and now the last.
    again = keep(paths[0])
    assert again.id == "aa11" and resolve("@last") == again.path and len(kept_runs()) == 3
    assert keep(again.path).id == "aa11" and len(list(runs_folder().iterdir())) == 3


@pytest.mark.parametrize("name", ["@aa", "@cc", "@-4", "@", "@last2"])
def test_a_name_that_none_has_is_an_error_that_lists_those_there_are(write, name):
    for id in ("aa11", "aa22", "bb33"):
        keep(write(id))
    with pytest.raises(UsageError, match=f"^{name}: .*@aa22 of 20"):
        resolve(name)


def test_without_any_run_the_error_says_what_leaves_one(folders):
    with pytest.raises(UsageError, match="^@last: there are no kept runs in .*`opperf run` leaves"):
        resolve("@last")


def test_a_run_is_kept_with_its_profiles_or_as_before(write, monkeypatch):
    path = write("aa11")
    kept.profiles_of(path).mkdir()
    stored = keep(path).path
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(kept, "replace", lambda *_: raise_(KeyboardInterrupt))
        keep(stored)
    assert [run.path for run in kept_runs()] == [stored]
    assert kept.profiles_of(stored).is_dir()
    again = keep(stored).path
    assert sorted(runs_folder().iterdir()) == sorted([again, kept.profiles_of(again)])


def test_a_removal_that_was_cut_short_can_be_repeated(write, monkeypatch):
    path = write("aa11")
    kept.profiles_of(path).mkdir()
    stored = keep(path).path
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(kept.shutil, "rmtree", lambda *_: raise_(KeyboardInterrupt))
        kept.remove(stored)
    assert [run.path for run in kept_runs()] == [stored]
    kept.remove(stored)
    assert list(runs_folder().iterdir()) == []


def raise_(error):
    raise error


def test_the_oldest_are_removed_and_labels_keep_a_run_for_longer(write, monkeypatch):
    monkeypatch.setattr(kept, "MOST_KEPT", 4)
    monkeypatch.setattr(kept, "MOST_LABELLED", 2)
    for number in range(3):
        keep(write(f"a{number}", labels={"build": str(number)}))
    for number in range(3):
        keep(write(f"b{number}"))
    assert [run.id for run in kept_runs()] == ["a1", "a2", "b1", "b2"]


def test_profiles_are_kept_with_their_run(write):
    path = write("aa11")
    kept.profiles_of(path).mkdir()
    (kept.profiles_of(path) / "one.callgrind").write_text("events: Ir")
    stored = keep(path).path
    again = keep(stored).path
    assert not kept.profiles_of(stored).exists() or stored == again
    assert (kept.profiles_of(again) / "one.callgrind").read_text() == "events: Ir"
    kept.remove(again)
    assert list(runs_folder().iterdir()) == [] and kept.profiles_of(path).is_dir()


def test_a_run_that_is_being_written_has_its_id_alone(write, folders, run):
    keep(write("aa11"))
    unfinished_folder().mkdir(parents=True)
    header = msgspec.structs.replace(run.header, id="cc44")
    path = unfinished_folder() / "out.json-0123.jsonl"
    with RunWriter.create(path, header, run.cases):
        assert resolve("@cc44") == path and resolve("@last") != path
    assert resolve("@last") == path and display(path) == "@cc44"
    facts = read_facts(path)
    assert not facts.is_finished and facts.cases == run.cases


def test_the_facts_are_read_from_both_ends_of_a_file(write, run):
    path = write("aa11", options={"command": "opperf run relu"}, labels={"build": "1"})
    facts = read_facts(path)
    assert (facts.command, facts.labels) == ("opperf run relu", {"build": "1"})
    assert facts.is_finished and facts.frameworks == ("mxnet",) and facts.kind == "run"
    assert facts.cases == tuple({record.id: record.case for record in run.records}.values())
    with path.open("ab") as file:
        file.write(msgspec.json.encode(CaseLine(id="x", case=run.records[0].case))[:40])
    assert not read_facts(path).is_finished


def test_an_output_stands_for_the_run_that_wrote_it(write, folders, capsys):
    run, _ = read_run(write("aa11", options={"command": "opperf run relu"}))
    (folders / "my.csv").write_text("mine")
    for name in ("out.json", "out.md", "out.csv"):
        writing.write(run, folders / name, name.rpartition(".")[2])
        remember(folders / name, "aa11", is_default=name == "out.json")
    assert locate(str(folders / "out.csv")) == folders / "out.csv", "its run is not kept"
    stored = keep(folders / "aa11.jsonl")
    for name in ("out.json", "out.md", "out.csv"):
        assert locate(str(folders / name)) == stored.path == run_of(folders / name).path
        assert "written by @aa11 (opperf run relu), which is read" in capsys.readouterr().err
    assert is_default_output(folders / "out.json") and not is_default_output(folders / "out.md")
    (folders / "out.md").write_text("changed")
    for name in ("out.md", "my.csv", "none.csv", "aa11.jsonl"):
        assert locate(str(folders / name)) == folders / name
    assert capsys.readouterr().err == ""


def test_programs_name_kept_runs_too(write, capsys):
    keep(write("aa11")), keep(write("bb22"))
    compared = compare("@-2", "@last")
    assert compared.rows and compared.comparison.base.path == "@aa11"
    assert export("@aa11", "bencher").content == export("@last", "bencher").content
    assert "@last is @bb22" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_one_error(write, folders, monkeypatch):
    (folders / "file").write_text("")
    path = write("aa11")
    monkeypatch.setenv("OPPERF_DATA", str(folders / "file"))
    with pytest.raises(OutputError, match="cannot be written"):
        keep(path)
    with pytest.raises(OutputError, match="cannot be created"):
        remember(path, "aa11", is_default=True)
    assert kept_runs() == [] and not is_default_output(path)


def test_a_new_run_removes_the_dumps_of_an_earlier_one(tmp_path):
    folder = tmp_path / "a.callgrind"
    folder.mkdir()
    for name in ("1.forward.callgrind", "of_a_user.txt"):
        (folder / name).touch()
    assert profile_folder(tmp_path / "a.jsonl", is_new=False) == folder
    assert len(list(folder.iterdir())) == 2
    assert profile_folder(tmp_path / "a.jsonl", is_new=True) == folder
    assert [path.name for path in folder.iterdir()] == ["of_a_user.txt"]
    assert not profile_folder(tmp_path / "b.jsonl", is_new=True).exists()
