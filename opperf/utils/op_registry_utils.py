"""MXNet's operators by category, and inputs for them, as dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from opperf.errors import UnknownOperatorError, suggest
from opperf.frameworks import load
from opperf.model import Operator, Settings, TensorSpec, display_argument
from opperf.mxnet_api import FRAMEWORK
from opperf.rules.engine import inputs_for, rules_module
from opperf.rules.registering import NoInputs
from opperf.rules.sizes import INT64, PRESETS
from opperf.sources.registry import plan
from opperf.sources.selecting import Selection

Described = dict[str, dict[str, Any]]


def describe(operator: Operator) -> dict[str, Any]:
    """An operator as a dict. `has_backward` is None until the operator was tried."""
    from opperf.frameworks.mxnet.functions import operator_function

    return {
        "has_backward": operator.differentiable,
        "nd_op_handle": operator_function(operator.name),
        "params": {
            "narg": len(operator.parameters),
            "arg_names": [parameter.name for parameter in operator.parameters],
            "arg_types": [parameter.declared for parameter in operator.parameters],
        },
    }


def _of_category(name: str, title: str) -> Callable[[], Described]:
    def get() -> Described:
        found = load(FRAMEWORK).operators()
        return {o.name: describe(o) for o in found if o.public and o.category == name}

    get.__doc__ = f"Every public operator of the category {title}, by name."
    return get


get_all_unary_operators = _of_category("unary", "unary")
get_all_broadcast_binary_operators = _of_category("binary_broadcast", "binary, broadcasting")
get_all_elemen_wise_binary_operators = _of_category("binary_elementwise", "binary, same shape")
get_all_elementwise_binary_operators = get_all_elemen_wise_binary_operators
get_all_misc_binary_operators = _of_category("binary_misc", "other binary")
get_all_random_sampling_operators = _of_category("random_sampling", "random sampling")
get_all_linalg_operators = _of_category("linalg", "linear algebra")
get_all_reduction_operators = _of_category("reduction", "reduction")
get_all_nn_activation_operators = _of_category("activation", "activation")
get_all_nn_basic_operators = _of_category("nn_basic", "basic neural network")
get_all_optimizer_operators = _of_category("optimizer", "optimizer")
get_all_sorting_searching_operators = _of_category("sorting_searching", "sorting, searching")
get_all_rearrange_operators = _of_category("rearrange", "rearranging")
get_all_shape_operators = _of_category("shape", "shape")
get_all_expanding_operators = _of_category("expanding", "expanding")
get_all_rounding_operators = _of_category("rounding", "rounding")
get_all_join_split_operators = _of_category("join_split", "joining, splitting")
get_all_indexing_routines = _of_category("indexing", "indexing")
get_all_loss_operators = _of_category("loss", "loss")
get_all_gemm_operators = _of_category("gemm", "matrix product")
get_all_convolution_operators = _of_category("convolution", "convolution")
get_all_transpose_convolution_operators = _of_category(
    "transpose_convolution", "transposed convolution"
)
get_all_pooling_operators = _of_category("pooling", "pooling")
get_remaining_miscellaneous_operators = _of_category("misc", "everything else")


def get_operators_with_excluded(operators_with_benchmark: Iterable[str] | None = None) -> list[str]:
    """Public operators that have no benchmark, sorted.

    Without an argument, they are those that no rule makes inputs for; else those that have no name
    in `operators_with_benchmark`, such as the keys of a result.
    """
    framework = load(FRAMEWORK)
    public = [operator for operator in framework.operators() if operator.public]
    if operators_with_benchmark is None:
        made = plan(framework, Selection(settings=Settings(), size="small"))
        return sorted(o.name for o in public if o.name in made.excluded)
    benchmarked = set(operators_with_benchmark)
    return sorted(o.name for o in public if not benchmarked & set(o.names))


def get_current_runtime_features() -> dict[str, Any]:
    """`{'runtime_features': {name: feature}}` of the installed MXNet."""
    import mxnet as mx

    return {"runtime_features": dict(mx.runtime.Features())}


def prepare_op_inputs(
    op: str, arg_params: Any = None, int64_tensor: str = "off"
) -> list[dict[str, Any]]:
    """The inputs that opperf's rules make for an operator, a dict for each configuration: shapes
    for tensors, lists of shapes for lists of tensors, and plain values.

    `arg_params` is ignored: the registry has the operator's arguments. Raises
    `UnknownOperatorError` when there is no such operator, or no rule makes inputs for it.
    """
    framework = load(FRAMEWORK)
    operator = framework.resolve(op)
    if operator is None:
        names = [name for known in framework.operators() for name in known.names]
        raise UnknownOperatorError(f"no operator is called {op!r}{suggest(op, names)}")
    preset = PRESETS[INT64 if int64_tensor.lower() == "on" else "default"]
    made = inputs_for(operator, rules_module(framework.rules), preset, "float32")
    if isinstance(made, NoInputs):
        raise UnknownOperatorError(f"no rule makes inputs for {op}: {made.reason}")
    return [{name: _shown(value) for name, value in inputs.arguments.items()} for inputs in made]


def _shown(value: Any) -> Any:
    if isinstance(value, TensorSpec):
        return value.shape
    if isinstance(value, tuple) and any(isinstance(element, TensorSpec) for element in value):
        return [_shown(element) for element in value]
    return value if isinstance(value, tuple) else display_argument(value)
