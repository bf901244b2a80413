"""PyTorch's operators that pad tensors, and their derivatives."""

from __future__ import annotations

from typing import Any

from opperf.model import Argument, Operator
from opperf.operations.uses import Array, Roles, Table, use

MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
"""The usual names of PyTorch's modes."""

Pairs = tuple[tuple[int, int], ...]


def widths(ndim: int, flat: Any) -> Pairs:
    """Widths before and after each axis, from PyTorch's flat list, which begins with the last."""
    pairs = tuple(zip(flat[::2], flat[1::2], strict=True))[::-1]
    return ((0, 0),) * (ndim - len(pairs)) + pairs


def flat_widths(pairs: Pairs) -> tuple[int, ...]:
    """PyTorch's list of widths before and after the axes, without first axes that get none."""
    padded = next(i for i, pair in enumerate(pairs) if any(pair))
    return tuple(width for pair in reversed(pairs[padded:]) for width in pair)


def pad_roles(
    self: Array, pad: Any, mode: str = "constant", value: float | None = None
) -> dict[str, Any]:
    """A tensor, widths of its border, and the mode. A constant border is of zeros."""
    assert not value
    return {"x": self, "widths": widths(self.ndim, pad), "mode": MODES[mode]}


def pad_arguments(operator: Operator, roles: Roles) -> dict[str, Argument] | None:
    """A tensor, PyTorch's list of widths, and its name of the mode; None if it has none."""
    mode = next((own for own, usual in MODES.items() if usual == roles["mode"]), None)
    takes_mode = operator.parameter("mode") is not None
    if mode is None or not (takes_mode or mode == "constant"):
        return None
    # Modes but for a constant are of the last axes only, all spatial ones.
    pad = flat_widths(roles["widths"])  # type: ignore[arg-type]
    made = {"self": roles["x"], "pad": pad}
    return made if mode == "constant" else {**made, "mode": mode}


def gradient_roles(mode: str) -> Any:
    """The conversion of a derivative's arguments: the gradient, and what the border was of."""

    def roles_of(grad_output: Array, self: Array, padding: Any) -> dict[str, Any]:
        return {
            "gradient": grad_output,
            "shape": self.shape,
            "widths": widths(self.ndim, padding),
            "mode": mode,
        }

    return roles_of


def border_roles(mode: str) -> Any:
    """The conversion of the arguments of an operator of one mode."""

    def roles_of(self: Array, padding: Any) -> dict[str, Any]:
        return {"x": self, "widths": widths(self.ndim, padding), "mode": mode}

    return roles_of


FIXED = {"reflection": "reflect", "replication": "edge"}
"""The modes of operators of one mode, by the beginning of their names."""

TABLE: Table = {
    "constant_pad_nd": use("pad", pad_roles, to_arguments=pad_arguments),
    "pad": use("pad", pad_roles, to_arguments=pad_arguments),
    **{
        f"{name}_pad{axes}d": use("pad", border_roles(mode))
        for name, mode in FIXED.items()
        for axes in (1, 2, 3)
    },
    **{
        f"{name}_pad{axes}d_backward": use("pad_gradient", gradient_roles(mode))
        for name, mode in FIXED.items()
        for axes in (1, 2, 3)
    },
}
