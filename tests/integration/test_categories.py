"""The category runners: each is where its users look for it, and together they cover all."""

from __future__ import annotations

import importlib
import inspect

import msgspec
import pytest

import opperf
from opperf import nd_operations
from opperf.api import selections as programs
from opperf.comparison.files.joining import DEPENDENT
from opperf.frameworks import load
from opperf.frameworks.mxnet import registry
from opperf.model import Case, OperatorTarget, Settings, SnippetTarget, TensorSpec
from opperf.rules import sizes
from opperf.rules.engine import rules_module
from opperf.sources.choices import groups
from opperf.sources.registry import Plan, plan
from opperf.utils import benchmark_utils

MEMORY = "max_storage_mem_alloc_cpu/0"

RUNNERS = {
    "unary_operators": ["run_mx_unary_operators_benchmarks"],
    "binary_operators": [
        "run_mx_binary_broadcast_operators_benchmarks",
        "run_mx_binary_element_wise_operators_benchmarks",
        "run_mx_binary_misc_operators_benchmarks",
    ],
    "gemm_operators": ["run_gemm_operators_benchmarks"],
    "random_sampling_operators": ["run_mx_random_sampling_operators_benchmarks"],
    "reduction_operators": [
        "run_mx_reduction_operators_benchmarks",
        "run_cumulative_operators_benchmarks",
    ],
    "creation_operators": [
        "run_creation_operators_benchmarks",
        "run_conversion_operators_benchmarks",
    ],
    "sorting_searching_operators": ["run_sorting_searching_operators_benchmarks"],
    "array_manipulation_operators": [
        "run_rearrange_operators_benchmarks",
        "run_shape_operators_benchmarks",
        "run_expanding_operators_benchmarks",
        "run_rounding_operators_benchmarks",
        "run_join_split_operators_benchmarks",
    ],
    "array_rearrange": ["run_rearrange_operators_benchmarks"],
    "indexing_routines": ["run_indexing_routines_benchmarks"],
    "nn_basic_operators": ["run_nn_basic_operators_benchmarks"],
    "nn_activation_operators": ["run_activation_operators_benchmarks"],
    "nn_conv_operators": [
        "run_pooling_operators_benchmarks",
        "run_convolution_operators_benchmarks",
        "run_transpose_convolution_operators_benchmarks",
    ],
    "nn_optimizer_operators": ["run_optimizer_operators_benchmarks"],
    "nn_loss_operators": ["run_loss_operators_benchmarks"],
    "misc_operators": ["run_mx_misc_operators_benchmarks"],
    "linalg_operators": ["run_linalg_operators_benchmarks"],
}

NAMED = [(module, name) for module, names in RUNNERS.items() for name in names]


def runner_of(module, name):
    return getattr(importlib.import_module(f"opperf.nd_operations.{module}"), name)


@pytest.mark.parametrize(("module", "name"), NAMED)
def test_the_runner_is_there_with_its_parameters(module, name):
    runner = runner_of(module, name)
    parameters = inspect.signature(runner).parameters
    assert list(parameters) == ["ctx", "dtype", "profiler", "int64_tensor", "warmup", "runs"]
    assert all(p.default is not p.empty for p in parameters.values())
    assert runner.__name__ == name
    assert runner.__doc__


def test_the_older_place_offers_the_same_runner():
    assert runner_of("array_rearrange", "run_rearrange_operators_benchmarks") is runner_of(
        "array_manipulation_operators", "run_rearrange_operators_benchmarks"
    )


def test_every_public_operator_is_covered_by_a_runner():
    public = [operator for operator in registry.operators() if operator.public]
    assert len(public) > 300
    assert {operator.category for operator in public} <= set(nd_operations.RUNNERS)


def test_every_runner_has_operators():
    categories = {operator.category for operator in registry.operators() if operator.public}
    assert set(nd_operations.RUNNERS) <= categories


def test_every_runner_of_the_modules_is_one_of_all():
    known = set(map(id, nd_operations.RUNNERS.values()))
    assert {id(runner_of(*place)) for place in NAMED} <= known


def test_all_of_them_at_once_are_offered_at_the_top():
    parameters = inspect.signature(opperf.run_all_mxnet_operator_benchmarks).parameters
    assert list(parameters) == ["ctx", "dtype", "profiler", "int64_tensor", "warmup", "runs"]


