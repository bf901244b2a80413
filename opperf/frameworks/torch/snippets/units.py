"""Translation units: the C++ of several snippets in one file, and what a compiler says of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from opperf.errors import one_line
from opperf.model import SnippetTarget
from opperf.model.base import digest

HEADER = Path(__file__).with_name("statement.h")

DIGITS = 16
"""Hexadecimal digits of a snippet's key: those of a case's id, for the same reason."""


def key_of(target: SnippetTarget) -> str:
    """Returns a hash of what is compiled of a snippet, without names."""
    keeps = target.output if target.differentiated else ""
    parts = (target.global_setup, target.setup, target.source, bool(target.model), keeps)
    return digest(parts)[:DIGITS]


def unit_name(targets: Sequence[SnippetTarget]) -> str:
    """Returns the name of a unit's module, a hash of its content."""
    text = " ".join(map(key_of, targets))
    return f"opperf_snippets_{hashlib.sha256(text.encode()).hexdigest()[:DIGITS]}"


def unit_text(targets: Sequence[SnippetTarget]) -> str:
    """Returns the source of a unit. A compiler's messages name the part of the snippet in which an
    error is, as `PLACE` reads it."""
    directives: dict[str, str] = {}
    bodies: list[str] = []
    for target in targets:
        before, code = _split(target.global_setup)
        directives.setdefault(before, f'#line 1 "{_part("global setup", target)}"\n{before}')
        bodies.append(_body(target, code))
    names = ", ".join(f"snippet_{key_of(target)}::make" for target in targets)
    return "\n".join(
        [
            f"#include <{HEADER.name}>",
            *(text for key, text in directives.items() if key.strip()),
            *bodies,
            '#line 1 "end of the unit"',
            f"static const std::vector<opperf::Constructor> constructors = {{{names}}};",
            f"OPPERF_UNIT({unit_name(targets)}, constructors)",
            "",
        ]
    )


def _part(name: str, target: SnippetTarget) -> str:
    return f"{name} of {key_of(target)}"


def _body(target: SnippetTarget, global_code: str) -> str:
    """Returns the function that runs a snippet's setup, and copies its variables into a
    statement."""
    kind = "Differentiable" if target.differentiated else "Forward"
    returned = f"return opperf::tensor_of({target.output});" if target.differentiated else ""
    model = "auto model = opperf::load_program(program);" if target.model else ""
    lines = [
        f"namespace snippet_{key_of(target)} {{",
        f'#line 1 "{_part("global setup", target)}"',
        global_code,
        "static std::unique_ptr<opperf::Statement> make(",
        "    [[maybe_unused]] const std::string& program) {",
        model,
        f'#line 1 "{_part("setup", target)}"',
        target.setup,
        ";",
        f"return opperf::make<opperf::{kind}>([=]() mutable {{",
        f'#line 1 "{_part("statement", target)}"',
        target.source,
        ";",
        returned,
        "});",
        "}",
        "}",
    ]
    return "\n".join(lines)


def _split(text: str) -> tuple[str, str]:
    """Returns the preprocessor's lines, which must not be in a namespace, and the others."""
    directives: list[str] = []
    code: list[str] = []
    continues = False
    for line in text.splitlines():
        is_directive = continues or line.lstrip().startswith("#")
        directives.append(line if is_directive else "")
        code.append("" if is_directive else line)
        continues = is_directive and line.endswith("\\")
    return "\n".join(directives), "\n".join(code)


PLACE = re.compile(rf"(?P<part>[a-z ]+) of (?P<key>[0-9a-f]{{{DIGITS}}}):(?P<line>\d+)")
"""The place of a snippet in a compiler's message."""

ERROR = re.compile(r"^(?P<place>[^\n]*?):(?:\d+:)?\s*(?:fatal )?error: (?P<text>.*)$")
"""A line of a compiler's output that begins an error."""


class Faults(NamedTuple):
    """The faults of a unit by a compiler."""

    by_key: dict[str, str]
    """The first error of each snippet in which there is one, by the snippet's key."""
    first: str
    """The first error of all."""


def read_faults(output: str) -> Faults:
    """Returns the errors in a compiler's output. An error inside a header is that of the snippet
    which is mentioned before it, as the one that instantiates a template."""
    by_key: dict[str, str] = {}
    first = ""
    mentioned: re.Match[str] | None = None
    for line in output.splitlines():
        mentioned = PLACE.search(line) or mentioned
        error = ERROR.match(line)
        if error is None:
            continue
        text = one_line(error["text"])
        first = first or text
        place = PLACE.search(error["place"]) or mentioned
        if place is not None:
            part = place["part"].strip()
            by_key.setdefault(place["key"], f"C++ {part}, line {place['line']}: {text}")
        mentioned = None
    return Faults(by_key, first or one_line(output[-200:]))
