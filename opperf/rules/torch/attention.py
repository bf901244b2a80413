"""Families of PyTorch's attention."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from opperf.operations import CanonicalOperation
from opperf.operations.uses import Roles
from opperf.rules.bert import HEADS, WIDTH, tokens
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.torch.roles import by_role
from opperf.rules.values import tensor

FAMILIES = Families()


@FAMILIES.also("scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu")
@by_role
def projected(operation: CanonicalOperation, size: Preset) -> Iterable[Roles]:
    """Queries, keys and values as a projection of tokens leaves them: the heads of a token lie next
    to each other in memory."""
    batch, length = tokens(size)
    dense = tensor(batch, HEADS, length, WIDTH)
    strides = (length * HEADS * WIDTH, WIDTH, HEADS * WIDTH, 1)
    heads = msgspec.structs.replace(dense, strides=strides)
    yield {
        WHY: "BERT-base, the heads of a token next to each other in memory, as projections are",
        "query": heads,
        "key": heads,
        "value": heads,
    }
