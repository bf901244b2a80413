"""Files of configurations: read, and written of the calls of a program; and files of results, whose
cases are measured again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from opperf import reading
from opperf.decoding import read_json
from opperf.errors import UsageError, one_line
from opperf.formats.param.lines import case_line, read_lines
from opperf.formats.param.schema import Config, Entry, Raw
from opperf.model import Argument, Case, Fill, Number, OperatorTarget, TensorSpec, map_tensors
from opperf.model.cases import SEPARATOR
from opperf.results.lines import PARAM_RESULTS
from opperf.sources.base import FileSource
from opperf.sources.logged_text import Unwritable, Written, split, write_cases
from opperf.sources.param.configuration import Cases, Configuration, cases_of
from opperf.traces.values import parse_schema

KEYS = frozenset({*Entry.__struct_fields__, *Config.__struct_fields__})
"""Keys of a configuration, by which it is recognized."""


def read_text(text: str, place: str) -> dict[str, Any]:
    """Returns the content of a configuration. Raises `UsageError` with file and line."""
    try:
        content = read_json(text)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{place}:{error.lineno}: not JSON, {error.msg.lower()} at column {error.colno}"
        ) from None
    except ValueError as error:
        raise UsageError(f"{place}: {error}") from None
    if not isinstance(content, dict):
        raise UsageError(f"{place}: expected an object of operators, not {type(content).__name__}")
    return content


def read_file(path: Path) -> dict[str, Any]:
    """Returns the content of a file. Raises `UsageError` with file and line."""
    try:
        text = reading.read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {one_line(str(error))}") from None
    return read_text(text, str(path))


class ConfigurationFiles(FileSource):
    """Files of PARAM's configurations."""

    name = "configuration of PARAM's benchmarks (JSON)"

    def recognizes(self, path: Path) -> bool:
        """Whether it is an object of objects, one of which has a key of a configuration; or is
        called .json and is no JSON, as one with a comma too many."""
        with reading.open_file(path) as file:
            begins = file.read(64).lstrip()[:1] == b"{"
        if not begins:
            return False
        try:
            content = read_json(reading.read_bytes(path, reading.WRITTEN_BY_HAND))
        except (ValueError, reading.RefusedError):
            # Opening it says what is wrong with it.
            return path.suffix == ".json"
        return bool(content) and any(
            isinstance(entry, dict) and (KEYS & entry.keys() or "." in name or "::" in name)
            for name, entry in content.items()
        )

    def open(self, path: Path) -> Configuration:
        return Configuration(read_file(path), str(path))


class ResultFiles(FileSource):
    """Files of PARAM's lines of JSON, as `-f param` and `opperf param` write them."""

    name = "results in PARAM's format (lines of JSON)"

    def recognizes(self, path: Path) -> bool:
        with reading.open_file(path) as file:
            return file.read(len(PARAM_RESULTS)) == PARAM_RESULTS

    def open(self, path: Path) -> Cases:
        return Cases(_cases_of_lines(path), f"{path}: ")


def _cases_of_lines(path: Path) -> Iterator[Case | UsageError]:
    for line in read_lines(path):
        if isinstance(line, UsageError):
            yield line
            continue
        for case in cases_of(line.operator, line.entry, f"{line.place}: {line.operator}"):
            if isinstance(case, Case):
                number = line.id or case.source_id.partition(SEPARATOR)[2]
                source_id = f"{line.operator}{SEPARATOR}{number}"
                yield msgspec.structs.replace(case, source_id=source_id)
            else:
                yield case


OWN = "aten."
"""Namespace that opperf's names of PyTorch's operators omit."""


def configuration_text(cases: Iterable[Case], schemas: Mapping[tuple[str, str], str]) -> Written:
    """Returns a configuration of calls. `schemas` are those of the operators by path and overload;
    PARAM's own benchmarks need them."""
    content: dict[str, dict[str, list[dict[str, Any]]]] = {}

    def add(case: Case) -> bool:
        name, build, spec = _written(case, schemas)
        configs = content.setdefault(name, {"config": []})["config"]
        if not configs or configs[-1]["build"] != [build]:
            configs.append({"build": [build], "input": []})
        configs[-1]["input"].append(spec)
        return not _is_same(case, name, build, spec)

    return write_cases(cases, add, lambda: _text(content))


def _text(content: Mapping[str, Mapping[str, Any]]) -> str:
    operators = []
    for name, entry in content.items():
        configs = []
        for config in entry["config"]:
            inputs = ",\n".join(f"      {json.dumps(spec)}" for spec in config["input"])
            configs.append(f'    {{"build": {json.dumps(config["build"])}, "input": [\n{inputs}]}}')
        joined = ",\n".join(configs)
        operators.append(f'  {json.dumps(name)}: {{"config": [\n{joined}]}}')
    return "{\n" + ",\n".join(operators) + "\n}\n"


def _written(
    case: Case, schemas: Mapping[tuple[str, str], str]
) -> tuple[str, dict[str, Any], dict[str, Any]]:
    target = case.target
    if not isinstance(target, OperatorTarget):
        raise Unwritable("what is no operator")
    text = schemas.get((target.name, target.overload), "")
    schema = parse_schema(text)
    known = [] if schema is None else [parameter.name for parameter in schema.parameters]
    positional, named = split(case.arguments, known.__contains__)
    for value in (*positional, *named.values()):
        _check(value)
    own = msgspec.structs.replace(
        case,
        target=OperatorTarget(target.framework, _dispatched(target.name), target.overload),
        arguments={**{str(i): value for i, value in enumerate(positional)}, **named},
    )
    line = case_line(own)
    build, spec = line["config"]["build"], line["config"]["input"]
    if schema is not None:
        build["args"][0]["value"] = text
    for value, written in zip(
        (*positional, *named.values()), (*spec["args"], *spec["kwargs"].values()), strict=True
    ):
        _add_contents(value, written)
    return line["op_name"], build, {**spec, "count": case.count}


def _dispatched(path: str) -> str:
    """Returns an operator's name as opperf has it: `mm`, `mylib::scale`."""
    if path.startswith(OWN):
        return path.removeprefix(OWN)
    return path if "::" in path else path.replace(".", "::", 1)


def _check(value: Argument) -> None:
    if isinstance(value, tuple):
        for element in value:
            _check(element)
    elif isinstance(value, Number) and value.imaginary:
        raise Unwritable("a complex number")
    elif isinstance(value, TensorSpec) and value.layout != "dense":
        raise Unwritable("a sparse tensor")


def _add_contents(value: Argument, written: Raw) -> None:
    """Adds the contents of tensors that are known, to arguments as a configuration has them."""
    if isinstance(value, tuple):
        for element, inner in zip(value, written["value"], strict=True):
            _add_contents(element, inner)
    elif isinstance(value, TensorSpec) and value.fill != Fill():
        written["distribution"] = value.fill.distribution
        written["domain"] = [value.fill.low, value.fill.high]


def _is_same(case: Case, name: str, build: Raw, spec: Raw) -> bool:
    """Whether a call is read as it is: with the places of tensors in storages, and devices."""
    entry = {"config": [{"build": [build], "input": [spec]}]}
    found = [read for read in cases_of(name, entry, name) if isinstance(read, Case)]
    own = [map_tensors(value, _with_usual_fill) for value in case.arguments.values()]
    return [list(read.arguments.values()) for read in found] == [own]


def _with_usual_fill(spec: TensorSpec) -> TensorSpec:
    """Booleans whose contents are not known have those that a configuration means."""
    if spec.dtype != "bool" or spec.fill != Fill():
        return spec
    return msgspec.structs.replace(spec, fill=Fill("boolean"))
