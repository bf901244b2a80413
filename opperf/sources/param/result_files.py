"""Results in PARAM's format, lines of JSON, whose cases are measured again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from opperf.decoding import JsonObject, read_json
from opperf.errors import UsageError, one_line
from opperf.model import Case
from opperf.model.cases import SEPARATOR
from opperf.reading import READ_WHOLE, open_file, read_text
from opperf.results.lines import PARAM_RESULTS
from opperf.sources.param.configuration import Cases, cases_of


class ResultFiles:
    """Files of PARAM's lines of JSON, as `-f param` and `opperf param` write them."""

    name = "results in PARAM's format (lines of JSON)"

    def recognizes(self, path: Path) -> bool:
        with open_file(path) as file:
            return file.read(len(PARAM_RESULTS)) == PARAM_RESULTS

    def open(self, path: Path) -> Cases:
        return Cases(_cases(path), f"{path}: ")


def _cases(path: Path) -> Iterator[Case | UsageError]:
    """Yields the case of each line that has one, and the error of each that is wrong; of equal
    lines, which a file has that was appended to, the first. The case has the id of the line."""
    try:
        lines = read_text(path, READ_WHOLE).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {one_line(str(error))}") from None
    seen = set()
    for number, text in enumerate(lines, 1):
        place = f"{path}: line {number}"
        try:
            line = read_json(text)
        except json.JSONDecodeError as error:
            yield UsageError(f"{place}: not JSON, {error.msg.lower()}; is it truncated?")
            continue
        except ValueError as error:
            yield UsageError(f"{place}: {error}")
            continue
        if not isinstance(line, dict) or "op_name" not in line:
            continue
        key = json.dumps([line.get(name) for name in ("op_name", "id", "config")])
        if key not in seen:
            seen.add(key)
            yield from _case(line, place)


def _case(line: JsonObject, place: str) -> Iterator[Case | UsageError]:
    """Yields the case of a line, or its error."""
    name, config = line["op_name"], line.get("config")
    if not isinstance(name, str) or not isinstance(config, dict):
        yield UsageError(f"{place}: expected `op_name`, a text, and `config`, an object")
        return
    for at, time in _times(line.get("metric")):
        if type(time) not in (int, float) or time < 0:
            yield UsageError(f"{place}: metric.{at} has {time!r}, and no time is below zero")
            return
    build = config.get("build")
    entry = {"config": [{"input": [config.get("input")], **({"build": [build]} if build else {})}]}
    for result in cases_of(name, entry, f"{place}: {name}"):
        if isinstance(result, Case):
            own = line.get("id")
            number = own if isinstance(own, str) else result.source_id.partition(SEPARATOR)[2]
            result = msgspec.structs.replace(result, source_id=f"{name}{SEPARATOR}{number}")
        yield result


def _times(metric: Any) -> Iterator[tuple[str, Any]]:
    """Yields the times of a line's passes, in ms, with their key path."""
    for name, found in (metric if isinstance(metric, dict) else {}).items():
        for key, listed in (found if isinstance(found, dict) else {}).items():
            if key.endswith(".time") and isinstance(listed, list):
                yield from ((f"{name}.{key}", time) for time in listed)


def source() -> ResultFiles:
    """Returns the kind of file; called by name, as an entry point is."""
    return ResultFiles()
