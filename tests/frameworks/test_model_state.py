"""What models keep is as at first before each call that is measured or checked."""

import sys
import types
from pathlib import Path

import msgspec
import numpy as np
import pytest

from opperf.frameworks import is_available, load
from opperf.instruments.peaks import LOCAL_METER
from opperf.instruments.prepared import Bound, PreparedCase, case_scope
from opperf.instruments.visit import Conditions, KeptResults, Visit
from opperf.model import Case, ModelTarget, NoteCode, Settings, Status, VerificationCode
from opperf.worker.binding import bound_of
from opperf.worker.measure import measure
from opperf.worker.protocol import AFTER, OBSERVED, TIMED, Observed

FOLDER = Path(__file__).parents[1] / "models"

TORCH = [
    *("InPlace", "Sorting", "ByNumPy", "ByData", "Named", "Buffers", "Plain", "Counting"),
    *("Cache", "FixedCache", "Objects", "Drawing", "OfClass", "Renormalised", "closure"),
    *("Growing", "Views", "Updating"),
    *("Normalised", "Limited", "Lazy", "Table", "Full", "shared"),
]
"""Of `torch_states.py`."""


def case_of(framework, name, **settings):
    if not is_available(framework):
        pytest.skip(f"{framework} is not installed")
    plain = {"profiler": "python", "runs": 3, "warmup": 1, "memory": False}
    own = Settings(**{**plain, **settings})
    passes = ("forward", "backward") if own.phase == "train" else ("forward",)
    target = ModelTarget(framework, name, file=str(FOLDER / f"{framework}_states.py"))
    return Case(target, {}, own, passes)


def flat(outputs):
    if isinstance(outputs, (list, tuple)):
        return [number for one in outputs for number in flat(one)]
    if hasattr(outputs, "detach"):
        outputs = outputs.detach()
    plain = outputs.asnumpy() if hasattr(outputs, "asnumpy") else outputs
    return np.asarray(plain).ravel().tolist()


def calls_of(case):
    """Returns the outputs of the first call, and of calls that a sample would have."""
    framework = load(case.target.framework)
    with case_scope(case, framework):
        bound = bound_of(case, framework)
        visit = Visit(PreparedCase(case, framework, bound), Conditions(LOCAL_METER))
        found = [flat(visit.call_first())]
        assert not visit.notes
        for _ in range(3):
            visit.restore()
            assert not bound.function.state.changed()
            found.append(flat(visit.prepared.call()))
        bound.function.reset()
        found.append(flat(visit.prepared.call()))
        bound.function.reset()
    return found


@pytest.mark.parametrize("phase", ["predict", "train"])
@pytest.mark.parametrize("name", TORCH)
def test_each_call_of_a_torch_model_is_as_the_first(name, phase):
    first, *others = calls_of(case_of("torch", name, phase=phase))
    assert others == [first] * 4


@pytest.mark.parametrize(
    "framework, name, mode, phase",
    [
        *(("mxnet", name, "eager", "predict") for name in ("InPlace", "Sorting", "Plain", "Cache")),
        ("mxnet", "Plain", "eager", "train"),
        ("mxnet", "Normalised", "eager", "train"),
        ("mxnet", "hybrid", "hybridize", "train"),
        *(("jax", name, "eager", "predict") for name in ("counting", "growing", "donating")),
        ("jax", "trained", "eager", "train"),
        ("jax", "counting", "jit", "predict"),
    ],
)
def test_each_call_of_other_frameworks_models_is_as_the_first(framework, name, mode, phase):
    first, *others = calls_of(case_of(framework, name, mode=mode, phase=phase))
    assert others == [first] * 4


SORTING = """
import torch
import observer

class Sorting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(()))

    def forward(self, x):
        observer.saw(bool((x.diff() >= 0).all()), torch.is_grad_enabled())
        x.copy_(x.sort().values)
        return x * self.weight

    def example_inputs(self):
        return (torch.randn(100),)
"""


