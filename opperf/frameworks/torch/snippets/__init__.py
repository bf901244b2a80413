"""Snippets of Python and C++ in PyTorch: their calls and gradients."""

from __future__ import annotations

import ast
import io
import linecache
import symtable
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, ModuleType
from typing import Any

import torch

from opperf.errors import NoGradientError, UnsupportedError, UsageError, one_line
from opperf.frameworks.base import CallArguments, Gradient
from opperf.frameworks.torch.gradient import Gradients, head
from opperf.frameworks.torch.snippets import building
from opperf.frameworks.torch.tensors import tensors
from opperf.model import Case, SnippetTarget

NONE = (
    "no tensor that its setup makes requires a gradient of the result; make one with "
    "requires_grad=True"
)


class PythonGradient:
    """A statement recorded by autograd, and its backward pass for the tensors of the setup."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._outputs: list[torch.Tensor] = []
        self.record()
        self._leaves = leaves(self._outputs)
        self.heads = [head(output) for output in self._outputs]
        self.backward()
        self._outputs = []

    def record(self) -> None:
        self._outputs = [part for part in tensors(self._call()) if part.requires_grad]

    def backward(self) -> Gradients:
        return torch.autograd.grad(self._outputs, self._leaves, self.heads, allow_unused=True)

    def read(self, returned: Gradients) -> Gradients:
        return returned


class CompiledGradient:
    """A statement of C++ recorded by autograd, and its backward pass, both in C++."""

    def __init__(self, statement: Any) -> None:
        self.record = statement.run
        self.backward = statement.backward
        self.record()
        output = statement.result()
        if not output.requires_grad:
            raise NoGradientError(NONE)
        statement.prepare(tuple(leaves([output])), head(output))
        self.backward()


def leaves(outputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Returns the tensors whose gradients autograd has. Raises `NoGradientError`."""
    found: dict[int, torch.Tensor] = {}
    waiting: list[Any] = []
    for output in outputs:
        if output.grad_fn is not None:
            waiting.append(output.grad_fn)
        elif output.requires_grad:
            found[id(output)] = output
    # Nodes are Python objects made anew at each access, and equal if they are the same node.
    seen = set(waiting)
    while waiting:
        node = waiting.pop()
        # Only the node of a leaf has it.
        variable = getattr(node, "variable", None)
        if variable is not None:
            found[id(variable)] = variable
        following = {one for one, _ in node.next_functions if one is not None} - seen
        seen |= following
        waiting += following
    if not found:
        raise NoGradientError(NONE)
    return list(found.values())


def script(model: Any) -> Any:
    """Returns the program of a module or function. Raises `UsageError` for what cannot be one."""
    try:
        return torch.jit.script(model)
    except Exception as error:
        raise UsageError(f"TorchScript does not take it: {one_line(str(error))}") from error


def program_of(target: SnippetTarget, names: Mapping[str, ModuleType]) -> bytes:
    """Returns the program that a snippet of C++ calls, as a file. Raises as `script`."""
    buffer = io.BytesIO()
    torch.jit.save(script(make_model(target, dict(names))), buffer)
    return buffer.getvalue()


NAMES = {"torch": torch}
"""Variables of every snippet of Python."""

CPP = "c++"


def bind(case: Case, arguments: CallArguments) -> Callable[[], Any]:
    """Returns a function that runs a case's snippet once, after its setup. Raises
    `UnsupportedError` for a mode in which it cannot run, and for C++ without a compiler;
    `UsageError` for code that cannot be compiled; and what its setup raises."""
    target = case.target
    assert isinstance(target, SnippetTarget)
    mode = "script" if target.model else "eager"
    if case.settings.mode != mode:
        raise UnsupportedError(
            f"mode {case.settings.mode}: this snippet is for --mode {mode}; its definition makes "
            "others with torchscript=True"
        )
    if target.language == CPP:
        program = program_of(target, NAMES) if target.model else b""
        return building.statement_of(target, program).run  # type: ignore[no-any-return]
    namespace = variables_of(target, {**NAMES, **arguments})
    if target.model:
        make_model(target, namespace)
        namespace[MODEL] = script(namespace[MODEL])
    return function_of(target, namespace)


