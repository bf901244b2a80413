"""`run`, `experiment` and `ab` over environments that they install first."""

import json
import shutil

import pytest

from opperf.environments import building
from opperf.opperf import main
from opperf.results.runfile import read_run

KERNELS = """\
import numpy


def make():
    return {"data": numpy.ones(8)}


def scaled(data):
    import scales

    if scales.FACTOR > 1:
        raise ValueError(f"the factor is {scales.FACTOR}")
    return scales.scale(data)
"""

WORDS = ["scaled.py:scaled", "--framework", "numpy", "--inputs", "scaled.py:make"]
QUICK = ["-r", "2", "-w", "0", "--no-memory"]


@pytest.fixture
def here(offline, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scaled.py").write_text(KERNELS)
    return tmp_path


@pytest.fixture
def opperf(here, capsys):
    def given(*words):
        with pytest.raises(SystemExit) as ended:
            main([*words])
        out, err = capsys.readouterr()
        return ended.value.code, out, err

    return given


def test_several_environments_are_an_axis_with_a_lock_beside_the_results(opperf, here):
    both = ["--with", "scales==1.0", "--with", "scales==2.0"]
    code, out, _ = opperf("run", *WORDS, *QUICK, *both, "-o", "a.jsonl")
    assert code == 0
    assert "the versions of its environments are in a.lock.json" in out
    run, _ = read_run(here / "a.jsonl")
    # Each is measured in its own.
    assert [record.status.value for record in run.records] == ["ok", "failed"]
    assert "the factor is 2" in run.records[1].reason
    assert [case.settings.python for case in run.cases] == ["scales==1.0", "scales==2.0"]
    assert [python.packages for python in run.header.interpreters] == [
        ("scales==1.0",),
        ("scales==2.0",),
    ]
    lock = json.loads((here / "a.lock.json").read_text())
    assert lock["environments"][1] == {"requirements": "scales==2.0", "packages": ["scales==2.0"]}


def test_an_only_environment_has_no_label_and_may_be_locked(opperf, here):
    lock = {"schema": 1, "environments": [{"requirements": "scales", "packages": ["scales==1.0"]}]}
    (here / "old.lock.json").write_text(json.dumps(lock))
    words = ["run", *WORDS, *QUICK, "--with", "scales"]
    assert opperf(*words, "--locked", "old.lock.json", "-o", "a.jsonl")[0] == 0
    run, _ = read_run(here / "a.jsonl")
    assert run.cases[0].settings.python == ""
    assert run.header.interpreters[0].packages == ("scales==1.0",)
    code, _, err = opperf(*words, "--with", "scales==2.0", "--locked", "old.lock.json")
    assert code == 2 and "old.lock.json has no environment of scales==2.0" in err


def test_a_run_is_repeated_where_its_environment_is_not(opperf, here):
    assert opperf("run", *WORDS, *QUICK, "--with", "scales<2", "-o", "a.jsonl")[0] == 0
    before = read_run(here / "a.jsonl")[0].header.interpreters[0]
    shutil.rmtree(building.environments_folder())
    code, _, err = opperf("run", "a.jsonl", *QUICK, "-o", "b.jsonl")
    assert code == 0 and "installing 1 locked packages of scales<2" in err
    after = read_run(here / "b.jsonl")[0].header.interpreters[0]
    assert after.packages == before.packages and after.requirements == "scales<2"


def test_arms_may_have_environments_of_their_own(opperf, here):
    # An arm may set variables too.
    arms = ["--a", "env:scales==1.0", "--b", "env:scales==2.0", "--b", "env:SCALES_TEST=1"]
    code, out, err = opperf("ab", *WORDS, *arms, "--dry-run")
    assert code == 0
    shown = out + err
    assert "A: env:scales==1.0" in shown and "B: env:SCALES_TEST=1 env:scales==2.0" in shown


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run", "--with", "scales==9"], "No matching distribution found for scales==9"),
        (["run", "--with", "scales=>1"], "'scales=>1' is no requirement"),
        (["run", "--locked", "x"], "--locked is for environments; name them with --with"),
        (["ab", "--b", "env:scales==9"], "No matching distribution found for scales==9"),
        (["ab", "--b", "env:scales"], "or env:NAME==VERSION for a requirement"),
        (["ab", "--b", "env:A=1", "--locked", "x"], "x cannot be read"),
        (
            ["ab", "--b", "env:scales==1.0", "--b", "python:python3"],
            "both choose the environment; give only one",
        ),
        (["experiment", "--with", "scales==9"], "No matching distribution found for scales==9"),
    ],
)
def test_bad_input_is_one_line(opperf, words, expected):
    own = WORDS[:3] if words[0] == "experiment" else WORDS
    code, _, err = opperf(words[0], *own, *words[1:])
    assert code == 2
    assert expected in err.splitlines()[-1]
    assert sum(line.startswith("opperf:") for line in err.splitlines()) == 1


def test_the_framework_may_be_one_that_is_required(opperf):
    code, _, err = opperf("run", "add", "--with", "torch==0.0.1")
    assert code == 2 and "torch==0.0.1 is not installed here" in err
    from opperf.frameworks.mentioned import mentioned_among

    assert mentioned_among((), ["numpy<2,jax"]).framework == "jax"
