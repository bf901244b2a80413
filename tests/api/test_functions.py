"""Function objects that a program or a notebook passes, as the workers find them."""

import functools
import linecache
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import opperf
from opperf.api.ab import _assignments
from opperf.api.functions import NOTEBOOK, framework_of_functions, name_of
from opperf.errors import UsageError
from opperf.model import Status

CELL = '''
from __future__ import annotations
import functools
import textwrap as tw
import numpy as np
from numpy import exp as e
from numpy.linalg import norm

SCALE, WORDS, WEIGHT = 3.0, {"a": (1, 2)}, np.ones(2)


def inner(x: Array):
    return e(x) * SCALE + WORDS["a"][1]


class Layer:
    def __call__(self, x):
        return inner(x)


def decorate(function):
    @functools.wraps(function)
    def called(x):
        return -function(x)
    return called


@decorate
def total(x: Array, layer=Layer()):
    """Uses all of the cell."""
    return layer(x).sum() + len(tw.dedent("  ab"))


def heavy(x):
    return x @ WEIGHT


def closed(w):
    def adds(x):
        return x + w
    return adds


alone, compiled = closed(2), decorate(inner)
shown = lambda x: x
'''


@pytest.fixture
def cell(monkeypatch, tmp_path):
    """The names of a notebook's cell, whose source no file has."""
    monkeypatch.setenv("OPPERF_DATA", str(tmp_path))
    name = "<ipython-input-1>"
    linecache.cache[name] = (len(CELL), None, CELL.splitlines(True), name)
    module = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", module)
    exec(compile(CELL, name, "exec"), module.__dict__)
    yield module
    del linecache.cache[name]


def loaded(name):
    """What another process has under the name."""
    path, _, function = name.rpartition(":")
    names = {}
    exec(Path(path).read_text(), names)
    return names[function]


def test_a_function_of_a_notebook_goes_with_all_that_it_uses(cell, tmp_path):
    name = name_of(cell.total)
    assert name.startswith(f"{tmp_path}/functions/") and name.endswith(f"/{NOTEBOOK}:total")
    x = np.arange(4.0)
    assert loaded(name)(x) == cell.total(x) < 0
    assert name_of(cell.total) == name and "WEIGHT" not in Path(name.rpartition(":")[0]).read_text()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("heavy", "heavy uses 'WEIGHT', an object of type ndarray, which a worker process cannot"),
        ("alone", "adds uses 'w' of the function around it"),
        ("compiled", "inner is made of another function"),
        ("shown", "is no function that is defined by `def`"),
    ],
)
def test_what_cannot_be_handed_over_is_one_line(cell, name, message):
    with pytest.raises(UsageError) as raised:
        name_of(getattr(cell, name))
    assert message in str(raised.value) and "\n" not in str(raised.value)


def test_functions_of_modules_are_found_there(monkeypatch, tmp_path):
    (tmp_path / "own_kernels.py").write_text("def twice(x):\n    return 2 * x\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import own_kernels

    assert name_of(own_kernels.twice) == f"{tmp_path}/own_kernels.py:twice"
    assert name_of(functools.reduce) == "_functools:reduce"
    assert name_of(np.exp) == "exp" and framework_of_functions(["add", np.exp]) == "numpy"
    assert framework_of_functions(["add"]) is None
    assert list(_assignments({"ops": [own_kernels.twice, "add"], "threads": 2})) == [
        f"ops:{tmp_path}/own_kernels.py:twice,add",
        "threads:2",
    ]


def test_a_function_is_measured_with_the_inputs_of_another(monkeypatch, tmp_path):
    monkeypatch.setenv("OPPERF_DATA", str(tmp_path))

    def doubled(x):
        return np.add(x, x)

    def inputs():
        return [{"x": (4, 4)}]

    made = opperf.run(doubled, inputs=inputs, framework="numpy", warmup=0, runs=2)
    assert [(record.status, record.case.label) for record in made.records] == [
        (Status.OK, "doubled")
    ]
