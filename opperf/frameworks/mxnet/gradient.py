"""MXNet's autograd: a recorded call and its backward pass.

MXNet's error messages, without the C++ stack around them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import mxnet as mx
import numpy as np

from opperf.errors import NoGradientError, one_line
from opperf.frameworks.mxnet.tensors import dtype_name, storage_type, tensor
from opperf.model import Fill, TensorSpec

CONDITION = re.compile(r"^Check failed: .*?(?<!:)(?<!: ): (?![: ])")
"""The C++ condition in front of a message, up to its colon; MXNet writes `::` as `: :`."""

BARE_CONDITION = re.compile(r"^Check failed: (.*?)\s*:?$")
"""A C++ condition without a message, up to an empty one's colon."""

PLACE = re.compile(
    r"Error in operator \S+: |\[\d\d:\d\d:\d\d\] |(\.\./|/)?[\w./-]+\.(cc|cpp|cu|cuh|h):\d+: "
)
"""The place of an error, a number, a time of day or a line of source, which differs between
runs."""

UNAVAILABLE = re.compile(
    r"only available for GPU|not implemented for (CPU|GPU)|[Bb]uild with \w+=|"
    r"[Cc]ompile (MXNet )?with \w+=|is not supported on (CPU|GPU)|could not create a primitive"
)
"""Messages for an operator that a build, a device, or oneDNN on this processor, lacks."""

PYTHON_REFUSALS = (TypeError, ValueError, NotImplementedError, AssertionError, AttributeError)
"""Raised by MXNet's Python layer for arguments that it does not accept."""


def refusal(error: BaseException) -> str | None:
    """Returns MXNet's message, as one line, if the error is a refusal of a call; else None."""
    if isinstance(error, mx.base.MXNetError):
        text = str(error)
        message = re.split(r"(?:MXNetError|Error):\s", text)[-1]
        message = re.split(r"\n?\s*\[bt\]|Stack trace", message)[0]
        message = PLACE.sub("", " ".join(message.split()))
        return one_line(without_condition(message)) or "MXNet gave no message"
    if isinstance(error, PYTHON_REFUSALS):
        return one_line(f"{type(error).__name__}: {error}")
    return None


def without_condition(message: str) -> str:
    """Returns a failed check's message without its C++ condition, which it may be all of."""
    without = CONDITION.sub("", message)
    bare = BARE_CONDITION.match(without)
    if bare is None:
        return without
    condition = bare.group(1).replace(": :", "::").replace(" vs. ", " vs ")
    return f"MXNet's check failed: {condition}"


HEADS = Fill("uniform", 0.5, 1.5)
"""Head gradients: random, lest a gradient cancel by symmetry, and away from zero."""


HEAD_SEED = 0

DENSE = "default"
"""MXNet's storage type of dense arrays."""


def flatten(outputs: Any) -> list[Any]:
    """Returns the arrays among a call's results, lists and tuples opened."""
    return list(by_place(outputs).values())


def by_place(outputs: Any, place: str = "") -> dict[str, Any]:
    """Returns the arrays among a call's results, by their places in source: `[1][0]`, or empty."""
    if isinstance(outputs, (list, tuple)):
        found: dict[str, Any] = {}
        for number, output in enumerate(outputs):
            found |= by_place(output, f"{place}[{number}]")
        return found
    return {place: outputs} if isinstance(outputs, mx.nd.NDArray) else {}


SPARSE = {
    "csr": ("csr_matrix", ("indices", "indptr")),
    "row_sparse": ("row_sparse_array", ("indices",)),
}
"""The function that makes an array of a storage type, and the attributes of its values' places."""


class Head(NamedTuple):
    """The head gradient of an output. A sparse output's is sparse, in the places that it stores."""

    spec: TensorSpec
    """Of its stored values."""
    stype: str
    """Storage type."""

    @classmethod
    def of(cls, output: Any) -> Head:
        stype = getattr(output, "stype", DENSE)
        stored = output if stype == DENSE else output.data
        is_numpy = isinstance(output, mx.np.ndarray)
        spec = TensorSpec(
            tuple(stored.shape),
            dtype_name(output.dtype),
            HEADS,
            array_type="np" if is_numpy else "",
        )
        return cls(spec, stype)

    def array(self, output: Any, device: str) -> Any:
        values = tensor(self.spec, device, HEAD_SEED)
        if self.stype == DENSE:
            return values
        function, attributes = SPARSE[self.stype]
        places = (getattr(output, name) for name in attributes)
        make = getattr(mx.nd.sparse, function)
        return make((values, *places), shape=output.shape, ctx=output.ctx)

    def text(self, values: str, output: str) -> str:
        """Returns the head gradient as source, by the variables of its values and of the output."""
        if self.stype == DENSE:
            return values
        function, attributes = SPARSE[self.stype]
        places = ", ".join(f"{output}.{name}" for name in attributes)
        return f"mx.nd.sparse.{function}(({values}, {places}), shape={output}.shape)"


def heads(call: Callable[[], Any], train: bool) -> dict[str, Head]:
    """Returns the head gradients of a call, which is made once, by the places of its outputs."""
    with mx.autograd.record(train_mode=train):
        outputs = call()
    return {place: Head.of(output) for place, output in by_place(outputs).items()}


class RecordedGradient:
    """A call recorded by autograd, and its backward pass with fixed head gradients."""

    def __init__(
        self,
        call: Callable[[], Any],
        inputs: Sequence[Any],
        train: bool,
        device: str,
        layouts: Sequence[str] = (),
    ) -> None:
        """`layouts` are those of the inputs' gradients, where they are not the inputs' own."""
        if not inputs:
            raise NoGradientError("none of its inputs takes a gradient")
        self._call, self._train, self._inputs = call, train, inputs
        self._outputs: list[Any] = []
        self.heads: list[Any] = []
        try:
            for array, layout in zip(inputs, layouts or itertools.repeat(""), strict=False):
                # Arrays of `mx.np` know no layouts.
                array.attach_grad(**({"stype": storage_type(layout)} if layout else {}))
            self.record()
            self.heads = [Head.of(output).array(output, device) for output in self._outputs]
            self.backward()
            mx.nd.waitall()
            zero = not any(np.any(_stored(array.grad)) for array in inputs)
        except Exception as error:
            reason = refusal(error)
            if reason is None:
                raise
            raise NoGradientError(one_line(reason)) from error
        finally:
            self._outputs = []
        if zero:
            raise NoGradientError("its gradient is zero everywhere")

    def record(self) -> None:
        self._outputs = []
        with mx.autograd.record(train_mode=self._train):
            self._outputs = flatten(self._call())

    def backward(self) -> None:
        mx.autograd.backward(self._outputs, self.heads, train_mode=self._train)

    def read(self, returned: None) -> list[Any]:
        return [array.grad for array in self._inputs]


def _stored(array: Any) -> Any:
    if array is None:
        return np.zeros(1)
    if array.stype == "csr":
        # Some kernels allocate more values than they write.
        return array.data.asnumpy()[: int(array.indptr.asnumpy()[-1])]
    return (array if array.stype == "default" else array.data).asnumpy()
