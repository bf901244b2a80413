"""What a user names once, for two functions that name their arguments differently."""

import pytest
from click.testing import CliRunner

from opperf.commands.ab import ab

FUNCTIONS = """
import numpy as np

def inputs(): return {"x": np.zeros((4, 2), "float32"), "y": np.zeros(2, "float32")}
def one(x, y): return np.exp(x) + y
def other(a, b): return np.exp(a) + b
def longer(a, b, scale): return np.exp(a) * scale + b
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Of all tests, as it is that of their workers."""
    made = tmp_path_factory.mktemp("partners")
    (made / "mine.py").write_text(FUNCTIONS)
    return made


@pytest.fixture
def planned(folder, planning, monkeypatch):
    """Plans two functions of a file; what was printed, with the error."""
    monkeypatch.chdir(folder)

    def plan(b, *options):
        arms = ("--a", "ops:mine.py:one", "--b", f"ops:mine.py:{b}")
        words = ("--framework", "numpy", *arms, "--threads", "1", *options, "--dry-run")
        done = CliRunner().invoke(ab, words)
        return f"{done.output}\n{done.exception or ''}"

    return plan


@pytest.mark.parametrize(
    "options",
    [
        ("--shape", "x=4x2", "--shape", "y=2"),
        ("--shape", "a=4x2", "--shape", "y=2"),
        ("--shape", "x=4x2", "--arg", "b=[0.5,1]"),
        ("--inputs", "mine.py:inputs"),
    ],
)
def test_either_name_of_an_argument_is_for_both(planned, options):
    out = planned("other", *options)
    assert "\n1 case:" in out and "x: (4, 2)" in out
    assert "paired by position, one | other: a of B is x of A, b of B is y of A" in out


def test_an_error_names_both_signatures(planned):
    out = planned("longer", "--shape", "z=4")
    assert "(one has x, y; longer, which it is compared with, has a, b, scale)" in out
    out = planned("longer", "--shape", "x=4x2", "--shape", "y=2")
    assert "ops:mine.py:longer has no case to measure" in out
