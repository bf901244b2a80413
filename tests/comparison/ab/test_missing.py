"""What A can and B cannot from the command line on: where B has nothing to measure at all."""

import json
import xml.etree.ElementTree as ET

import pytest

from opperf.comparison.ab.session_file import read_session
from opperf.reports.formats import REPORT, formats_of

FUNCTIONS = """
import os
import numpy as np

def inputs(): return {"x": np.zeros((4, 2), "float32")}

def kernel(x):
    if os.environ.get("BROKEN"):
        raise RuntimeError("boom")
    return np.exp(x)

def broken(x):
    raise RuntimeError("boom")
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "k.py").write_text(FUNCTIONS)
    return tmp_path


@pytest.mark.parametrize(
    "words, reason",
    [
        # Called once in both arms.
        (("k.py:kernel", "--inputs", "k.py:inputs", "--b", "env:BROKEN=1"), "B: failed: Runtime"),
        # Planned, which tries the user's shapes.
        (
            ("--a", "ops:k.py:kernel", "--b", "ops:k.py:broken", "--shape", "x=4x2"),
            "B: no case of this operator: no configuration fits --shape x=4x2: RuntimeError: boom",
        ),
    ],
)
def test_b_that_fails_is_a_finding_in_every_format(here, folder, words, reason):
    out, err = here(folder, "ab", "--framework", "numpy", *words, "--threads", "1", code=1)
    assert "1 figure of 1 case: 1 missing." in out and reason in " ".join(out.split())
    assert err.endswith("opperf: 1 missing\n") and "nothing to measure" in err
    session, _ = read_session(folder / "opperf_ab.jsonl")
    assert session.closing is not None and not session.pairs
    for name in formats_of(REPORT):
        again = ("compare", "--from-ab", "opperf_ab.jsonl", "-f", name)
        text, _ = here(folder, *again, code=1)
        assert "boom" in text and "missing" in text.lower()
        if name == "junit":
            (failure,) = ET.fromstring(text).iter("failure")
            assert failure.get("type") == "missing"
    assert here(folder, "compare", "--from-ab", "opperf_ab.jsonl", "--fail-on", "none", code=3)


def test_two_that_fail_alike_are_wrong_usage(here, folder):
    words = ("k.py:broken", "--inputs", "k.py:inputs", "--b", "env:BROKEN=1")
    _, err = here(folder, "ab", "--framework", "numpy", *words, "--threads", "1", code=2)
    assert "no case runs in both arms" in err and "both: failed: RuntimeError: boom" in err


def test_counts_of_a_case_that_b_has_not_are_missing(here, folder, monkeypatch):
    monkeypatch.setattr("opperf.requests.ab.counting.check_instruments", lambda settings: None)
    arms = ("--a", "ops:k.py:kernel", "--b", "ops:k.py:broken", "--shape", "x=4x2")
    counting = ("--profiler", "instructions", "-f", "json")
    out, _ = here(folder, "ab", "--framework", "numpy", *arms, *counting, code=1)
    (change,) = json.loads(out)["changes"]
    assert (change["kind"], change["verdict"]) == ("broken", "missing") and "boom" in change[
        "reason"
    ]
