"""PyTorch's autograd: a recorded call and its backward pass."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch

from opperf.errors import NoGradientError, OpperfError, one_line
from opperf.frameworks.torch import user_tensors
from opperf.frameworks.torch.devices import is_out_of_memory
from opperf.frameworks.torch.messages import refusal
from opperf.frameworks.torch.tensors import layout_of, tensors

HEAD_SEED = 0

Gradients = tuple[torch.Tensor | None, ...]

LEAST_HEAD = 0.5
"""Head gradients are random in [0.5, 1.5), so that no gradient cancels by symmetry or is zero."""


TURNED = "(1 + 0.5j)"
"""Factor of head gradients of complex results, lest most gradients' imaginary part be zero."""

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


def head_code(output: torch.Tensor) -> str:
    """Returns the expression of the head gradient of an output, which is `{out}` there."""
    layout = layout_of(output)
    if layout != "dense":
        ones = ONES.get(layout, "torch.ones_like({out}.detach())")
        return f"({ones} * {TURNED})" if output.is_complex() else ones
    generator = f"torch.Generator({{out}}.device).manual_seed({HEAD_SEED})"
    random = f"torch.rand({{out}}.shape, generator={generator}, device={{out}}.device)"
    drawn = f"({random} + {LEAST_HEAD})"
    if output.is_complex():
        drawn = f"({drawn} * {TURNED})"
    # As the layers behind it leave it; in another order it would be converted in each pass.
    _, _, order = user_tensors.place(output)
    ordered = f", memory_format=torch.{order}" if order else ""
    return f"{drawn}.to({{out}}.dtype{ordered})"


def head(output: torch.Tensor) -> torch.Tensor:
    """Returns the head gradient of an output."""
    code = head_code(output).format(out="out")
    made: torch.Tensor = eval(code, {"torch": torch, "out": output})
    return made


def by_place(outputs: Any, place: str = "") -> dict[str, torch.Tensor]:
    """Returns the tensors among a call's results, by their places in source, `[1][0]` or empty."""
    if isinstance(outputs, torch.Tensor):
        return {place: outputs}
    pairs: Iterable[tuple[Any, Any]] = ()
    if isinstance(outputs, (list, tuple)):
        pairs = enumerate(outputs)
    elif isinstance(outputs, Mapping):
        pairs = outputs.items()
    found: dict[str, torch.Tensor] = {}
    for key, output in pairs:
        found |= by_place(output, f"{place}[{key!r}]")
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
    """Has autograd record each forward call, unless the call `tries` and is refused."""
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


def heads(call: Callable[[], Any], inputs: Sequence[torch.Tensor]) -> dict[str, str]:
    """Returns `head_code` of the outputs of a call, which is made once, by their places."""
    with differentiating(inputs):
        outputs = by_place(call())
        return {place: head_code(one) for place, one in outputs.items() if one.requires_grad}


class RecordedGradient:
    """A recorded call, and its backward pass with fixed head gradients, to new tensors: adding to
    `.grad` would be a second operator's time."""

    def __init__(
        self, call: Callable[[], Any], inputs: Sequence[torch.Tensor], names: Collection[str] = ()
    ) -> None:
        """`names` are those of the parameters that take part; empty for all."""
        self._call = call
        self._inputs = [*inputs, *_parameters(call, names)]
        self._outputs: list[torch.Tensor] = []
        self.heads: list[torch.Tensor] = []
        if not self._inputs:
            raise NoGradientError("none of its inputs takes a gradient")
        try:
            # The forward pass may be timed later, and is not to be recorded then.
            with differentiating(inputs):
                self.record()
                if not self._outputs:
                    raise NoGradientError("autograd has no gradient of its results")
                self.heads = [head(output) for output in self._outputs]
                found = self.backward()
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

    def _check(self, found: Gradients) -> None:
        if all(gradient is None for gradient in found):
            raise NoGradientError("its results do not depend on an input that takes a gradient")

    def record(self) -> None:
        self._outputs = []
        for tensor in self._inputs:
            tensor.requires_grad_(True)
        self._outputs = [part for part in tensors(self._call()) if part.requires_grad]

    def backward(self) -> Gradients:
        """Returns the gradients, of parameters too; None for an input without one."""
        return torch.autograd.grad(self._outputs, self._inputs, self.heads, allow_unused=True)

    def read(self, returned: Gradients) -> Gradients:
        return returned


class FusedGradient(RecordedGradient):
    """The backward pass of a module that updates its weights in it, and returns no gradients."""

    def _check(self, found: Gradients) -> None:
        """Does nothing: an empty list says nothing of such a pass."""

    def backward(self) -> Gradients:
        torch.autograd.backward(self._outputs, self.heads)
        return ()


def _parameters(call: Callable[[], Any], names: Collection[str]) -> list[torch.Tensor]:
    function = call.func if isinstance(call, partial) else call
    if not isinstance(function, torch.nn.Module):
        return []
    found = function.named_parameters()
    return [one for name, one in found if (name in names if names else one.requires_grad)]
