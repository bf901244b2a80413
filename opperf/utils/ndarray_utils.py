"""MXNet arrays for benchmarks, and one call of an operator on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opperf.api.calls import device_name
from opperf.frameworks import load
from opperf.model import Fill, TensorSpec
from opperf.mxnet_api import FRAMEWORK


def get_mx_ndarray(
    ctx: Any,
    in_tensor: Any,
    dtype: Any = "float32",
    initializer: Callable[..., Any] | None = None,
    attach_grad: bool = True,
) -> Any:
    """An `mx.nd.NDArray` from a shape, data or an array.

    Parameters
    ----------
    ctx : mx.Context or str
        Device of the array.
    in_tensor : tuple, list, number, numpy.ndarray or NDArray
        A tuple is a shape, filled by `initializer` or from a normal distribution. For a list of
        tuples, which are shapes, a list of arrays is returned; any other list is data. A number
        is returned as it is.
    dtype : str
        Data type.
    initializer : callable, optional
        Called with `shape`, `dtype` and `ctx`, e.g. `mx.nd.random.normal`.
    attach_grad : bool
        Whether the array gets a gradient buffer; integer arrays never do.

    Raises
    ------
    ValueError
        For any other kind of input.
    """
    return _array(ctx, in_tensor, dtype, initializer, attach_grad, "")


def get_mx_np_ndarray(
    ctx: Any,
    in_tensor: Any,
    dtype: Any = "float32",
    initializer: Callable[..., Any] | None = None,
    attach_grad: bool = True,
) -> Any:
    """As `get_mx_ndarray`, for an `mx.np.ndarray`."""
    return _array(ctx, in_tensor, dtype, initializer, attach_grad, "np")


def _array(
    ctx: Any,
    value: Any,
    dtype: Any,
    initializer: Callable[..., Any] | None,
    attach_grad: bool,
    array_type: str,
) -> Any:
    import mxnet as mx

    if isinstance(value, (int, float)):
        return value
    if isinstance(value, list) and value and all(isinstance(element, tuple) for element in value):
        return [
            _array(ctx, element, dtype, initializer, attach_grad, array_type) for element in value
        ]
    framework = load(FRAMEWORK)
    device = device_name(ctx, framework)
    name = getattr(dtype, "__name__", str(dtype))
    if isinstance(value, tuple) and initializer is not None:
        array = initializer(shape=value, dtype=name, ctx=mx.Context(ctx))
    elif isinstance(value, tuple):
        array = framework.tensor(TensorSpec(value, name, array_type=array_type), device, seed=0)
    elif isinstance(value, (list, np.ndarray)):
        data = np.asarray(value)
        spec = TensorSpec(
            tuple(data.shape), name, Fill("literal", data=data), array_type=array_type
        )
        array = framework.tensor(spec, device, seed=0)
    elif isinstance(value, mx.nd.NDArray):
        array = value.as_in_context(mx.Context(ctx)).astype(name)
        array = array.as_np_ndarray() if array_type == "np" else array.as_nd_ndarray()
    else:
        raise ValueError(
            f"an array is made from a shape, a list, a number or an array, "
            f"not from {type(value).__name__}"
        )
    if attach_grad and name.startswith("float"):
        array.attach_grad()
    return array


def nd_forward_and_profile(op: Callable[..., Any], runs: int, **arguments: Any) -> Any:
    """Call an operator `runs` times, waiting after each call, and return the last output."""
    import mxnet as mx

    output = None
    for _ in range(runs):
        output = op(**arguments)
        mx.nd.waitall()
    return output


def nd_forward_backward_and_profile(op: Callable[..., Any], runs: int, **arguments: Any) -> Any:
    """Call an operator and its backward pass `runs` times, waiting after each, and return the last
    output. Arguments that are to take a gradient have one attached."""
    import mxnet as mx

    from opperf.frameworks.mxnet.gradient import flatten

    output = None
    for _ in range(runs):
        with mx.autograd.record():
            output = op(**arguments)
        mx.autograd.backward(flatten(output))
        mx.nd.waitall()
    return output
