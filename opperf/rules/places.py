"""Where inputs are made: file and line of each family, entry, row, derivation and exception."""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from opperf.frameworks import Framework
from opperf.model import Operator, RulePlace
from opperf.rules.callers import CALLER, inputs_of_callers
from opperf.rules.engine import BY_NAME, Inputs, RulesModule, is_needed, uses_of
from opperf.rules.registering import code_of, place_of
from opperf.rules.search import search

EXCEPTIONS = ("NOT_BENCHMARKED", "TRAIN_PHASE", "NEEDS_OUTPUT", "NOT_FINITE")
"""Tables of a framework's rules module that say of single operators what is different."""

RECORDED = ".json"
"""End of the names of files of recorded inputs."""


def places_of(framework: Framework, called: Operator, inputs: Inputs) -> Iterator[RulePlace]:
    """Yields the places that made an operator's inputs, the outermost first; none of a user's."""
    if inputs.made is None:
        return
    operator, rules, source = inputs.made
    if inputs.origin.startswith(CALLER):
        yield _place("caller", place_of(inputs_of_callers), f"as {operator.label} calls it")
    elif operator.names != called.names:
        yield _place("form", place_of(framework.inference.returning), f"as {operator.label}")
    yield from _of_rule(operator, rules, inputs.origin, source.family)
    if source.family is not None:
        row, line = _split(source.row)
        if row.endswith(RECORDED):
            yield RulePlace("recorded inputs", row, line, source.why, inputs.tags)
            yield from _entry("exception", rules, operator.names, "CONTENTS")
        else:
            line = _lines_of_whys(row).get(source.why, line)
            yield RulePlace("row", row, line, source.why, inputs.tags)
    if source.derivation:
        yield _place("derivation", source.derivation, source.form)
    yield from exceptions(operator, rules)


def exceptions(operator: Operator, rules: RulesModule) -> Iterator[RulePlace]:
    """Yields the places of what is different of an operator."""
    for table in EXCEPTIONS:
        yield from _entry("exception", rules, operator.names, table)


def entries(operator: Operator, rules: RulesModule, table: str) -> Iterator[RulePlace]:
    """Yields the place of an operator's entry in a table of a framework's rules module, if any."""
    yield from _entry("entry", rules, operator.names, table)


def search_place() -> RulePlace:
    """Returns the place of the search for the inputs of an operator without a rule."""
    return _place("search", place_of(search))


def _place(layer: str, place: str, text: str = "") -> RulePlace:
    return RulePlace(layer, *_split(place), text)


def _split(place: str) -> tuple[str, int]:
    file, _, line = place.rpartition(":")
    return file, int(line)


# The cases of an operator have these in common, and each asks.
@functools.cache
def _of_rule_cached(
    operator: Operator, package: str, origin: str, family: Callable[..., object] | None
) -> tuple[RulePlace, ...]:
    rules: Any = sys.modules[package]
    if family is None:
        if origin != BY_NAME:
            return (search_place(),)
        needed = (parameter for parameter in operator.parameters if is_needed(parameter, rules))
        keys = [(parameter.name, parameter.kind) for parameter in needed]
        found = (_entry("argument", rules, [key], "TABLE", key[0]) for key in keys)
        return tuple(place for places in found for place in places)
    layer, families = "family", rules.FAMILIES
    names = list(operator.names)
    uses = [use for use, _ in uses_of(operator, rules.OPERATIONS)]
    bound = [use.operation for use in uses if families.by_operation.get(use.operation) is family]
    if bound:
        layer, names = "shared family", [*names, *bound]
    elif family in families.further_of(operator):
        layer = "further family"
    elif family in families.by_category.values():
        layer = "category"
    binding = _entry("binding", rules, operator.names, "OPERATIONS", ", ".join(bound))
    named = place_of(family)
    return (
        _place(layer, named, getattr(family, "__name__", "")),
        *_entries_used(family, names, _split(named)[0]),
        *(binding if bound else ()),
    )


def _of_rule(
    operator: Operator, rules: RulesModule, origin: str, family: Callable[..., object] | None
) -> tuple[RulePlace, ...]:
    return _of_rule_cached(operator, _name(rules), origin if family is None else "", family)


def _name(rules: RulesModule) -> str:
    name: str = vars(rules)["__name__"]
    return name


