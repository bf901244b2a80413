"""Expressions of suite files, by a walk over their syntax: names, numbers, texts, arithmetic,
comparisons, and a few functions; nothing else of Python can be called or reached."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from opperf.errors import UsageError, suggest

MOST_CHARACTERS = 1000
"""Of an expression: Python's parser fails on long nested ones."""

MOST_BITS = 4096
"""Of a power, so that no number takes minutes to compute."""

MOST_DIGITS = 64
"""To which a number is rounded, for the same reason."""


def _round(value: float, digits: int = 0) -> float:
    if abs(digits) > MOST_DIGITS:
        raise ValueError(f"more than {MOST_DIGITS} digits")
    return round(value, digits) if digits else round(value)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{"len": len, "min": min, "max": max, "round": _round, "int": int, "float": float},
    **{"abs": abs, "sum": sum, "any": any, "all": all, "ceil": math.ceil, "floor": math.floor},
    **{"str": str, "bool": bool},
}

CONSTANTS = {"true": True, "false": False, "null": None}
"""YAML's names of constants, beside Python's."""


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and base.bit_length() * abs(exponent) > MOST_BITS:
        raise ValueError(f"a power of more than {MOST_BITS} bits")
    return base**exponent


BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}

ONLY_NUMBERS = (ast.Mult, ast.Mod, ast.Pow)
"""Operations that make long texts and lists of short ones."""

UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}

COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda element, many: element in many,
    ast.NotIn: lambda element, many: element not in many,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


def evaluate(
    text: str, names: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]] = FUNCTIONS
) -> Any:
    """Returns the value of an expression. Raises `UsageError` for what is none, an unknown name,
    and an operation that fails."""
    tree = check(text)
    try:
        return _Evaluation(names, functions).value(tree)
    except UsageError as error:
        raise UsageError(f"{text!r}: {error}") from error
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"{text!r} fails: {type(error).__name__}: {error}") from error


def check(text: str) -> ast.expr:
    """Returns the syntax of an expression. Raises `UsageError` for what is none."""
    if len(text) > MOST_CHARACTERS:
        raise UsageError(f"an expression of more than {MOST_CHARACTERS} characters")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"{text!r} is no expression: {getattr(error, 'msg', error)}") from error


@dataclass(frozen=True)
class _Evaluation:
    _names: Mapping[str, Any]
    _functions: Mapping[str, Callable[..., Any]]

    def value(self, node: ast.expr) -> Any:
        evaluate_node = self.KINDS.get(type(node))
        if evaluate_node is None:
            raise UsageError(f"{ast.unparse(node)} is not allowed in an expression")
        return evaluate_node(self, node)

    def _constant(self, node: ast.Constant) -> Any:
        if not isinstance(node.value, (bool, int, float, str, type(None))):
            raise UsageError(f"{ast.unparse(node)} is not allowed in an expression")
        return node.value

    def _name(self, node: ast.Name) -> Any:
        for names in (self._names, CONSTANTS):
            if node.id in names:
                return names[node.id]
        raise UsageError(f"unknown name {node.id}{suggest(node.id, self._names)}")

    def _elements(self, node: ast.List | ast.Tuple) -> Any:
        return [self.value(element) for element in node.elts]

    def _binary(self, node: ast.BinOp) -> Any:
        kind = type(node.op)
        if kind not in BINARY:
            raise UsageError(f"{ast.unparse(node)} is not allowed in an expression")
        left, right = self.value(node.left), self.value(node.right)
        if kind in ONLY_NUMBERS and not all(
            isinstance(element, (int, float)) for element in (left, right)
        ):
            raise TypeError(f"{ast.unparse(node)}: only of numbers")
        return BINARY[kind](left, right)

    def _unary(self, node: ast.UnaryOp) -> Any:
        if type(node.op) not in UNARY:
            raise UsageError(f"{ast.unparse(node)} is not allowed in an expression")
        return UNARY[type(node.op)](self.value(node.operand))

    def _boolean(self, node: ast.BoolOp) -> Any:
        decides = isinstance(node.op, ast.Or)
        found: Any = None
        for element in node.values:
            found = self.value(element)
            if bool(found) is decides:
                break
        return found

    def _comparison(self, node: ast.Compare) -> bool:
        left = self.value(node.left)
        for kind, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.value(right_node)
            if not COMPARISONS[type(kind)](left, right):
                return False
            left = right
        return True

    def _choice(self, node: ast.IfExp) -> Any:
        return self.value(node.body if self.value(node.test) else node.orelse)

    def _subscript(self, node: ast.Subscript) -> Any:
        return self.value(node.value)[self.value(node.slice)]

    def _attribute(self, node: ast.Attribute) -> Any:
        owner = self.value(node.value)
        if not isinstance(owner, Mapping):
            raise UsageError(f"{ast.unparse(node)}: only mappings have names in them")
        if node.attr not in owner:
            hint = suggest(node.attr, map(str, owner))
            raise UsageError(f"{ast.unparse(node.value)} has no {node.attr}{hint}")
        return owner[node.attr]

    def _call(self, node: ast.Call) -> Any:
        if not isinstance(node.func, ast.Name) or node.func.id not in self._functions:
            known = ", ".join(self._functions)
            raise UsageError(f"{ast.unparse(node.func)} is no function here; known: {known}")
        if node.keywords or any(isinstance(element, ast.Starred) for element in node.args):
            raise UsageError(f"{ast.unparse(node)}: arguments are given by position")
        arguments = list(map(self.value, node.args))
        try:
            return self._functions[node.func.id](*arguments)
        except TypeError as error:
            # Python names a method with its class.
            problem = re.sub(r"^[\w.<>]+\(\)", f"{node.func.id}()", str(error))
            raise TypeError(problem) from error

    KINDS: ClassVar[Mapping[type[ast.expr], Callable[[Any, Any], Any]]] = {
        ast.Constant: _constant,
        ast.Name: _name,
        ast.List: _elements,
        ast.Tuple: _elements,
        ast.BinOp: _binary,
        ast.UnaryOp: _unary,
        ast.BoolOp: _boolean,
        ast.Compare: _comparison,
        ast.IfExp: _choice,
        ast.Subscript: _subscript,
        ast.Attribute: _attribute,
        ast.Call: _call,
    }
