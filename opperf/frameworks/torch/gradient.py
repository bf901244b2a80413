"""PyTorch's autograd: a recorded call and its backward pass."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch

from opperf.errors import NoGradientError, OpperfError, one_line
from opperf.frameworks.torch.cuda import is_out_of_memory
from opperf.frameworks.torch.messages import refusal
from opperf.frameworks.torch.tensors import layout_of, tensors

HEAD_SEED = 0

LEAST_HEAD = 0.5
"""Head gradients are random in [0.5, 1.5), so that no gradient cancels by symmetry or is zero."""


TURNED = "(1 + 0.5j)"
"""Factor of head gradients of complex results. A real one would leave the imaginary part of most
gradients zero."""

COMPRESSED = (
    "torch.sparse_compressed_tensor({{out}}.detach().{0}_indices(), "
    "{{out}}.detach().{1}_indices(), torch.ones_like({{out}}.detach().values()), "
    "{{out}}.shape, layout={{out}}.layout)"
)
"""A tensor of ones in the places that a compressed one stores."""

ONES: Mapping[str, str] = {
    "coo": (
        "torch.sparse_coo_tensor({out}.detach().coalesce().indices(), "
        "torch.ones_like({out}.detach().coalesce().values()), {out}.shape, is_coalesced=True)"
    ),
    **dict.fromkeys(("csr", "bsr"), COMPRESSED.format("crow", "col")),
    **dict.fromkeys(("csc", "bsc"), COMPRESSED.format("ccol", "row")),
    "mkldnn": "torch.ones({out}.shape).to_mkldnn()",
}
"""Head gradients of outputs of layouts for which PyTorch's `ones_like` has no kernel."""


class Head(NamedTuple):
    """The head gradient of an output."""

    code: str
    """Its expression, with `{out}` in place of the output."""

    @classmethod
    def of(cls, output: torch.Tensor) -> Head:
        """Returns the head gradient of an output, of its layout."""
        layout = layout_of(output)
        if layout != "dense":
            ones = ONES.get(layout, "torch.ones_like({out}.detach())")
            return cls(f"({ones} * {TURNED})" if output.is_complex() else ones)
        generator = f"torch.Generator({{out}}.device).manual_seed({HEAD_SEED})"
        random = f"torch.rand({{out}}.shape, generator={generator}, device={{out}}.device)"
        drawn = f"({random} + {LEAST_HEAD})"
        if output.is_complex():
            drawn = f"({drawn} * {TURNED})"
        return cls(f"{drawn}.to({{out}}.dtype)")

    def text(self, name: str) -> str:
        """Returns the code for the output of this name."""
        return self.code.format(out=name)

    def tensor(self, output: torch.Tensor) -> torch.Tensor:
        """Returns the head gradient of an output."""
        made: torch.Tensor = eval(self.text("out"), {"torch": torch, "out": output})
        return made


def _by_place(outputs: Any, place: str = "") -> dict[str, torch.Tensor]:
    """Returns the tensors among a call's results, by their places in source: `[1][0]`, or empty."""
    if isinstance(outputs, torch.Tensor):
        return {place: outputs}
    pairs: Iterable[tuple[Any, Any]] = ()
    if isinstance(outputs, (list, tuple)):
        pairs = enumerate(outputs)
    elif isinstance(outputs, Mapping):
        pairs = outputs.items()
    found: dict[str, torch.Tensor] = {}
    for key, output in pairs:
        found |= _by_place(output, f"{place}[{key!r}]")
    return found


@contextmanager
def differentiating(inputs: Iterable[torch.Tensor]) -> Iterator[None]:
    """Has autograd record what is computed from the inputs."""
    before = [(tensor, tensor.requires_grad) for tensor in inputs]
    for one, _ in before:
        one.requires_grad_(True)
    try:
        yield
    finally:
        for one, required in before:
            one.requires_grad_(required)


