"""Settings of both arms that have several values, each of which makes a case of its own."""

import json

import pytest
from click.testing import CliRunner

from opperf.commands.ab import ab
from opperf.errors import UsageError

NUMPY = ("--framework", "numpy", "--size", "small", "--max-configs", "1", "--threads", "1")


@pytest.fixture
def planned(planning):
    """What is printed of a session that is not begun."""

    def plan(*words):
        done = CliRunner().invoke(ab, [*NUMPY, *words, "--dry-run"])
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.output

    return plan


def test_each_value_makes_a_case_of_both_arms(planned):
    out = planned("exp", "--dtype", "float32,float64", "--b", "env:X=1")
    assert "2 cases: " in out and out.count("float64, profiler python") == 1
    rows = [line.split()[1] for line in out.splitlines() if line.startswith("exp ")]
    assert len(set(rows)) == 2
    assert planned("exp", "--b", "env:X=1").count("\nexp ") == 1


def test_operators_of_the_arms_are_compared_at_each_value(planned):
    words = ("--a", "ops:sin,sin", "--b", "ops:cos,tan", "--dtype", "float32,float64")
    assert "4 cases: " in planned(*words)


def test_what_makes_no_difference_is_compared_once(planned):
    out = planned("exp", "--b", "env:X=1", "--cache", "hot,cold", "--dtype", "float64,f64")
    assert "2 cases: " in out


def test_an_axis_is_not_one_that_an_arm_sets(planned):
    with pytest.raises(UsageError) as caught:
        planned("exp", "--dtype", "float32,float64", "--b", "dtype:float16")
    assert str(caught.value).startswith("--dtype float32,float64 has several values for both arms")


def settle(report):
    """Gives every case the same time in all processes: beside load a session may be invalid, which
    JUnit says in place of the cases."""
    lines = list(map(json.loads, report.read_text().splitlines()))
    for line in lines:
        if line["line"] == "replicate":
            values = line["replicate"]["values"]
            values.update(dict.fromkeys(values, 1.0))
    report.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def test_every_case_that_is_announced_has_a_row_in_every_output(here, tmp_path):
    """Two candidates against one baseline in two dtypes, one of them given twice and one wrong."""
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n"
        "def base(x): return np.exp(x) + 1\n"
        "def fused(x):\n    y = np.exp(x); y += 1; return y\n"
        "def wrong(x): return np.ones_like(x)\n"
    )
    out, err = here(
        tmp_path,
        *("ab", *NUMPY[:2], "--shape", "x=64x8", "--dtype", "float32,float64"),
        *("--a", "ops:mine.py:base,mine.py:base,mine.py:base", "--case-time", "0.001"),
        *("--b", "ops:mine.py:fused,mine.py:wrong,mine.py:fused"),
        *("--blocks", "2", "--threads", "1"),
        *("--format", "json", "--fail-on", "different"),
        code=1,
    )
    assert "4 cases, 2 cases given twice and compared once\n" in err
    report = json.loads(out)
    rows = report["rows"]
    assert len(rows) == len({row["id"] for row in rows}) == report["session"]["cases"] == 4
    assert {(row["operator"], row["results"]) for row in rows} == {
        ("base | fused", "same"),
        ("base | wrong", "different"),
    }
    assert {row["settings"] for row in rows} == {"profiler python", "float64, profiler python"}
    settle(tmp_path / "opperf_ab.jsonl")
    for output_format, count in (("csv", 5), ("junit", 4), ("md", 4)):
        words = ("compare", "--from-ab", "opperf_ab.jsonl", "--fail-on", "different")
        again, _ = here(tmp_path, *words, "--format", output_format, code=1)
        lines = again.splitlines()
        found = {
            "csv": len(lines),
            "junit": again.count("<testcase "),
            "md": sum("base \\| " in line and " forward " in line for line in lines),
        }
        assert found[output_format] == count, again
    resume = ("ab", "--resume", "--fail-on", "different", "--dtype")
    resumed, err = here(tmp_path, *resume, "float32,float64", code=1)
    assert "Results differ" in resumed, err
    _, err = here(tmp_path, "ab", "--resume", "--dtype", "float32", code=2)
    assert "--dtype" in err
