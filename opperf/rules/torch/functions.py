"""Inputs of PyTorch's functions that are no operators, by their place."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Argument, Function, Mapping, Operator
from opperf.rules.configurations import WHY
from opperf.rules.registering import Family
from opperf.rules.sizes import Preset
from opperf.rules.torch.attention_kernels import layers
from opperf.rules.values import Arguments

BODIES = "opperf.frameworks.torch.bodies"
"""Module of opperf's own functions that PyTorch's take. Planning must not import it."""


def flexible(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Attention by scores as they are, by those of a mask of blocks, and by changed ones."""
    for layer in layers(size):
        why = layer.why.removesuffix(", causal")
        made: Arguments = dict.fromkeys(("query", "key", "value"), layer.heads_first())
        yield {**made, WHY: why}
        if layer.causal:
            length = layer.length
            mask: dict[str, Argument] = {
                "mask_mod": Function(f"{BODIES}.causal"),
                "Q_LEN": length,
                "KV_LEN": length,
            }
            yield {**made, "block_mask": Mapping(mask), WHY: layer.why}
            changed = Function(f"{BODIES}.alibi")
            yield {**made, "score_mod": changed, WHY: f"{why}, by ALiBi's distances"}


FUNCTIONS: dict[str, Family | str] = {"nn.attention.flex_attention.flex_attention": flexible}
