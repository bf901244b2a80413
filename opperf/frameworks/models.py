"""Models: what a function of models returns, and what a framework makes of it.

A function returns a `Model`, a dict with the names of its fields, or a tuple `(call, inputs)` with
further fields in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol, runtime_checkable

from opperf.errors import UsageError, suggest
from opperf.frameworks.base import Flops, Gradient
from opperf.frameworks.object_state import ObjectState
from opperf.model import Case


@dataclass(frozen=True)
class Model:
    """A callable with example inputs, and what its training needs."""

    call: Any
    """A module, block or function. With JAX it takes `parameters` first, if there are any."""
    inputs: Sequence[Any] | Mapping[str, Any]
    """Arrays and plain values that it is called with, by position or by name."""
    loss: Callable[..., Any] | None = None
    """Returns a scalar from the outputs and `targets`; by default the mean of all outputs."""
    optimizer: Any = None
    """PyTorch: a function that takes the parameters and returns an optimizer. MXNet: the arguments
    of `gluon.Trainer` after the parameters, as `("sgd", {"learning_rate": 0.1})`. JAX: functions
    `init(parameters)` and `update(gradients, state, parameters)`, as those of Optax. By default
    gradient descent with a small rate."""
    targets: Sequence[Any] = ()
    """Arguments of the loss after the outputs."""
    parameters: Any = None
    """The parameters of a function of JAX, a tree of arrays."""


RATE = 1e-3
"""Learning rate where a model has no optimizer: small, so that many steps change it little."""

NO_LOSS = "its outputs are no floating-point numbers; give it a loss"

NO_PARAMETERS = "it has no parameters that take a gradient"

FIELDS = tuple(field.name for field in fields(Model))


def read_model(returned: Any, where: str) -> Model:
    """Returns the model that a function returned. `where` names the function in errors. Raises
    `UsageError` for what is none."""
    model = _as_model(returned, where)
    if not callable(model.call):
        raise UsageError(f"{where}: the model is a {type(model.call).__name__}, and not callable")
    if not isinstance(model.inputs, (Sequence, Mapping)) or isinstance(model.inputs, str):
        raise UsageError(
            f"{where}: the inputs are a {type(model.inputs).__name__}; return a tuple of the "
            "arguments, or a dict by their names"
        )
    if not model.inputs:
        raise UsageError(f"{where}: the model has no inputs; return (model, inputs)")
    return model


def _as_model(returned: Any, where: str) -> Model:
    if isinstance(returned, Model):
        return returned
    if isinstance(returned, Mapping):
        for name in returned:
            if name not in FIELDS:
                raise UsageError(
                    f"{where}: a model has no {name!r}{suggest(str(name), FIELDS)}; it has "
                    f"{', '.join(FIELDS)}"
                )
        missing = [name for name in FIELDS[:2] if name not in returned]
        if missing:
            raise UsageError(f"{where}: the model has no {missing[0]}; return (model, inputs)")
        return Model(**returned)
    if isinstance(returned, tuple) and 2 <= len(returned) <= len(FIELDS):
        return Model(*returned)
    raise UsageError(
        f"{where}: returned a {type(returned).__name__}; return (model, inputs), where inputs is a "
        "tuple of the model's arguments"
    )


@runtime_checkable
class RunnableModel(Protocol):
    """A model on a device, in a dtype and a mode, ready to be run. No method waits for the device.

    A step in the phase `train` is the forward pass and the loss, the backward pass, and the update
    of the parameters; in the phase `predict` the forward pass.
    """

    state: ObjectState
    """The model and its inputs, and all that they keep, as before the first call."""

    def __call__(self) -> Any:
        """Runs the forward pass, in the phase `train` with the loss, and returns the outputs."""

    @property
    def refresh_inputs(self) -> Callable[[], None] | None:
        """Returns a function that gives the inputs other contents: their elements in another random
        order, which stay in the range that the model takes; None if they cannot be written to."""

    def gradient(self) -> Gradient:
        """Returns the loss as a computation to differentiate, with respect to the parameters.
        Raises `NoGradientError`."""

    def step(self) -> Any:
        """Runs a step."""

    def begin_update(self) -> None:
        """Computes the gradients of a step, and leaves them for `update`."""

    def update(self) -> None:
        """Updates the parameters."""

    def reset(self) -> None:
        """Gives the parameters and inputs, and what the model and its optimizer keep, their values
        of the beginning."""

    def results(self, steps: int = 1) -> Mapping[str, Any]:
        """Runs steps from the beginning, where `reset` has put it, and returns the arrays of the
        last by name: `output`, `output[0]` ..., and `NAME after the call` of what it has written
        to; in the phase `train` also `loss`, `gradient of NAME` and `NAME after the step` of each
        parameter, and `NAME after the step` of other state. The model is then as at the
        beginning."""

    def converted(self, case: Case) -> RunnableModel:
        """Returns the model in the dtype and mode of another case, with the inputs and the
        parameters that it has at the beginning, as its own dtype rounds them. To be called in the
        scope of that case; this model is of no further use. Raises what the framework raises."""

    def flops(self, of_step: bool) -> Flops | None:
        """Returns the operations of the forward pass, or of a training step; None if nothing counts
        them."""
