"""The table of recorded inputs, as text."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.recorded_inputs.calling import Arguments, modernize
from tools.recorded_inputs.choosing import Input, choose, encode, gather
from tools.recorded_inputs.reading import read_folder
from tools.recorded_inputs.scaling import Limits

TABLE = Path(__file__).resolve().parents[2] / "opperf" / "rules" / "torch" / "recorded.json"

LIMITS = {
    # 256 MiB in single precision, and a third of a second on two cores: a sweep of the registry is
    # to end within 20 minutes, and a worker to stay below 3 GB, gradients included.
    "default": Limits(2**26, 2**33),
    # Far less than a millisecond: dispatch dominates.
    "small": Limits(2**14, 2**20),
}
"""The largest work of a call, by size. The size large has the recorded inputs."""


def make_table(folder: Path) -> str:
    """Returns the table of a folder's recordings: JSON, a line for each input."""
    rows = ",\n".join(make_rows(folder).values())
    return f"{{\n{rows}\n}}\n"


def make_rows(folder: Path, is_wanted: Callable[[str], bool] = bool) -> dict[str, str]:
    """Returns the table's part for each operator whose name in the dispatcher is wanted; all are by
    default."""
    calls = map(modernize, read_folder(folder))
    found = gather(call for call in calls if is_wanted(name_of(call.operator)))
    rows = {}
    for operator in sorted(found):
        chosen = choose(found[operator], LIMITS["default"])
        lines = ",\n".join(json.dumps(entry(one)) for one in chosen)
        rows[name_of(operator)] = f"{json.dumps(name_of(operator))}: [\n{lines}\n]"
    return rows


def name_of(operator: str) -> str:
    """Returns an overload's name in the dispatcher: `aten::add.Tensor` for `aten.add.Tensor`."""
    namespace, packet, overload = operator.split(".")
    return f"{namespace}::{packet}" + (f".{overload}" if overload != "default" else "")


def entry(one: Input) -> dict[str, Any]:
    """Returns an input's entry: its arguments, those that differ at other sizes, or None for a size
    that has no such input, the number of calls, and the models, those with most calls first."""
    made: dict[str, Any] = {
        "count": one.count,
        "models": sorted(one.calls, key=lambda model: (-one.calls[model], model)),
        "arguments": {name: encode(value) for name, value in one.arguments.items()},
    }
    for size, limits in LIMITS.items():
        smaller = one.within(limits)
        changed = None if smaller is None else difference(one.arguments, smaller)
        if changed != {}:
            made[size] = changed
    return made


def difference(before: Arguments, after: Arguments) -> dict[str, Any]:
    """Returns the arguments that are not as before."""
    return {name: encode(value) for name, value in after.items() if value != before[name]}
