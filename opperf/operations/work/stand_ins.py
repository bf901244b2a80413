"""Arrays of NumPy's type without data: a call's inputs for the functions that convert its arguments
to inputs by role. Views and functions of each element give such arrays too, in no time."""

from __future__ import annotations

from typing import Any

import numpy as np

from opperf.dtypes import element_bytes

FEW = 2**14
"""Elements up to which NumPy's functions run on the numbers that stand for the data."""

VIEWS = frozenset(
    {
        *(np.broadcast_to, np.diff, np.expand_dims, np.flip, np.moveaxis, np.rollaxis),
        *(np.squeeze, np.swapaxes, np.transpose, np.shape, np.ndim, np.size, np.split),
        *(np.zeros_like, np.ones_like, np.atleast_1d, np.reshape),
    }
)
"""Functions that copy no array, or none that is large."""


class NoDataError(ValueError):
    """Raised where an input by role depends on an array's data."""


def _refuse(self: Any, *given: object, **named: object) -> Any:
    raise NoDataError("the data of an array decides")


class StandIn(np.ndarray):  # type: ignore[type-arg]
    """An array without data: all elements are one in memory."""

    gradient = False
    """Whether the call's gradient is with respect to the array that it stands for."""

    def __array_finalize__(self, other: Any) -> None:
        self.gradient = getattr(other, "gradient", False)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        if ufunc.signature is not None or method not in ("__call__", "reduce", "accumulate"):
            raise NoDataError(f"{ufunc.__name__} of arrays without data")
        shape = np.broadcast_shapes(*(np.shape(array) for array in inputs))
        if method == "reduce":
            shape = _reduced(shape, named.get("axis", 0), bool(named.get("keepdims")))
        made = [self._like(shape, inputs) for _ in range(ufunc.nout)]
        return made[0] if len(made) == 1 else tuple(made)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.pad:
            pairs = np.broadcast_to(args[1], (self.ndim, 2)).sum(1)
            return self._like(tuple(np.add(self.shape, pairs).tolist()), args)
        arrays = arrays_in(args)
        if function not in VIEWS and sum(array.size for array in arrays) > FEW:
            raise NoDataError(f"{function.__name__} of a large array without data")
        made = super().__array_function__(function, types, args, kwargs)
        return self._like(made.shape, arrays) if isinstance(made, np.ndarray) else made

    def _like(self, shape: tuple[int, ...], inputs: Any) -> StandIn:
        arrays = arrays_in(inputs)
        made = stand_in(shape, self.dtype)
        made.gradient = any(getattr(array, "gradient", False) for array in arrays)
        return made

    def astype(self, dtype: Any, *given: Any, **named: Any) -> StandIn:
        made = stand_in(self.shape, np.dtype(dtype))
        made.gradient = self.gradient
        return made

    def copy(self, *given: Any) -> StandIn:
        return self

    def repeat(self, repeats: Any, axis: Any = None) -> StandIn:
        whole = self if axis is not None else self.reshape(-1).view(StandIn)
        place = 0 if axis is None else axis
        shape = list(whole.shape)
        shape[place] *= int(repeats)
        return whole._like(tuple(shape), [self])

    item = tolist = _refuse
    __bool__ = __int__ = __float__ = __index__ = __complex__ = _refuse


def _reduced(shape: tuple[int, ...], axis: Any, keeps: bool) -> tuple[int, ...]:
    rank = len(shape)
    axes = range(rank) if axis is None else np.atleast_1d(axis) % max(1, rank)
    kept = [1 if place in axes else extent for place, extent in enumerate(shape)]
    return tuple(one for i, one in enumerate(kept) if keeps or i not in axes)


def arrays_in(values: Any) -> list[Any]:
    """Returns the arrays in nested lists and tuples."""
    if isinstance(values, (list, tuple)):
        return [array for value in values for array in arrays_in(value)]
    return [values] if isinstance(values, np.ndarray) else []


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Returns NumPy's dtype of that name, or one of as many bytes."""
    try:
        return np.dtype(name)
    except TypeError:
        return np.dtype(f"V{element_bytes(name)}")


def stand_in(shape: tuple[int, ...], dtype: np.dtype[Any], gradient: bool = False) -> StandIn:
    """Returns an array of an extent without data."""
    made = np.broadcast_to(np.zeros((), dtype), shape).view(StandIn)
    made.gradient = gradient
    return made