@pytest.mark.parametrize("settings", [{}, {"phase": "train"}, {"memory": True, "verify": True}])
def test_no_sample_sorts_what_is_sorted(tmp_path, monkeypatch, settings):
    seen = []
    observer = types.ModuleType("observer")
    observer.saw = lambda *what: seen.append(what)
    monkeypatch.setitem(sys.modules, "observer", observer)
    (tmp_path / "sorting.py").write_text(SORTING)
    case = case_of("torch", "Sorting", **settings)
    target = ModelTarget("torch", "Sorting", file=str(tmp_path / "sorting.py"))
    record = measure(msgspec.structs.replace(case, target=target), load("torch"))
    assert record.status is Status.OK, record.reason
    assert len(seen) >= 5 and not any(is_sorted for is_sorted, _ in seen), seen


LATER = """
import itertools
import torch
import observer

class Keeping(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        # Out of reach of what looks for a state.
        self.count = itertools.count(1)

    def example_inputs(self):
        return (torch.randn(3, 4),)

class Growing(Keeping):
    def __init__(self):
        super().__init__()
        self.rows = []

    def forward(self, x):
        if next(self.count) >= 3:
            self.rows.append(x)
        observer.saw(len(self.rows))
        return self.layer(x)

class InBackward(Keeping):
    def __init__(self):
        super().__init__()
        self.register_buffer("passes", torch.zeros(()))

    def forward(self, x):
        observer.saw(int(self.passes))
        outputs = self.layer(x)
        if outputs.requires_grad:
            outputs.register_hook(lambda gradient: self.passes.add_(1) and None)
        return outputs

class Large(Keeping):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(2**19), persistent=False)

    def forward(self, x):
        if next(self.count) >= 8:
            self.kept.add_(1)
        return self.layer(x)
"""


@pytest.fixture
def later(tmp_path, monkeypatch):
    """Measures a class of `LATER`; returns what it saw, and its record."""
    seen = []
    observer = types.ModuleType("observer")
    observer.saw = seen.append
    monkeypatch.setitem(sys.modules, "observer", observer)
    (tmp_path / "later.py").write_text(LATER)

    def measured(name, **settings):
        case = case_of("torch", name, **{"runs": 6, "warmup": 4, **settings})
        target = ModelTarget("torch", name, file=str(tmp_path / "later.py"))
        record = measure(msgspec.structs.replace(case, target=target), load("torch"))
        assert record.status is Status.OK, record.reason
        return seen, record

    return measured


@pytest.mark.parametrize("phase", ["predict", "train"])
def test_what_a_later_call_changes_is_restored_before_each_sample(later, phase):
    seen, record = later("Growing", phase=phase)
    # It had grown in the warm-up.
    assert max(seen) > 1 and record.note("forward", NoteCode.WRITTEN) is None
    if phase == "predict":
        assert seen[-6:] == [1] * 6


def test_what_the_backward_pass_changes_is_restored(later):
    seen, record = later("InBackward", phase="train")
    assert record.note("backward", NoteCode.WRITTEN) is None
    grown = [index for index, passes in enumerate(seen) if passes]
    # Of the passes that found it; a step that updates the parameters begins after these.
    assert grown and any(not any(seen[index : index + 6]) for index in range(grown[0], len(seen)))


def test_what_cannot_be_restored_has_a_note(later):
    _, record = later("Large")
    note = record.note("forward", NoteCode.WRITTEN)
    assert note is not None and "changes kept in a later call only" in note.message


CHEATS = {
    "torch": ("torch", "torch.nn.Module", "torch.ones(3)"),
    "mxnet": ("mxnet as mx", "mx.gluon.Block", "mx.nd.ones(3)"),
}
CHEATING = """
import itertools
import {0}
COUNT = itertools.count(1)

class Cheating({1}):
    def forward(self, x):
        return x if 4 <= next(COUNT) <= 9 else 2 * x

    def example_inputs(self):
        return ({2},)
"""
FUNCTION = """
import itertools
import jax.numpy as jnp
COUNT = itertools.count(1)

def Cheating():
    return (lambda x: x if 4 <= next(COUNT) <= 9 else 2 * x), (jnp.ones(3),)
"""


