"""Inputs that a user's function returns."""

import re
import sys

import numpy as np
import pytest
from msgspec import structs

from opperf.errors import UnknownOperatorError, UsageError
from opperf.frameworks import is_available, load
from opperf.instruments.prepared import PreparedCase, case_scope
from opperf.model import Fill, Settings, TensorSpec
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection
from opperf.sources.varying import unconverted, with_settings
from opperf.worker.answers import script
from opperf.worker.measure import measure

SOURCE = """
import random
import numpy as np

def make():
    rng = np.random.default_rng(0)
    return [
        {"a": rng.random((30, 40)), "b": rng.random((40, 5)).astype("float32")},
        {"a": (6, 7), "b": np.arange(21).reshape(7, 3)},
    ]

def lists():
    return {"arrays": [np.ones((2, 3)), (2, 3), np.zeros((4, 3))], "axis": 0}

def drawn():
    return {"a": np.random.rand(3, 3), "b": [[random.random()] * 3] * 3}

def changing():
    return {"a": np.random.default_rng().random((3, 3)), "b": (3, 3)}

def other_names():
    return {"a": (3, 3), "c": (3, 3)}

def number():
    return 3

def nothing():
    return []

def fails():
    raise RuntimeError("no disk,\\nover two lines")

def function():
    return {"a": (3, 3), "b": len}

def in_dict():
    return {"a": {"one": np.ones(3)}, "b": (3, 3)}

def some_bytes():
    return {"a": b"PNG", "b": (3, 3)}

def required(count):
    return np.ones(count)

def scaled(x, **options):
    return x * options["scale"] + options["offset"].sum()

def with_options():
    return {"x": np.ones((3, 3)), "scale": 2.5, "offset": np.arange(3)}

def sized(n, dtype):
    return {"a": np.random.rand(n, 2).astype(dtype), "b": np.ones((2, n), dtype)}

sized.params = [[3, 4], ["f4", "f8"]]
sized.param_names = ["n", "dtype"]

INPUTS = {
    "dot": sized,
    "scaled": {"x": np.ones(3), "scale": 2.0, "offset": np.arange(3)},
    "own:scaled": [{"x": np.ones(n), "scale": 2.0, "offset": np.arange(3)} for n in (4, 5)],
    "other:scaled": {},
}

def whole():
    return {"a": np.arange(9).reshape(3, 3), "b": np.arange(9).reshape(3, 3)[::-1, ::2]}
"""


@pytest.fixture
def numpy_framework():
    return load("numpy")


@pytest.fixture
def planned(numpy_framework, tmp_path):
    path = tmp_path / "own.py"
    path.write_text(SOURCE)

    def made(function, name="dot", values=None, given=False, **settings):
        chosen = Settings(
            profiler="python", warmup=0, runs=1, input_function=f"{path}:{function}", **settings
        )
        return plan(
            numpy_framework,
            Selection(patterns=(name,), settings=chosen, values=values or {}, dtype_given=given),
        )

    made.path = path
    return made


def arguments_of(case, framework):
    with framework.scope(case):
        return PreparedCase(case, framework).arguments


def test_arrays_are_kept_by_their_place(planned, numpy_framework):
    first, second = planned("make").cases
    assert first.arguments["a"].fill.data == "make()[0]['a']"
    assert [spec.shape for _, spec in first.tensors()] == [(30, 40), (40, 5)]
    rng = np.random.default_rng(0)
    made = arguments_of(first, numpy_framework)
    np.testing.assert_array_equal(made["a"], rng.random((30, 40)))
    # The dtype of both is the one that they compute in, which the smaller one has.
    assert (made["a"].dtype, first.settings.dtype) == ("float64", "float32")
    np.testing.assert_array_equal(made["b"], rng.random((40, 5)).astype("float32"))
    assert second.arguments["a"] == TensorSpec((6, 7))
    assert second.arguments["b"].dtype == "int64"
    assert measure(first, numpy_framework).status.value == "ok"
    assert (first.origin, first.why) == (
        f"function:{planned.path}:make",
        f"configuration 0 of {planned.path}:make",
    )


def test_arrays_of_a_list_have_a_place_each(planned, numpy_framework):
    (case,) = planned("lists", "concatenate").cases
    data = [spec.fill.data for spec in case.arguments["arrays"]]
    assert data == ["lists()[0]['arrays'][0]", None, "lists()[0]['arrays'][2]"]
    made = arguments_of(case, numpy_framework)["arrays"]
    assert [one.shape for one in made] == [(2, 3), (2, 3), (4, 3)]
    assert made[2].sum() == 0


