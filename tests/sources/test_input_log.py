"""Logs of operator inputs as a source of cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from opperf.errors import UsageError
from opperf.model import OperatorTarget, TensorSpec
from opperf.sources.base import is_source, open_source
from opperf.sources.completing import merge
from opperf.sources.varying import with_settings

RECORDINGS = Path(__file__).resolve().parents[1] / "data" / "operator_inputs"
LINES = 3896
"""Calls in the 24 recordings."""

LOG = """Operator: aten.mm.default
cnt: 24, ((T([128, 64], f16), T([64, 10], f16, stride=(1, 64))), {})

Operator: aten._to_copy.default
cnt: 1, ((T([4], f16),), {'dtype': f32, 'device': 'cuda'})
cnt: 2, ((T([4], i64),), {'dtype': b8})
"""


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "model.txt"

    def write(text):
        path.write_text(text)
        return path

    return write


def test_a_case_for_each_call(log):
    path = log(LOG)
    mm, cast, whole = open_source(path).cases()
    assert mm.target == OperatorTarget("torch", "aten.mm", "default")
    assert mm.arguments == {
        "0": TensorSpec((128, 64), "float16"),
        "1": TensorSpec((64, 10), "float16", strides=(1, 64)),
    }
    assert (mm.count, mm.passes, mm.settings.dtype) == (24, ("forward",), "float16")
    assert (mm.origin, mm.why) == (f"{path}:2", "24 calls in model")
    assert set(cast.arguments) == {"0", "dtype", "device"}
    assert cast.why == "1 call in model"
    assert whole.settings.dtype == "float32"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("Operator: aten.mm.default\n", "", "no call in it"),
        ("Operator: mm\n", ":1", "expected `Operator: NAMESPACE.NAME.OVERLOAD`"),
        ("Operator: aten.mm.default\ncnt: 0, ((), {})\n", ":2", "a count of 0"),
        ("Operator: aten.mm.default\ncnt: 1, ((T([2], f99),), {})\n", ":2", "f99"),
        ("Operator: aten.mm.default\ncnt: x, ((), {})\n", ":2", "expected"),
        ("Operator: aten.mm.default\n{}\n", ":2", "not '{}'"),
    ],
)
def test_a_wrong_line_is_named(log, text, line, words):
    path = log(text)
    with pytest.raises(UsageError) as error:
        open_source(path)
    assert str(error.value).startswith(f"{path}{line}: ")
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_call_before_the_first_operator(tmp_path):
    path = tmp_path / "cut.txt"
    path.write_text("Operator: aten.mm.default\n")
    assert is_source(path)
    path.write_text("cnt: 1, ((), {})\n")
    assert not is_source(path)
    with pytest.raises(UsageError, match="not a file of cases that opperf reads: .*log of"):
        open_source(path)


def test_equal_calls_are_one_with_the_counts_of_both(log):
    first, *others = open_source(log(LOG)).cases()
    merged = merge([first, *others, first])
    assert [case.count for case in merged] == [48, 1, 2]


def test_a_dtype_for_the_recorded_floating_one(log):
    mm, cast, whole = (
        with_settings(case, {"dtype": "float64"}) for case in open_source(log(LOG)).cases()
    )
    assert {spec.dtype for _, spec in mm.tensors()} == {"float64"}
    # In mixed precision, what has single precision has at least the wanted one.
    assert cast.arguments["dtype"].name == "float64"
    assert whole.arguments["0"].dtype == "int64"


def test_single_precision_stays_beside_half_precision(log):
    _, cast, _ = open_source(log(LOG)).cases()
    other = with_settings(cast, {"dtype": "bfloat16"})
    assert other.arguments["0"].dtype == "bfloat16"
    assert other.arguments["dtype"].name == "float32"


def test_every_call_of_the_recordings():
    cases = [case for path in RECORDINGS.glob("*.txt") for case in open_source(path).cases()]
    assert len(cases) == LINES
    assert all(case.count >= 1 for case in cases)
