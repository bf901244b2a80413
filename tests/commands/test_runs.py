"""`opperf runs`: what it lists, finds and deletes."""

import json

import msgspec
import pytest

from opperf.commands.run_files import runs
from opperf.errors import UsageError
from opperf.model import SCHEMA_VERSION, Closing, Header, Run
from opperf.reports.writing import write
from opperf.results.kept import keep, kept_runs, runs_folder

CLOSING = Closing(finished="2026-01-31T00:00:00+00:00", elapsed_s=1.0, counts={})


@pytest.fixture
def opperf(tmp_path, monkeypatch, make_case, capsys):
    """The command with three runs: of relu; of add, labelled; of both, unfinished."""
    monkeypatch.setenv("OPPERF_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("OPPERF_CACHE", str(tmp_path / "cache"))
    for id, names, labels, closing in (
        ("aa11", ["relu"], {}, CLOSING),
        ("bb22", ["add"], {"commit": "1a2b"}, CLOSING),
        ("cc33", ["add", "relu"], {}, None),
    ):
        command = {"command": f"opperf run {' '.join(names)}"}
        header = Header(SCHEMA_VERSION, "2026-01-31T00:00:00+00:00", command, {}, labels, (), id)
        run = Run(header, (), closing, cases=tuple(map(make_case, names)))
        write(run, tmp_path / f"{id}.jsonl", "jsonl")
        keep(tmp_path / f"{id}.jsonl")

    def called(*arguments):
        code = runs.main([*arguments], standalone_mode=False)
        assert code == 0
        return capsys.readouterr().out

    return called


def test_the_table_has_the_latest_first(opperf):
    listed, _, closing = opperf().rpartition("\n\n")
    table = listed.splitlines()
    assert [line.split()[:2] for line in table[2:]] == [
        ["@cc33", "@last"],
        ["@bb22", "@-2"],
        ["@aa11", "@-3"],
    ]
    assert "unfinished" in table[2] and "opperf run add relu" in table[2]
    assert "commit=1a2b" in table[3] and "unfinished" not in table[3]
    assert closing.startswith("3 runs, 0.0 MB, in")


@pytest.mark.parametrize(
    "arguments, ids",
    [
        (("relu",), ["cc33", "aa11"]),
        (("ad*",), ["cc33", "bb22"]),
        (("re:^rel",), ["cc33", "aa11"]),
        (("@aa", "@last"), ["cc33", "aa11"]),
        (("--label", "commit=1*"), ["bb22"]),
        (("--label", "build=*"), []),
        (("--framework", "fa*"), ["cc33", "bb22", "aa11"]),
        (("--framework", "torch"), []),
        (("--kind", "run"), ["cc33", "bb22", "aa11"]),
        (("--kind", "ab"), []),
        (("add", "--unfinished"), ["cc33"]),
        (("--since", "1h"), ["cc33", "bb22", "aa11"]),
        (("--until", "2000-01-01"), []),
    ],
)
def test_options_find_runs(opperf, arguments, ids):
    assert [row["id"] for row in json.loads(opperf(*arguments, "--json"))] == ids


def test_runs_are_deleted_by_choice(opperf):
    assert opperf("relu", "--delete") == "deleted 2 runs\n"
    assert [run.id for run in kept_runs()] == ["bb22"]
    assert opperf("--delete", "--all") == "deleted 1 run\n" and kept_runs() == []
    # A long path has a line of its own.
    assert opperf().split() == f"no run, 0.0 MB, in {runs_folder()}".split()


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("--delete",), "--delete needs a choice"),
        (("--all",), "--all is for --delete"),
        (("--delete", "--all", "relu"), "--all is for --delete"),
        (("@nosuch",), "@nosuch: no kept run"),
    ],
)
def test_nothing_is_deleted_without_a_choice(opperf, arguments, words):
    with pytest.raises(UsageError, match=words):
        opperf(*arguments)
    assert len(kept_runs()) == 3


def test_a_row_says_what_is_known_of_a_run(opperf):
    (row,) = json.loads(opperf("@bb22", "--json"))
    assert msgspec.json.decode(msgspec.json.encode(row)) == row
    assert (row["place"], row["state"], row["cases"]) == ("@-2", "finished", 1)
    assert row["kind"] == "run"
    assert (row["operators"], row["frameworks"]) == (["add"], ["fake"])
    assert row["labels"] == {"commit": "1a2b"} and row["command"] == "opperf run add"
