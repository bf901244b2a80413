"""The cases of a configuration, in its order, with PARAM's two iterators over lists of specs; and
remarks on its keys that are ignored and its numbers that are not of their type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from opperf.decoding import JsonObject
from opperf.errors import UsageError, one_line
from opperf.formats.param.arguments import Arguments, values_of
from opperf.formats.param.schema import LISTS, TYPES, Config, Entry, Raw, Spec, Typed, convert
from opperf.model import Argument, Case, ObjectTarget, Settings
from opperf.model.cases import SEPARATOR
from opperf.plurals import pluralize
from opperf.rules.values import without_gradients
from opperf.sources.base import Source, call_dtype
from opperf.sources.param.macros import expand_spec, has_macro, target_of
from opperf.sources.param.registering import DATA_GENERATORS, ITERATORS, DataGenerator, Specs
from opperf.sources.param.registering import Iterator as Iterate

GENERATORS = ("PyTorch:DefaultDataGenerator", "PyTorch::DefaultDataGenerator")
"""Names of the usual generator; files of PARAM's first year have the second."""

for _name in GENERATORS:
    DATA_GENERATORS.add(_name, values_of)

DEFAULT, RANGE = "DefaultConfigIterator", "RangeConfigIterator"


def each(specs: Sequence[Raw], build: Spec | None, place: str) -> Specs:
    """Yields the specs as they are, by position; only the other iterator expands macros."""
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


class Cases(Source):
    """Cases that are made at once, so that nothing is measured where all are wrong."""

    completion = "all"

    def __init__(self, found: Iterable[Case | UsageError], before: str) -> None:
        """`before` is where the content is from, and begins the messages of the errors. Raises the
        first of them, a `UsageError`, if there is no case."""
        results = list(found)
        super().__init__(result for result in results if isinstance(result, Case))
        errors = [result for result in results if isinstance(result, UsageError)]
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


class Configuration(Cases):
    """The cases of a configuration."""

    def __init__(self, content: JsonObject, place: str = "") -> None:
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
    """Raises `UsageError` for what all builds of a config have."""
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
            # They are weights, and take no gradient.
            yield build_id, spec, without_gradients(arguments)


def _inputs(
    name: str, entry: Entry, config: Config, built: Built, place: str
) -> Iterator[Case | UsageError]:
    """Raises `UsageError` for what all cases of a build have."""
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
    try:
        return _by_name(generate(spec, place))
    except Exception as raised:  # A data generator may be a user's.
        return usage_error(raised, place)


def _by_name(arguments: Arguments) -> dict[str, Argument]:
    """Returns a call's arguments, those by position under their positions."""
    unnamed, named = arguments
    return {**{str(i): value for i, value in enumerate(unnamed)}, **named}


SHOWN = 3
"""Most keys or numbers that a remark names."""

MACRO = "__"
"""Beginning of the names of macros."""

WHOLE = ("int", "long")
"""Types of arguments that are integers."""


def remarks(content: JsonObject) -> list[str]:
    """Returns what a reader should know of a configuration that is otherwise right."""
    ignored = list(_ignored(content))
    numbers = [
        f"{place} ({value:g})"
        for place, argument in _arguments(content)
        for value in _numbers(argument)
        if not value.is_integer()
    ]
    found = []
    if ignored:
        names = ", ".join(dict.fromkeys(key for _, key in ignored))
        places = list(dict.fromkeys(f"{place}.{key}" for place, key in ignored))
        found.append(
            f"keys without a meaning here are ignored: {names} "
            f"({pluralize(len(ignored), 'place')}: {_first(places)})"
        )
    if numbers:
        found.append(
            "arguments of type int that are no integers are passed as they are, as PARAM "
            f"passes them: {_first(numbers)}"
        )
    return found


def _first(texts: list[str]) -> str:
    more = len(texts) - SHOWN
    return ", ".join(texts[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _ignored(content: JsonObject) -> Iterator[tuple[str, str]]:
    for place, value, form in (*_configs(content), *_specs(content)):
        yield from ((place, key) for key in value if key not in _known(form))
    for place, argument in _arguments(content):
        known = {"type", *_known(TYPES.get(str(argument.get("type")), Typed))}
        yield from ((place, key) for key in argument if key not in known and key[:2] != MACRO)


def _known(form: type[Any]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(form)}


Part = tuple[str, JsonObject, type[Any]]
"""A part of a configuration: its place, its content and its form."""


def _configs(content: JsonObject) -> Iterator[Part]:
    for name, entry in content.items():
        if isinstance(entry, Mapping):
            yield name, entry, Entry
            for number, config in enumerate(_listed(entry.get("config"))):
                yield f"{name}.config[{number}]", config, Config


def _specs(content: JsonObject) -> Iterator[Part]:
    """Those of an iterator or a data generator of another name may have any form."""
    for place, config, form in _configs(content):
        if form is not Config:
            continue
        entry = content[place.rpartition(".config[")[0]]
        for role in ("build", "input"):
            names = entry.get(f"{role}_iterator"), entry.get(f"{role}_data_generator")
            if all(name is None or name in USUAL for name in names):
                for i, spec in enumerate(_listed(config.get(role))):
                    yield f"{place}.{role}[{i}]", spec, Spec


USUAL = (DEFAULT, RANGE, *GENERATORS)
"""Iterators and data generators whose specs have the form of `Spec`. No set, as what a file has in
the place of a name may have no hash."""


def _arguments(content: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    for place, spec, _ in _specs(content):
        named = spec.get("kwargs")
        for i, argument in enumerate(_listed(spec.get("args"))):
            yield from _nested(f"{place}.args[{i}]", argument)
        for name, argument in (named if isinstance(named, Mapping) else {}).items():
            if isinstance(argument, Mapping):
                yield from _nested(f"{place}.kwargs.{name}", argument)


def _nested(place: str, argument: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    yield place, argument
    if argument.get("type") in LISTS:
        for i, element in enumerate(_listed(argument.get("value"))):
            yield from _nested(f"{place}.value[{i}]", element)


def _listed(value: object) -> list[JsonObject]:
    """Returns the objects of a list; empty for anything else, which its reader refuses."""
    return (
        [element for element in value if isinstance(element, Mapping)]
        if isinstance(value, list)
        else []
    )


def _numbers(argument: JsonObject) -> list[float]:
    """Returns the numbers with a fraction that an argument of integers may have."""
    if argument.get("type") not in WHOLE:
        return []
    value = argument.get("value")
    return [
        number
        for number in (value if isinstance(value, list) else [value])
        if type(number) is float
    ]
