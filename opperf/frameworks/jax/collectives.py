"""Calls of collective functions: a program over all devices of a process, each with an equal part
of every array's first axis."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from opperf.frameworks.jax import COLLECTIVES, DEVICES, DEVICES_OPTION
from opperf.frameworks.jax.programs import Flat
from opperf.model import OperatorTarget, Target

AXIS = "devices"
"""The axis of the mesh, as the rules' `axis_name` has it."""


def is_collective(target: Target) -> bool:
    """Whether a target works inside a function that is mapped over devices."""
    return isinstance(target, OperatorTarget) and target.name in COLLECTIVES


def over_devices(call: partial[Any]) -> partial[Any]:
    """Returns a call with its arrays on all devices of the platform that they are on."""
    flat = Flat(call)
    (device,) = flat.arrays[0].devices()
    mesh = Mesh(jax.local_devices(backend=device.platform), (AXIS,))
    parts = PartitionSpec(AXIS)
    # What each device returns differs or not, and is its part of the result.
    mapped = jax.shard_map(flat, mesh=mesh, in_specs=parts, out_specs=parts, check_vma=False)
    return partial(mapped, *jax.device_put(flat.arrays, NamedSharding(mesh, parts)))


def script_lines(names: str) -> tuple[list[str], list[str]]:
    """Returns the lines of a script that set the number of devices, and those that map its `call`
    of arrays of these names, with commas between them, over the devices."""
    return [f"jax.config.update({DEVICES_OPTION!r}, {DEVICES})"], [
        f"mesh = jax.sharding.Mesh(jax.local_devices(), ({AXIS!r},))",
        f"parts = jax.sharding.PartitionSpec({AXIS!r})",
        "call = jax.shard_map(call, mesh=mesh, in_specs=parts, out_specs=parts, check_vma=False)",
        f"{names}, = jax.device_put(({names},), jax.sharding.NamedSharding(mesh, parts))",
    ]
