"""Calls of JAX's functions: compiled ahead of time, or eager. A compiled call has every array as an
argument, so that XLA folds none into a constant; all other values are constants of the program. A
call is over when its own results are ready."""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import jax.monitoring
import jax.numpy as jnp
import numpy as np

from opperf.errors import UnsupportedError
from opperf.frameworks.base import Flops
from opperf.frameworks.jax import memory, private
from opperf.frameworks.jax.compiling import COUNTER, expected

PLAIN = (bool, int, float, complex, str, bytes, np.ndarray, np.generic)
"""Types of results that hold none of JAX's arrays."""


LAST_MODULE, LAST_STEP = "jit_opperf_last", "pop"
"""Names by which a profiler knows the program that waits for others: its own, and a part of its
only step's, which is `popcnt` or `population_count` by version, and rare in programs."""


@functools.cache
def _last_program(device: Any) -> Callable[[], Any]:
    """Returns a call of a small program on a device, which takes 5 us."""

    def opperf_last(number: Any) -> Any:
        return jax.lax.population_count(number)

    with expected(), jax.default_device(device):
        number = jnp.zeros((), "uint32")
        program = jax.jit(opperf_last).lower(number).compile()
    return partial(private.call_of(program), number)


def settled(results: Any) -> Any:
    """Returns the results of a call once they are ready. Where they are no arrays, or hold objects
    in which JAX sees none, all that the call has started is: a device runs the programs of a thread
    in their order, so that one that is started now ends last."""
    are_arrays, has_objects = False, False
    for leaf in jax.tree_util.tree_leaves(results):
        if hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
            are_arrays = True
        elif not isinstance(leaf, PLAIN):
            has_objects = True
    if has_objects or not are_arrays:
        # The device of this context runs what has no arrays.
        device = jax.config.jax_default_device or jax.devices()[0]  # type: ignore[attr-defined]
        _last_program(device)().block_until_ready()
    return results


NS_PER_S = 1e9


@dataclass(eq=False)
class Flat:
    """A call as a function of its arrays, in their order."""

    call: partial[Any]
    kinds: tuple[type, ...] = (jax.Array,)
    arrays: list[Any] = field(init=False)

    def __post_init__(self) -> None:
        leaves, self._structure = jax.tree_util.tree_flatten(
            (self.call.args, self.call.keywords), is_leaf=lambda one: one is None
        )
        self._places = [i for i, one in enumerate(leaves) if isinstance(one, self.kinds)]
        self.arrays = [leaves[place] for place in self._places]
        self._leaves = [None if isinstance(leaf, self.kinds) else leaf for leaf in leaves]
        self.__name__ = getattr(self.call.func, "__name__", type(self.call.func).__name__)

    def __call__(self, *arrays: Any) -> Any:
        unnamed, named = self._arguments(arrays)
        return self.call.func(*unnamed, **named)

    def bound(self, arrays: Sequence[Any]) -> partial[Any]:
        unnamed, named = self._arguments(arrays)
        return partial(self.call.func, *unnamed, **named)

    def indices(self, arrays: Iterable[Any]) -> tuple[int, ...]:
        wanted = {id(array) for array in arrays}
        return tuple(i for i, array in enumerate(self.arrays) if id(array) in wanted)

    def _arguments(self, arrays: Sequence[Any]) -> Any:
        leaves = list(self._leaves)
        for place, one in zip(self._places, arrays, strict=True):
            leaves[place] = one
        return jax.tree_util.tree_unflatten(self._structure, leaves)


@dataclass(eq=False)
class Cost:
    """The cost of compiling a function, and XLA's figures of the program."""

    lowering_ns: float = 0.0
    compile_ns: float = 0.0
    first_ns: float = 0.0
    """Of `compile_ns`, what the function's own program took; the others are its gradient's."""
    cache_misses: int = 0
    before: int = field(default_factory=lambda: COUNTER.found)
    """Recompilations in this process before the case's."""


