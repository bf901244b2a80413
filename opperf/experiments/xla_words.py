"""The words of PyTorch/XLA's benchmarks: their axes and order, and the settings that they mean."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from opperf.errors import UsageError, suggest

Words = Mapping[str, "str | None"]
"""A value of each of PyTorch/XLA's axes, by name; empty where none of its words is used."""

DEFAULTS: dict[str, tuple[str | None, ...]] = {
    "accelerator": ("cpu", "cuda", "tpu"),
    "xla": (None, "PJRT", "XRT"),
    "xla_flags": (None,),
    "dynamo": (None, "inductor", "openxla"),
    "torch_xla2": (None,),
    "test": ("eval", "train"),
    "enable_functionalization": (None,),
}
"""The values of each axis where it is not named, in the order of the product."""

NONE = "None"
"""How a command line writes no value."""

CHOICES: dict[str, tuple[str | None, ...]] = {
    **DEFAULTS,
    "torch_xla2": (None, "extract_jax", "torch_export"),
    "enable_functionalization": (None, "true"),
}
"""The values that each axis may have; any of `xla_flags`."""

DEVICES = {"cpu": "cpu", "cuda": "gpu", "tpu": "tpu"}

EAGER, COMPILE, OPENXLA, XLA = "eager", "compile", "compile:openxla", "xla"

MODES: dict[tuple[bool, str | None], str] = {
    (False, None): EAGER,
    (False, "inductor"): COMPILE,
    (False, "openxla"): OPENXLA,
    (True, None): XLA,
    (True, "inductor"): COMPILE,
    (True, "openxla"): OPENXLA,
}
"""Modes by whether XLA computes and by dynamo's back end. Rules remove what cannot be."""

PHASES = {"eval": "predict", "train": "train"}


def read_values(axis: str, texts: tuple[str, ...]) -> tuple[str | None, ...]:
    """Returns the values of an axis in the order in which they are named. Raises `UsageError` for
    one that it does not have."""
    found: dict[str | None, None] = {}
    for text in texts:
        value = None if text == NONE else text
        known = CHOICES[axis]
        if axis != "xla_flags" and value not in known:
            listed = [NONE if word is None else word for word in known]
            option = f"--{axis.replace('_', '-')}"
            raise UsageError(
                f"{option} {text}: not one of {', '.join(listed)}{suggest(text, listed)}"
            )
        found[value] = None
    return tuple(found)


def product_of(
    axes: Mapping[str, tuple[str | None, ...]],
) -> Iterator[tuple[Words, dict[str, Any]]]:
    """Yields each combination of PyTorch/XLA's axes, and the settings that it means; a single one
    without words or settings if no axis is named."""
    if not axes:
        yield {}, {}
        return
    choices = {**DEFAULTS, **axes}
    for values in itertools.product(*choices.values()):
        words = dict(zip(choices, values, strict=True))
        yield words, settings_of(words)


def settings_of(words: Words) -> dict[str, Any]:
    """Returns the settings that words mean."""
    accelerator, has_xla = words["accelerator"] or "cpu", words["xla"] is not None
    settings: dict[str, Any] = {
        "device": DEVICES[accelerator],
        "mode": MODES[has_xla, words["dynamo"]],
        "phase": PHASES[words["test"] or "eval"],
    }
    if has_xla:
        env = {"PJRT_DEVICE": accelerator.upper()}
        if words["xla_flags"]:
            env["XLA_FLAGS"] = words["xla_flags"]
        if not words["enable_functionalization"]:
            env["XLA_DISABLE_FUNCTIONALIZATION"] = "1"
        settings["env"] = env
    return settings