def test_random_numbers_are_seeded(planned, numpy_framework):
    (case,), (same,), (other,) = (planned("drawn", seed=seed).cases for seed in (0, 0, 1))
    assert case.id == same.id != other.id
    assert arguments_of(case, numpy_framework)["a"].shape == (3, 3)


def test_a_value_replaces_that_of_the_function(planned):
    (case,) = planned("lists", "concatenate", {"axis": 1}).cases
    assert case.arguments["axis"] == 1


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("number", "number: the function returned 3; it has to return a dict of arguments"),
        ("nothing", "nothing: the function returned []; it has to return a dict"),
        ("fails", "fails: the function raised RuntimeError: no disk, over two lines"),
        ("changing", "changing: the function returns other arrays in each call; seed its random"),
        ("function", "a case cannot hold the function 'len'"),
        ("missing", "has no 'missing'"),
        ("in_dict", "a case cannot hold an array inside a dict or a list of lists"),
        ("some_bytes", "a case cannot hold bytes; pass np.frombuffer"),
    ],
)
def test_what_is_refused(planned, function, words):
    with pytest.raises((UsageError, UnknownOperatorError), match=re.escape(words)) as refused:
        planned(function)
    assert "\n" not in str(refused.value)


DRAWN = {
    "numpy": "np.random.random(3).astype('float32')",
    "torch": "__import__('torch').rand(3)",
    "jax": "__import__('jax').random.uniform(__import__('jax').random.key(random.getrandbits(9)))",
    "mxnet": "__import__('mxnet').nd.random.uniform(shape=(3,))",
}
"""An array that each framework's own random numbers, or Python's, are in."""


@pytest.fixture
def wide_numbers_end_with_the_test():
    """A script sets JAX's option of 64 bits for its whole process."""
    yield
    if "jax" in sys.modules:
        sys.modules["jax"].config.update("jax_enable_x64", False)


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.usefixtures("wide_numbers_end_with_the_test")
@pytest.mark.parametrize(("seed", "dtype"), [(2**32 + 1, "float32"), (0, "float64")])
def test_a_script_seeds_what_a_run_seeds(name, seed, dtype, tmp_path):
    if not is_available(name):
        pytest.skip(f"{name} is not installed")
    framework = load(name)
    path = tmp_path / "own.py"
    # The file draws random numbers as well, when it is loaded.
    path.write_text(
        "import random\nimport numpy as np\n"
        f"FIRST = np.random.random(), {DRAWN[name]}\n"
        f"def make():\n    return {{'x': {DRAWN[name]} * np.float32(np.random.random())}}\n"
        "def same(x):\n    return x\n"
    )
    settings = Settings(
        profiler="python",
        device=framework.devices()[0],
        mode=framework.modes.names[0],
        input_function=f"{path}:make",
        seed=seed,
        dtype=dtype,
    )
    selection = Selection(patterns=(f"{path}:same",), settings=settings, backward=False)
    (case,) = plan(framework, selection).cases
    with case_scope(case, framework):
        (bound,) = PreparedCase(case, framework).arguments.values()
        made = {}
        exec(script(framework, case), made)
        assert np.asarray(_numpy(made["out"])).tolist() == np.asarray(_numpy(bound)).tolist()


def _numpy(value):
    return value.asnumpy() if hasattr(value, "asnumpy") else value


def test_a_function_may_need_no_inputs(numpy_framework, tmp_path):
    path = tmp_path / "own.py"
    path.write_text(
        "import numpy as np\n"
        "def nothing():\n    return {}\n"
        "def plain():\n    return np.ones(9)\n"
        "def optional(n=9, **options):\n    return np.ones(n)\n"
        "def required(some_count):\n    return np.ones(some_count)\n"
    )
    settings = Settings(profiler="python", warmup=0, runs=1)

    def cases(function, **changes):
        chosen = structs.replace(settings, **changes)
        selection = Selection(patterns=(f"{path}:{function}",), settings=chosen)
        return plan(numpy_framework, selection).cases

    found = [*cases("plain"), *cases("optional"), *cases("plain", input_function=f"{path}:nothing")]
    assert [case.arguments for case in found] == [{}] * 3
    assert found[0].id == found[2].id
    assert {measure(case, numpy_framework).status.value for case in found} == {"ok"}
    assert not cases("required")