class Program:
    """A function that is compiled when first called. Raises what JAX raises if it cannot be."""

    def __init__(
        self, function: Callable[..., Any], donated: Sequence[int] = (), cost: Cost | None = None
    ) -> None:
        self._function, self._donated = function, tuple(donated)
        self._compiled: Any = None
        self._lowered: Any = None
        self.traced: Any = None
        """The program as JAX has traced it; set by the first call."""
        self.call: Callable[..., Any]
        """Starts a call; set by the first, as is `is_single`."""
        self.is_single = False
        """Whether a single array is all that a call returns."""
        self.cost = Cost() if cost is None else cost
        self.run: Callable[..., Any] = self._first
        """Returns the results of a call, once they are ready."""

    def __call__(self, *arrays: Any) -> Any:
        return self.run(*arrays)

    def _first(self, *arrays: Any) -> Any:
        with expected():
            self._compile(arrays)
            results = self._several(*arrays)
        self.call = private.call_of(self._compiled)
        # Settled once: to look at each call's results takes a microsecond.
        self.is_single = isinstance(results, jax.Array)
        self.run = self._single if self.is_single else self._several
        return results

    def compile(self, arguments: Sequence[Any]) -> Any:
        """Compiles for arguments, of which shapes are enough, and returns the results' shapes."""
        with expected():
            shapes = self._compile(arguments).eval_shape(*arguments)
        # A program that takes the results is another one without their shardings.
        return jax.tree_util.tree_map(_placed, shapes, self._compiled.output_shardings)

    def _single(self, *arrays: Any) -> Any:
        """Waits as programs do: `jax.block_until_ready` looks for more in several microseconds."""
        if memory.open_readings:
            return memory.run(self._compiled, arrays)
        return self.call(*arrays).block_until_ready()

    def _several(self, *arrays: Any) -> Any:
        if memory.open_readings:
            return memory.run(self._compiled, arrays)
        return settled(self.call(*arrays))

    def _compile(self, arrays: Sequence[Any]) -> Any:
        """Compiles, and returns the function as `jax.jit` has it."""
        begun = time.perf_counter()
        jitted = jax.jit(self._function, donate_argnums=self._donated)
        self.traced = jitted.trace(*arrays)
        self._lowered = lowered = self.traced.lower()
        lowered_at, hits = time.perf_counter(), COUNTER.from_cache
        self.call = self._compiled = lowered.compile()
        self.cost.lowering_ns += (lowered_at - begun) * NS_PER_S
        self.cost.compile_ns += (time.perf_counter() - lowered_at) * NS_PER_S
        self.cost.first_ns = self.cost.first_ns or self.cost.compile_ns
        self.cost.cache_misses += COUNTER.from_cache == hits
        return jitted

    def text(self) -> str:
        """Returns the compiled program in XLA's language; empty if the backend does not tell."""
        return self._compiled.as_text() or ""

    def operations(self) -> tuple[float, float, float]:
        """Returns XLA's counts of the operations before it optimises the program and after, and of
        the bytes that the program then reads and writes."""
        before, after = (
            sum(_analysis_of(stage).get(name, 0.0) for name in COUNTED)
            for stage in (self._lowered, self._compiled)
        )
        return before, after, self.analysis().get("bytes accessed", 0.0)

    def analysis(self) -> Mapping[str, float]:
        return _analysis_of(self._compiled)

    def flops(self) -> Flops | None:
        return flops_of(self._compiled)


COUNTED = ("flops", "transcendentals")
"""XLA's kinds of operations."""


def _analysis_of(stage: Any) -> Mapping[str, float]:
    try:
        found = stage.cost_analysis()
    except (NotImplementedError, jax.errors.JaxRuntimeError):
        # Not every backend has it.
        return {}
    # Older versions have a list, with an entry for each program.
    found = found[0] if isinstance(found, list) and found else found
    # XLA has -1 of what it does not know.
    return {name: value for name, value in (found or {}).items() if value >= 0}


OPAQUE = re.compile(r" (while|custom-call|conditional)\(")
"""Steps of a compiled program whose operations XLA does not count, or for one pass of a loop."""


def flops_of(compiled: Any) -> Flops | None:
    """Returns XLA's count of a compiled program; None if the back end has none."""
    count = _analysis_of(compiled).get("flops")
    if count is None:
        return None
    return Flops(count, tuple(dict.fromkeys(OPAQUE.findall(compiled.as_text() or ""))))


def _placed(shape: Any, sharding: Any) -> Any:
    weak = shape.weak_type
    return jax.ShapeDtypeStruct(shape.shape, shape.dtype, sharding=sharding, weak_type=weak)


def donated_argnums(flat: Flat) -> tuple[int, ...]:
    """Returns the indices of the arrays that a user's compiled function may overwrite."""
    function, call = flat.call.func, flat.call
    if not hasattr(function, "lower"):
        return ()
    infos = jax.tree_util.tree_leaves(function.lower(*call.args, **call.keywords).args_info)
    leaves = jax.tree_util.tree_leaves((call.args, call.keywords))
    # Static arguments have no entry; an array is not static.
    entries = leaves if len(leaves) == len(infos) else flat.arrays
    if len(entries) != len(infos):
        return ()
    flags = [
        info.donated for info, one in zip(infos, entries, strict=True) if isinstance(one, jax.Array)
    ]
    return tuple(place for place, donated in enumerate(flags) if donated)


