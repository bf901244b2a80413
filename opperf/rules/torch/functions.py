"""Inputs of PyTorch's functions that are no operators, by their place."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.rules.configurations import WHY
from opperf.rules.registering import Family
from opperf.rules.sizes import Preset
from opperf.rules.torch.attention_kernels import layers
from opperf.rules.values import Arguments


def flexible(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Attention whose scores no function of the user's changes."""
    for layer in layers(size):
        why = layer.why.removesuffix(", causal")
        yield {**dict.fromkeys(("query", "key", "value"), layer.heads_first()), WHY: why}


FUNCTIONS: dict[str, Family | str] = {"nn.attention.flex_attention.flex_attention": flexible}
