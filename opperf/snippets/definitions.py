"""Definitions of snippets, one or a group that belongs together, their signatures and
places."""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from opperf.decoding import parse_python
from opperf.errors import UsageError, one_line, suggest
from opperf.reading import WRITTEN_BY_HAND, read_bytes

PACKAGE = "opperf.snippets"
STANDARD = f"{PACKAGE}.standard"
"""The package of the standard set, whose modules are definitions like a user's."""


class Place(NamedTuple):
    """A line of a file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def caller() -> Place:
    """Returns the line that calls this package: the nearest one outside it."""
    frame = sys._getframe()
    while _is_own(frame.f_globals.get("__name__", "")) and frame.f_back is not None:
        frame = frame.f_back
    return Place(frame.f_code.co_filename, frame.f_lineno)


def _is_own(module: str) -> bool:
    is_inside = module == PACKAGE or module.startswith(f"{PACKAGE}.")
    return is_inside and module != STANDARD and not module.startswith(f"{STANDARD}.")


def place_in(text: str, line: int, definition: Place) -> Place:
    """Returns the place of a line of a text in its literal, or else of the definition."""
    begin = first_line(text, definition)
    return definition if begin is None else Place(definition.file, begin + line - 1)


def first_line(text: str, definition: Place) -> int | None:
    """Returns the line at which the only literal with this text begins, or None."""
    begins = [
        node.lineno
        for node in _literals(definition.file)
        if textwrap.dedent(str(node.value)) == text
    ]
    return begins[0] if len(begins) == 1 else None


def _literals(file: str) -> Iterator[ast.Constant]:
    try:
        code = parse_python(read_bytes(file, WRITTEN_BY_HAND))
    except (OSError, SyntaxError, ValueError):
        return
    for node in ast.walk(code):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node


def parse(text: str, what: str, definition: Place) -> ast.Module:
    """Returns the syntax tree of a snippet. Raises `UsageError` with file and line."""
    try:
        tree: ast.Module = parse_python(text)
        # Compiling finds what parsing accepts, as `return` outside a function.
        compile(text, "", "exec", dont_inherit=True)
        return tree
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        reason = getattr(error, "msg", None) or str(error)
        at = place_in(text, line, definition)
        shown = one_line(text.splitlines()[line - 1] if text.splitlines()[line - 1 :] else text, 60)
        raise UsageError(f"{at}: {what}: {reason}, in {shown!r}") from None


FORM = re.compile(r"\s*f\((?P<inputs>[^()]*)\)\s*->\s*(?P<output>\w+)\s*")
"""`f(x, y) -> z`, or `f(x) -> None` of a statement that writes to its inputs."""


class Signature(NamedTuple):
    """The variables of a snippet that its setup makes, and the one that holds its result."""

    inputs: tuple[str, ...]
    output: str


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
    """Returns the names that code binds; None if it imports names that are not written in it."""
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


Language = Literal["python", "c++"]

LANGUAGES: dict[str, Language] = {"python": "python", "py": "python", "c++": "c++", "cpp": "c++"}
"""Languages by the names under which definitions have them."""

MODEL = "model"
"""The variable of a model, in its setup and where it is called."""

PYTHON_CALL = "({})"


@dataclass(frozen=True)
class TimerArgs:
    """One snippet, as PyTorch's `Timer` takes it. `stmt` runs after `setup`; `global_setup` is C++
    in front of both, as `#include`. `language` is `python`, `c++`, or a member of PyTorch's
    `Language`. Raises `UsageError` with file and line."""

    stmt: str
    setup: str = ""
    global_setup: str = ""
    num_threads: int = 1
    language: Any = "python"
    place: Place = field(default_factory=caller, compare=False, repr=False)

    def __post_init__(self) -> None:
        word = str(getattr(self.language, "name", self.language)).lower()
        if word not in LANGUAGES:
            raise UsageError(
                f"{self.place}: unknown language {self.language!r}; use 'python' or 'c++'"
            )
        object.__setattr__(self, "language", LANGUAGES[word])
        for name in ("stmt", "setup", "global_setup"):
            object.__setattr__(self, name, textwrap.dedent(getattr(self, name) or ""))
        _threads((self.num_threads,), self.place)
        if self.language == "python":
            parse(self.setup, "setup", self.place)
            parse(self.stmt, "statement", self.place)


@dataclass(frozen=True)
class GroupedSetup:
    """The setup of a group: of its Python, of its C++, and C++ in front of that, as `#include`."""

    py_setup: str = ""
    cpp_setup: str = ""
    global_setup: str = ""

    def __post_init__(self) -> None:
        for name in ("py_setup", "cpp_setup", "global_setup"):
            object.__setattr__(self, name, textwrap.dedent(getattr(self, name)))


NO_SETUP = GroupedSetup()


@dataclass(frozen=True)
class Grouped:
    """A group of snippets: one piece of work in Python and C++, as it is and as TorchScript,
    forward alone and with its backward pass, on some numbers of threads. Made by `GroupedStmts` and
    `GroupedModules`."""

    py_stmt: str
    cpp_stmt: str
    py_model: str
    cpp_model: str
    is_module: bool
    """Whether the statements call the models, instead of being what they do."""
    setup: GroupedSetup
    signature: Signature | None
    torchscript: bool
    autograd: bool
    num_threads: tuple[int, ...]
    place: Place = field(compare=False)


# Classes of other suites by name, which users write like these.
def GroupedStmts(
    py_stmt: str | None = None,
    cpp_stmt: str | None = None,
    setup: GroupedSetup | str = NO_SETUP,
    signature: str | None = None,
    torchscript: bool = False,
    autograd: bool = False,
    num_threads: int | Sequence[int] = 1,
    place: Place | None = None,
) -> Grouped:
    """Returns a group of snippets from statements in Python, C++ or both.

    `setup` is a text for Python, or a `GroupedSetup`. `signature` says which variables the
    statements take and make, as `f(x, y) -> z`; `torchscript`, which adds snippets of the statement
    as a TorchScript program, and `autograd`, which adds those with a backward pass from `z`, need
    it. `num_threads` is a number of threads or several, and `place` that of the definition, the
    caller's if it is not given. Raises `UsageError` with file and line.
    """
    place = place or caller()
    whole = GroupedSetup(py_setup=setup) if isinstance(setup, str) else setup
    py, cpp = textwrap.dedent(py_stmt or ""), textwrap.dedent(cpp_stmt or "")
    if not py.strip() and not cpp.strip():
        raise UsageError(f"{place}: a group without a statement; give it one in Python or C++")
    tree = parse(py, "statement", place) if py.strip() else None
    made = _read(signature, torchscript, autograd, place)
    setup_tree = parse(whole.py_setup, "setup", place)
    if made is not None and tree is not None:
        check_names(made, setup_tree, tree, place)
    if torchscript and tree is None:
        raise UsageError(f"{place}: torchscript needs the statement in Python; give it py_stmt")
    return Grouped(
        py_stmt=py,
        cpp_stmt=cpp,
        py_model=_as_function(py, made) if torchscript and made is not None else "",
        cpp_model="",
        is_module=False,
        setup=whole,
        signature=made,
        torchscript=torchscript,
        autograd=autograd,
        num_threads=_threads(num_threads, place),
        place=place,
    )


def GroupedModules(
    py_model_setup: str | None = None,
    cpp_model_setup: str | None = None,
    setup: GroupedSetup | str = NO_SETUP,
    signature: str | None = None,
    torchscript: bool = False,
    autograd: bool = False,
    num_threads: int | Sequence[int] = 1,
) -> Grouped:
    """Returns a group of snippets that call a model, as `z = model(x, y)` by the signature. The two
    texts make the variable `model`: in Python a module or function, in C++ a module, as `auto model
    = torch::nn::ReLU();`. The other arguments are those of `GroupedStmts`; `signature` is required.
    Raises `UsageError` with file and line."""
    place = caller()
    whole = GroupedSetup(py_setup=setup) if isinstance(setup, str) else setup
    py, cpp = textwrap.dedent(py_model_setup or ""), textwrap.dedent(cpp_model_setup or "")
    if signature is None:
        raise UsageError(f"{place}: a model needs a signature, as 'f(x) -> y', to be called")
    made = _read(signature, torchscript, autograd, place)
    assert made is not None
    for text, language in ((py, "Python"), (cpp, "C++")):
        if text.strip() and MODEL not in text:
            raise UsageError(f"{place}: the setup in {language} makes no variable {MODEL!r}")
    if not py.strip() and (torchscript or not cpp.strip()):
        raise UsageError(f"{place}: no model in Python; give it py_model_setup")
    setup_tree = parse(whole.py_setup, "setup", place)
    if py.strip():
        parse(py, "model", place)
        check_names(made, setup_tree, None, place)
    return Grouped(
        py_stmt=model_call(made, PYTHON_CALL) if py.strip() else "",
        cpp_stmt=model_call(made, "->forward({});", "auto ") if cpp.strip() else "",
        py_model=py,
        cpp_model=cpp,
        is_module=True,
        setup=whole,
        signature=made,
        torchscript=torchscript,
        autograd=autograd,
        num_threads=_threads(num_threads, place),
        place=place,
    )


def model_call(signature: Signature, form: str, declared: str = "") -> str:
    """Returns the call of a model, whose form has `{}` for the inputs. `declared` is in front of
    the variable of its result."""
    assignment = f"{declared}{signature.output} = " if signature.output else ""
    return f"{assignment}{MODEL}{form.format(', '.join(signature.inputs))}"


def _as_function(statement: str, signature: Signature) -> str:
    body = textwrap.indent(statement.strip("\n"), "    ")
    result = f"\n    return {signature.output}" if signature.output else ""
    return f"def {MODEL}({', '.join(signature.inputs)}):\n{body}{result}\n"


def _read(
    signature: str | None, torchscript: bool, autograd: bool, place: Place
) -> Signature | None:
    """Returns the signature. Raises `UsageError` if what is asked for needs another."""
    made = None if signature is None else read_signature(signature, place)
    if made is None:
        for is_asked, name in ((torchscript, "torchscript"), (autograd, "autograd")):
            if is_asked:
                raise UsageError(f"{place}: {name} needs a signature, as 'f(x, y) -> z'")
    if autograd and made is not None and not made.output:
        raise UsageError(
            f"{place}: autograd needs a result to begin the backward pass at; the signature "
            "returns None"
        )
    return made


def _threads(given: int | Sequence[int], place: Place) -> tuple[int, ...]:
    numbers = (given,) if isinstance(given, int) else tuple(given)
    if not numbers or not all(isinstance(number, int) and number > 0 for number in numbers):
        raise UsageError(f"{place}: num_threads is {numbers}; give it numbers from 1")
    return numbers
