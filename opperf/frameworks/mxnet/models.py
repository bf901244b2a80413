"""Models of MXNet: Gluon blocks, run as a program runs them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import mxnet as mx
import numpy as np

from opperf.errors import NoGradientError, UnsupportedError, UsageError
from opperf.frameworks.base import Flops
from opperf.frameworks.models import NO_LOSS, NO_PARAMETERS, RATE, Model
from opperf.frameworks.mxnet import private
from opperf.frameworks.mxnet.device import context
from opperf.frameworks.mxnet.gradient import by_place
from opperf.frameworks.mxnet.tensors import keep
from opperf.frameworks.object_state import ObjectState
from opperf.model import Case

HYBRIDIZE = "hybridize"
"""Mode in which a block runs as a graph."""

OPTIMIZER = ("sgd", {"learning_rate": RATE})
"""Arguments of the trainer where a model has no optimizer: a small rate, so that many steps change
the parameters little."""


def hybridize(block: Any) -> None:
    """Has a block run as a graph. Raises `UnsupportedError` for what cannot."""
    if not isinstance(block, mx.gluon.HybridBlock):
        raise UnsupportedError("mode hybridize is for Gluon's HybridBlocks; use --mode eager")
    block.hybridize(static_alloc=True, static_shape=True)


class MXNetModel:
    """A block with its inputs, as `RunnableModel`."""

    def __init__(self, case: Case, model: Model) -> None:
        settings = case.settings
        self._model = model
        self._seed, self._trains = settings.seed, settings.phase == "train"
        self._context, self._dtype = context(settings.device), settings.dtype
        self._block = model.call if isinstance(model.call, mx.gluon.Block) else None
        if isinstance(model.inputs, Mapping):
            raise UsageError("a model of MXNet takes its inputs by position; return a tuple")
        self._inputs = [self._placed(value) for value in model.inputs]
        self._targets = [self._placed(value) for value in model.targets]
        self._call, self._loss = model.call, model.loss
        if self._block is not None:
            parameters = self._block.collect_params()
            if not all(private.is_initialised(weight) for weight in parameters.values()):
                self._block.initialize(ctx=self._context)
            parameters.reset_ctx(self._context)
            self._block.cast(self._dtype)
        self._trainer_arguments = model.optimizer or OPTIMIZER
        self._trainer: Any = None
        self._make_parameters()
        if settings.mode == HYBRIDIZE:
            hybridize(model.call)
        # Before the first call, each of which moves what a normalisation keeps.
        self.state = self._kept()

    def _placed(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            value = mx.nd.array(value, dtype=value.dtype)
        if not isinstance(value, mx.nd.NDArray):
            return value
        is_floating = np.issubdtype(np.dtype(value.dtype), np.floating)
        placed = value.as_in_context(self._context)
        return placed.astype(self._dtype) if is_floating else placed

    def refresh_inputs(self) -> None:
        for array in self._inputs:
            if isinstance(array, mx.nd.NDArray):
                # As one row of elements: MXNet shuffles along the first axis alone.
                array[:] = mx.nd.shuffle(array.reshape(-1)).reshape(array.shape)

    def _forward(self) -> Any:
        return self._call(*self._inputs)

    def _with_loss(self) -> tuple[Any, Any]:
        with mx.autograd.record(train_mode=True):
            outputs = self._forward()
            if self._loss is not None:
                loss = self._loss(outputs, *self._targets)
                if not isinstance(loss, mx.nd.NDArray):
                    raise UsageError("the model's loss returns no array")
                return outputs, loss.mean()
            floating = [
                output
                for output in by_place(outputs).values()
                if np.issubdtype(np.dtype(output.dtype), np.floating)
            ]
            if not floating:
                raise NoGradientError(NO_LOSS)
            means = [output.mean() for output in floating]
            return outputs, sum(means[1:], means[0])

    def __call__(self) -> Any:
        return self._with_loss() if self._trains else self._forward()

    def _parameters(self) -> dict[str, Any]:
        """Returns the parameters by names that are the same for each block of a kind."""
        if self._block is None:
            return {}
        found = self._block.collect_params()
        return dict(zip(renumbered(found), found.values(), strict=True))

    def _differentiated(self) -> dict[str, Any]:
        return {name: one for name, one in self._parameters().items() if one.grad_req != "null"}

    def gradient(self) -> LossGradient:
        if not self._differentiated():
            raise NoGradientError(NO_PARAMETERS)
        return LossGradient(lambda: self._with_loss()[1])

    def _begin(self) -> None:
        if self._trainer is None:
            if not self._differentiated():
                raise NoGradientError(NO_PARAMETERS)
            self._trainer = mx.gluon.Trainer(
                [*self._parameters().values()], *self._trainer_arguments, kvstore=None
            )

    def begin_update(self) -> None:
        self._begin()
        _, self._last_loss = self._with_loss()
        self._last_loss.backward()

    def update(self) -> None:
        # The loss is a mean: the gradients are scaled already.
        self._trainer.step(1)

    def step(self) -> Any:
        if not self._trains:
            return self()
        self.begin_update()
        self.update()
        return self._last_loss

    def _kept(self) -> ObjectState:
        named = self._parameters().items()
        return ObjectState(
            {
                **{name: one.data() for name, one in named if private.is_initialised(one)},
                **{"call": self._call, "loss": self._loss},
                **{"inputs": self._inputs, "targets": self._targets},
            },
            keep,
        )

    def _make_parameters(self) -> None:
        """Has the parameters of unknown shapes made, which the first call does."""
        if all(private.is_initialised(weight) for weight in self._parameters().values()):
            return
        before = self._kept()
        with mx.autograd.predict_mode():
            self._forward()
            before.settle(self._forward)

    def reset(self) -> None:
        self._trainer = None
        # A static graph writes to arrays without the engine's knowing.
        mx.nd.waitall()
        self.state.restore()
        mx.random.seed(self._seed)

    def results(self, steps: int = 1) -> Mapping[str, Any]:
        for _ in range(steps - 1):
            self.step()
        found = self._results()
        self.reset()
        return found

    def _results(self) -> dict[str, Any]:
        if not self._trains:
            outputs = self._forward()
            found = _copies("output", outputs)
            mx.nd.waitall()
            returned = set(map(id, by_place(outputs).values()))
            written = self.state.written().items()
            return found | {
                f"{name} after the call": one.copy()
                for name, one in written
                if isinstance(one, mx.nd.NDArray) and id(one) not in returned
            }
        self._begin()
        outputs, loss = self._with_loss()
        loss.backward()
        found = {**_copies("output", outputs), **_copies("loss", loss)}
        for name, one in self._differentiated().items():
            found[f"gradient of {name}"] = one.grad().copy()
        self.update()
        # A static graph writes to what normalisation keeps without the engine's knowing: a copy
        # would be made before.
        mx.nd.waitall()
        for name, one in self._parameters().items():
            found[f"{name} after the step"] = one.data().copy()
        return found

    def converted(self, case: Case) -> MXNetModel:
        self.reset()
        return MXNetModel(case, replace(self._model, inputs=self._inputs, targets=self._targets))

    def flops(self, of_step: bool) -> Flops | None:
        return None


def _copies(name: str, outputs: Any) -> dict[str, Any]:
    return {f"{name}{place}": one.copy() for place, one in by_place(outputs).items()}


NUMBERED = re.compile(r"(?P<kind>[a-z]+)(?P<number>\d+)(?=_)")
"""A part of a parameter's name: a block's kind, and how many of it there were in the process."""


def renumbered(names: Iterable[str]) -> list[str]:
    """Returns the names of a block's parameters with the numbers that they have in the first block
    of a process: `dense7_weight` as `dense0_weight`."""
    numbers: dict[str, dict[str, int]] = defaultdict(dict)

    def number(part: re.Match[str]) -> str:
        known = numbers[part["kind"]]
        return f"{part['kind']}{known.setdefault(part['number'], len(known))}"

    return [NUMBERED.sub(number, name) for name in names]


class LossGradient:
    """The loss of a model, and its backward pass."""

    def __init__(self, loss: Callable[[], Any]) -> None:
        self._loss = loss
        self._value: Any = None
        self.record()
        self.backward()
        mx.nd.waitall()
        self._value = None

    def record(self) -> None:
        self._value = None
        self._value = self._loss()

    def backward(self) -> None:
        self._value.backward()
