"""The runs of the key `multirun` of a system's file."""

import pytest

from opperf.errors import UsageError
from opperf.suites.matrices import read_multirun

FILE = """
system: {arch: cuda}
multirun:
  runs:
    - name: "bs{sizer.batch_size}.{time}"
      matrix: {sizer.batch_size: [8, 16]}
    - name: "c{sizer.capacity}_w{cpu.n_workers}"
      matrix: {cpu.auto: 1, cpu.n_workers: [2, 4], sizer.capacity: [4Go, All]}
"""


@pytest.fixture
def runs(tmp_path):
    def made(text):
        (tmp_path / "system.yaml").write_text(text)
        return read_multirun(tmp_path / "system.yaml", "99")

    return made


def test_a_run_for_each_combination_of_each_matrix(runs):
    found = runs(FILE)
    names = [run.name for run in found]
    assert names == ["bs8.99", "bs16.99", "c4Go_w2", "c4Go_w4", "cAll_w2", "cAll_w4"]
    assert found[0].overrides == ("system.sizer.batch_size=8",)
    assert found[2].options == {"cpu.enabled": True, "cpu.n_workers": 2, "sizer.capacity": "4Go"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("system: {}\n", "has no multirun.runs"),
        ("multirun: {runs: 3}\n", "runs are a list, and this is 3"),
        ("multirun: {runs: [{name: a}]}\n", "a name and a matrix, and no matrix"),
        ("multirun: {runs: [{name: a, matrix: {sizer.mul: 1}}]}\n", "did you mean sizer.mult"),
        ("multirun: {runs: [{name: a, matrix: {sizer.mult: x}}]}\n", "sizer.mult is a number"),
        ("multirun: {runs: [{name: a, matrix: {sizer.mult: [1, 2]}}]}\n", "two runs are called a"),
        ("multirun: {runs: [{name: '{x}', matrix: {sizer.mult: 1}}]}\n", "has no key x"),
        ("multirun: {runs: [{name: a/b, matrix: {sizer.mult: 1}}]}\n", "'a/b' cannot be the name"),
    ],
)
def test_bad_runs(runs, text, expected):
    with pytest.raises(UsageError, match=r"system\.yaml") as raised:
        runs(text)
    assert expected in str(raised.value)
