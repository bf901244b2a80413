"""NumPy as opperf's `Framework`."""

from __future__ import annotations

import ctypes
import tracemalloc
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from opperf.errors import UnsupportedError, one_line
from opperf.frameworks import base, call_capabilities, capabilities, numpy_arrays, scripts
from opperf.frameworks.base import CallArguments, Constant
from opperf.frameworks.calls import Recorder
from opperf.frameworks.capabilities import FACTOR, SMALL, Framework, denormals
from opperf.frameworks.fill import Code
from opperf.frameworks.literals import imports_of
from opperf.frameworks.numpy import functions, private, registry, signatures, tensors
from opperf.frameworks.scripts import ScriptTensor
from opperf.frameworks.user_code import call_in_script
from opperf.model import Case, DType, Generator, Operator, OperatorTarget, Target


def script(case: Case, arguments: CallArguments, call: Callable[[], Any]) -> str:
    """Returns the import, the arrays and the call."""
    assert isinstance(call, partial)
    made = scripts.tensors(case, arguments)
    names = scripts.names_of(made)
    codes = {
        scripted.name: tensors.code(scripted.spec, scripted.seed)
        for scripted in made
        if scripted.has_contents
    }
    lines = [line for scripted in made for line in _array(scripted, codes)]
    imported, own = call_in_script(case.target)
    called = f"out = {own or dotted_path(case, call.func)}({scripts.call_text(call, names)})"
    imports = [*imports_of(lines), "import numpy as np", *imported]
    defined = scripts.definitions(codes.values())
    return "\n".join([*imports, *defined, "", *lines, "", called]) + "\n"


def _array(made: ScriptTensor, codes: Mapping[str, Code]) -> list[str]:
    if made.storage:
        viewed = f"{made.name} = {tensors.view_expression(made.storage, made.spec)}"
        return [viewed, *(codes[made.name].lines(f"{made.name}[...]") if made.has_contents else ())]
    return codes[made.name].lines(made.name)


def dotted_path(case: Case, function: Callable[..., Any]) -> str:
    """Returns a function's path in a script; a method's begins with a seeded generator."""
    target, seed = case.target, case.settings.seed
    if not isinstance(target, OperatorTarget):
        return functions.path_of(function).replace("numpy.", "np.", 1)
    method = target.name.rpartition(".")[2]
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.random.Generator):
        return f"np.random.default_rng({seed}).{method}"
    if isinstance(owner, np.random.RandomState):
        return f"np.random.RandomState({seed}).{method}"
    return f"np.{target.name}"


REFUSALS = (np.linalg.LinAlgError, *base.REFUSALS)
"""Raised by NumPy for arguments that it does not accept. UFuncTypeError is a TypeError,
AxisError a ValueError; LinAlgError is one only from NumPy 1.25 on."""


def refusal(error: BaseException) -> str | None:
    """Returns NumPy's message, as one line, if the error is a refusal of a call; else None."""
    if isinstance(error, REFUSALS):
        return one_line(f"{type(error).__name__}: {error}")
    return None


