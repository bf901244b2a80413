"""Families of PyTorch's operators that scale pictures and read them at a grid."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from opperf.model import Operator, TensorSpec
from opperf.rules.configurations import WHY
from opperf.rules.engine import arguments_by_role, uses_of
from opperf.rules.families import FAMILIES as SHARED
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.torch.operations.transforms import METHODS, TABLE
from opperf.rules.values import Arguments

FAMILIES = Families()

OF_MAPS = tuple(f"upsample_{name}" for name in METHODS if name.endswith("2d"))


@FAMILIES.also(*OF_MAPS, *(f"{name}_backward" for name in OF_MAPS))
def upsample_channels_last(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """The first of the operator's feature maps, with channels last, which has a kernel of its
    own."""
    use, _ = next(iter(uses_of(operator, TABLE)))
    family = SHARED.by_operation[use.operation]
    first = next(iter(arguments_by_role(operator, TABLE, family, size)))
    made = {
        name: msgspec.structs.replace(value, memory_format="channels_last")
        if isinstance(value, TensorSpec)
        else value
        for name, value in first.items()
    }
    yield {**made, WHY: f"{first[WHY]}: channels last"}