def gradient(case: Case, call: Callable[[], Any]) -> Gradient:
    """Returns the gradient of a snippet that `bind` made. Raises `NoGradientError`."""
    assert isinstance(case.target, SnippetTarget)
    if case.target.language == CPP:
        return CompiledGradient(call.__self__)  # type: ignore[attr-defined]
    return PythonGradient(call)


def build(cases: Sequence[Case]) -> None:
    """Compiles the snippets of C++ among the targets that are not in the cache."""
    building.build(
        [
            case.target
            for case in cases
            if isinstance(case.target, SnippetTarget) and case.target.language == CPP
        ]
    )


MODEL = "model"
"""The variable that a target's `model` makes."""


MODULE = "snippet"
"""The name of the module in which a snippet is run; TorchScript needs one."""


def variables_of(target: SnippetTarget, names: Mapping[str, ModuleType]) -> dict[str, Any]:
    """Returns the variables that a snippet's setup makes, run after those in `names`. Raises
    `UsageError` for code that is no Python, and what the setup raises."""
    namespace = {"__name__": MODULE, **names}
    exec(compiled(target.setup, f"{target.label} (setup)"), namespace)
    return namespace


def make_model(target: SnippetTarget, namespace: dict[str, Any]) -> Any:
    """Returns a snippet's model, whose source can be inspected, and adds it to the variables.
    Raises `UsageError` if there is none, and what its code raises."""
    name = f"<{target.label}: model>"
    namespace.setdefault("__name__", MODULE)
    lines = target.model.splitlines(keepends=True)
    linecache.cache[name] = (len(target.model), None, lines, name)
    exec(compiled(target.model, name), namespace)
    if MODEL not in namespace:
        raise UsageError(f"{target.label}: its setup makes no variable {MODEL!r}")
    return namespace[MODEL]


def compiled(text: str, name: str) -> CodeType:
    """Returns the code of a text. Raises `UsageError` for one that is no Python."""
    try:
        return compile(text, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{name}: {one_line(str(error))}") from error


def function_of(target: SnippetTarget, namespace: dict[str, Any]) -> Callable[[], Any]:
    """Returns a function that runs the statement once, and returns its result's variable or None.
    The setup's variables are those of an enclosing function: as quick to read as local ones, and
    kept from call to call. Raises `UsageError` for code that is no Python."""
    compiled(target.source, target.label)
    table = symtable.symtable(target.source, target.label, "exec")
    symbols = [symbol for symbol in table.get_symbols() if symbol.get_name() in namespace]
    used = _used(target, set(namespace) - {"__builtins__"})
    rebound = sorted(
        symbol.get_name()
        for symbol in symbols
        if symbol.is_assigned() and symbol.get_name() in used
    )
    keep = f"nonlocal {', '.join(rebound)}" if rebound else "pass"
    template = ast.parse(
        f"def make({', '.join(used)}):\n"
        f"    def run():\n"
        f"        {keep}\n"
        f"        return {target.output or None}\n"
        f"    return run\n"
    )
    (make,) = template.body
    assert isinstance(make, ast.FunctionDef) and isinstance(make.body[0], ast.FunctionDef)
    run = make.body[0]
    run.body[1:1] = ast.parse(target.source).body
    try:
        code = compile(template, f"<{target.label}>", "exec", dont_inherit=True)
    except SyntaxError as error:
        # As `import *`, which a function cannot have.
        raise UsageError(f"{target.label}: {one_line(str(error))}") from error
    exec(code, namespace)
    made: Callable[[], Any] = namespace.pop("make")(**{name: namespace[name] for name in used})
    return made


def _used(target: SnippetTarget, known: set[str]) -> list[str]:
    names = {node.id for node in ast.walk(ast.parse(target.source)) if isinstance(node, ast.Name)}
    return sorted((names | {target.output}) & known)
