"""The cases of a configuration, in its order, with PARAM's two iterators over lists of specs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from opperf.errors import UsageError, one_line
from opperf.model import Argument, Case, ObjectTarget, Settings, map_tensors
from opperf.model.cases import SEPARATOR
from opperf.sources.base import Completion
from opperf.sources.call_dtype import call_dtype
from opperf.sources.param.arguments import GENERATORS
from opperf.sources.param.macros import expand_spec, has_macro
from opperf.sources.param.naming import target_of
from opperf.sources.param.registering import (
    DATA_GENERATORS,
    ITERATORS,
    Arguments,
    DataGenerator,
    Specs,
)
from opperf.sources.param.registering import Iterator as Iterate
from opperf.sources.param.remarks import remarks
from opperf.sources.param.schema import Config, Entry, Raw, Spec, convert

DEFAULT, RANGE = "DefaultConfigIterator", "RangeConfigIterator"


def each(specs: Sequence[Raw], build: Spec | None, place: str) -> Specs:
    """Yields the specs as they are, by their position. A macro is an error, as only the other
    iterator expands it."""
    for i, raw in enumerate(specs):
        if has_macro(raw):
            yield (
                str(i),
                UsageError(
                    f"{place}[{i}]: a macro, which {DEFAULT} does not expand; set the "
                    f"iterator to {RANGE}"
                ),
            )
            continue
        try:
            yield str(i), convert(raw, Spec, f"{place}[{i}]")
        except UsageError as error:
            yield str(i), error


def expanded(specs: Sequence[Raw], build: Spec | None, place: str) -> Specs:
    """Yields what the specs stand for, by their position and a number: `0_0`, `0_1`."""
    for i, raw in enumerate(specs):
        here = f"{place}[{i}]"
        try:
            for number, made in enumerate(expand_spec(convert(raw, Spec, here), here)):
                yield f"{i}_{number}", made
        except UsageError as error:
            yield f"{i}_0", error


ITERATORS.add(DEFAULT, each)
ITERATORS.add(RANGE, expanded)


UNBUILT = "0"
"""The second part of the ids of an operator that is not built."""


class Cases:
    """Cases that are made at once, so that nothing is measured where all are wrong."""

    completion: Completion = "all"

    def __init__(self, found: Iterable[Case | UsageError], before: str) -> None:
        """`before` is where the content is from, and begins the messages of the errors. Raises the
        first of them, a `UsageError`, if there is no case."""
        self.excluded: dict[str, str] = {}
        """Cases that are wrong, and operators of which all are, by key path, each with the
        reason."""
        self.warnings: list[str] = []
        self.remarks: list[str] = []
        self._cases: list[Case] = []
        errors: list[UsageError] = []
        for result in found:
            if isinstance(result, Case):
                self._cases.append(result)
            else:
                errors.append(result)
        if not self._cases:
            raise (
                errors[0]
                if errors
                else UsageError(f"{before or 'configuration: '}no `input` of any operator in it")
            )
        for error in errors:
            where, _, reason = str(error).removeprefix(before).partition(": ")
            self.excluded[where] = reason
        if errors:
            others = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
            self.warnings = [f"omitted: {errors[0]}{others}"]

    def cases(self) -> Iterator[Case]:
        yield from self._cases


class Configuration(Cases):
    """The cases of a configuration."""

    def __init__(self, content: Mapping[str, Any], place: str = "") -> None:
        """`place` is where the content is from, before the key paths of messages. Raises
        `UsageError`."""
        before = place and f"{place}: "
        super().__init__(
            (
                result
                for name, entry in content.items()
                for result in cases_of(name, entry, f"{before}{name}")
            ),
            before,
        )
        self.remarks = [f"{before}{remark}" for remark in remarks(content)]


def cases_of(name: str, content: object, place: str) -> Iterator[Case | UsageError]:
    """Yields the cases of an operator, and the error of each that is wrong."""
    try:
        entry = convert(content, Entry, place)
    except UsageError as error:
        yield error
        return
    for number, config in enumerate(entry.config):
        here = f"{place}.config[{number}]"
        try:
            for built in _builds(entry, config, place, here):
                if isinstance(built, UsageError):
                    yield built
                else:
                    yield from _inputs(name, entry, config, (f"{number}", *built), place)
        except UsageError as error:
            yield error


Built = tuple[str, str, "Spec | None", "dict[str, Argument] | None"]
"""Ids of a config and of a build, and the build's spec and arguments, if there is one."""


