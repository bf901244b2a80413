"""Values in scripts."""

import numpy as np
import pytest

from opperf.frameworks.fill import code
from opperf.frameworks.literals import LONGEST, data_literal, imports_of, literal
from opperf.model import Fill, TensorSpec


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("it's", '"it\'s"'),
        (float("inf"), "float('inf')"),
        ([1, [2.5, None]], "[1, [2.5, None]]"),
        ((0.1,) * 7, str((0.1,) * 7)),
        ((0.1,) * 60, "(0.1,) * 60"),
        ([1] * 8, "[1] * 8"),
        ((1,) * 7 + (True,), str((1,) * 7 + (True,))),
    ],
)
def test_plain_values(value, text):
    assert literal(value) == text


def evaluated(text):
    scope = {"np": np}
    for line in imports_of([text]):
        exec(line, scope)
    return eval(text, scope)


NOISE = np.random.default_rng(0).normal(size=(64, 5)).round(2).tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize(
    ("data", "begin"),
    [
        ([i / 4 for i in range(500)], "np.linspace(0.0, 124.75, 500)"),
        (NOISE, "np.frombuffer(zlib."),
        ([[0.5, 1.0]] * 100, "[[0.5, 1.0]] * 100"),
        ([1.5, 2.5], "[1.5, 2.5]"),
    ],
)
def test_long_data_are_code_that_makes_the_same_bits(data, begin, dtype):
    text = data_literal(data, dtype)
    assert text.startswith(begin)
    assert max(map(len, text.splitlines())) <= 100
    made = np.array(evaluated(text)).ravel().astype(dtype)
    assert made.tobytes() == np.array(data).ravel().astype(dtype).tobytes()


def test_packed_data_are_shorter_and_need_imports():
    text = data_literal(NOISE, "float32")
    assert len(literal(NOISE)) > LONGEST and len(text) < len(literal(NOISE))
    assert imports_of(["x = 1", text]) == ["import base64", "import zlib"]
    assert imports_of(["x = 1"]) == []


def test_a_script_draws_long_data_as_the_tensor_has_them():
    made = code(TensorSpec((64, 5), fill=Fill("literal", data=NOISE)), seed=0)
    lines = made.lines("x")
    scope = {"np": np}
    exec("\n".join([*imports_of(lines), *lines]), scope)
    assert scope["x"].tobytes() == made.run().tobytes() and scope["x"].shape == (64, 5)
