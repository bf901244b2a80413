"""Models of JAX: functions of parameters and inputs, run as a program runs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from opperf.errors import NoGradientError, UsageError
from opperf.frameworks import numpy_arrays
from opperf.frameworks.base import Flops, Gradient, Kept
from opperf.frameworks.jax import programs
from opperf.frameworks.jax.compiling import expected
from opperf.frameworks.jax.devices import dtype_of, jax_device
from opperf.frameworks.jax.gradient import VectorJacobianProduct
from opperf.frameworks.models import NO_LOSS, NO_PARAMETERS, RATE, Model
from opperf.frameworks.object_state import ObjectState
from opperf.model import Case


class Descent:
    """Gradient descent, for a model without an optimizer."""

    @staticmethod
    def init(parameters: Any) -> tuple[()]:
        return ()

    @staticmethod
    def update(gradients: Any, state: Any, parameters: Any) -> tuple[Any, Any]:
        return jax.tree_util.tree_map(lambda one: -RATE * one, gradients), state


class KeptArray(Kept):
    """An array of an eager call, with a copy, as a function in it may give its memory away."""

    def __init__(self, array: Any, call: programs.EagerCall) -> None:
        self._donatable, self._copy = programs.Donatable(array, call), array.copy()

    def is_changed(self) -> bool:
        return self._donatable.is_changed()

    def restore(self) -> None:
        if self.is_changed():
            self._donatable.restore(self._copy)


class JAXModel:
    """A function of JAX with its inputs, as `RunnableModel`."""

    refresh_inputs: Callable[[], None] | None = None

    def __init__(self, case: Case, model: Model) -> None:
        settings = case.settings
        self._trains = settings.phase == "train"
        self._programs: dict[str, Callable[..., Any]] = {}
        self._mode = programs.MODES[settings.mode]
        self._compiles = settings.mode in programs.COMPILED
        self._device, self._dtype = jax_device(settings.device), dtype_of(settings.dtype)
        with expected():
            self._parameters = self._placed(model.parameters)
            inputs = self._placed(model.inputs)
            self._targets = self._placed(tuple(model.targets))
        self._named = dict(inputs) if isinstance(inputs, Mapping) else {}
        self._unnamed = () if self._named else tuple(inputs)
        self._model = model
        function: Callable[..., Any] = self._with_loss if self._trains else self._outputs
        self.call = self._mode(self._bound(function), ())
        self._optimizer: Any = model.optimizer or Descent
        self._state: Any = None
        self._current: Any = None
        self._gradients: Any = None
        roots = {"call": model.call, "loss": model.loss, "optimizer": model.optimizer}
        inputs = self._named or self._unnamed
        placed = {"parameters": self._parameters, "inputs": inputs, "targets": self._targets}
        self.state = ObjectState({**roots, **placed}, self._kept)

    def _kept(self, value: Any) -> Kept | None:
        if isinstance(value, jax.Array) and isinstance(self.call, programs.EagerCall):
            return KeptArray(value, self.call)
        return numpy_arrays.keep(value)

    def _placed(self, value: Any) -> Any:
        def place(leaf: Any) -> Any:
            if not hasattr(leaf, "dtype"):
                return leaf
            floating = jnp.issubdtype(leaf.dtype, jnp.floating)
            to_float = floating and jnp.issubdtype(self._dtype, jnp.floating)
            array = jnp.asarray(leaf, self._dtype if to_float else None)
            return jax.device_put(array, self._device)

        return jax.tree_util.tree_map(place, value)

    def _bound(self, function: Callable[..., Any], *first: Any) -> partial[Any]:
        parameters = first or (self._parameters,)
        return partial(function, *parameters, self._unnamed, self._named, self._targets)

    def _outputs(self, parameters: Any, unnamed: Any, named: Any, targets: Any) -> Any:
        own = () if self._model.parameters is None else (parameters,)
        return self._model.call(*own, *unnamed, **named)

    def _loss(self, parameters: Any, unnamed: Any, named: Any, targets: Any) -> Any:
        return self._with_loss(parameters, unnamed, named, targets)[1]

    def _with_loss(self, parameters: Any, unnamed: Any, named: Any, targets: Any) -> Any:
        outputs = self._outputs(parameters, unnamed, named, targets)
        if self._model.loss is None:
            leaves = [
                leaf
                for leaf in jax.tree_util.tree_leaves(outputs)
                if jnp.issubdtype(jnp.asarray(leaf).dtype, jnp.floating)
            ]
            if not leaves:
                raise NoGradientError(NO_LOSS)
            return outputs, sum(jnp.mean(leaf) for leaf in leaves)
        loss = self._model.loss(outputs, *targets)
        if jnp.shape(loss) != ():
            raise UsageError("the model's loss returns no scalar; return its mean")
        return outputs, loss

    def __call__(self) -> Any:
        return self.call()

    def gradient(self) -> Gradient:
        self._check_parameters()
        loss = self._mode(self._bound(self._loss), ())
        return VectorJacobianProduct(loss, jax.tree_util.tree_leaves(self._parameters))

    def _check_parameters(self) -> None:
        if not jax.tree_util.tree_leaves(self._parameters):
            raise NoGradientError(NO_PARAMETERS)

    def _gradients_of(self, parameters: Any, unnamed: Any, named: Any, targets: Any) -> Any:
        function = jax.value_and_grad(
            lambda own: tuple(reversed(self._with_loss(own, unnamed, named, targets))), has_aux=True
        )
        (loss, outputs), gradients = function(parameters)
        return outputs, loss, gradients

    def _updated(self, gradients: Any, state: Any, parameters: Any) -> Any:
        updates, state = self._optimizer.update(gradients, state, parameters)

        def add(parameter: Any, update: Any) -> Any:
            return (parameter + update).astype(parameter.dtype)

        return jax.tree_util.tree_map(add, parameters, updates), state

    def _stepped(self, parameters: Any, state: Any, unnamed: Any, named: Any, targets: Any) -> Any:
        _, loss, gradients = self._gradients_of(parameters, unnamed, named, targets)
        return loss, *self._updated(gradients, state, parameters)

    def _program(self, name: str) -> Callable[..., Any]:
        if name not in self._programs:
            function = getattr(self, name)
            self._programs[name] = jax.jit(function) if self._compiles else function
        return self._programs[name]

    def begin_update(self) -> None:
        self._begin()
        _, _, self._gradients = jax.block_until_ready(
            self._program("_gradients_of")(self._current, self._unnamed, self._named, self._targets)
        )

    def update(self) -> None:
        self._current, self._state = jax.block_until_ready(
            self._program("_updated")(self._gradients, self._state, self._current)
        )

    def step(self) -> Any:
        if not self._trains:
            return self()
        self._begin()
        loss, self._current, self._state = jax.block_until_ready(
            self._program("_stepped")(
                self._current, self._state, self._unnamed, self._named, self._targets
            )
        )
        return loss

    def _begin(self) -> None:
        if self._current is None:
            self._check_parameters()
            self._current = self._parameters
            with expected():
                self._state = self._optimizer.init(self._parameters)

    def reset(self) -> None:
        self._current = self._state = self._gradients = None
        self.state.restore()

    def results(self, steps: int = 1) -> Mapping[str, Any]:
        for _ in range(steps - 1):
            self.step()
        with expected():
            found = self._results()
            self.reset()
            return found

    def _results(self) -> dict[str, Any]:
        if not self._trains:
            return _named("output", self.call())
        self._begin()
        outputs, loss, gradients = self._program("_gradients_of")(
            self._current, self._unnamed, self._named, self._targets
        )
        self._gradients = gradients
        self.update()
        found = {**_named("output", outputs), "loss": loss}
        found |= {f"gradient of {name}": one for name, one in _named("", gradients).items()}
        after = _named("", self._current)
        return found | {f"{name} after the step": one for name, one in after.items()}

    def converted(self, case: Case) -> JAXModel:
        placed = replace(
            self._model,
            inputs=self._named or self._unnamed,
            targets=self._targets,
            parameters=self._parameters,
        )
        return JAXModel(case, placed)

    def flops(self, of_step: bool) -> Flops | None:
        if not of_step or not self._compiles:
            # XLA's own count of the forward pass is a figure of the compilation.
            return None
        self._begin()
        lowered = jax.jit(self._stepped).lower(
            self._current, self._state, self._unnamed, self._named, self._targets
        )
        self.reset()
        return programs.flops_of(lowered.compile())


def _named(name: str, tree: Any) -> dict[str, Any]:
    """Returns the arrays of a tree by their places: `output[0]['loss']`; without a name before them
    as `layer.0.weight`."""
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    if name:
        return {f"{name}{jax.tree_util.keystr(path)}": leaf for path, leaf in leaves}
    return {".".join(str(_key(entry)) for entry in path): leaf for path, leaf in leaves}


def _key(entry: Any) -> Any:
    for attribute in ("key", "idx", "name"):
        if hasattr(entry, attribute):
            return getattr(entry, attribute)
    return entry


def costs(call: Callable[[], Any]) -> dict[str, float]:
    """Returns what compiling a call took, as `programs.costs`; of a model its forward pass."""
    return programs.costs(call.call if isinstance(call, JAXModel) else call)


def compiled_flops(call: Callable[[], Any]) -> Flops | None:
    """Returns XLA's count of the operations of a call; of a model of its forward pass."""
    compiled = call.call if isinstance(call, JAXModel) else call
    return compiled.program.flops() if isinstance(compiled, programs.CompiledCall) else None