class Allocator(ctypes.Structure):
    """`PyMemAllocatorEx` of Python's C interface: a context and four functions."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("ctx", "malloc", "calloc", "realloc", "free")]


PYTHON_DOMAINS = (0, 1, 2)
"""`PYMEM_DOMAIN_RAW`, `_MEM` and `_OBJ`: the allocators that tracemalloc replaces."""


@dataclass
class Reading:
    """The result of a measurement; valid after its context has ended."""

    peak_bytes: int = 0
    kept_bytes: int = 0
    reserved_bytes: int | None = None


def _start() -> None:
    """Starts tracemalloc for what is reported to it, without what Python allocates. A block that
    Python got between the two calls is one of the allocators below, and is freed by those."""
    own = [Allocator() for _ in PYTHON_DOMAINS]
    for domain, allocator in zip(PYTHON_DOMAINS, own, strict=True):
        ctypes.pythonapi.PyMem_GetAllocator(domain, ctypes.byref(allocator))
    tracemalloc.start()
    for domain, allocator in zip(PYTHON_DOMAINS, own, strict=True):
        ctypes.pythonapi.PyMem_SetAllocator(domain, ctypes.byref(allocator))


@contextmanager
def measure() -> Iterator[Reading]:
    """Measures the array data inside the context, above the level at entry: exactly, unless
    tracemalloc was tracing before. Then Python's objects count too.

    NumPy reports every block of array data to tracemalloc, which has one peak for all domains. What
    Python allocates reaches it only by the allocators that `tracemalloc.start` puts in place of
    Python's, and these can be put back. Not seen is what a function gets from `malloc` itself and
    frees before it returns: the workspace of LAPACK, pocketfft and a merge sort, and a ufunc's
    buffers of some 64 KiB for casts.
    """
    reading = Reading()
    mine = not tracemalloc.is_tracing()
    if mine:
        _start()
    try:
        level, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        yield reading
        now, peak = tracemalloc.get_traced_memory()
        reading.peak_bytes, reading.kept_bytes = peak - level, now - level
    finally:
        if mine:
            tracemalloc.stop()


class _Naming(capabilities.Naming):
    roots = functions.ROOTS
    target_of = staticmethod(functions.target_of)
    callable_target = staticmethod(functions.target_at)

    def registered(self) -> int:
        return len(registry.public_functions())


class _DeviceMemory(capabilities.DeviceMemory):
    def measure(self, device: str) -> AbstractContextManager[Reading]:
        return measure()


class _Arrays(call_capabilities.Arrays):
    view = staticmethod(tensors.view)
    describe = staticmethod(tensors.describe)
    write = staticmethod(tensors.write)
    memory_of = staticmethod(tensors.memory_of)
    has_nan = staticmethod(tensors.has_nan)
    copy_to_device = staticmethod(tensors.copy_to_device)
    extents = staticmethod(tensors.extents)
    contents = staticmethod(numpy_arrays.array_contents)
    shared = staticmethod(tensors.shared)
    address = staticmethod(tensors.address)

    def constant(self, value: Constant, device: str) -> Any:
        if isinstance(value, DType):
            return np.dtype(value.name)
        if isinstance(value, Generator):
            return np.random.default_rng(value.seed)
        return super().constant(value, device)


class _Recordings(call_capabilities.Recordings):
    source = staticmethod(script)

    def recorder(self, *_: object) -> Recorder:
        raise UnsupportedError(
            "NumPy's calls cannot be recorded: none of its protocols sees plain arrays"
        )


class _Inference(call_capabilities.Inference):
    output_shapes = staticmethod(functions.output_shapes)


class _Restoring(call_capabilities.Restoring):
    keep = staticmethod(numpy_arrays.keep)
    watch = staticmethod(tensors.watch)
    write_numbers = staticmethod(tensors.write_numbers)


class _BuildInfo(capabilities.BuildInfo):
    private_names = private

    def versions(self) -> dict[str, str]:
        return {"numpy": self.framework.version(), **_libraries()}

    def features(self) -> dict[str, bool]:
        """Returns the instruction sets that NumPy has kernels for, and if it uses them here."""
        return dict(private.CPU_FEATURES.find() or {})

    def commit(self) -> str:
        return str(np.version.git_revision)


class _Processes(capabilities.Processes):
    def numerics(self) -> dict[str, str]:
        return denormals(float(np.float32(SMALL) * np.float32(FACTOR)))

    def supports_fork(self, device: str) -> bool:
        return True


class NumPy(Framework):
    """The framework, for one process."""

    name = registry.FRAMEWORK
    rules = "opperf.rules.numpy"
    dtypes: tuple[str, ...] = registry.DTYPES
    capabilities = (
        *(_Naming, _DeviceMemory, _Arrays, _Recordings, _Inference, _Restoring, _BuildInfo),
        *(_Processes,),
    )
    operators = staticmethod(registry.operators)
    function = staticmethod(functions.function_of)
    tensor = staticmethod(tensors.tensor)
    refusal = staticmethod(refusal)

    def __init__(self) -> None:
        super().__init__()
        # Read now: each fork of this process would otherwise read it again.
        registry.by_identity()

    def version(self) -> str:
        return np.__version__

    def resolve(self, name: str) -> Operator | None:
        return registry.by_name().get(name)

    def signature(self, target: Target, function: Callable[..., Any] | None = None) -> Operator:
        return functions.signature(target, function or self.function(target))

    def bind(
        self, case: Case, arguments: CallArguments, function: Callable[..., Any] | None = None
    ) -> Callable[[], Any]:
        target = case.target
        called = function or functions.with_seed(target, case.settings.seed)
        name = target.name if isinstance(target, OperatorTarget) else target.label
        declared = signatures.parameters(name, called)
        return functions.bind(called, declared, arguments)

    @contextmanager
    def scope(self, case: Case) -> Iterator[None]:
        """Suppresses warnings, such as those of deprecated functions. The phase has no effect."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield


def _libraries() -> dict[str, str]:
    # NumPy's annotations have the printing form only.
    show: Any = np.show_config
    try:
        blas = show(mode="dicts")["Build Dependencies"].get("blas", {})
    except TypeError:
        # Before NumPy 1.25 there is no other form.
        return {}
    return {"blas": f"{blas['name']} {blas.get('version', '')}".strip()} if "name" in blas else {}
