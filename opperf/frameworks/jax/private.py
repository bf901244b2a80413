"""The names of JAX that opperf uses and that are no public API, or that versions have elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from opperf.frameworks.installed import PrivateName

LOWERINGS = PrivateName(
    "primitives outside jax.extend.core.primitives, and their devices",
    "jax._src.interpreters.mlir:_lowerings",
)
PLATFORM_LOWERINGS = PrivateName(
    "primitives of one platform only", "jax._src.interpreters.mlir:_platform_specific_lowerings"
)

PROFILE_DATA = PrivateName("the profiler native", "jax.profiler:ProfileData")
PROFILE_OPTIONS = PrivateName("the profiler native", "jax.profiler:ProfileOptions")
PROFILE_STATE = PrivateName(
    # JAX 0.12 has it without the session: there, profiles are read from files.
    "profiles that are not written to files, which takes as long again",
    "jax._src.profiler:_profile_state",
)

RESET_CACHE = PrivateName(
    "the cache of compiled programs",
    "jax.experimental.compilation_cache.compilation_cache:reset_cache",
)
ENABLE_X64 = PrivateName("dtypes of 64 bits", "jax:enable_x64", "jax.experimental:enable_x64")

WITHOUT_DEAD_CODE = PrivateName(
    "notes on work that reaches no result", "jax.interpreters.partial_eval:dce_jaxpr"
)

COMPILED = "/jax/core/compile/backend_compile_duration"
"""JAX's event of a program that its backend has compiled, or that was taken from the cache."""

FROM_CACHE = "/jax/compilation_cache/cache_hits"
"""JAX's event of a program that was taken from the cache."""


def options() -> dict[str, Any]:
    """Returns JAX's options of the whole process: attributes of `jax.config` are of the context."""
    found: dict[str, Any] = jax.config.values
    return found


def call_of(compiled: Any) -> Callable[..., Any]:
    """Returns what a compiled program calls with a frame of Python more than `jax.jit` has, which
    takes 0.4 us; the program itself in versions that call it so."""
    found: Callable[..., Any] = getattr(compiled, "_call", None) or compiled
    return found


def session_of(state: Any) -> Any:
    """Returns the profiler's session; None if there is none, or if it is kept elsewhere."""
    return getattr(state, "profile_session", None)


def implementation_of(key: Any) -> Any:
    """Returns the implementation of random numbers of a key: JAX shows its name only."""
    return key.dtype._impl


RECORDER = "recording a program; a function can be recorded by itself, as model.py:NAME"
PROGRAMS = PrivateName(RECORDER, "jax._src:pjit")
RUN_PROGRAM = PrivateName(RECORDER, "jax._src.pjit:_pjit_call_impl_python")
FAST_PATH = PrivateName(RECORDER, "jax._src.pjit:_get_fastpath_data")
SOURCE = PrivateName("modules and lines of a recording", "jax._src.source_info_util:current")


def source_now() -> Any:
    """Returns the scopes that the program is in and its frames, in a backward pass those of the
    forward call; None if this version does not tell."""
    found = SOURCE.find()
    return found() if found is not None else None


def source_of(program: Any) -> tuple[str, str, int]:
    """Returns the name, file and line of the function that a program was made of; each empty or 0
    if it is unknown."""
    described = getattr(program, "debug_info", None)
    source = str(getattr(described, "func_src_info", "") or "")
    name, _, place = source.rpartition(" at ")
    file, _, line = place.rpartition(":")
    return name, file, int(line) if line.isdecimal() else 0
