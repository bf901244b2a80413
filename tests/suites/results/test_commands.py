"""The commands `suite validate`, `suite report` and `suite compare`."""

import csv
import io
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from opperf.commands.suite.results import compare, report, validate
from opperf.errors import OpperfError
from opperf.model import Settings
from opperf.opperf import main
from tests.suites.results.making import (
    REPLAYS,
    RUNS,
    facts_of,
    rates_around,
    record_of,
    run_of,
    script_case,
    written,
)


def invoked(command, *words):
    return CliRunner().invoke(command, list(map(str, words)))


def refused(command, *words):
    error = invoked(command, *words).exception
    assert isinstance(error, OpperfError), error
    assert "\n" not in str(error) and error.exit_code == 2
    return str(error)


@pytest.fixture
def runs(tmp_path):
    """Run files of a machine, and of one that is twice as fast."""
    made = []
    for name, level in (("base", 10), ("fast", 20)):
        record = record_of(script_case("a"), rates_around(level))
        made.append(
            written(tmp_path / f"{name}.jsonl", run_of([facts_of(record, name="a")], [record]))
        )
    return made


def test_validation_exits_with_what_it_found(runs, tmp_path):
    assert invoked(validate, REPLAYS / "error.txt").exit_code == 1
    assert invoked(validate, runs[0], "--validations", "error,loss").exit_code == 0
    # Versions are a warning.
    good = REPLAYS / "planning_njobs_good"
    assert invoked(validate, good).exit_code == 0
    assert invoked(validate, good, "--strict").exit_code == 1
    assert "unknown layer" in refused(validate, good, "--validations", "los")
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_text("nothing")
    assert "damaged.jsonl" in refused(validate, damaged)


def test_findings_in_formats(tmp_path):
    outputs = [tmp_path / f"found.{end}" for end in ("md", "html", "csv", "json", "xml", "txt")]
    words = [word for path in outputs for word in ("-o", path)]
    result = invoked(validate, REPLAYS / "loss.txt", "--validations", "loss", *words)
    assert result.exit_code == 1
    texts = {path.suffix: path.read_text() for path in outputs}
    assert json.loads(texts[".json"])["findings"][0]["layer"] == "loss"
    assert list(csv.DictReader(io.StringIO(texts[".csv"])))[0]["level"] == "failure"
    assert "<failure" in texts[".xml"] and "<table" in texts[".html"] and "|" in texts[".md"]
    assert "loss nan at observation 5 of 9" in texts[".txt"]
    said = [texts[end].count("of 1 benches failed") for end in (".txt", ".md", ".html")]
    assert said == [1, 1, 1]


def test_reports(runs, tmp_path):
    out = tmp_path / "report.json"
    invoked(report, runs[1], "--baseline", runs[0], "--price", "100", "-o", out)
    found = json.loads(out.read_text())
    assert found["total"]["value"] == pytest.approx(2.0) and found["per_money"] > 0
    assert "Score: 7760.75." in invoked(report, RUNS, "--as", "milabench").output
    assert "--baseline" in refused(report, runs[0], "--price", "100")
    assert "no baseline" in refused(report, RUNS, "--as", "milabench", "--baseline", RUNS)
    into = runs[0].with_suffix(".json")
    into.write_text("{}")
    assert "add --overwrite" in refused(report, runs[0], "-o", into)


def test_comparisons_exit_with_the_verdict(runs):
    assert invoked(compare, runs[1], runs[0]).exit_code == 1
    assert invoked(compare, runs[0], runs[1]).exit_code == 0
    assert invoked(compare, runs[0], runs[0]).exit_code == 3
    assert "below --threshold" in refused(
        compare, *runs, "--threshold", "10%", "--same-within", "5%"
    )


def documented():
    """The commands of the page's section on results."""
    text = (Path(__file__).parents[3] / "docs/suites.md").read_text()
    section = re.split(r"^## Results$", text, flags=re.MULTILINE)[1]
    section = re.split(r"^## ", section, flags=re.MULTILINE)[0]
    found = re.findall(r"^(opperf suite .*?)(?:  +#.*)?$", section, re.MULTILINE)
    assert len(found) >= 8
    return found


@pytest.mark.parametrize("line", documented())
def test_commands_of_the_page(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels = ("torch==2.12", "torch==2.13")
    records = [
        record_of(script_case("a", settings=Settings(python=label)), rates_around(10))
        for label in labels
    ]
    several = run_of([facts_of(*records, name="a")], records)
    for name in re.findall(r"\w+\.jsonl", line):
        one = run_of([facts_of(records[0], name="a")], records[:1])
        written(tmp_path / name, several if "--env-a" in line else one)
    written(tmp_path / "last.jsonl", several)
    shutil.copytree(RUNS, tmp_path / "runs/2026-05-10")
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(line.replace("@last", "last.jsonl"))[1:])
    # Nothing is wrong with the command, whatever it finds.
    assert ended.value.code in (0, 1, 3)
