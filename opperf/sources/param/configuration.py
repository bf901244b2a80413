"""The cases of a configuration, in its order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from opperf.errors import UsageError
from opperf.model import Argument, Case, ObjectTarget, Settings, map_tensors
from opperf.model.cases import SEPARATOR
from opperf.sources.call_dtype import call_dtype
from opperf.sources.completing import Completion
from opperf.sources.param.arguments import GENERATORS
from opperf.sources.param.iterators import DEFAULT
from opperf.sources.param.naming import target_of
from opperf.sources.param.registering import DATA_GENERATORS, ITERATORS, Arguments
from opperf.sources.param.schema import Config, Entry, Spec, convert

UNBUILT = "0"
"""The second part of the ids of an operator that is not built."""


class Configuration:
    """The cases of a configuration. All are made at once, so that nothing is measured of one with
    an error."""

    completion: Completion = "all"

    def __init__(self, content: Mapping[str, Any], place: str = "") -> None:
        """`place` is where the content is from, before the key paths of messages. Raises
        `UsageError`."""
        self.excluded: dict[str, str] = {}
        """Cases that are wrong, and operators of which all are, by key path, each with the
        reason."""
        self.warnings: list[str] = []
        before = place and f"{place}: "
        self._cases: list[Case] = []
        errors: list[UsageError] = []
        for name, entry in content.items():
            for one in _cases(name, entry, f"{before}{name}"):
                if isinstance(one, Case):
                    self._cases.append(one)
                else:
                    errors.append(one)
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
            self.warnings = [f"left out: {errors[0]}{others}"]

    def cases(self) -> Iterator[Case]:
        yield from self._cases


def _cases(name: str, content: object, place: str) -> Iterator[Case | UsageError]:
    """Yields the cases of an operator, and the error of each that is wrong."""
    try:
        entry = convert(content, Entry, place)
    except UsageError as error:
        yield error
        return
    for number, config in enumerate(entry.config):
        here = f"{place}.config[{number}]"
        try:
            for build_id, spec, build in _builds(entry, config, place, here):
                yield from _inputs(name, entry, config, (f"{number}", build_id, spec, build), place)
        except UsageError as error:
            yield error


Built = tuple[str, str, "Spec | None", "dict[str, Argument] | None"]
"""Ids of a config and of a build, and the build's spec and arguments, if there is one."""


def _builds(
    entry: Entry, config: Config, place: str, here: str
) -> Iterator[tuple[str, Spec | None, dict[str, Argument] | None]]:
    """Yields the builds of a config: id, spec and arguments. Raises `UsageError`."""
    iterate = ITERATORS.get(entry.build_iterator or DEFAULT, f"{place}.build_iterator")
    name = entry.build_data_generator or GENERATORS[0]
    generate = DATA_GENERATORS.get(name, f"{place}.build_data_generator")
    if not config.build:
        yield UNBUILT, None, None
        return
    for build_id, spec in iterate(config.build, None, f"{here}.build"):
        if isinstance(spec, UsageError):
            raise spec
        arguments = _by_name(generate(spec, f"{here}.build[{build_id.partition('_')[0]}]"))
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
    for input_id, one in iterate(config.input, spec, here):
        if isinstance(one, UsageError):
            yield one
            continue
        origin = f"{here}[{input_id.partition('_')[0]}]"
        try:
            arguments = _by_name(generate(one, origin))
        except UsageError as error:
            yield error
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
            count=one.count if type(one.count) is int and one.count > 0 else 1,
        )


def _by_name(arguments: Arguments) -> dict[str, Argument]:
    """Returns a call's arguments, those by position under their positions."""
    unnamed, named = arguments
    return {**{str(i): one for i, one in enumerate(unnamed)}, **named}