class CompiledCall:
    """A call that is compiled when it is first made."""

    def __init__(self, call: partial[Any], donated: Sequence[int] = ()) -> None:
        self.flat = Flat(call)
        self.arrays = list(self.flat.arrays)
        self.program = Program(self.flat, donated)
        self.gradients: dict[tuple[int, ...], list[Program]] = {}
        """The programs of both passes, by the indices of the arrays that take a gradient."""

    def __call__(self) -> Any:
        return self.program.run(*self.arrays)

    def replace(self, array: Any, other: Any) -> None:
        # In place: a function that makes the call has the list.
        for arrays in (self.arrays, self.flat.arrays):
            arrays[:] = [other if given is array else given for given in arrays]

    def repeated(self) -> Callable[[], Any]:
        """Returns a function that makes the call, which was made before, with a single frame of
        Python: where the call waits for another thread, a frame takes up to a microsecond."""
        call, arrays, wait = self.program.call, self.arrays, settled

        def single() -> Any:
            return call(*arrays).block_until_ready()

        def several() -> Any:
            return wait(call(*arrays))

        return single if self.program.is_single else several


class DonatingCall(CompiledCall):
    """A compiled call that may overwrite some of its arrays."""

    def __init__(self, call: partial[Any], donated: Sequence[int]) -> None:
        super().__init__(call, donated)
        self.donated = tuple(donated)
        self._kept = {place: self.arrays[place] for place in self.donated}
        self.renew()

    def renew(self) -> None:
        with expected():
            for place, kept in self._kept.items():
                if self.arrays[place].is_deleted():
                    # In the place of one that was there when the reading began.
                    memory.add_argument(kept.nbytes)
                self.arrays[place] = jax.block_until_ready(kept.copy())

    def replace(self, array: Any, other: Any) -> None:
        super().replace(array, other)
        self._kept = {place: other if kept is array else kept for place, kept in self._kept.items()}
        self.renew()

    def __call__(self) -> Any:
        """Timed calls follow a `renew`, and others may follow a call."""
        if any(self.arrays[place].is_deleted() for place in self.donated):
            self.renew()
        return super().__call__()


class EagerCall:
    """A call that JAX dispatches operation by operation."""

    def __init__(self, call: partial[Any], donated: Sequence[int] = ()) -> None:
        self.flat = Flat(call)
        self._call = call

    def __call__(self) -> Any:
        """Raises `UnsupportedError` while memory is measured, which JAX does not show."""
        if memory.open_readings:
            raise UnsupportedError(memory.EAGER)
        results = self._call()
        # As a program waits for a single array: `settled` looks for more.
        if isinstance(results, jax.Array):
            return results.block_until_ready()
        return settled(results)

    def replace(self, array: Any, other: Any) -> None:
        arrays = [other if given is array else given for given in self.flat.arrays]
        self._call = self.flat.bound(arrays)
        self.flat.arrays = arrays


class Donatable:
    """An array of an eager call, whose function may give its memory to a program of its own."""

    def __init__(self, array: Any, call: EagerCall) -> None:
        self._array, self._call = array, call

    def is_changed(self) -> bool:
        return bool(self._array.is_deleted())

    def restore(self, contents: Any) -> None:
        with expected():
            fresh = jax.block_until_ready(contents.copy())
        self._call.replace(self._array, fresh)
        self._array = fresh


Call = CompiledCall | EagerCall

MODES: Mapping[str, Callable[[partial[Any], Sequence[int]], Call]] = {
    "jit": lambda call, donated: DonatingCall(call, donated) if donated else CompiledCall(call),
    "eager": EagerCall,
}
"""Functions that make a call, by the mode's name, the default one first. They take the indices of
the arrays that it may overwrite; only a program overwrites any."""

COMPILED = ("jit",)
"""Modes that compile at the first call."""


def costs(call: Callable[[], Any]) -> dict[str, float]:
    """Returns what compiling a call and its gradient took, in nanoseconds, the misses of the cache,
    the recompilations, and the bytes that XLA says the forward pass moves."""
    if not isinstance(call, CompiledCall):
        return {}
    cost = call.program.cost
    found = {
        "lowering": cost.lowering_ns,
        "compilation": cost.compile_ns,
        "compile_cache_misses": float(cost.cache_misses),
        "recompilations": float(COUNTER.found - cost.before),
    }
    moved = call.program.analysis().get("bytes accessed")
    return found if moved is None else found | {"bytes_accessed": moved}
