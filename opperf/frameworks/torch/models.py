"""Models of PyTorch, run as a program runs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from opperf.errors import NoGradientError, UsageError
from opperf.frameworks.base import Flops
from opperf.frameworks.models import NO_LOSS, NO_PARAMETERS, RATE, Model
from opperf.frameworks.object_state import ObjectState
from opperf.frameworks.torch import modes, restoring, xla
from opperf.frameworks.torch.devices import dtype_of, torch_device, type_of
from opperf.frameworks.torch.flops import FlopCounter
from opperf.frameworks.torch.gradient import by_place
from opperf.frameworks.torch.tensors import tensors
from opperf.model import Case


class TorchModel:
    """A module or function of PyTorch with its inputs, as `RunnableModel`."""

    def __init__(self, case: Case, model: Model) -> None:
        settings = case.settings
        self._model = model
        self._seed, self._trains = settings.seed, settings.phase == "train"
        self._is_xla = xla.is_mode(settings.mode)
        # XLA's device in the modes that compute by it.
        place = settings.device
        self._device = xla.device(type_of(place)) if self._is_xla else torch_device(place)
        self._dtype = dtype_of(settings.dtype)
        self._module = model.call if isinstance(model.call, torch.nn.Module) else None
        if self._module is not None:
            self._module.to(self._device, self._floating_dtype)
            self._module.train(self._trains)
        unnamed, named = (
            ((), model.inputs) if isinstance(model.inputs, Mapping) else (model.inputs, {})
        )
        unnamed, named = self._placed(tuple(unnamed)), self._placed(dict(named))
        self._inputs = named or unnamed
        eager = partial(model.call, *unnamed, **named)
        self._eager = eager
        self._loss, self._targets = model.loss, self._placed(tuple(model.targets))
        self._make_lazy_parameters()
        # Before the first call, also of a mode that traces.
        self.state = self._kept()
        self._forward = modes.prepare(settings, eager, is_user_code=True)
        self.state.restore()
        self._make_optimizer = model.optimizer or partial(torch.optim.SGD, lr=RATE)
        self._optimizer: Any = None

    @property
    def _floating_dtype(self) -> torch.dtype | None:
        return self._dtype if self._dtype.is_floating_point else None

    def _placed(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            floating = self._floating_dtype if value.is_floating_point() else None
            return value.to(self._device, floating)
        if isinstance(value, Mapping):
            return {name: self._placed(one) for name, one in value.items()}
        if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
            return type(value)(map(self._placed, value))
        return value

    def refresh_inputs(self) -> None:
        with torch.no_grad():
            for tensor in tensors(self._inputs):
                order = torch.randperm(tensor.numel(), device=tensor.device)
                tensor.copy_(tensor.flatten()[order].view_as(tensor))

    def __call__(self) -> Any:
        outputs = self._forward()
        return (outputs, self._loss_of(outputs)) if self._trains else outputs

    def _loss_of(self, outputs: Any) -> torch.Tensor:
        if self._loss is not None:
            loss = self._loss(outputs, *self._targets)
            if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
                raise UsageError("the model's loss returns no scalar tensor; return its mean")
            return loss
        own = getattr(outputs, "loss", None)
        if isinstance(own, torch.Tensor):
            return own
        floating = [output for output in tensors(outputs) if output.is_floating_point()]
        if not floating:
            raise NoGradientError(NO_LOSS)
        return torch.stack([output.float().mean() for output in floating]).sum()

    def _parameters(self) -> dict[str, torch.Tensor]:
        if self._module is None:
            return {}
        return {name: one for name, one in self._module.named_parameters() if one.requires_grad}

    def gradient(self) -> LossGradient:
        if not self._parameters():
            raise NoGradientError(NO_PARAMETERS)
        return LossGradient(lambda: self._loss_of(self._forward()), [*self._parameters().values()])

    def begin_update(self) -> None:
        self._begin_update(self._forward)

    def _begin_update(self, forward: Callable[[], Any]) -> None:
        if self._optimizer is None:
            self._optimizer = self._make_optimizer([*self._parameters().values()])
        self._optimizer.zero_grad(set_to_none=True)
        self._last_loss = self._loss_of(forward())
        self._last_loss.backward()

    def update(self) -> None:
        self._optimizer.step()

    def step(self) -> Any:
        if not self._trains:
            return self()
        self.begin_update()
        self.update()
        if self._is_xla:
            xla.end_step()
        return self._last_loss

    def _named(self) -> dict[str, torch.Tensor]:
        if self._module is None:
            return {}
        return {**dict(self._module.named_parameters()), **dict(self._module.named_buffers())}

    def _kept(self) -> ObjectState:
        modules = [] if self._module is None else [*self._module.named_modules()]
        return ObjectState(
            {
                **self._named(),
                # The inner ones first, which have a name here.
                **dict(reversed(modules)),
                **{"call": self._model.call, "loss": self._loss},
                **{"inputs": self._inputs, "targets": self._targets},
            },
            restoring.keep,
        )

    def _make_lazy_parameters(self) -> None:
        """Has the parameters of unknown shapes made, which the first call does."""
        if self._module is None or not any(map(is_lazy, self._module.parameters())):
            return
        before = self._kept()
        with torch.no_grad():
            self._module.eval()
            self._eager()
            before.settle(self._eager)
        self._module.train(self._trains)

    def reset(self) -> None:
        self._optimizer = None
        torch.manual_seed(self._seed)
        # In place, as compiled code and graphs have the addresses.
        self.state.restore()

    def results(self, steps: int = 1) -> Mapping[str, Any]:
        for _ in range(steps - 1):
            self.step()
        found = self._results()
        self.reset()
        return found

    def _results(self) -> dict[str, Any]:
        if not self._trains:
            outputs = self._forward()
            found, returned = _named("output", outputs), set(map(id, tensors(outputs)))
            written = self._written().items()
            return found | {
                f"{name} after the call": one.detach().clone()
                for name, one in written
                if id(one) not in returned
            }
        if self._optimizer is None:
            self._optimizer = self._make_optimizer([*self._parameters().values()])
        self._optimizer.zero_grad(set_to_none=True)
        outputs = self._forward()
        found = _named("output", outputs)
        loss = self._loss_of(outputs)
        loss.backward()
        found["loss"] = loss.detach().clone()
        for name, one in self._parameters().items():
            if one.grad is not None:
                found[f"gradient of {name}"] = one.grad.detach().clone()
        self._optimizer.step()
        for name, one in {**self._named(), **self._written()}.items():
            found[f"{name} after the step"] = one.detach().clone()
        return found

    def _written(self) -> dict[str, torch.Tensor]:
        written = self.state.written().items()
        return {name: one for name, one in written if isinstance(one, torch.Tensor)}

    def converted(self, case: Case) -> TorchModel:
        self.reset()
        placed = replace(self._model, inputs=self._inputs, targets=self._targets)
        return TorchModel(case, placed)

    def flops(self, of_step: bool) -> Flops:
        self.reset()
        counter = FlopCounter()
        with counter:
            if of_step:
                self._begin_update(self._eager)
                self.update()
            else:
                self._eager()
        self.reset()
        return counter.flops


def _named(name: str, outputs: Any) -> dict[str, Any]:
    return {
        f"{name}{place}": tensor.detach().clone() for place, tensor in by_place(outputs).items()
    }


class LossGradient:
    """The loss of a model, and its backward pass, to new tensors."""

    def __init__(self, loss: Callable[[], torch.Tensor], parameters: list[torch.Tensor]) -> None:
        self._loss, self._parameters = loss, parameters
        self._value: torch.Tensor | None = None
        self.record()
        assert self._value is not None
        if not self._value.requires_grad:
            raise NoGradientError("its loss does not depend on a parameter")
        self.backward()
        self._value = None

    def record(self) -> None:
        # The graph of the step before is freed first, as a program's loop does.
        self._value = None
        self._value = self._loss()

    def backward(self) -> None:
        assert self._value is not None
        torch.autograd.grad(self._value, self._parameters, allow_unused=True)