def record_forward(call: Callable[[], Any], inputs: Sequence[torch.Tensor], tries: bool) -> None:
    """Has autograd record each forward call, unless the call `tries` and is refused then, as that
    of an operator which writes to its input."""
    for tensor in inputs:
        tensor.requires_grad_(True)
    if not tries:
        return
    try:
        call()
    except Exception as error:
        if refusal(error) is None:
            raise
        for tensor in inputs:
            tensor.requires_grad_(False)


def heads(call: Callable[[], Any], inputs: Sequence[torch.Tensor]) -> dict[str, Head]:
    """Returns the head gradients of a call, which is made once, by the places of its outputs."""
    with differentiating(inputs):
        outputs = _by_place(call())
        return {place: Head.of(one) for place, one in outputs.items() if one.requires_grad}


class RecordedGradient:
    """A call recorded by autograd, and its backward pass with fixed head gradients.

    The gradients are those of `torch.autograd.grad`, which makes new tensors of them: adding to
    `.grad` would be a second operator's time.
    """

    def __init__(
        self,
        call: Callable[[], Any],
        inputs: Sequence[torch.Tensor],
        names: Collection[str] = (),
    ) -> None:
        """`names` are those of the parameters that take part; empty for all."""
        self._call = call
        self._inputs = [*inputs, *_parameters(call, names)]
        self._outputs: list[torch.Tensor] = []
        self._heads: list[torch.Tensor] = []
        if not self._inputs:
            raise NoGradientError("none of its inputs takes a gradient")
        try:
            # The forward pass may be timed later, and is not to be recorded then.
            with differentiating(inputs):
                self.record()
                if not self._outputs:
                    raise NoGradientError("autograd has no gradient of its results")
                self._heads = [Head.of(output).tensor(output) for output in self._outputs]
                found = self.gradients()
        except OpperfError:
            raise
        except Exception as error:
            reason = refusal(error)
            # Exhausted memory says nothing about the operator.
            if reason is None or is_out_of_memory(error):
                raise
            raise NoGradientError(one_line(reason)) from error
        finally:
            self._outputs = []
        self._check(found)

    def _check(self, found: tuple[torch.Tensor | None, ...]) -> None:
        """Raises `NoGradientError` if there is no gradient among those found."""
        if all(gradient is None for gradient in found):
            raise NoGradientError("its results do not depend on an input that takes a gradient")

    def record(self) -> None:
        """Runs and records the forward call."""
        self._outputs = []
        for tensor in self._inputs:
            tensor.requires_grad_(True)
        self._outputs = [part for part in tensors(self._call()) if part.requires_grad]

    def backward(self) -> None:
        """Computes the gradients of the last recorded call."""
        self.gradients()

    def results(self) -> tuple[torch.Tensor | None, ...]:
        """Returns the gradients of the last recorded call, of a module's parameters too."""
        return self.gradients()

    def gradients(self) -> tuple[torch.Tensor | None, ...]:
        """Returns the gradients of the last recorded call; None for an input without one."""
        return torch.autograd.grad(self._outputs, self._inputs, self._heads, allow_unused=True)


class FusedGradient(RecordedGradient):
    """The backward pass of a module that updates its weights in it, and returns no gradients of
    them."""

    def _check(self, found: tuple[torch.Tensor | None, ...]) -> None:
        """Does nothing: an empty list says nothing of such a pass."""

    def gradients(self) -> tuple[torch.Tensor | None, ...]:
        """Runs the backward pass."""
        torch.autograd.backward(self._outputs, self._heads)
        return ()


def _parameters(call: Callable[[], Any], names: Collection[str]) -> list[torch.Tensor]:
    """Returns the parameters of the module that a call calls, those of these names if there are
    any names; none for any other callable."""
    function = call.func if isinstance(call, partial) else call
    if not isinstance(function, torch.nn.Module):
        return []
    found = function.named_parameters()
    return [one for name, one in found if (name in names if names else one.requires_grad)]
