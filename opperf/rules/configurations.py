"""What a family says of a configuration beside its inputs: why it is one, its phase and dtype."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from opperf.model import Argument

Phase = Literal["train", "predict"]

WHY, PHASE, DTYPE = "why:", "phase:", "dtype:"
"""Keys of a family's configuration that are no inputs: in one line, which model, paper or kernel it
stands for; its phase, where that is not the operator's; and the dtype that models run it in, where
the user asks for none. No argument has such a name."""
NOTES = (WHY, PHASE, DTYPE)


class Configuration(NamedTuple):
    """One configuration of an operator."""

    arguments: dict[str, Argument]
    origin: str
    """The rule that made it."""
    why: str
    phase: Phase | None
    """None for the operator's own."""
    dtype: str = ""
    """Of the tensors of the requested dtype where the user requests none; empty for the default."""


def read_configuration(
    made: Mapping[str, Argument], origin: str, family: Callable[..., object] | None = None
) -> Configuration:
    """Returns a family's configuration; one without a reason has the first sentence of its family's
    docstring."""
    inputs = {name: value for name, value in made.items() if name not in NOTES}
    why = made.get(WHY) or first_sentence(family)
    phase: Phase | None = {"train": "train", "predict": "predict"}.get(str(made.get(PHASE)))  # type: ignore[assignment]
    return Configuration(inputs, origin, str(why), phase, str(made.get(DTYPE, "")))


def first_sentence(family: Callable[..., object] | None) -> str:
    """Returns the first sentence of a docstring as one line."""
    text = " ".join((inspect.getdoc(family) or "").split()) if family is not None else ""
    return text.split(". ")[0].rstrip(".")


def notes_of(roles: Mapping[str, Argument]) -> dict[str, Argument]:
    """Returns what is no input of a configuration by role."""
    return {name: value for name, value in roles.items() if name in NOTES}


def inputs_of(roles: Mapping[str, Argument]) -> dict[str, Argument]:
    """Returns the inputs of a configuration by role."""
    return {name: value for name, value in roles.items() if name not in NOTES}