def _entry(
    layer: str, rules: RulesModule, keys: Iterable[Any], table: str, text: str = ""
) -> Iterator[RulePlace]:
    """Yields the place of a table's entry with one of these keys, in the module that defines it."""
    entries: Any = getattr(rules, table)
    key = next((candidate for candidate in keys if candidate in entries), None)
    if key is None:
        return
    word = key if isinstance(key, str) else key[0]
    value = entries[key] if isinstance(entries, Mapping) else None
    known = [
        (file, lines)
        for file, name in _tables(_name(rules)).get((key, id(value)), ())
        if (lines := _assignments(file).get(name))
    ]
    # Without a line of the entry's own (a loop may make it), that of the smallest table.
    named = (table_lines for table_lines in known if word in table_lines[1])
    file, lines = next(named, known[0])
    yield RulePlace(layer, file, lines.get(word, lines[""]), text or table)


@functools.cache
def _tables(package: str) -> Mapping[tuple[Any, int], list[tuple[str, str]]]:
    """Returns file and name of the tables of a package's modules that have an entry, by its key and
    the identity of its value, the smallest first: a table that is merged of others has theirs."""
    tables = [
        (len(table), str(module.__file__), name, table)
        for path, module in sorted(sys.modules.items())
        if path == package or path.startswith(f"{package}.")
        for name, table in vars(module).items()
        if isinstance(table, (Mapping, frozenset))
    ]
    found: dict[tuple[Any, int], list[tuple[str, str]]] = {}
    for _, file, name, table in sorted(tables, key=lambda one: one[:3]):
        entries = table.items() if isinstance(table, Mapping) else ((key, None) for key in table)
        for key, value in entries:
            found.setdefault((key, id(value)), []).append((file, name))
    return found


def _entries_used(
    family: Callable[..., object], names: Iterable[str], file: str
) -> Iterator[RulePlace]:
    """Yields the entries of an operator, or of its operation, in the tables that a family reads."""
    known = vars(sys.modules.get(family.__module__, sys))
    used = set(_globals_read(code_of(family)))
    for name in tuple(used):
        helper = known.get(name)
        if isinstance(helper, FunctionType) and helper.__code__.co_filename == file:
            used.update(_globals_read(helper.__code__))
    # JAX's `jnp.add` has the families of NumPy's `add`.
    keys = dict.fromkeys([*names, *(name.partition(".")[2] for name in names)])
    for table in sorted(used):
        lines, entries = _assignments(file).get(table, {}), known.get(table)
        if not isinstance(entries, Mapping):
            continue
        for key in keys:
            if key in entries and key in lines:
                yield RulePlace("entry", file, lines[key], table)
                break


def _globals_read(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _globals_read(inner)


@functools.cache
def _tree(file: str) -> ast.Module:
    try:
        return ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError):
        # A rule that a program defines in a notebook has no file.
        return ast.Module([], [])


@functools.cache
def _assignments(file: str) -> Mapping[str, Mapping[str, int]]:
    """Returns the line of each key of a module's tables, by name; that of a table under ''."""
    found: dict[str, dict[str, int]] = {}
    for node in _tree(file).body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            if isinstance(target, ast.Name) and isinstance(node, (ast.Assign, ast.AnnAssign)):
                lines = found.setdefault(target.id, {"": node.lineno})
                for word, line in _keys_in(node.value, found):
                    lines.setdefault(word, line)
    return found


def _keys_in(
    node: ast.AST | None, known: Mapping[str, Mapping[str, int]]
) -> Iterator[tuple[str, int]]:
    """Yields the texts in an expression, and the words of each, but for those in the values of
    dictionaries; of a name that is known, its own."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            yield from _keys_in(value if key is None else key, known)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        for word in (node.value, *node.value.split()):
            yield word, node.lineno
    elif isinstance(node, ast.Name):
        yield from known.get(node.id, {}).items()
    elif node is not None:
        for child in ast.iter_child_nodes(node):
            yield from _keys_in(child, known)


@functools.cache
def _lines_of_whys(file: str) -> Mapping[str, int]:
    """Returns the lines of the rows whose line of why is written in one place of a file."""
    if file.endswith(RECORDED):
        return {}
    found: dict[str, list[int]] = {}
    rows: dict[ast.AST, int] = {}
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.Dict):
            rows |= {
                value: node.lineno
                for key, value in zip(node.keys, node.values, strict=True)
                if isinstance(key, ast.Name) and key.id == "WHY"
            }
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.setdefault(node.value, []).append(rows.get(node, node.lineno))
    return {text: lines[0] for text, lines in found.items() if len(lines) == 1}
