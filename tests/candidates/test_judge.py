from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import pytest

from benchmarks.verdicts.cheats import CHEATS, FAILURES, HONEST, IMPORTS, PROBLEMS, RIGHT, Case
from benchmarks.verdicts.judge import framework_of, is_found_out, judged
from opperf.candidates.judge import Judge, judge
from opperf.candidates.model import Candidate, Problem, Verdict, VerdictStatus
from opperf.candidates.sandbox import Limits
from opperf.model import BandwidthPeak, Peaks

LIMITS = Limits(memory_bytes=1 << 30, disk_bytes=32 << 20, processes=64, start_s=60, call_s=30)

SHORT = msgspec.structs.replace(LIMITS, start_s=2, call_s=2)
"""Of what hangs."""

PEAKS = Peaks(
    device="cpu(0)",
    measured="2026-01-01T00:00:00",
    bandwidths=(BandwidthPeak(level="memory", kernel="copy", threads=1, bytes=0, rate=1.0),),
)


@pytest.fixture(scope="module")
def judges() -> Iterator[Mapping[str, Judge]]:
    made = {name: Judge(name, LIMITS, PEAKS, threads=1) for name in ("numpy", "torch")}
    yield made
    for each in made.values():
        each.close()


def by_name(cases: list[Case]) -> object:
    return pytest.mark.parametrize("case", cases, ids=[case.name for case in cases])


@by_name([*CHEATS, *FAILURES])
def test_what_cheats_or_fails_is_found_out(
    case: Case, judges: Mapping[str, Judge], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = judges[framework_of(case)]
    if "timeout" in case.statuses:
        monkeypatch.setattr(judge, "limits", SHORT)
    verdict = judged(judge, case, tmp_path)
    assert is_found_out(case, verdict), (verdict.status, verdict.reason)
    assert "\n" not in verdict.reason
    assert not verdict.tested


OFTEN = frozenset(
    {
        *("torch.softmax", "threads that are awaited", "in place on its result", "stalls at first"),
        *("through NumPy", "a module with a buffer", "an autograd function", "linear in blocks"),
        "normalised in Fortran's order",
    }
)
"""One honest candidate of each kind of code, as a pass takes seconds; the sweep has the others."""


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=[] if case.name in OFTEN else [pytest.mark.sweep])
        for case in HONEST
    ],
)
def test_what_is_honest_is_not_accused(
    case: Case, judges: Mapping[str, Judge], tmp_path: Path
) -> None:
    verdict = judged(judges[framework_of(case)], case, tmp_path)
    assert verdict.status is VerdictStatus.PASSED, verdict.reason
    (trial,) = verdict.trials
    assert trial.ns is not None and trial.ns.n == trial.ratios["reference"].n
    assert verdict.tested and "contiguous, on cpu(0)" in verdict.tested[0]


def verdict_on(
    judge: Judge, folder: Path, problem: str, candidate: str, **options: object
) -> Verdict:
    for name, source in (("problem", problem), ("candidate", candidate)):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "file.py").write_text("import numpy as np\n" + source)
    made = Problem("p", "numpy", str(folder / "problem/file.py"), **options)  # type: ignore[arg-type]
    return judge.verdict(made, Candidate("c", str(folder / "candidate/file.py")))


DOUBLED = """
def make_inputs(seed, n=999):
    return [np.random.standard_normal(n)]
def reference(x):
    return 2 * x
"""


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        ("def reference(x):\n    return x\n", "has no 'make_inputs'"),
        (DOUBLED.replace("2 * x", "0 * x"), "zeros would pass"),
        (DOUBLED.replace("2 * x", "0 * x + 3"), "the results for other inputs would pass"),
        (DOUBLED.replace("2 * x", "x + np.random.rand()"), "other results for equal inputs"),
        (DOUBLED.replace("2 * x", "x.no_such"), "the reference: AttributeError"),
        (DOUBLED.replace("999):", "999):\n    n += seed % 100"), "other shapes"),
        (DOUBLED.replace("(n)]", "(n), open]"), "builtin_function"),
    ],
)
def test_a_problem_that_cannot_tell_right_from_wrong(
    problem: str, reason: str, judges: Mapping[str, Judge], tmp_path: Path
) -> None:
    found = verdict_on(judges["numpy"], tmp_path, problem, "def candidate(x):\n    return 2 * x\n")
    assert found.status is VerdictStatus.UNDECIDABLE, found.reason
    assert reason in found.reason


