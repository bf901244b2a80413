"""Records the calls of models, without computing them."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tools.named_models import Call
from tools.named_models.models import MODELS, Model


class _Recorder(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.calls: dict[str, Call] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        named = dict(zip((one.name for one in func._schema.arguments), args, strict=False))
        named |= kwargs or {}
        result = func(*args, **(kwargs or {}))
        call = {
            "operator": func._schema.name.partition("::")[2],
            "shapes": [list(one.shape) for one in _tensors(tuple(named.values()))],
            "results": [list(one.shape) for one in _tensors(result)],
            "values": {
                name: value
                for name, value in named.items()
                if _is_plain(value) and value is not None
            },
        }
        self.calls.setdefault(repr(call), call)
        return result


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _tensors(one)


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (bool, int, float, str))


def record(model: Model) -> list[Call]:
    """Returns the different calls of a model's forward pass. Raises what its package raises, and
    `ImportError` without it."""
    package = importlib.import_module(model.package)
    with torch.no_grad(), torch.device("meta"), _Recorder() as recorder:
        built, inputs = model.build(package)
        recorder.calls.clear()
        built.eval()
        positional = [value for name, value in inputs.items() if not name]
        built(*positional, **{name: value for name, value in inputs.items() if name})
    return list(recorder.calls.values())


def record_all() -> tuple[dict[str, list[Call]], Mapping[str, str]]:
    """Returns the calls of each model, and why there are none of others."""
    found, refused = {}, {}
    for name, model in MODELS.items():
        try:
            found[name] = record(model)
        except Exception as error:  # A package may fail in any way; the reason is printed.
            refused[name] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return found, refused