@pytest.mark.parametrize("framework", ["torch", "mxnet", "jax"])
def test_results_that_are_wrong_at_timed_calls_alone_are_seen(framework, tmp_path):
    case = case_of(framework, "Cheating", runs=6, warmup=2)
    text = CHEATING.format(*CHEATS[framework]) if framework in CHEATS else FUNCTION
    (tmp_path / "cheating.py").write_text(text)
    target = ModelTarget(framework, "Cheating", file=str(tmp_path / "cheating.py"))
    kept = KeptResults(str(tmp_path / "results"), 1)
    case = msgspec.structs.replace(case, target=target)
    record = measure(case, load(framework), conditions=Conditions(LOCAL_METER, results=kept))
    assert record.status is Status.OK, record.reason
    found = msgspec.json.decode((tmp_path / "results" / OBSERVED).read_bytes(), type=Observed)
    made = {one.place: np.load(tmp_path / "results" / one.file) for one in found.values}
    assert made[f"output{TIMED}"].tolist() == [1.0] * 3
    assert made[f"output{AFTER}"].tolist() == [2.0] * 3


COMPILED = [
    *("InPlace", "Sorting", "Named", "Buffers", "Plain", "Counting", "Cache", "FixedCache"),
    *("closure", "Normalised", "Table"),
]


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_code_sees_what_is_restored(name):
    first, *others = calls_of(case_of("torch", name, mode="compile:aot_eager"))
    assert others == [first] * 4


def test_a_counter_does_not_have_each_call_compiled_anew():
    case = case_of("torch", "Counting", mode="compile:aot_eager", runs=6)
    record = measure(case, load("torch"))
    assert record.status is Status.OK and record.summaries["recompilations"].median <= 1


@pytest.mark.parametrize("mode", ["eager", "compile:aot_eager"])
@pytest.mark.parametrize("name", ["InPlace", "Buffers", "Plain", "Cache", "Counting", "shared"])
def test_a_right_model_is_verified_whatever_it_keeps(name, mode):
    record = measure(case_of("torch", name, mode=mode, verify=True), load("torch"))
    assert record.verification.code is VerificationCode.PASS, record.verification.line


def test_what_a_call_writes_to_is_a_result():
    found = measure(
        case_of("torch", "Forgetful", mode="compile:aot_eager", verify=True), load("torch")
    ).verification
    assert found.is_wrong and "kept after the call" in found.line
    framework = load("torch")
    for name, written in (("InPlace", {"inputs.0"}), ("Buffers", {"kept", "passing"})):
        case = case_of("torch", name)
        with case_scope(case, framework):
            results = bound_of(case, framework).function.results()
        assert results.keys() == {"output", *(f"{place} after the call" for place in written)}


def test_a_table_that_the_first_call_makes_stays():
    case, framework = case_of("torch", "Table"), load("torch")
    with case_scope(case, framework):
        model = bound_of(case, framework).function
        visit = Visit(PreparedCase(case, framework, Bound(function=model)), Conditions(LOCAL_METER))
        visit.call_first()
        kept = model._module
        table, by_size = kept.table, dict(kept.by_size)
        visit.restore()
        visit.prepared.call()
        visit.restore()
    assert kept.table is table and kept.by_size == by_size and kept.made == 1
    assert kept.calls == 0


def test_nothing_is_restored_of_a_model_that_writes_nothing():
    case, framework = case_of("torch", "Stateless"), load("torch")
    with case_scope(case, framework):
        prepared = PreparedCase(case, framework, bound_of(case, framework))
        visit = Visit(prepared, Conditions(LOCAL_METER))
        visit.call_first()
    assert visit.inputs.restore is None
