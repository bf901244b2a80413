"""Rewrites the syntax tree of a module, so that loops over a loader and calls of a function are
observed in it, whatever variables hold them."""

from __future__ import annotations

import ast
from typing import Any

LOADER, CLASS, FUNCTION = "__opperf_loader__", "__opperf_class__", "__opperf_function__"
"""Names of the functions that rewritten code calls; `install` makes them builtins."""


class Rewriting(ast.NodeTransformer):
    """Rewrites what has one of these names, as they are written: `loader`, `self.loader`,
    `Trainer.step`. `found` has those that the module has."""

    def __init__(self, loaders: set[str], functions: set[str], classes: set[str]) -> None:
        self._loaders, self._functions, self._classes = loaders, functions, classes
        self._scope: list[str] = []
        self.found: set[str] = set()

    def _wrapped(self, node: ast.expr, name: str) -> ast.expr:
        self.found.add(name)
        call = ast.Call(ast.Name(LOADER, ast.Load()), [node], [])
        return ast.copy_location(call, node)

    def _iterated(self, node: ast.expr) -> ast.expr:
        """Returns the iterable of a loop, with the loader in it, if there is one, observed."""
        name = _name(node)
        if name in self._loaders:
            return self._wrapped(node, name)
        if isinstance(node, ast.Call):
            # `enumerate(loader)`, `tqdm(enumerate(loader))`, `zip(loader, ...)`.
            node.args = [self._iterated(argument) for argument in node.args]
        return node

    def visit_For(self, node: ast.For) -> ast.AST:  # noqa: N802
        node.iter = self._iterated(node.iter)
        return self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        node.iter = self._iterated(node.iter)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802
        called = _name(node.func)
        if called == "iter":
            node.args = [self._iterated(argument) for argument in node.args]
        self.generic_visit(node)
        # A function that returns an iterable. An object of a class is observed by the class's own
        # method, and stays one of it.
        is_function = called in self._loaders and called not in self._classes
        wrapped: ast.AST = self._wrapped(node, called) if is_function else node
        return wrapped

    def _defined(self, node: Any, decorator: str, names: set[str]) -> ast.AST:
        self._scope.append(node.name)
        name = ".".join(self._scope)
        if name in names:
            self.found.add(name)
            first = ast.copy_location(ast.Name(decorator, ast.Load()), node)
            node.decorator_list.insert(0, first)
        self.generic_visit(node)
        self._scope.pop()
        defined: ast.AST = node
        return defined

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:  # noqa: N802
        return self._defined(node, FUNCTION, self._functions)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:  # noqa: N802
        return self._defined(node, FUNCTION, set())

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:  # noqa: N802
        return self._defined(node, CLASS, self._loaders)


def _name(node: ast.AST) -> str:
    """As it is written; empty for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = _name(node.value)
        return f"{before}.{node.attr}" if before else ""
    return ""


def rewrite(source: bytes, path: str, loaders: set[str], functions: set[str]) -> Any:
    """Returns the code of a module, and the names that were found in it. Raises `SyntaxError`."""
    tree = ast.parse(source, path)
    classes = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    rewriting = Rewriting(loaders, functions, classes)
    changed = ast.fix_missing_locations(rewriting.visit(tree))
    return compile(changed, path, "exec", dont_inherit=True), rewriting.found
