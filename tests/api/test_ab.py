"""`opperf.ab`: what it takes, what it refuses, and what it returns."""

import pytest

import opperf
from opperf.api.ab import _assignments
from opperf.errors import OpperfError
from opperf.statistics.data import Verdict

FEW = {
    "size": "small",
    "case_time": 0.001,
    "max_configs": 1,
    "blocks": 4,
    "control_blocks": 2,
    "threads": 1,
}


@pytest.mark.parametrize(
    ("arm", "words"),
    [
        ("threads:2", ["threads:2"]),
        (["threads:2", "env:X=1"], ["threads:2", "env:X=1"]),
        ({"threads": 2, "env": {"X": 1, "Y": "a b"}}, ["threads:2", "env:X=1", "env:Y=a b"]),
        ({"ops": ["add", "mul"]}, ["ops:add,mul"]),
        ((), []),
    ],
)
def test_arms(arm, words):
    assert list(_assignments(arm)) == words


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"b": "nix"}, "an arm is set as KIND:VALUE"),
        ({"b": "threads:1", "report": "x"}, "unknown option 'report'"),
        ({"b": "threads:1", "output_file": "x"}, "unknown option 'output_file'"),
        ({}, "A and B are the same"),
        ({"b": "threads:1", "output": "x.json"}, "x.json: the output is a run file"),
        ({"b": "threads:1", "blocks": 1}, "blocks: '1' is not an integer of at least 2"),
    ],
)
def test_refusals(options, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OpperfError, match=words):
        opperf.ab("negative", framework="numpy", **options)
    assert list(tmp_path.iterdir()) == []


def test_verdicts_and_records(tmp_path):
    path = tmp_path / "s.jsonl"
    arms = {"a": {"env": {"X": 1}}, "b": {"env": {"X": 2}}}
    found = opperf.ab("negative", framework="numpy", output=path, **arms, **FEW)
    (row,) = found.rows
    assert (row.operator, row.metric) == ("negative", "forward") and row.ratio > 0
    assert str(found).startswith("numpy ") and "A  env:X=1" in str(found)
    # A busy machine may make the session invalid, which has a sentence and no table of verdicts.
    shown = found._repr_html_()
    assert ("Invalid: " if row.verdict is Verdict.INVALID else "<table") in shown
    assert '"rows"' in found.report("json")
    assert len(found.run.records) == 2 and found.exit_code in (0, 1, 3)
    # The file has them.
    assert opperf.read(path).rows == found.run.rows
    with pytest.raises(OpperfError, match="s.jsonl exists"):
        opperf.ab("negative", framework="numpy", output=path, **arms, **FEW)
