"""The public functions of PyTorch that call an operator of their own name."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import ModuleType
from typing import NamedTuple

import torch


class Place(NamedTuple):
    """A module with public functions."""

    module: ModuleType | type
    path: str
    prefix: str = ""
    """Beginning of the operators' names, which the functions' lack: `torch.linalg.norm` calls
    `linalg_norm`."""


PLACES = (
    Place(torch, "torch"),
    Place(torch.nn.functional, "torch.nn.functional"),
    Place(torch.linalg, "torch.linalg", "linalg_"),
    Place(torch.fft, "torch.fft", "fft_"),
    Place(torch.special, "torch.special", "special_"),
    Place(torch.Tensor, "torch.Tensor"),
)
"""Modules whose functions call the operators of their own names."""

RENAMED: Mapping[str, str] = {
    "torch.nn.functional.cross_entropy": "cross_entropy_loss",
    "torch.nn.functional.grid_sample": "grid_sampler",
    "torch.nn.functional.affine_grid": "affine_grid_generator",
    "torch.nn.functional.fold": "col2im",
    "torch.nn.functional.unfold": "im2col",
    "torch.nn.functional.logsigmoid": "log_sigmoid",
}
"""Operators of functions that have another name."""


@functools.cache
def _paths() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for place in PLACES:
        for name in dir(place.module):
            path = f"{place.path}.{name}"
            if not name.startswith("_") and callable(getattr(place.module, name, None)):
                found.setdefault(RENAMED.get(path, f"{place.prefix}{name}"), []).append(path)
    return {name: tuple(paths) for name, paths in found.items()}


def paths(name: str) -> tuple[str, ...]:
    """Returns the paths of the public functions of an operator, `torch.add` of `add`."""
    return _paths().get(name, ())


@functools.cache
def _by_identity() -> dict[int, str]:
    return {
        id(value): f"{place.path}.{name}"
        for place in reversed(PLACES)
        for name in dir(place.module)
        if not name.startswith("_") and callable(value := getattr(place.module, name, None))
    }


def path_of(function: object) -> str:
    """Returns the path of a public function; empty for any other object."""
    return _by_identity().get(id(function), "")
