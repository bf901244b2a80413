"""Normalisation layers that only MXNet has."""

from __future__ import annotations

from collections.abc import Iterable

from opperf.model import Operator
from opperf.operations import OPERATIONS as CANONICAL
from opperf.rules.configurations import PHASE, WHY, notes_of
from opperf.rules.families.layers import outputs
from opperf.rules.families.normalisation import (
    batch_norm,
    batch_norm_inference,
    data_scale_and_shift,
)
from opperf.rules.image_shapes import network_maps
from opperf.rules.mxnet.layers import across_devices_arguments, with_statistics
from opperf.rules.registering import Families
from opperf.rules.sizes import Preset
from opperf.rules.values import AT_LEAST_SINGLE, PROBABILITY, Arguments, call, fixed, tensor
from opperf.rules.variants import Variants, add_rows

FAMILIES = Families()

TRAIN_PHASE = frozenset(
    {"BatchNorm", "BatchNorm_v1", "_contrib_BatchNormWithReLU", "_contrib_SyncBatchNorm"}
)
"""In the predict phase they read their statistics instead of computing them."""


@FAMILIES.add("BatchNorm_v1")
def first_batch_norm(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """As `BatchNorm`, its successor, but always with channels in the second axis."""
    for family, phase in ((batch_norm, "train"), (batch_norm_inference, "predict")):
        for roles in family(CANONICAL[family.__name__], size):
            if roles["axis"] == 1:
                yield {**with_statistics(roles), **notes_of(roles), PHASE: phase}


@FAMILIES.also("BatchNorm", "BatchNorm_v1", "_contrib_SyncBatchNorm")
def without_scale(operator: Operator, size: Preset) -> Iterable[Arguments]:
    """Feature maps that are normalised without a learned scale, whose gradient is then none."""
    maps = network_maps(size, 64, 35, 35)
    roles = data_scale_and_shift(maps, maps[1], AT_LEAST_SINGLE)
    across_devices = operator.parameter("ndev") is not None
    convert = across_devices_arguments if across_devices else with_statistics
    why = "Inception v3, whose normalisations learn a shift and no scale"
    yield {**convert(roles), "fix_gamma": True, PHASE: "train", WHY: why}


VARIANTS: dict[str, Variants] = {
    # The backward pass adds the gradient of a penalty of activations that are not sparse.
    "IdentityAttachKLSparseReg": lambda size: {
        f"{what}, as the code of a sparse autoencoder": call(
            data=tensor(*shape, fill=PROBABILITY), moving_avg=fixed(shape[1], fill=PROBABILITY)
        )
        for what, shape in outputs(size)
    }
}
add_rows(FAMILIES.add, VARIANTS)
