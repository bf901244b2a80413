"""Settings of a selection: the framework's defaults filled in, and what it lacks refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from opperf.errors import DeviceError, UsageError
from opperf.frameworks import Framework
from opperf.model import Struct
from opperf.rules.sizes import PRESETS
from opperf.sources.choices import CHOICES, LISTED, is_misspelt, parse_device, refusal
from opperf.sources.selecting import Selection, check_groups, check_known
from opperf.sources.varying import OPTION, Axes

OWN_DEFAULT = ("device", "profiler", "mode")
"""Settings whose default is the framework's own."""


class Resolution(Struct, frozen=True):
    """Axes with a framework's values filled in."""

    axes: Axes
    usable: Axes
    """The axes with only the values that this build and machine support."""


def resolve(framework: Framework, axes: Mapping[str, tuple[Any, ...]]) -> Resolution:
    """Returns the axes with the framework's default device and profiler filled in, and with devices
    under their canonical names. An unsupported value stays beside supported ones: its cases are
    skipped.

    Raises `UsageError` for an unknown value, and for an axis without a supported value.
    """
    requested = {
        name: axes.get(name) or tuple(CHOICES[name](framework))[:1] for name in OWN_DEFAULT
    }
    found: Axes = {**axes, **requested}
    found["device"] = tuple(dict.fromkeys(_device(framework, text) for text in requested["device"]))
    usable: Axes = {}
    for name, values in found.items():
        # Pairs, as options are dicts, which are no keys.
        refusals = [(value, refusal(framework, name, value)) for value in values]
        usable[name] = tuple(value for value, refused in refusals if refused is None)
        for value, refused in refusals:
            if refused is not None and (not usable[name] or is_misspelt(framework, name, value)):
                raise refused
    return Resolution(found, usable)


def resolve_selection(selection: Selection, resolve: Callable[[Axes], Resolution]) -> Selection:
    """Returns the selection with the framework's defaults, as `resolve` fills them in."""
    settings = selection.settings
    requested = {name: getattr(settings, name) for name in ("dtype", *OWN_DEFAULT)}
    resolution = resolve({name: (value,) for name, value in requested.items() if value})
    found = {name: values[0] for name, values in resolution.axes.items()}
    return msgspec.structs.replace(selection, settings=msgspec.structs.replace(settings, **found))


def _device(framework: Framework, text: str) -> str:
    try:
        return parse_device(framework, text)
    except DeviceError as error:
        return error.device or text


def check_settings(framework: Framework, selection: Selection) -> None:
    """Raises `UsageError` for settings that the framework or build does not support."""
    settings = selection.settings
    for name in ("device", "options", *LISTED):
        refused = refusal(framework, name, getattr(settings, name))
        if refused is not None:
            raise refused
    if settings.grad and not (selection.backward and framework.gradients.supported):
        with_ = (
            "--no-backward"
            if framework.gradients.supported
            else f"{framework.name}, which has none"
        )
        raise UsageError(f"{OPTION} {settings.grad} has no effect with {with_}; omit it")
    if selection.int64_tensor and framework.build.large_tensor_limit():
        raise UsageError(
            f"--int64-tensor on: {framework.build.large_tensor_limit()}, or --int64-tensor off"
        )
    check_known("size", (selection.size,), PRESETS)
    check_groups(framework.operators(), selection)
