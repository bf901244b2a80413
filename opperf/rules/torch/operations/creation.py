"""PyTorch's operators that make tensors from numbers."""

from __future__ import annotations

from typing import Any

from opperf.operations.uses import Table, Use, Values, merge, use

OPTIONS = "-dtype -memory_format -device -layout -pin_memory"
"""Arguments that do not affect the values, in the text of a use."""


def of_one_number(value: float) -> Table:
    """The uses of the operators that write one number all over."""
    name = "ones" if value else "zeros"
    return {
        name: use("full", f"shape=size {OPTIONS}", value=value),
        f"new_{name}": use("full", f"shape=size -self {OPTIONS}", value=value),
        f"{name}_like": use(f"{name}_like", f"x=self {OPTIONS}"),
    }


def range_roles(start: float, end: float, step: float = 1, **other: Any) -> dict[str, Any]:
    """The first number, one beyond the last, which is included, and the distance."""
    return {"start": start, "stop": end + step / 2, "step": step}


def window_roles(window_length: int, periodic: bool = True, **other: Any) -> dict[str, Any]:
    """The length of a symmetric window: one more for a periodic one, which lacks the last."""
    other.pop("dtype", None)
    return {"length": window_length + periodic, **other}


def without_last(made: Any, arguments: Values) -> Any:
    """The window without the last element of the symmetric one if it is periodic."""
    return made[:-1] if arguments.get("periodic", True) else made


def window(operation: str, **usual: float) -> Use:
    """The use of a window with its usual parameters, where a call has none."""
    return use(
        operation,
        lambda **arguments: {**usual, **window_roles(**arguments)},
        without_last,
        to_arguments=lambda operator, roles: None,
    )


HAMMING = {"alpha": 0.54, "beta": 0.46}

WINDOWS: Table = {
    **{f"{name}_window": window(f"{name}_window") for name in ("bartlett", "blackman", "hann")},
    "hamming_window": window("general_hamming_window", **HAMMING),
    "kaiser_window": window("kaiser_window", beta=12.0),
}

TABLE: Table = merge(
    of_one_number(0.0),
    of_one_number(1.0),
    WINDOWS,
    {
        "arange": use("arange", f"start=end {OPTIONS}"),
        "arange.start": use("arange", f"start stop=end {OPTIONS}"),
        "arange.start_step": use("arange", f"start stop=end step {OPTIONS}"),
        "complex": use("complex", "x=real y=imag"),
        "eye": use("eye", f"rows=n columns=m {OPTIONS}"),
        "fft_fftfreq": use("fourier_frequencies", f"count=n spacing=d {OPTIONS}"),
        "fft_rfftfreq": use("real_fourier_frequencies", f"count=n spacing=d {OPTIONS}"),
        "full": use("full", f"shape=size value=fill_value {OPTIONS}"),
        "full_like": use("full_like", f"x=self value=fill_value {OPTIONS}"),
        "linspace": use("linspace", f"start stop=end num=steps {OPTIONS}"),
        "logspace": use("logspace", f"start stop=end num=steps {OPTIONS}"),
        "new_full": use("full", f"shape=size value=fill_value -self {OPTIONS}"),
        "polar": use("polar", "x=abs y=angle"),
        "range": use("arange", range_roles),
        "scalar_tensor": use("full", f"value=s {OPTIONS}", shape=()),
        "vander": use("vandermonde", "x columns=N"),
        "zero": use("zeros_like", "x=self"),
    },
)
