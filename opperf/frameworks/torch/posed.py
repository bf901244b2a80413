"""The functions of a problem of kernels in another tool's format, and of candidates for it.

A copy of this file lies beside copies of the tool's own files and `opperf_settings.json`, which is
about them: it imports nothing of opperf, so that a process that has only this folder can run it."""

from __future__ import annotations

import ast
import copy
import functools
import importlib
import inspect
import json
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).resolve().parent

SETTINGS = "opperf_settings.json"

MODEL_SEED = 42
"""KernelBench's own, before each constructor."""

INTEGERS = 1024
"""Bound of FlashInfer-Bench's random integers; those of eight bits have all values."""

DICT, OF_TORCH = "opperf:dict", "opperf:torch"
"""First elements of tuples in place of a dictionary, and of a dtype or other attribute of torch: an
argument is a tensor, a plain value, or a list or tuple."""


def load(file: str, constants: Mapping[str, str] = types.MappingProxyType({})) -> Any:
    """Returns the module in a file of this folder, with other values of its constants. Devices that
    it names are the CPU."""
    path = HERE / file
    tree = ast.parse(path.read_bytes(), str(path))
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                if name in constants:
                    value = ast.parse(constants[name], mode="eval").body
                    node.value = ast.fix_missing_locations(ast.copy_location(value, node))
    for each in ast.walk(tree):
        if isinstance(each, ast.Constant) and each.value in ("cuda", "cuda:0"):
            each.value = "cpu"
    module = types.ModuleType(f"opperf_posed_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    exec(compile(tree, str(path), "exec", dont_inherit=True), module.__dict__)
    return module


def _import_from_here() -> None:
    """Lets the files import each other by name, and not those of another problem."""
    for name, module in list(sys.modules.items()):
        folder = Path(getattr(module, "__file__", None) or "/").parent
        if folder != HERE and (folder / SETTINGS).is_file() and "." not in name:
            del sys.modules[name]
    sys.path.insert(0, str(HERE))
    importlib.invalidate_caches()


def _is_float(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _sent(value: Any) -> Any:
    """Returns a value as an argument."""
    if isinstance(value, dict):
        return (DICT, *((name, _sent(each)) for name, each in value.items()))
    if isinstance(value, (list, tuple)):
        return (list if isinstance(value, list) else tuple)(map(_sent, value))
    if isinstance(value, (torch.dtype, torch.memory_format, torch.layout)):
        return (OF_TORCH, str(value).removeprefix("torch."))
    return value


def _received(value: Any) -> Any:
    """Returns the value that was sent."""
    if not isinstance(value, (list, tuple)):
        return value
    kind = value[0] if value and isinstance(value[0], str) else ""
    if kind == DICT:
        return {name: _received(each) for name, each in value[1:]}
    return getattr(torch, value[1]) if kind == OF_TORCH else type(value)(map(_received, value))


class Posed:
    """A problem: `make_inputs` returns arguments, and `call` calls with them `reference`, which
    computes what has to be computed, or `solution`, the candidate's function."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = settings

    @functools.cached_property
    def problem(self) -> Any:
        return load(self.settings["problem"], self.settings.get("constants", {}))

    @functools.cached_property
    def candidate(self) -> Any:
        return load(self.settings["candidate"], self.settings.get("constants", {}))

    @functools.cached_property
    def reference(self) -> Any:
        return getattr(self.problem, self.settings["reference"])

    @functools.cached_property
    def solution(self) -> Any:
        return getattr(self.candidate, self.settings["function"])

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)


class KernelBench(Posed):
    """`Model` and `ModelNew`, made alike after the same seed."""

    def make_inputs(self) -> list[Any]:
        return self._cast(self.problem.get_inputs())

    def reference(self, *arguments: Any) -> Any:
        is_wide = any(_is_float(each) and each.dtype is torch.float64 for each in arguments)
        return (self.wide if is_wide else self.model)(*arguments)

    @functools.cached_property
    def model(self) -> Any:
        return self._make(self.problem.Model)

    @functools.cached_property
    def wide(self) -> Any:
        """The model in float64, for inputs of that."""
        return copy.deepcopy(self.model).double()

    @functools.cached_property
    def solution(self) -> Any:
        return self._make(self.candidate.ModelNew)

    def _make(self, kind: Callable[..., Any]) -> Any:
        torch.manual_seed(MODEL_SEED)
        initial = self._cast(self.problem.get_init_inputs())
        torch.manual_seed(MODEL_SEED)
        return kind(*initial).to(getattr(torch, self.settings["dtype"]))

    def _cast(self, values: Sequence[Any]) -> list[Any]:
        # Not integers, of which a float is no index.
        dtype = getattr(torch, self.settings["dtype"])
        return [value.to(dtype) if _is_float(value) else value for value in values]


class Called(Exception):
    """Raised in place of a function, with its arguments."""


class RobustKBench(Posed):
    """`forward_fn`, with the arguments with which `Model.forward` calls it, or its gradients."""

    def make_inputs(self, init: dict[str, Any], inputs: dict[str, Any]) -> list[Any]:
        model = self.problem.Model(**init)
        try:
            model(*self.problem.get_inputs(**inputs), fn=self._note)
        except Called as call:
            made = [each.detach() if _is_float(each) else each for each in call.args]
        else:
            raise TypeError("Model.forward does not call its fn")
        if self.settings["backward"]:
            made.insert(0, torch.randn_like(self.problem.forward_fn(*made)))
        return made

    def _note(self, *arguments: Any, **named: Any) -> None:
        bound = inspect.signature(self.problem.forward_fn).bind(*arguments, **named)
        bound.apply_defaults()
        raise Called(*bound.args)

    @functools.cached_property
    def solution(self) -> Any:
        if not self.settings["backward"]:
            return getattr(self.candidate, self.settings["function"])
        function = self.problem.AutogradFunction
        function.backward_fn = staticmethod(getattr(self.candidate, self.settings["function"]))
        return function.apply

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Returns the result; of a backward pass the gradients with respect to all floating-point
        arguments, zeros where there is none."""
        if not self.settings["backward"]:
            return function(*arguments)
        of_output, *others = arguments
        with torch.enable_grad():
            given = [each.detach().requires_grad_() if _is_float(each) else each for each in others]
            wanted = list(filter(_is_float, given))
            return torch.autograd.grad(function(*given), wanted, of_output, materialize_grads=True)


class GpuMode(Posed):
    """`ref_kernel` and `custom_kernel`, of the one argument that `generate_input` returns."""

    def make_inputs(self, task_seed: int | None = None, **trial: Any) -> list[Any]:
        if task_seed is not None:
            # As in the contest: the seed that everyone knows, and one that nobody does.
            trial["seed"] = (task_seed + torch.initial_seed()) % 2**31
        return [_sent(self.problem.generate_input(**trial))]

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*map(_received, arguments))


class BackendBench(Posed):
    """An operator of ATen, and a function with its arguments; the last one is those by name."""

    def make_inputs(self, call: str) -> list[Any]:
        unnamed, named, most = self.settings["calls"][call]
        named = dict(named)
        for each in self.reference._schema.arguments[len(unnamed) :]:
            # By position where it may be, as an implementation has other names.
            if each.kwarg_only or each.name not in named:
                break
            unnamed = [*unnamed, named.pop(each.name)]
        return list(_decoded([*unnamed, [DICT, *named.items()]], most))

    @functools.cached_property
    def reference(self) -> Any:
        name, _, overload = self.settings["operator"].partition(".")
        return getattr(getattr(torch.ops.aten, name), overload)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        *unnamed, named = _received(arguments)
        return function(*unnamed, **named)


def _decoded(value: Any, most: int) -> Any:
    """Returns an argument from JSON; integers in a tensor are less than `most`."""
    if isinstance(value, (list, tuple)):
        return type(value)(_decoded(each, most) for each in value)
    if not isinstance(value, dict):
        return value
    shape, dtype = value["shape"], getattr(torch, value["dtype"])
    if dtype.is_floating_point or dtype.is_complex:
        # Between 0 and 1, as BackendBench has it.
        return torch.rand(shape, dtype=dtype if dtype.is_complex else torch.float32).to(dtype)
    return torch.randint(0, 2 if dtype is torch.bool else most, shape).to(dtype)


class FlashInfer(Posed):
    """`run` of a definition, and a solution, which may write to its last arguments."""

    def make_inputs(self, workload: str, **axes: int) -> list[Any]:
        given = self.settings["workloads"][workload]
        axes = {**self.settings["axes"], **axes}
        return [
            self._input(given.get(name, {}), spec, axes)
            for name, spec in self.settings["inputs"].items()
        ]

    def _input(self, given: dict[str, Any], spec: dict[str, Any], axes: dict[str, int]) -> Any:
        if given.get("type") == "scalar":
            return given["value"]
        if given.get("type") == "safetensors":
            load_file = importlib.import_module("safetensors.torch").load_file
            return load_file(given["path"])[given["tensor_key"]]
        dtype = getattr(torch, spec["dtype"])
        if spec["shape"] is not None:
            return _random([axes[axis] for axis in spec["shape"]], dtype)
        with torch.random.fork_rng():
            # A number is that of a trial.
            torch.manual_seed(MODEL_SEED)
            return _random([], dtype).item()

    @functools.cached_property
    def solution(self) -> Any:
        function = getattr(self.candidate, self.settings["function"])
        if not self.settings["destination_passing_style"]:
            return function
        inputs, outputs = self.settings["inputs"].values(), self.settings["outputs"].values()

        def into_outputs(*arguments: Any) -> Any:
            axes = dict(self.settings["axes"])
            for spec, value in zip(inputs, arguments, strict=True):
                axes.update(zip(spec["shape"] or (), getattr(value, "shape", ()), strict=True))
            shapes = ([axes[axis] for axis in spec["shape"] or ()] for spec in outputs)
            dtypes = (getattr(torch, spec["dtype"]) for spec in outputs)
            made = [
                torch.empty(shape, dtype=dtype) for shape, dtype in zip(shapes, dtypes, strict=True)
            ]
            function(*arguments, *made)
            return made

        return into_outputs

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Returns outputs as a tuple in the definition's order; a single one as it is."""
        result = function(*arguments)
        if isinstance(result, dict):
            result = tuple(result[name] for name in self.settings["outputs"])
        return result[0] if isinstance(result, (tuple, list)) and len(result) == 1 else result


def _random(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """Returns numbers as FlashInfer-Bench draws them."""
    if dtype.is_floating_point:
        made = torch.randn(shape)
        return (made.clamp(-2, 2) if dtype.itemsize == 1 else made).to(dtype)
    bound = 128 if dtype is torch.int8 else INTEGERS
    low, high = (0, 2) if dtype is torch.bool else (-bound, bound)
    return torch.randint(low, high, shape, dtype=dtype)


FORMATS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "KernelBench": KernelBench,
    "robust-kbench": RobustKBench,
    "GPU MODE": GpuMode,
    "BackendBench": BackendBench,
    "FlashInfer-Bench": FlashInfer,
}


@functools.cache
def _posed() -> Any:
    _import_from_here()
    settings = json.loads((HERE / SETTINGS).read_text("utf-8"))
    return FORMATS[settings["format"]](settings)


def make_inputs(seed: int, **trial: Any) -> list[Any]:
    """Returns the arguments of a trial, the same for the same seed."""
    torch.manual_seed(seed)
    made: list[Any] = _posed().make_inputs(**trial)
    return made


def reference(*arguments: Any) -> Any:
    """Returns what has to be computed."""
    with torch.no_grad():
        return _posed().call(_posed().reference, *arguments)


def candidate(*arguments: Any) -> Any:
    """Returns what the candidate computes."""
    with torch.no_grad():
        return _posed().call(_posed().solution, *arguments)
