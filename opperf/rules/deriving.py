"""Forms derived from an operator's configurations: another dtype, order in memory or phase."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from opperf.errors import FailedRuleError
from opperf.model import TensorSpec, iter_tensors, map_tensors
from opperf.rules.configurations import HALF, STRIDED, TINY, Configuration
from opperf.rules.values import REQUESTED


class Form(NamedTuple):
    """A way to make another configuration of one."""

    name: str
    """The end of the reason of what is made."""
    tag: str
    """Of what is made."""
    make: Callable[[Configuration], Configuration | None]
    """Returns a configuration in this form; None for one that has none."""


class Derivation(NamedTuple):
    """Configurations of an operator in another form."""

    form: Form
    tag: str = ""
    """Of the configurations; empty for any."""
    each: bool = False
    """Of all that are suitable, or of the first, a contiguous one if any is."""
    place: str = ""
    """`FILE:LINE` of the call that asks for it."""


def derived(
    made: Sequence[Configuration], derivations: Iterable[Derivation]
) -> Iterable[Configuration]:
    """Yields the forms of configurations. Raises `FailedRuleError` where a derivation has none."""
    for form, tag, each, place in derivations if made else ():
        ordered = made if each else sorted(made, key=lambda row: not _is_contiguous(row))
        # A call of few elements shows its overhead, whatever its form.
        tagged = (row for row in ordered if tag in row.tags or not (tag or TINY in row.tags))
        found = [(row, new) for row in tagged if (new := form.make(row)) is not None]
        if not found:
            of_tag = f"with the tag {tag!r} " if tag else ""
            raise FailedRuleError(
                f"{place}: no configuration {of_tag}has a form {form.name}: correct the tag, or "
                "leave the operator out"
            )
        for row, new in found if each else found[:1]:
            yield new._replace(
                why=f"{new.why}, {form.name}",
                source=row.source._replace(derivation=place, form=form.name),
                tags=(*row.tags, form.tag),
            )


def in_dtype(dtype: str) -> Form:
    """Returns the form in a dtype that models run it in, of what has the requested one."""

    def make(row: Configuration) -> Configuration | None:
        follows = any(spec.dtype == REQUESTED for spec in _tensors(row))
        return row._replace(dtype=dtype) if follows and not row.dtype else None

    return Form(f"in {dtype}", HALF, make)


def in_layout(name: str, change: Callable[[TensorSpec], TensorSpec], tag: str = STRIDED) -> Form:
    """Returns the form whose tensors are changed, of what has a contiguous one that changes."""

    def make(row: Configuration) -> Configuration | None:
        arguments = {key: map_tensors(value, change) for key, value in row.arguments.items()}
        is_other = _is_contiguous(row) and arguments != row.arguments
        # What follows a colon is true of the contiguous one.
        why = row.why.rpartition(": ")[0] or row.why
        return row._replace(arguments=arguments, why=why) if is_other else None

    return Form(name, tag, make)


def _is_contiguous(row: Configuration) -> bool:
    return all(x.layout == "dense" and not (x.strides or x.memory_format) for x in _tensors(row))


def _tensors(row: Configuration) -> Iterable[TensorSpec]:
    return (spec for value in row.arguments.values() for spec in iter_tensors(value))
