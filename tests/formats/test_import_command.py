"""`history import`, from the words to the store."""

import json

import pytest

from opperf.errors import OpperfError
from tests.formats.samples import BENCHER, NAN, PYTEST, asv_results, write_asv
from tests.history.test_commands import git, opperf, repository  # noqa: F401


@pytest.fixture
def results(tmp_path, repository):  # noqa: F811
    """A folder of asv's results of three commits, of which the repository lacks one."""
    last, first = (git(repository, "rev-parse", name) for name in ("HEAD", "HEAD~2"))
    made = [asv_results(last, date=1e12), asv_results(first, date=2e12), asv_results("f" * 40)]
    return write_asv(tmp_path / "results", *made)


def runs(opperf):  # noqa: F811
    return json.loads(opperf("history", "list", "--what", "runs", "-f", "json"))["runs"]


def test_commits_are_in_the_order_of_the_repository(opperf, results, repository):  # noqa: F811
    (results / "box" / "ffffffff-conda-py3.11-numpy.json").unlink()
    assert "2 runs of asv, 4 new figures and 4 new failures in kernels" in opperf(
        "history", "import", results
    )
    assert "0 new figures in kernels, 0 new series" in opperf("history", "import", results)
    found = [(run["position"], run["subject"], run["branch"]) for run in runs(opperf)]
    assert found == [(1, "change 0", "main"), (3, "change 2", "main")]
    shown = opperf("history", "show", "s.time_sum")
    assert "2.00 ±3.8 %" in shown and "box, AMD EPYC" in shown


def test_a_commit_that_the_repository_lacks_is_said(opperf, results, capsys):  # noqa: F811
    from opperf.opperf import cli

    assert cli.main(["history", "import", str(results)], standalone_mode=False) == 0
    assert "1 commit, as ffffffffff, not found in the repository" in capsys.readouterr().err


def test_all_files_are_added_or_none(opperf, results, tmp_path):  # noqa: F811
    opperf("history", "import", results)
    before = runs(opperf)
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(PYTEST))
    bad.write_text(json.dumps(PYTEST)[:-9])
    with pytest.raises(OpperfError, match="bad.json is no whole JSON"):
        opperf("history", "import", good, bad, "--project", "kernels")
    assert runs(opperf) == before
    assert "1 run of pytest-benchmark, 2 new figures" in opperf(
        "history", "import", good, "--project", "kernels"
    )
    assert runs(opperf) != before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "is no repository that has one of the commits, as 0123456789"),
        (("--commit", "v9"), "no commit v9; or name the commit by its whole id"),
        (("--from", "xml"), "unknown form 'xml'"),
    ],
)
def test_wrong_words_are_one_line(opperf, tmp_path, words, message):  # noqa: F811
    path = tmp_path / "results.json"
    path.write_text(json.dumps(PYTEST))
    with pytest.raises(OpperfError, match=message):
        opperf("history", "import", path, *words)


def test_a_commit_of_no_repository_is_named_by_its_id(opperf, tmp_path):  # noqa: F811
    path = tmp_path / "results.json"
    path.write_text(json.dumps(BENCHER))
    opperf("history", "import", path, "--commit", "A" * 40, "--project", "p", "--branch", "b")
    (run,) = runs(opperf)
    assert (run["commit"], run["branch"], run["source"]) == ("a" * 40, "b", "bencher")


def commit_id(number):
    return f"{number + 1:08x}".ljust(40, "0")


def asv_history(folder, lost):
    """asv's results of eight commits and four benchmarks, of which one is lost in the last four."""
    made = []
    for number in range(8):
        results = {f"s.time_{name}": [[1e-6], [], "v1"] for name in ("a", "b", "c", "lost")}
        if number >= 4:
            results["s.time_lost"] = lost and [lost, [], "v1"]
        rows = {name: row for name, row in results.items() if row}
        made.append(asv_results(commit_id(number), date=1e12 + number * 1e8, results=rows))
    return write_asv(folder, *made)


def github_history(path, *values):
    runs = [
        {
            "commit": {"id": commit_id(number), "message": f"commit {number}"},
            "date": 1.7e12 + number * 1e8,
            "benches": [
                {"name": "lost", "unit": "ns", "value": value},
                {"name": "other", "unit": "ns", "value": 5},
            ],
        }
        for number, value in enumerate(values)
    ]
    path.write_text(json.dumps({"entries": {"Go": runs}}))
    return path


@pytest.mark.parametrize(
    "write, counts, how, last",
    (
        (lambda to: asv_history(to, [None]), "28 new figures and 4 new failures", "fails", 4),
        (lambda to: asv_history(to, [NAN]), "28 new figures and 4 new failures", "fails", 4),
        (lambda to: asv_history(to, None), "28 new figures in", "missing", 4),
        (lambda to: github_history(to, 10, 10, 0, 0), "8 new figures in", "impossible", 2),
        (lambda to: github_history(to, 10, 10, -5), "6 new figures in", "impossible", 2),
        (lambda to: github_history(to, 9, None), "3 new figures and 1 new failure", "fails", 1),
    ),
)
def test_a_benchmark_that_breaks_ends_a_check_with_1(opperf, tmp_path, write, counts, how, last):  # noqa: F811
    path = write(tmp_path / "results")
    assert counts in opperf("history", "import", path, "--project", "p")
    out = opperf("history", "check", "--project", "p", "-f", "json", code=1)
    (event,) = json.loads(out)["events"]
    assert (event["kind"], event["method"], event["is_loss"]) == ("stopped", how, True)
    between = (event["last_good"], event["first_bad"])
    assert between == (commit_id(last - 1), commit_id(last))