def _builds(
    entry: Entry, config: Config, place: str, here: str
) -> Iterator[tuple[str, Spec | None, dict[str, Argument] | None] | UsageError]:
    """Yields the builds of a config, id, spec and arguments, and the error of each that is wrong.
    Raises `UsageError` for what all of them have."""
    iterate = ITERATORS.get(entry.build_iterator or DEFAULT, f"{place}.build_iterator")
    name = entry.build_data_generator or GENERATORS[0]
    generate = DATA_GENERATORS.get(name, f"{place}.build_data_generator")
    if not config.build:
        yield UNBUILT, None, None
        return
    for build_id, spec in specs_of(iterate, config.build, None, f"{here}.build"):
        if isinstance(spec, UsageError):
            yield spec
            continue
        arguments = _generated(generate, spec, f"{here}.build[{build_id.partition('_')[0]}]")
        if isinstance(arguments, UsageError):
            yield arguments
        else:
            yield build_id, spec, {name: _plain(value) for name, value in arguments.items()}


def _plain(value: Argument) -> Argument:
    """Returns an argument of a build, whose tensors are weights and take no gradient."""
    return map_tensors(value, lambda spec: msgspec.structs.replace(spec, gradient=False))


def _inputs(
    name: str, entry: Entry, config: Config, built: Built, place: str
) -> Iterator[Case | UsageError]:
    """Yields the cases of a build, and the error of each that is wrong. Raises `UsageError` for
    what all of them have."""
    number, build_id, spec, build = built
    iterate = ITERATORS.get(entry.input_iterator or DEFAULT, f"{place}.input_iterator")
    generator = entry.input_data_generator or GENERATORS[0]
    generate = DATA_GENERATORS.get(generator, f"{place}.input_data_generator")
    target = target_of(name, build, f"{place}.config[{number}]" if build else place)
    here = f"{place}.config[{number}].input"
    for input_id, call in specs_of(iterate, config.input, spec, here):
        if isinstance(call, UsageError):
            yield call
            continue
        origin = f"{here}[{input_id.partition('_')[0]}]"
        arguments = _generated(generate, call, origin)
        if isinstance(arguments, UsageError):
            yield arguments
            continue
        tensors = [*arguments.values(), *(build or {}).values()]
        # A layer is made to be trained, and dropout does nothing else.
        phase: Any = "train" if isinstance(target, ObjectTarget) else "predict"
        yield Case(
            target=target,
            arguments=arguments,
            settings=Settings(dtype=call_dtype(tensors), phase=phase),
            origin=origin,
            source_id=SEPARATOR.join((name, number, build_id, input_id)),
            count=call.count if type(call.count) is int and call.count > 0 else 1,
        )


def specs_of(
    iterate: Iterate, specs: Sequence[Raw], build: Spec | None, place: str
) -> Iterator[tuple[str, Spec | UsageError]]:
    """Yields what an iterator makes of specs, each with its id. One that raises an error is called
    for each spec alone, so that a wrong spec costs its own cases only."""
    try:
        made = list(iterate(specs, build, place))
    except Exception as raised:  # An iterator may be a user's.
        if len(specs) == 1:
            yield "0", usage_error(raised, f"{place}[0]")
            return
    else:
        yield from made
        return
    for i, raw in enumerate(specs):
        for spec_id, spec in specs_of(iterate, [raw], build, place):
            if isinstance(spec, UsageError):
                spec = UsageError(str(spec).replace(f"{place}[0]", f"{place}[{i}]", 1))
            yield f"{i}{spec_id.removeprefix('0')}", spec


def usage_error(raised: Exception, place: str) -> UsageError:
    """Returns the error of a spec that an iterator or a data generator cannot read."""
    if isinstance(raised, UsageError):
        return raised
    return UsageError(f"{place}: {type(raised).__name__}: {one_line(str(raised))}")


def _generated(generate: DataGenerator, spec: Spec, place: str) -> dict[str, Argument] | UsageError:
    """Returns what a data generator makes of a spec, or the error of one that it cannot read."""
    try:
        return _by_name(generate(spec, place))
    except Exception as raised:  # A data generator may be a user's.
        return usage_error(raised, place)


def _by_name(arguments: Arguments) -> dict[str, Argument]:
    """Returns a call's arguments, those by position under their positions."""
    unnamed, named = arguments
    return {**{str(i): value for i, value in enumerate(unnamed)}, **named}
