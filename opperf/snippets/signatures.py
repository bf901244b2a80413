"""The signature of a snippet: which variables it takes, and which one it makes."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from opperf.errors import UsageError, suggest
from opperf.snippets.places import Place

FORM = re.compile(r"\s*f\((?P<inputs>[^()]*)\)\s*->\s*(?P<output>\w+)\s*")
"""`f(x, y) -> z`, or `f(x) -> None` of a statement that writes to its inputs."""


class Signature(NamedTuple):
    """The variables of a snippet that its setup makes, and the one that holds its result."""

    inputs: tuple[str, ...]
    output: str
    """Empty without a result."""


def read_signature(text: str, place: Place) -> Signature:
    """Returns the signature of a text. Raises `UsageError` for one of another form."""
    match = FORM.fullmatch(text) if isinstance(text, str) else None
    words = [word.strip() for word in match["inputs"].split(",")] if match else []
    inputs = tuple(word for word in words if word or len(words) > 1)
    if match is None or not all(word.isidentifier() for word in (*inputs, match["output"])):
        raise UsageError(
            f"{place}: unknown signature {text!r}; write the inputs and one result, as "
            "'f(x, y) -> z', or 'f(x) -> None'"
        )
    return Signature(inputs, "" if match["output"] == "None" else match["output"])


def check_names(
    signature: Signature, setup: ast.Module, statement: ast.Module | None, place: Place
) -> None:
    """Raises `UsageError` for an input that the setup does not make, and for a result that the
    statement does not. A setup that imports all names of a module may make any."""
    made = assigned(setup)
    if made is not None:
        for name in signature.inputs:
            if name not in made:
                raise UsageError(
                    f"{place}: the signature takes {name!r}, which the setup does not "
                    f"make{suggest(name, made)}"
                )
    done = None if statement is None else assigned(statement)
    if done is not None and signature.output and signature.output not in done:
        raise UsageError(
            f"{place}: the signature returns {signature.output!r}, to which the statement assigns "
            f"nothing{suggest(signature.output, done)}"
        )


def assigned(code: ast.Module) -> set[str] | None:
    """Returns the names that code binds, those of inner functions included; None if it imports
    names that are not written in it."""
    names: set[str] = set()
    for node in ast.walk(code):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            if node.name == "*":
                return None
            names.add((node.asname or node.name).partition(".")[0])
    return names
