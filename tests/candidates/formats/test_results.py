"""Results in each format, from verdicts."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from opperf.candidates.formats.base import Asked, Judged, Made, PosedProblem, Solution
from opperf.candidates.formats.known import read, results, scored
from opperf.candidates.model import Differs, TrialResult, Verdict, VerdictStatus
from opperf.instruments.profilers.summary import summarise
from tests.candidates.formats.written import WRITERS

MADE = Made("A processor", {"torch": "2.9"}, "2030-01-02T03:04:05")

NS = summarise([1e6, 3e6], "ns")


def passed(posed: PosedProblem, candidate: str) -> Verdict:
    """Returns a verdict of 2 ms, twice as fast as the reference."""
    baselines = {"reference": summarise([4e6], "ns")}
    ratios = {"reference": summarise([2.0], "")}
    trials = tuple(
        TrialResult(trial, VerdictStatus.PASSED, "", 0.5, 0.25, NS, baselines, ratios=ratios)
        for trial in posed.problem.trials
    )
    return Verdict(posed.problem.name, candidate, VerdictStatus.PASSED, trials=trials)


def judged_in(
    folder: Path, name: str, status: VerdictStatus, reason: str, differs: Differs = ""
) -> list[Judged]:
    """Returns the verdicts of one problem: its right candidate passed, the wrong one did not, and
    was judged in no trial, or in those in which its results had another form."""
    WRITERS[name](folder / "given")
    found = read(Asked(folder / "given", folder / "made"))
    posed = next(
        each
        for each in found.problems
        if "relu" in each.problem.name and "backward" not in each.problem.name
    )
    verdicts = [passed(posed, posed.candidates[0].name)]
    for candidate in posed.candidates[1:]:
        trials = tuple(
            TrialResult(trial, status, reason, differs=differs)
            for trial in posed.problem.trials
            if differs
        )
        verdicts.append(Verdict(posed.problem.name, candidate.name, status, reason, trials))
    return [Judged(posed, verdicts)]


def written(folder: Path, name: str, status: VerdictStatus = VerdictStatus.WRONG) -> dict[str, str]:
    return results(name, judged_in(folder, name, status, "other numbers"), MADE)


def test_kernelbench(tmp_path: Path) -> None:
    files = written(tmp_path, "KernelBench", VerdictStatus.FAILED)
    assert list(files) == ["eval_results.json"]
    stats = {"mean": 2.0, "min": 1.0, "max": 3.0, "num_trials": 2, "hardware": "A processor"}
    metadata = {"hardware": "A processor", "status": "passed", "reason": ""}
    right, wrong = json.loads(files["eval_results.json"])["1"]
    assert right == {
        **{"sample_id": 0, "compiled": True, "correctness": True, "metadata": metadata},
        **{"runtime": 2.0, "runtime_stats": stats},
    }
    assert not wrong["compiled"] and wrong["runtime"] == -1.0 and wrong["sample_id"] == 1
    assert wrong["metadata"]["reason"] == "other numbers"


def test_robust_kbench(tmp_path: Path) -> None:
    files = written(tmp_path, "robust-kbench")
    right = json.loads(files["relu/forward/right/test_results.json"])
    assert right["summary"] == {
        **{"correct": True, "max_diff": 0.5, "total_trials": 2},
        "all_configs_str": ["M_4_N_6", "M_5_N_6"],
    }
    assert right["eval_settings"]["M_4_N_6"] == {"correct": True, "max_diff": 0.5}
    times = json.loads(files["relu/forward/right/eval_results.json"])
    assert times["summary"]["avg_mean_time"] == 2.0
    wrong = json.loads(files["relu/forward/wrong/test_results.json"])
    assert not wrong["summary"]["correct"] and wrong["summary"]["error"] == "other numbers"
    assert "relu/forward/wrong/eval_results.json" not in files


def test_gpu_mode(tmp_path: Path) -> None:
    files = written(tmp_path, "GPU MODE")
    assert files["relu_py/submission_right.test.txt"].splitlines() == [
        "test-count: 1",
        "test.0.spec: M: 4; N: 6; seed: 7",
        "test.0.status: pass",
        "check: pass",
    ]
    assert files["relu_py/submission_right.benchmark.txt"].splitlines()[:3] == [
        "benchmark-count: 1",
        "benchmark.0.spec: M: 4; N: 6; seed: 11",
        "benchmark.0.runs: 2",
    ]
    assert files["relu_py/submission_wrong.benchmark.txt"].splitlines()[2:] == [
        "benchmark.0.status: fail",
        "benchmark.0.error: other numbers",
        "check: fail",
    ]


def test_backendbench(tmp_path: Path) -> None:
    files = written(tmp_path, "BackendBench")
    correctness, performance = json.loads(files["full_results.json"])
    call = "((T([4, 6], f32),), {})"
    assert (correctness["op_name"], correctness["args"]) == ("relu.default", call)
    assert correctness["is_correct"] and correctness["max_abs_error"] == 0.5
    assert (performance["speedup"], performance["benchmark_time_ms"]) == (2.0, 2.0)
    assert json.loads(files["failed_tests.json"]) == []
    (row,) = csv.DictReader(io.StringIO(files["operator_summary.csv"]))
    assert row["operator"] == "relu.default" and float(row["geomean_speedup"]) == pytest.approx(2.0)
    assert (row["correctness_tests"], row["passed_correctness_tests"]) == ("1", "1")


@pytest.mark.parametrize(
    ("status", "differs", "theirs"),
    [
        (VerdictStatus.WRONG, "", "INCORRECT_NUMERICAL"),
        (VerdictStatus.WRONG, "shape", "INCORRECT_SHAPE"),
        (VerdictStatus.WRONG, "dtype", "INCORRECT_DTYPE"),
        (VerdictStatus.CHEATED, "", "INCORRECT_NUMERICAL"),
        (VerdictStatus.CRASHED, "", "RUNTIME_ERROR"),
        (VerdictStatus.TIMEOUT, "", "TIMEOUT"),
    ],
)
def test_flashinfer(tmp_path: Path, status: VerdictStatus, differs: Differs, theirs: str) -> None:
    judged = judged_in(tmp_path, "FlashInfer-Bench", status, "not so", differs)
    ((name, text),) = results("FlashInfer-Bench", judged, MADE).items()
    assert name == "traces/someone/small/relu.jsonl"
    right, wrong = map(json.loads, text.splitlines())
    workload = (tmp_path / "given" / "workloads" / "small" / "relu.jsonl").read_text()
    assert right["workload"] == wrong["workload"] == json.loads(workload)["workload"]
    assert right["solution"] == "relu_right"
    assert right["evaluation"] == {
        "status": "PASSED",
        "environment": {"hardware": "A processor", "libs": {"torch": "2.9"}},
        **{"timestamp": "2030-01-02T03:04:05", "log": ""},
        "correctness": {"max_relative_error": 0.25, "max_absolute_error": 0.5},
        "performance": {"latency_ms": 2.0, "reference_latency_ms": 4.0, "speedup_factor": 2.0},
    }
    assert wrong["evaluation"]["status"] == theirs and wrong["evaluation"]["log"] == "not so"
    # Their reader refuses figures beside any other status.
    has_errors = theirs == "INCORRECT_NUMERICAL"
    assert (wrong["evaluation"]["correctness"] is not None) is has_errors
    assert not has_errors or wrong["evaluation"]["correctness"]["max_absolute_error"] == "NaN"
    assert wrong["evaluation"]["performance"] is None


def test_trials_that_only_check_have_no_times_in_scores(tmp_path: Path) -> None:
    ((posed, (right, wrong)),) = judged_in(tmp_path, "GPU MODE", VerdictStatus.WRONG, "not so")
    check, timed = right.trials
    fast = msgspec.structs.replace(check, ratios={"reference": summarise([64.0], "")})
    found = scored("GPU MODE", [Judged(posed, [replaced(right, trials=(fast, timed))])])
    assert found["fast_0"] == found["pass rate"] == 1.0 and found["fast_2"] == 0.0
    assert found["geometric mean of correct"] == pytest.approx(2.0)
    failed = scored("GPU MODE", [Judged(posed, [wrong])])
    assert failed["fast_0"] == failed["pass rate"] == 0.0


def replaced(verdict: Verdict, **fields: Any) -> Verdict:
    return msgspec.structs.replace(verdict, **fields)


def test_problems_without_a_candidate_are_not_solved(tmp_path: Path) -> None:
    ((posed, verdicts),) = judged_in(tmp_path, "KernelBench", VerdictStatus.WRONG, "other numbers")
    without = msgspec.structs.replace(posed, candidates=())
    judged = [Judged(posed, verdicts[:1]), Judged(without, ()), Judged(without, ())]
    found = scored("KernelBench", judged)
    assert found["fast_0"] == found["fast_1"] == pytest.approx(1 / 3)
    assert found["geometric mean of correct"] == pytest.approx(2.0)
    # Nobody knows whether they would pass.
    refused = msgspec.structs.replace(without, refused=(Solution("c", refusal="needs a GPU"),))
    judged = [Judged(posed, verdicts[:1]), Judged(refused, ())]
    assert scored("KernelBench", judged)["fast_0"] == 1.0


@pytest.mark.parametrize(
    ("name", "wrong_first"), [("KernelBench", 0.0), ("GPU MODE", 1.0), ("FlashInfer-Bench", 1.0)]
)
def test_one_candidate_of_an_author_counts(name: str, wrong_first: float, tmp_path: Path) -> None:
    ((posed, verdicts),) = judged_in(tmp_path, name, VerdictStatus.WRONG, "other numbers")
    for order, passed in ((verdicts, 1.0), (verdicts[::-1], wrong_first)):
        found = scored(name, [Judged(posed, order)])
        assert found["fast_0"] == found["pass rate"] == found["win@1"] == passed


def test_scores_are_of_each_author(tmp_path: Path) -> None:
    ((posed, verdicts),) = judged_in(tmp_path, "FlashInfer-Bench", VerdictStatus.WRONG, "not so")
    one, other = posed.candidates
    both = (one, msgspec.structs.replace(other, author="else"))
    judged = [Judged(msgspec.structs.replace(posed, candidates=both), verdicts)]
    found = scored("FlashInfer-Bench", judged)
    assert (found["someone: win@1"], found["else: win@1"]) == (1.0, 0.0)
    assert "win@1" not in found
    assert sorted(results("FlashInfer-Bench", judged, MADE)) == [
        "traces/else/small/relu.jsonl",
        "traces/someone/small/relu.jsonl",
    ]


@pytest.mark.parametrize("author", ["..", "../../x", "/etc", ""])
def test_no_author_leads_out_of_the_folder_of_results(tmp_path: Path, author: str) -> None:
    ((posed, verdicts),) = judged_in(tmp_path, "FlashInfer-Bench", VerdictStatus.WRONG, "not so")
    changed = tuple(msgspec.structs.replace(each, author=author) for each in posed.candidates)
    judged = [Judged(msgspec.structs.replace(posed, candidates=changed), verdicts)]
    (name,) = results("FlashInfer-Bench", judged, MADE)
    parts = name.split("/")
    assert len(parts) == 4 and not {"", ".", ".."} & set(parts)


def test_levels_of_kernelbench_are_apart(tmp_path: Path) -> None:
    ((posed, verdicts),) = judged_in(tmp_path, "KernelBench", VerdictStatus.WRONG, "other numbers")
    problem = msgspec.structs.replace(posed.problem, name="level2/1_other")
    second = Judged(
        msgspec.structs.replace(posed, problem=problem),
        [msgspec.structs.replace(verdicts[1], problem=problem.name)],
    )
    files = results("KernelBench", [Judged(posed, verdicts[:1]), second], MADE)
    assert {
        name: [each["correctness"] for each in json.loads(text)["1"]]
        for name, text in files.items()
    } == {"level1/eval_results.json": [True], "level2/eval_results.json": [False]}
