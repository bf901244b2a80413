"""`ab --check`: the results of both arms, and nothing timed."""

import csv
import io
import json

import pytest

from opperf.commands.ab import ab as command
from opperf.errors import UsageError
from opperf.model import DIFFERENT
from opperf.requests.ab.resolving import FIELDS, OF_FIGURES, resolve

FUNCTIONS = """
import os
import numpy as np
def old(x): return np.exp(x)
def same(x): return np.exp(x)
CALLS = []
def tired(x): CALLS.append(1); return np.exp(x) if len(CALLS) <= 5 else x
def fails(x): raise ValueError("no luck")
def odd(x): return np.exp(x) + np.frombuffer(os.urandom(1), "uint8")
"""


@pytest.fixture(scope="module")
def variables():
    return {}


@pytest.fixture
def check(here, tmp_path):
    """The output files of a check of two functions, and what was printed."""
    (tmp_path / "k.py").write_text(FUNCTIONS)

    def check(*pairs, code, **files):
        arms = [word for a, b in pairs for word in ("--a", f"ops:k.py:{a}", "--b", f"ops:k.py:{b}")]
        outputs = [word for suffix in files for word in ("-o", f"found.{suffix}")]
        words = ["--framework", "numpy", "--shape", "x=8x4", "--check", "--quiet", *outputs]
        out, err = here(tmp_path, "ab", *arms, *words, code=code)
        return out, err, {suffix: (tmp_path / f"found.{suffix}").read_text() for suffix in files}

    return check


def test_a_difference_is_found_in_every_format(check, here, tmp_path):
    formats = dict.fromkeys(("json", "csv", "xml", "md", "html"), True)
    _, err, files = check(("old", "same"), ("old", "tired"), ("old", "fails"), code=1, **formats)
    assert "1 different, 1 missing" in err
    data = json.loads(files["json"])
    assert data["session"]["kind"] == "checks" and data["session"]["processes"] == 0
    rows = list(csv.DictReader(io.StringIO(files["csv"])))
    assert {row["operator"]: row["verdict"] for row in rows} == {
        "old | same": "same",
        "old | tired": DIFFERENT,
        # It has no case.
        "old": "missing",
    }
    (wrong,) = (row for row in rows if row["verdict"] == DIFFERENT)
    assert wrong["difference"].startswith("output, last of several calls: largest error")
    assert files["xml"].count("<failure") == 2 and "last of several calls" in files["xml"]
    for text in (files["md"], files["html"]):
        assert "output, last of several calls" in text and "ValueError: no luck" in text
    # The file has it all.
    out, _ = here(tmp_path, "compare", "--from-ab", "opperf_ab.jsonl", code=1)
    assert "3 cases called in A and B, and nothing timed" in out


def test_the_same_results_are_no_finding(check):
    out, _, _ = check(("old", "same"), code=0)
    assert "Results of A and B: the same within rounding in 1 case." in out
    assert "Changed: by more than" not in out


def test_results_that_cannot_be_compared_decide_nothing(check):
    out, _, _ = check(("old", "odd"), code=3)
    assert "not compared in 1 case" in out and "output: random, or not written, in B" in out


def resolved(*words):
    words = ["--framework", "numpy", "--b", "env:X=1", "--check", *words]
    asked = command.request_of(command.make_context("ab", words))
    return resolve(asked, print, None, "opperf ab")


VALUES = {
    **{"order": "block", "threshold": "1%", "same_within": "9%", "gate_sample": "5%"},
    **{"weight": "count", "tolerances": "instructions=1%"},
}


@pytest.mark.parametrize("name", OF_FIGURES)
def test_options_of_figures_are_refused(name):
    field = FIELDS[name]
    option = field.shown if field.is_flag else f"{field.shown}={VALUES.get(name, '20')}"
    with pytest.raises(UsageError, match=f"--check compares results, and {field.shown} is not"):
        resolved(option)


def test_the_coarse_look_is_refused():
    with pytest.raises(UsageError, match="--threads 1,all: results have no coarse look"):
        resolved("--threads", "1,all")


def test_results_need_no_kernels():
    assert resolved().selection.settings.profiler == "python"
    assert resolved("--profiler", "native").selection.settings.profiler == "native"
