"""The canonical operations of functions of `jax.numpy` that NumPy 1 has under other names."""

from __future__ import annotations

from opperf.model import Argument, Operator, TensorSpec
from opperf.operations.uses import Roles, Table, use


def axes_in_order(operator: Operator, roles: Roles) -> dict[str, Argument]:
    """The arguments of a transposition, which requires axes: all of them in reverse by default."""
    x = roles["x"]
    assert isinstance(x, TensorSpec)
    return {"a": x, "axes": roles.get("axes", tuple(reversed(range(len(x.shape)))))}


TABLE: Table = {
    "jnp.array": use("identity", "x=object -dtype -copy -ndmin"),
    "jnp.asarray": use("identity", "x=a -dtype"),
    "jnp.concat": use("concatenate", "tensors=arrays axis"),
    "jnp.copy": use("identity", "x=a"),
    "jnp.permute_dims": use("transpose", "x=a axes", to_arguments=axes_in_order),
}
