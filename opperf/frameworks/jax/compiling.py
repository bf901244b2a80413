"""XLA's cache of compiled programs, JAX's options, and the programs that it compiles."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import jax.monitoring
import jaxlib
from platformdirs import user_cache_path

from opperf import __version__ as OPPERF_VERSION
from opperf.errors import UsageError, did_you_mean
from opperf.frameworks.jax import private
from opperf.model import Case
from opperf.near_names import nearest

CACHE_VARIABLE = "JAX_COMPILATION_CACHE_DIR"

CACHED = {
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}
"""Options with which every program is kept, not only those that take a second to compile."""

POOL_VARIABLES = ("PJRT_NPROC", "NPROC")
"""Variables that limit the threads of XLA's pool, whatever processors the process may use."""


def program_folder() -> Path:
    """Returns the folder of compiled programs. XLA divides loops among the threads of its pool when
    it compiles, which the keys of JAX's cache do not tell: programs for another number of threads
    are in another folder."""
    folder = os.environ.get(CACHE_VARIABLE) or user_cache_path("opperf") / "jax"
    limits = [os.environ[name] for name in POOL_VARIABLES if os.environ.get(name)]
    affinity = getattr(os, "sched_getaffinity", None)
    # Not every system has it.
    count = os.cpu_count() if affinity is None else len(affinity(0))
    threads = "-".join([str(count), *limits])
    return Path(folder) / f"threads-{threads}"


PREFIXES = ("JAX_", "XLA_")
"""Beginnings of the names of variables that may change what is compiled."""


def mark(case: Case) -> Path:
    """Returns the path of the file that says that the cache has a case's programs, of this version
    and environment. Without the programs, it only costs the time to compile them later."""
    variables = sorted(entry for entry in os.environ.items() if entry[0].startswith(PREFIXES))
    versions = jax.__version__, jaxlib.version.__version__, OPPERF_VERSION
    digest = hashlib.sha256(repr((versions, variables)).encode()).hexdigest()[:16]
    return program_folder() / "cases" / f"{case.id}-{digest}"


@contextmanager
def cache(is_cold: bool) -> Iterator[None]:
    """Returns a context with the user's persistent cache of programs; without any if `is_cold`."""
    wanted: dict[str, float | str] = {
        **CACHED,
        "jax_compilation_cache_dir": str(program_folder()),
        "jax_enable_compilation_cache": not is_cold,
    }
    before = {name: getattr(jax.config, name) for name in wanted}
    _set(wanted)
    try:
        yield
    finally:
        _set(before)


def _set(values: Mapping[str, float | str]) -> None:
    if all(getattr(jax.config, name) == value for name, value in values.items()):
        return
    for name, value in values.items():
        jax.config.update(name, value)
    # JAX looks at the options once, when it first compiles.
    private.RESET_CACHE.get()()


def option(name: str, text: str) -> Callable[[], object]:
    """Returns a callable that sets one of JAX's options, as `Processes.option`."""
    known = sorted(private.options())
    key = name if name in known else f"jax_{name.removeprefix('jax.config.').removeprefix('jax_')}"
    if key not in known:
        raise UsageError(f"JAX has no option {name!r}{did_you_mean(nearest(name, known))}")
    value = _parse(key, text)

    def apply() -> None:
        try:
            jax.config.update(key, value)
        except (TypeError, ValueError) as error:
            raise UsageError(f"--set {name}={text}: {error}") from error

    return apply


FLAGS = {"true": True, "1": True, "on": True, "false": False, "0": False, "off": False}


def _parse(name: str, text: str) -> Any:
    """Returns the value of an option, of its present type. Raises `UsageError`."""
    now = private.options()[name]
    if text.lower() == "none":
        return None
    if isinstance(now, bool):
        if text.lower() not in FLAGS:
            raise UsageError(f"--set {name}={text}: use true or false")
        return FLAGS[text.lower()]
    for kind in (int, float):
        if isinstance(now, kind):
            try:
                return kind(text)
            except ValueError as error:
                raise UsageError(f"--set {name}={text}: it is a number") from error
    return text


class _Counter:
    """Counts JAX's events: of programs outside `expected`, and of the cache."""

    def __init__(self) -> None:
        self.found = 0
        """Programs compiled outside `expected`."""
        self.depth = 0
        """Number of open contexts of `expected`."""
        self.from_cache = 0
        self.compiling_ns = 0
        """Of all threads of the process."""

    def listen(self, event: str, duration_secs: float, **_: Any) -> None:
        if event == private.COMPILED:
            self.compiling_ns += round(1e9 * duration_secs)
            self.found += not self.depth

    def listen_to_cache(self, event: str, **_: Any) -> None:
        self.from_cache += event == private.FROM_CACHE


COUNTER = _Counter()
jax.monitoring.register_event_duration_secs_listener(COUNTER.listen)
jax.monitoring.register_event_listener(COUNTER.listen_to_cache)


@contextmanager
def expected() -> Iterator[None]:
    """Returns a context in which what is compiled is no recompilation."""
    COUNTER.depth += 1
    try:
        yield
    finally:
        COUNTER.depth -= 1