@pytest.fixture
def first_cases(monkeypatch):
    """Leaves each operator its first case, so that a category takes a second. That all of them run
    is a matter of `test_registry_sweep.py`."""

    def planned(framework, selection):
        made = plan(framework, selection)
        first = {case.label: case for case in reversed(made.cases)}
        cases = tuple(case for case in made.cases if case is first[case.label])
        return msgspec.structs.replace(made, cases=cases)

    monkeypatch.setattr(programs, "plan", planned)


@pytest.fixture
def small(monkeypatch, first_cases):
    """Makes the default size a small one as well."""
    monkeypatch.setitem(sizes.PRESETS, "default", sizes.PRESETS["small"])


def check(results, expected):
    assert set(results) >= expected
    for name, shown in results.items():
        assert shown
        for result in shown:
            assert result["inputs"]
            assert result[MEMORY] >= 0
            assert f"avg_time_forward_{name}" in result or len(result) == 2


@pytest.mark.parametrize(
    ("module", "name", "expected"),
    [
        (
            "array_manipulation_operators",
            "run_rounding_operators_benchmarks",
            {"round", "rint", "fix", "floor", "ceil", "trunc"},
        ),
        (
            "binary_operators",
            "run_mx_binary_element_wise_operators_benchmarks",
            {"elemwise_add", "elemwise_sub", "elemwise_mul", "elemwise_div"},
        ),
        (
            "nn_loss_operators",
            "run_loss_operators_benchmarks",
            {"smooth_l1", "CTCLoss", "MakeLoss", "softmax_cross_entropy", "SoftmaxOutput"},
        ),
    ],
)
def test_a_category_at_its_default_size(first_cases, module, name, expected):
    check(runner_of(module, name)(warmup=0, runs=1), expected)


@pytest.mark.parametrize(
    ("module", "name", "expected"),
    [
        (
            "binary_operators",
            "run_mx_binary_broadcast_operators_benchmarks",
            {"broadcast_add", "broadcast_equal", "broadcast_power"},
        ),
        ("gemm_operators", "run_gemm_operators_benchmarks", {"dot", "batch_dot", "khatri_rao"}),
        (
            "sorting_searching_operators",
            "run_sorting_searching_operators_benchmarks",
            {"sort", "argsort", "topk", "argmax", "argmin"},
        ),
        ("array_rearrange", "run_rearrange_operators_benchmarks", {"transpose", "SwapAxis"}),
        (
            "array_manipulation_operators",
            "run_join_split_operators_benchmarks",
            {"Concat", "stack", "SliceChannel"},
        ),
        ("reduction_operators", "run_mx_reduction_operators_benchmarks", {"sum", "mean", "prod"}),
        (
            "nn_activation_operators",
            "run_activation_operators_benchmarks",
            {"Activation", "LeakyReLU", "softmax", "log_softmax", "hard_sigmoid", "relu"},
        ),
        (
            "nn_optimizer_operators",
            "run_optimizer_operators_benchmarks",
            {"sgd_update", "sgd_mom_update", "adam_update", "ftrl_update"},
        ),
        ("misc_operators", "run_mx_misc_operators_benchmarks", {"Custom", "add_n"}),
        ("creation_operators", "run_creation_operators_benchmarks", {"zeros_like", "ones_like"}),
        ("creation_operators", "run_conversion_operators_benchmarks", {"Cast", "cast_storage"}),
        ("reduction_operators", "run_cumulative_operators_benchmarks", {"cumsum"}),
        (
            "indexing_routines",
            "run_indexing_routines_benchmarks",
            {"take", "one_hot", "pick", "gather_nd", "slice_axis"},
        ),
        ("nn_conv_operators", "run_convolution_operators_benchmarks", {"Convolution"}),
        ("nn_conv_operators", "run_pooling_operators_benchmarks", {"Pooling", "ROIPooling"}),
        ("nn_conv_operators", "run_transpose_convolution_operators_benchmarks", {"Deconvolution"}),
        (
            "nn_basic_operators",
            "run_nn_basic_operators_benchmarks",
            {"FullyConnected", "Dropout", "BatchNorm", "RNN", "Embedding"},
        ),
    ],
)
def test_a_category_at_a_small_size(small, module, name, expected):
    check(runner_of(module, name)(warmup=0, runs=1), expected)


