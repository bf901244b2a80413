"""A session measures times."""

import pytest
from click.testing import CliRunner

from opperf.commands.ab import ab
from opperf.errors import UsageError


@pytest.mark.parametrize(
    "options",
    [
        ("--profiler", "instructions", "--a", "env:X=1", "--b", "env:X=2"),
        ("--a", "profiler:instructions", "--b", "profiler:python"),
    ],
)
def test_counts_are_compared_from_two_runs(options, tmp_path):
    report = tmp_path / "s.jsonl"
    done = CliRunner().invoke(
        ab, ["add", "--framework", "numpy", *options, "--report", str(report)]
    )
    assert isinstance(done.exception, UsageError) and not report.exists()
    assert "`opperf compare BASE NEW --metric instructions`" in str(done.exception)