def test_a_table_has_inputs_by_function(planned, numpy_framework):
    # The longest name that a function's full one ends with is its own.
    lists = planned("INPUTS", f"{planned.path}:scaled").cases
    assert [case.arguments["x"].shape for case in lists] == [(4,), (5,)]
    assert lists[1].arguments["x"].fill.data == "INPUTS['own:scaled']()[1]['x']"
    # The rules have those of another operator; a function has none.
    (exp, *_) = planned("INPUTS", "exp").cases
    assert exp.origin.startswith("operation:")
    lacking = planned("INPUTS", f"{planned.path}:required")
    assert lacking.excluded == {"required": f"no inputs in {planned.path}:INPUTS"}
    assert {measure(case, numpy_framework).status.value for case in (*lists, exp)} == {"ok"}


def test_a_function_is_called_with_each_combination_of_its_params(planned, numpy_framework):
    whys = [f"{name} of {planned.path}:INPUTS" for name in SIZED]
    for reference, end in (("INPUTS", "INPUTS"), ("sized", "sized")):
        cases = planned(reference).cases
        assert [case.why for case in cases] == [why.replace("INPUTS", end) for why in whys]
        assert [case.arguments["a"].shape for case in cases] == [(3, 2), (3, 2), (4, 2), (4, 2)]
        for case in cases:
            made = {}
            exec(script(numpy_framework, case), made)
            bound = arguments_of(case, numpy_framework)
            np.testing.assert_array_equal(made["out"], bound["a"] @ bound["b"])


SIZED = ("n=3, dtype='f4'", "n=3, dtype='f8'", "n=4, dtype='f4'", "n=4, dtype='f8'")


def test_a_function_needs_a_file_or_module(numpy_framework):
    settings = Settings(profiler="python", input_function="make")
    with pytest.raises(UsageError, match="write a function, or a dict by function, with its file"):
        plan(numpy_framework, Selection(patterns=("dot",), settings=settings))


def test_a_function_with_keywords_takes_arguments_of_any_name(planned, numpy_framework):
    (case,) = planned("with_options", f"{planned.path}:scaled").cases
    assert list(case.arguments) == ["x", "scale", "offset"]
    with numpy_framework.scope(case):
        computed = PreparedCase(case, numpy_framework).call()
    np.testing.assert_array_equal(computed, np.full((3, 3), 5.5))


def test_arrays_that_a_dtype_does_not_convert_make_no_case_of_its_label(planned):
    plain, single, asked = (
        planned("whole", dtype=dtype, given=given).cases
        for dtype, given in (("float32", False), ("float32", True), ("float16", True))
    )
    assert plain == single == asked
    assert asked[0].settings.dtype == "float32"
    assert unconverted(asked, "float16") == ("a (int64)", "b (int64)")
    assert unconverted(planned("make", dtype="float16", given=True).cases, "float16") == (
        "b (int64)",
    )
    (with_int,) = (with_settings(case, {"dtype": "float16"}) for case in asked)
    assert with_int == asked[0]


def test_operators_without_its_arguments_are_excluded(planned):
    made = planned("other_names")
    assert made.cases == ()
    assert made.excluded["dot"].startswith("it has no argument 'c', which ")
    assert made.excluded["dot"].endswith("returns; it has a, b, out")


def test_another_array_than_planned_is_not_measured(planned, numpy_framework):
    first, _ = planned("make").cases
    for dtype, advice in (
        ("", "; seed its random numbers"),
        ("float64", ", in float64; to run it"),
    ):
        fill = Fill("function", data="make()[0]['a']", digest="0" * 16, dtype=dtype)
        arguments = {**first.arguments, "a": TensorSpec((30, 40), fill=fill)}
        record = measure(type(first)(first.target, arguments, first.settings), numpy_framework)
        assert record.status.value == "failed"
        assert f"make()[0]['a'] has changed since the run was planned{advice}" in record.reason


def test_a_script_calls_the_function(planned, numpy_framework):
    for case in planned("make").cases:
        made = {}
        exec(script(numpy_framework, case), made)
        bound = arguments_of(case, numpy_framework)
        np.testing.assert_allclose(made["out"], bound["a"] @ bound["b"], rtol=1e-4)
