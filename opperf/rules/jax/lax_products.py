"""Inputs of the products of `jax.lax` beside those of all frameworks: of stacks with other axes,
and of groups of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opperf.model import Mapping as Fields
from opperf.model import Operator, TensorSpec
from opperf.rules.bert import FEED_FORWARD, HEADS, UNITS, WIDTH, layer_width
from opperf.rules.configurations import WHY
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.values import Arguments, fixed, literal, tensor
from opperf.rules.variants import Variants, own

FAMILIES = Families()

EXPERTS = 8
"""Experts of a layer of Mixtral's."""


def attention(size: Preset) -> Iterable[Arguments]:
    """Heads of attention as a stack of two axes."""
    heads = (size.pictures, HEADS, size.extent(128, least=8), WIDTH)
    batch, count, tokens, _ = heads
    yield {
        "lhs": tensor(batch, count, tokens, tokens),
        "rhs": tensor(*heads),
        WHY: "BERT-base, each head's scores by its values: a stack of two axes",
    }


def loads(size: Preset) -> TensorSpec:
    """Tokens of each expert: as uneven as a router's, together all."""
    each = tokens(size) // EXPERTS
    shares = [each + (each // 2 if one % 2 else -(each // 2)) for one in range(EXPERTS)]
    return fixed(EXPERTS, fill=literal(shares), dtype="int32")


def tokens(size: Preset) -> int:
    """Tokens of a batch, a multiple of the experts'."""
    return size.extent(1024, least=8 * EXPERTS)


def ragged(size: Preset) -> Iterable[Arguments]:
    """Layers of a mixture of experts, tokens sorted by expert."""
    units, inside = layer_width(size), layer_width(size, FEED_FORWARD) // 4
    for why, narrow, wide in (
        (
            "a mixture of experts, tokens sorted by expert, each through its own layer",
            units,
            inside,
        ),
        ("the same, the experts' second layer", inside, units),
    ):
        yield {
            "lhs": tensor(tokens(size), narrow),
            "rhs": tensor(EXPERTS, narrow, wide),
            "group_sizes": loads(size),
            WHY: why,
        }


def axes_of(contracted: tuple[int, int], rows: int, groups: tuple[int, ...]) -> Fields:
    """JAX's description of a product of groups of rows."""
    ours, theirs = contracted
    return Fields(
        {
            "dot_dimension_numbers": (((ours,), (theirs,)), ((), ())),
            "lhs_ragged_dimensions": (rows,),
            "rhs_group_dimensions": groups,
        }
    )


def ragged_by_axes(size: Preset) -> Iterable[Arguments]:
    """The experts' layer, and the gradient of its weights."""
    units, inside = layer_width(size), layer_width(size, UNITS)
    sorted_tokens = tensor(tokens(size), units)
    yield {
        "lhs": sorted_tokens,
        "rhs": tensor(EXPERTS, inside, units),
        "group_sizes": loads(size),
        "ragged_dot_dimension_numbers": axes_of((1, 2), 0, (0,)),
        WHY: "tokens sorted by expert, each through its own layer, weights transposed",
    }
    yield {
        "lhs": sorted_tokens,
        "rhs": tensor(tokens(size), inside),
        "group_sizes": loads(size),
        "ragged_dot_dimension_numbers": axes_of((0, 0), 0, ()),
        WHY: "the gradient of each expert's weights: sums over its own tokens",
    }


FURTHER: Mapping[str, Variants] = {"lax.batch_matmul": attention}
"""Beside the products of all frameworks."""


@FAMILIES.also(*FURTHER)
def other_stacks(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Stacks of several axes."""
    return own(FURTHER, operator, size)


RAGGED: Mapping[str, Variants] = {
    "lax.ragged_dot": ragged,
    "lax.ragged_dot_general": ragged_by_axes,
}


@FAMILIES.add(*RAGGED)
def of_groups(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Products of groups of rows, each with its own matrix."""
    return own(RAGGED, operator, size)