@pytest.mark.parametrize(
    ("framework", "array"), [("jax", "jax.numpy.asarray"), ("mxnet", "mxnet.nd.array")]
)
def test_candidates_of_other_frameworks(framework: str, array: str, tmp_path: Path) -> None:
    pytest.importorskip(framework)
    problem = DOUBLED.replace("[np.random.standard_normal(n)]", f"[{array}(np.random.rand(n))]")
    text = f"import numpy as np\nimport {framework}\n{problem}"
    (tmp_path / "problem.py").write_text(text)
    made = Problem("p", framework, str(tmp_path / "problem.py"))
    statuses = []
    for factor in ("x + x", "3 * x"):
        folder = tmp_path / factor[0]
        folder.mkdir()
        (folder / "own.py").write_text(f"def candidate(x):\n    return {factor}\n")
        statuses += [each.status for each in judge(made, [Candidate("c", str(folder / "own.py"))])]
    assert statuses == [VerdictStatus.PASSED, VerdictStatus.WRONG]


def test_gradients_of_jax_are_judged(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    text = (
        DOUBLED.replace("2 * x", "x * x")
        .replace("[np", "[jax.numpy.asarray(np")
        .replace("(n)]", "(n))]")
    )
    (tmp_path / "problem.py").write_text(f"import jax\nimport numpy as np\n{text}")
    made = Problem("p", "jax", str(tmp_path / "problem.py"), differentiated=True)
    sources = ("jax.jit(lambda x: x ** 2)", "lambda x: x * jax.lax.stop_gradient(x)")
    candidates = []
    for number, source in enumerate(sources):
        file = tmp_path / f"{number}/own.py"
        file.parent.mkdir()
        file.write_text(f"import jax\ncandidate = {source}\n")
        candidates.append(Candidate("c", str(file)))
    statuses = [[trial.status.value for trial in each.trials] for each in judge(made, candidates)]
    assert statuses == [["passed", "passed"], ["passed", "wrong"]]


def test_a_stated_tolerance_that_passes_zeros(judges: Mapping[str, Judge], tmp_path: Path) -> None:
    candidate = "def candidate(x):\n    return 0 * x\n"
    found = verdict_on(
        judges["numpy"], tmp_path, DOUBLED.replace("2 *", "1e-6 *"), candidate, atol=1e-2, rtol=1e-2
    )
    assert found.status is VerdictStatus.UNDECIDABLE
    assert "zeros would pass" in found.reason


def test_a_stated_tolerance_counts(judges: Mapping[str, Judge], tmp_path: Path) -> None:
    candidate = "def candidate(x):\n    return 2.001 * x\n"
    strict = verdict_on(judges["numpy"], tmp_path, DOUBLED, candidate)
    stated = verdict_on(judges["numpy"], tmp_path, DOUBLED, candidate, rtol=1e-2, atol=1e-2)
    assert (strict.status, stated.status) == (VerdictStatus.WRONG, VerdictStatus.PASSED)


@pytest.mark.parametrize(
    ("result", "differs"),
    [("2 * x[:3]", "shape"), ("(x, x)", "shape"), ("x.astype('f4')", "dtype"), ("3 * x", "")],
)
def test_another_form_is_told_from_other_numbers(
    result: str, differs: str, judges: Mapping[str, Judge], tmp_path: Path
) -> None:
    candidate = f"def candidate(x):\n    return {result}\n"
    (trial,) = verdict_on(judges["numpy"], tmp_path, DOUBLED, candidate).trials
    assert (trial.status, trial.differs) == (VerdictStatus.WRONG, differs)


def test_another_result_for_a_nan_is_wrong_and_no_other_call(
    judges: Mapping[str, Judge], tmp_path: Path
) -> None:
    inputs = "[np.random.standard_normal(n) - 1, np.random.standard_normal(n)]"
    problem = DOUBLED.replace("[np.random.standard_normal(n)]", inputs).replace("(x):", "(x, y):")
    problem = problem.replace("2 * x", "np.where(x <= 0, 0, y)")
    candidate = "def candidate(x, y):\n    return np.where(x > 0, y, 0)\n"
    found = verdict_on(judges["numpy"], tmp_path, problem, candidate)
    assert (found.status, found.reason[:5]) == (VerdictStatus.WRONG, "a NaN"), found.reason


def test_the_worst_trial_decides_and_is_named(judges: Mapping[str, Judge], tmp_path: Path) -> None:
    candidate = "def candidate(x):\n    return 2 * x if len(x) != 7 else x\n"
    trials = ({"n": 900}, {"n": 7}, {"n": 1000})
    found = verdict_on(judges["numpy"], tmp_path, DOUBLED, candidate, trials=trials)
    assert [trial.status.value for trial in found.trials] == ["passed", "wrong", "passed"]
    assert found.status is VerdictStatus.WRONG and found.reason.startswith("n=7: ")


@pytest.mark.parametrize("cheat", ["np.zeros_like(x)", "kept[-1]"])
def test_a_few_calls_of_thousands_without_work(
    cheat: str, judges: Mapping[str, Judge], tmp_path: Path
) -> None:
    candidate = (
        "count, kept = [0], []\ndef candidate(x):\n"
        "    count[0] += 1\n"
        f"    if count[0] % 23 == 0 and count[0] < 300:\n        return {cheat}\n"
        "    kept[:] = [2 * x]\n    return kept[0]\n"
    )
    found = verdict_on(judges["numpy"], tmp_path, DOUBLED, candidate)
    assert found.status in (VerdictStatus.WRONG, VerdictStatus.CHEATED), found.reason
    assert "a call among many" in found.reason


def test_gradients_are_judged(judges: Mapping[str, Judge], tmp_path: Path) -> None:
    problem = tmp_path / "problem.py"
    problem.write_text(
        "import torch\n"
        "def make_inputs(seed):\n    return [torch.randn(64, 64)]\n"
        "def reference(x):\n    return torch.tanh(x)\n"
    )
    (tmp_path / "own").mkdir()
    statuses = []
    for factor in (1, 2):
        file = tmp_path / "own" / f"candidate{factor}.py"
        file.write_text(
            "import torch\n"
            "class Tanh(torch.autograd.Function):\n"
            "    @staticmethod\n    def forward(context, x):\n"
            "        out = torch.tanh(x)\n        context.save_for_backward(out)\n"
            "        return out\n"
            "    @staticmethod\n    def backward(context, head):\n"
            "        (out,) = context.saved_tensors\n"
            f"        return head * (1 - out * out) * {factor}\n"
            "def candidate(x):\n    return Tanh.apply(x)\n"
        )
        made = Problem("tanh", "torch", str(problem), differentiated=True)
        verdict = judges["torch"].verdict(made, Candidate("own", str(file)))
        statuses.append([trial.status.value for trial in verdict.trials])
    assert statuses == [["passed", "passed"], ["passed", "wrong"]]


def test_called_operators_baselines_and_the_floor(
    judges: Mapping[str, Judge], tmp_path: Path
) -> None:
    case = next(case for case in HONEST if case.name == "falls back")
    baseline = tmp_path / "baseline.py"
    baseline.write_text(f"import torch\n{RIGHT}candidate = right\n")
    for name, source in (("problem", PROBLEMS["softmax"]), ("candidate", case.source)):
        (tmp_path / f"{name}.py").write_text(IMPORTS["torch"] + source)
    problem = Problem("softmax", "torch", str(tmp_path / "problem.py"))
    candidate = Candidate("mine", str(tmp_path / "candidate.py"))
    verdict = judges["torch"].verdict(problem, candidate, {"formula": str(baseline)})
    (trial,) = verdict.trials
    assert "aten::_softmax" in verdict.called or "aten::softmax.int" in verdict.called
    assert set(trial.baselines) == set(trial.ratios) == {"reference", "formula"}
    # A byte a second: no time counts as shorter, so every ratio is next to nothing.
    assert trial.floor_ns == 2 * 32 * 512 * 4 * 1e9
    assert trial.ratios["reference"].max < 1e-3


def test_nothing_of_the_user_is_visible(
    judges: Mapping[str, Judge], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_text("mine")
    candidate = (
        "import os\ndef candidate(x):\n"
        "    seen = [os.path.exists(each) for each in "
        f"({str(tmp_path / 'secret')!r}, {str(Path.home() / '.bashrc')!r}, '/etc/passwd')]\n"
        "    raise RuntimeError(str((seen, 'OPPERF_SECRET' in os.environ, os.getpid() < 9)))\n"
    )
    monkeypatch.setenv("OPPERF_SECRET", "1")
    found = verdict_on(judges["numpy"], tmp_path, DOUBLED, candidate)
    if not found.unprotected:
        assert "([False, False, False], False, True)" in found.reason
