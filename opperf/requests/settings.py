"""The fields of requests that are settings, as `opperf.model.settings` declares them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from opperf.model import DECLARED, DEFAULTS, MAPPINGS, Interpreter, Setting
from opperf.requests.declaring import SETTINGS, Chosen, Declared, Gather, Option
from opperf.requests.parsers import (
    Words,
    interpreter_text,
    parse_assignments,
    parse_interpreters,
    split_commas,
)


@dataclass(frozen=True)
class SettingFields(Chosen):
    """Some of the settings: of one value each, or of several, of which each makes a case."""

    names: tuple[str, ...]
    are_axes: bool = False

    def fields(self) -> Iterator[Declared]:
        """Yields the field of each."""
        for name in self.names:
            setting = DECLARED[name]
            if self.are_axes:
                option = option_of(setting, gather_axis(setting), f"{setting.metavar},...")
                yield Declared(name, option, tuple[Any, ...], (), "")
            else:
                default = None if setting.axis else DEFAULTS[name]
                kind = bool if setting.flag is not None else type(default)
                yield Declared(name, option_of(setting), kind, default, "")


def option_of(
    setting: Setting,
    gather: Gather | None = None,
    metavar: str = "",
    text: Callable[[Any], str] | None = None,
) -> Option:
    """Returns the declaration of a setting as that of a field."""
    many = setting.many and gather is None
    return Option(
        " ".join(filter(None, (setting.short, setting.option, setting.also))),
        setting.help,
        setting.read if setting.flag is None else None,
        (lambda texts: tuple(map(setting.read, texts))) if many else gather,
        setting.metavar if setting.name in MAPPINGS or not metavar else metavar,
        section=setting.section,
        text=text or (lambda value: setting.empty if value is None else str(value)),
        texts=_entries if setting.name in MAPPINGS else None,
        flag=True if setting.flag is None else setting.flag,
    )


def _alternatives(value: object) -> str:
    """Returns the text of one value, or of several."""
    return "|".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _entries(value: Any) -> tuple[str, ...]:
    """Returns the texts of a mapping, or of several, which are every combination of entries."""
    entries: dict[str, dict[str, None]] = {}
    for mapping in (value,) if isinstance(value, Mapping) else value:
        for key, each in mapping.items():
            entries.setdefault(key, {})[_alternatives(each)] = None
    return tuple(f"{key}={'|'.join(texts)}" for key, texts in entries.items())


def gather_axis(setting: Setting) -> Gather:
    """Returns the parser of the values of an axis. Those of a mapping are every combination of the
    values of its entries."""
    if setting.name not in MAPPINGS:

        def split(texts: Words) -> tuple[Any, ...]:
            return tuple(dict.fromkeys(map(setting.read, split_commas(texts))))

        return split
    parse = parse_assignments(setting.read)

    def combine(texts: Words) -> tuple[dict[str, str], ...]:
        entries = [[(key, value) for value in values] for key, values in parse(texts).items()]
        # Help and completion do without the import.
        from opperf.sources.varying import check_combinations

        check_combinations(entries)
        return tuple(dict(pairs) for pairs in itertools.product(*entries))

    return combine


Interpreters = Annotated[
    tuple[Interpreter, ...],
    replace(
        option_of(DECLARED["python"], parse_interpreters, text=interpreter_text), may_differ=True
    ),
]
"""The interpreters of the workers; empty for opperf's own. Their labels are an axis."""

Cpus = Annotated[
    str,
    Option(
        "--cpus",
        "Cores that workers are pinned to, e.g. 2,3 or 0-3,8. auto: as many as a worker has "
        "threads; opperf itself runs on others. none: workers are not pinned.",
        metavar="auto|none|LIST",
        section=SETTINGS,
        may_differ=True,
    ),
]
