"""The notation of PyTorch's logs of operator inputs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opperf.model import DType, MemoryFormat, Number, TensorSpec
from opperf.sources.logged_arguments import read_arguments

RECORDINGS = Path(__file__).resolve().parents[1] / "data" / "operator_inputs"
LINES = 3896
"""Calls in the 24 recordings."""


def test_tensors_and_plain_values():
    unnamed, named = read_arguments(
        "((T([2, 3], f16, stride=(1, 2)), [1, -1], True, None, 1e-05, 'mean'), {'dtype': bf16})"
    )
    assert unnamed == (
        TensorSpec((2, 3), "float16", strides=(1, 2)),
        (1, -1),
        True,
        None,
        1e-05,
        "mean",
    )
    assert named == {"dtype": DType("bfloat16")}


def test_strides_of_a_contiguous_tensor_are_none_of_its_own():
    unnamed, _ = read_arguments("((T([2, 3], f32, stride=(3, 1)), T([], i64)), {})")
    assert unnamed == (TensorSpec((2, 3)), TensorSpec((), "int64"))


def test_an_expanded_tensor_keeps_its_strides():
    unnamed, _ = read_arguments("((T([4, 8], f32, stride=(0, 1)),), {})")
    assert unnamed == (TensorSpec((4, 8), strides=(0, 1)),)


@pytest.mark.parametrize("stored", [", 4", ", nnz=4"])
def test_a_sparse_tensor_stores_a_part(stored):
    (made,), _ = read_arguments(f"((ST([2, 4], f32, torch.sparse_coo, True{stored}),), {{}})")
    assert made == TensorSpec((2, 4), layout="coo", density=0.5)


def test_a_sparse_tensor_may_not_tell_what_it_stores():
    (made,), _ = read_arguments("((ST([2, 4], f64, torch.sparse_csr, False),), {})")
    assert made == TensorSpec((2, 4), "float64", layout="csr")


def test_numbers_that_json_lacks():
    unnamed, _ = read_arguments("((-inf, inf, 2+1j, 2-1j, -2j), {})")
    assert unnamed == tuple(
        Number.of(one) for one in (-float("inf"), float("inf"), 2 + 1j, 2 - 1j, -2j)
    )
    assert read_arguments("((nan,), {})")[0][0] == Number("nan")


def test_attributes_of_torch():
    _, named = read_arguments(
        "((), {'layout': torch.strided, 'dtype': torch.bool, 'memory_format': torch.channels_last})"
    )
    assert named == {
        "layout": "strided",
        "dtype": DType("bool"),
        "memory_format": MemoryFormat("channels_last"),
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("((1,", "no Python literal"),
        ("(T([1], f32),)", "expected (arguments, named arguments)"),
        ("((__import__('os').getcwd(),), {})", "unknown notation: __import__('os').getcwd()"),
        ("((open('x'),), {})", "unknown notation: open('x')"),
        ("((x,), {})", "unknown notation: x"),
        ("((1 + 2,), {})", "unknown notation: 1 + 2"),
        ("((torch.foo,), {})", "unknown notation: torch.foo"),
        ("((T([1.5], f32),), {})", "expected a list of integers: [1.5]"),
        ("((T([-1], f32),), {})", "expected a list of integers: [-1]"),
        ("((T([2], q8),), {})", "unknown notation: q8"),
        ("((T([2], [1]),), {})", "expected a dtype: [1]"),
        ("((T([2, 2], f32, stride=(1,)),), {})", "2 extents and 1 stride"),
        ("((T([2]),), {})", "unknown tensor: T([2])"),
        ("((ST([2], f32, torch.strided, True),), {})", "unknown sparse tensor"),
        ("((), {1: 2})", "the name of an argument is a string"),
        ("(([[[[1]]]],), {})", "lists nested more than 3 deep"),
    ],
)
def test_unknown_notation_is_an_error(text, reason):
    with pytest.raises(ValueError, match=re.escape(reason)):
        read_arguments(text)


def test_every_line_of_the_recordings_is_read():
    lines = [
        line.partition(", ")[2]
        for path in RECORDINGS.glob("*.txt")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith("cnt: ")
    ]
    assert len(lines) == LINES
    for line in lines:
        read_arguments(line)
