"""A configuration's reason, phase, dtype and tags beside its inputs, and reasons without one."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple, cast

from opperf.errors import FailedRuleError, suggest
from opperf.model import Argument, TensorSpec

Phase = Literal["train", "predict"]

WHY, PHASE, DTYPE, TAGS, ROW = "why:", "phase:", "dtype:", "tags:", "row:"
"""Keys of a family's configuration that are no inputs: in one line, which model, paper or kernel it
stands for; its phase, where that is not the operator's; the dtype that models run it in, where the
user asks for none; tags, by which it is selected, as a line for readers may change; and the file
and line that it is written in. No argument has such a name."""
TINY, TOKENS, POINTWISE, DEPTHWISE = "tiny", "tokens", "pointwise", "depthwise"
MAPS, ENLARGED, ROWS = "maps", "enlarged", "rows"
CHANNELS_LAST, STRIDED, HALF = "channels_last", "strided", "half"
OUTSIDE, PAPER, FORM = "outside", "paper", "form"
TAG_MEANINGS: Mapping[str, str] = {
    TINY: "measures the call alone, of which an operator needs one",
    TOKENS: "a layer that each token goes through",
    POINTWISE: "a convolution of one pixel",
    DEPTHWISE: "a convolution of one channel",
    MAPS: "a layer whose feature maps models also have with channels last",
    ENLARGED: "an enlargement of feature maps",
    ROWS: "along the rows of a matrix",
    "train": "training",
    "decode": "one new token for each sequence",
    "sparse": "most elements are not stored",
    CHANNELS_LAST: "the channels of a pixel side by side in memory",
    STRIDED: "elements apart in memory, or not in the order of their axes",
    HALF: "in the half precision that models run it in, where no dtype is asked for",
    "long": "beyond the caches",
    OUTSIDE: "of a named model's program, not of its forward pass: inputs, masks, first weights",
    PAPER: "as a named model's authors have it, which packages compute otherwise",
    FORM: "a named model's layer, in a form that packages do not call",
}
NOTES = (WHY, PHASE, DTYPE, TAGS, ROW)


class Source(NamedTuple):
    """The family that made a configuration, and where it did."""

    family: Callable[..., object] | None = None
    """None without a family: by the names of arguments, or by a search."""
    row: str = ""
    """`FILE:LINE` at which the family made it."""
    why: str = ""
    """As the family has it."""
    derivation: str = ""
    """`FILE:LINE` of what has it derived of another; empty of others."""
    form: str = ""
    """The name of the form that it was derived in."""


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
    source: Source = Source()
    tags: tuple[str, ...] = ()
    """Marks that it is selected by, if any."""


def read_configuration(
    made: Mapping[str, Argument], origin: str, family: Callable[..., object] | None = None
) -> Configuration:
    """Returns a family's configuration; one without a reason has the first sentence of its family's
    docstring. Raises `FailedRuleError` for a tag without a meaning, or tags that are no tuple."""
    inputs = {name: value for name, value in made.items() if name not in NOTES}
    own = str(made.get(WHY, ""))
    why = own or first_sentence(family)
    phase: Phase | None = {"train": "train", "predict": "predict"}.get(str(made.get(PHASE)))  # type: ignore[assignment]
    source = Source(family, str(made.get(ROW, "")), own)
    tags = cast("tuple[str, ...]", made.get(TAGS, ()))
    if not isinstance(tags, tuple):
        raise FailedRuleError(f"{made.get(ROW, origin)}: tags are a tuple, not {tags!r}")
    for tag in tags:
        if tag not in TAG_MEANINGS:
            raise FailedRuleError(
                f"{made.get(ROW, origin)}: no tag is called {tag!r}{suggest(tag, TAG_MEANINGS)}: "
                f"{', '.join(TAG_MEANINGS)}"
            )
    return Configuration(inputs, origin, why, phase, str(made.get(DTYPE, "")), source, tags)


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


def describe_arguments(arguments: Mapping[str, Argument]) -> str:
    """Returns arguments in one line, as `4 x 3 elements for a and b, 0 for axis`."""
    names: dict[str, list[str]] = {}
    for name, value in arguments.items():
        names.setdefault(describe_value(value), []).append(name)
    return ", ".join(f"{text} for {' and '.join(alike)}" for text, alike in names.items())


def describe_value(value: Argument) -> str:
    """Returns the extents of a tensor or of a list of tensors, else the value itself."""
    if isinstance(value, TensorSpec):
        return f"{' x '.join(map(str, value.shape)) or '1'} elements"
    if isinstance(value, tuple) and any(isinstance(item, TensorSpec) for item in value):
        counts = Counter(describe_value(item) for item in value)
        return " and ".join(f"{count} times {text}" for text, count in counts.items())
    return str(value)


def set_apart(made: Iterable[tuple[Configuration, Mapping[str, Argument]]]) -> list[Configuration]:
    """Returns an operator's configurations, each of which comes with the argument that selects its
    operation. A line of why that several share has that argument in front."""
    pairs = list(made)
    uses = Counter(one.why for one, _ in pairs)
    return [
        one._replace(
            why=": ".join([*(f"{name}={value}" for name, value in chosen.items()), one.why])
        )
        if uses[one.why] > 1
        else one
        for one, chosen in pairs
    ]
