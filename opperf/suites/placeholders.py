"""Values that depend on the machine: placeholders, `{n_worker}`, and the functions `auto(...)`,
`auto_batch(...)` and `expr(...)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from opperf.errors import UsageError, suggest
from opperf.suites.bench import Location
from opperf.suites.expressions import FUNCTIONS, evaluate
from opperf.suites.system import COLLECTIVES, DEVICES, System

PLACEHOLDER = re.compile(r"(?<!\$)\{([A-Za-z_]\w*)\}")
"""A name in braces; other braces, those of JSON and of a shell's `${NAME}` too, stay."""

ESCAPED = re.compile(r"\{\{|\}\}|(?<!\$)\{([A-Za-z_]\w*)\}")
"""The same in a text with two opening braces, which JSON never has: two of them are one brace."""

CALL = re.compile(r"(?P<before>[^\s()=]*=)?(?P<call>(?:auto|auto_batch|expr)\(.*\))", re.DOTALL)
"""A function as a whole value, or after `key=`."""

FOLDERS = ("venv", "data", "runs", "extra", "cache")
"""Folders below the base, whose paths the key `dirs` may set."""


def machine_values(system: System) -> dict[str, str | int]:
    """Returns the placeholders of a system."""
    per_gpu = max(1, system.cpu_count // max(1, system.gpu_count))
    options = system.options
    workers = options["cpu.n_workers"]
    if workers is None:
        workers = min(max(per_gpu, options["cpu.min"]), options["cpu.max"])
    return {
        "cpu_count": system.cpu_count,
        "gpu_count": system.gpu_count,
        "cpu_per_gpu": per_gpu,
        "n_worker": workers,
        "arch": system.arch,
        "device_name": DEVICES.get(system.arch, "cpu"),
        "ccl": COLLECTIVES.get(system.arch, "gloo"),
        "milabench_base": system.base,
    }


def bench_values(
    system: System, name: str, code: str, install_group: str, group: str, dirs: Mapping[str, str]
) -> dict[str, str]:
    """Returns the placeholders of a bench, whose folder is `code`, beside those of the system."""
    base = system.base
    folders = {
        "venv": f"{base}/venv/{install_group}",
        "data": f"{base}/data",
        "runs": f"{base}/runs",
        "extra": f"{base}/extra/{group}",
        "cache": f"{base}/cache",
        **{key: path if path.startswith("/") else f"{base}/{path}" for key, path in dirs.items()},
    }
    return {
        **{f"milabench_{key}": path for key, path in folders.items()},
        "milabench_code": code,
        "milabench_name": name,
        "benchmark_folder": code,
    }


class Placeholders:
    """Replaces placeholders and calls of functions in texts."""

    def __init__(
        self, values: Mapping[str, str | int], system: System, resize: Callable[[Any], int]
    ) -> None:
        """`resize` gives the size of a batch for that of the file."""
        self._values, self._system, self._resize = values, system, resize
        self.sizes: dict[str, int] = {}
        """Sizes that were chosen, as tables of sizes name them: `batch_size`, and `cpu` of
        workers."""
        self._functions: dict[str, Callable[..., Any]] = {
            **FUNCTIONS,
            "auto": self._auto,
            "auto_batch": self._auto_batch,
            "expr": lambda value: value,
        }

    def replace(self, text: str, at: Location) -> str:
        """Returns a text with values. Raises `UsageError` for an unknown placeholder, and for a
        call that fails."""
        if "{" not in text and "(" not in text:
            return text

        def replaced(match: re.Match[str]) -> str:
            name = match[1]
            if name is None:
                return match[0][0]
            if name not in self._values:
                hint = suggest(name, self._values)
                raise UsageError(
                    f"{at}: unknown placeholder {match[0]}{hint}; write {{{match[0]}}} for the text"
                )
            return str(self._values[name])

        filled = (ESCAPED if "{{" in text else PLACEHOLDER).sub(replaced, text)
        call = CALL.fullmatch(filled)
        if call is None:
            return filled
        names = {**self._values, **self._system.names()}
        try:
            found = evaluate(call["call"], names, self._functions)
        except UsageError as error:
            raise UsageError(f"{at}: {error}") from error
        return f"{call['before'] or ''}{found}"

    def _auto(self, value: Any, default: Any) -> Any:
        """Returns the machine's value where `cpu.enabled` is set, else the default."""
        found = value if self._system.options["cpu.enabled"] else default
        if isinstance(found, int):
            self.sizes["cpu"] = found
        return found

    def _auto_batch(self, default: Any) -> int:
        self.sizes["batch_size"] = size = self._resize(default)
        return size