def test_every_flag_reaches_the_cases(monkeypatch):
    seen = []
    monkeypatch.setattr(programs, "measure_plan", lambda made: seen.extend(made.cases) or {})
    runner_of("nn_optimizer_operators", "run_optimizer_operators_benchmarks")(
        ctx="cpu(0)", dtype="float64", profiler="python", int64_tensor="off", warmup=7, runs=9
    )
    assert seen
    for case in seen:
        settings = case.settings
        assert (settings.device, settings.dtype) == ("cpu(0)", "float64")
        assert (settings.profiler, settings.warmup, settings.runs) == ("python", 7, 9)
        assert case.category == "optimizer"


def test_the_python_profilers_results(small):
    results = runner_of("binary_operators", "run_mx_binary_element_wise_operators_benchmarks")(
        profiler="python", dtype="float64", warmup=0, runs=2
    )
    for name, shown in results.items():
        for result in shown:
            assert {f"{s}_time_{name}" for s in ("avg", "p50", "p90", "p99")} <= set(result)


def test_a_case_that_crashes_costs_itself_alone(caplog):
    """A runner measures in a worker process, and tells what it could not measure."""
    settings = Settings(warmup=0, runs=1)
    data = {"data": TensorSpec((64, 64), gradient=True)}
    fine = Case(OperatorTarget("mxnet", "relu"), data, settings)
    crashing = Case(
        SnippetTarget("mxnet", "os.kill(os.getpid(), 11)", setup="import os", name="ends"),
        {},
        settings,
        passes=("forward",),
    )
    # In a process that has run operators, MXNet's handler of the signal ends in SIGABRT.
    programs.workers().close()
    with caplog.at_level("WARNING", logger="opperf"):
        results = benchmark_utils.measure_plan(Plan(cases=(crashing, fine), excluded={}))
    assert list(results) == ["relu"]
    assert "ends: crashed: the process was ended by SIGSEGV" in caplog.text


LIKE = {
    "creation": {"creation", "window"},
    "cumulative": {"cumulative"},
    "expanding": {"shape"},
    "gemm": {"linalg"},
    "indexing": {"indexing"},
    "join_split": {"joining", "splitting"},
    "linalg": {"linalg"},
    "polynomial": {"polynomial"},
    "random_sampling": {"random"},
    "rearrange": {"shape"},
    "reduction": {"reduction"},
    "rounding": {"unary"},
    "shape": {"shape"},
    "sorting_searching": {"sorting", "set"},
    "statistics": {"statistics"},
    "unary": {"unary"},
    **dict.fromkeys(
        ("binary_broadcast", "binary_elementwise", "binary_misc", "binary_scalar"), {"binary"}
    ),
}
"""NumPy's categories of the operations that MXNet has in one of its own. Where NumPy has one for
several of MXNet's, these are of users who look for them by name."""

FIXED_COEFFICIENTS = {"_contrib_quadratic"}
"""A polynomial of three coefficients that are plain numbers: of one tensor, as the unary ones."""


def categories_of_operations(name):
    """The categories of each operation's operators, of those that are of one operation."""
    framework = load(name)
    uses = rules_module(framework.rules).OPERATIONS
    found = {}
    for operator in framework.operators():
        own = next((uses[one] for one in operator.names if one in uses), None)
        if own is not None and len(own.operations) == 1:
            (operation,) = own.operations
            found.setdefault(operation, {})[operator.name] = operator.category
    return found


def test_an_operation_has_the_same_category_in_either_framework():
    ours, theirs = (categories_of_operations(name) for name in ("mxnet", "numpy"))
    shared = set(ours) & set(theirs)
    assert len(shared) > 140
    wrong = [
        (name, category, other, like)
        for operation in shared
        for name, category in ours[operation].items()
        for other, like in theirs[operation].items()
        if like not in LIKE.get(category, ()) and name not in FIXED_COEFFICIENTS
    ]
    assert wrong == []


def test_categories_whose_times_depend_on_values_exist():
    operators = [one for name in ("mxnet", "numpy") for one in load(name).operators()]
    assert set(DEPENDENT) <= set(groups("category", operators))
