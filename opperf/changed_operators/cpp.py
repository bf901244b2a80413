"""The definitions in a file of C++ or CUDA, with the names that each uses. It is no parser: braces
and parentheses are counted, and what is in a namespace is a function, a class, a macro or a
statement."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

SUFFIXES = (".cc", ".cpp", ".cu", ".cuh", ".h", ".hpp", ".mm")

HEADERS = (".cuh", ".h", ".hpp")

BLANKED = re.compile(
    r'//[^\n]*|/\*.*?\*/|\bR"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL
)

TOKEN = re.compile(
    r"^[ \t]*#[ \t]*(?P<directive>\w+)(?:[^\n\\]|\\\n|\\.)*|(?P<word>[A-Za-z_]\w*)|[{}();]",
    re.MULTILINE,
)

WORD = re.compile(r"[A-Za-z_]\w*")

MACRO = re.compile(r"[A-Z][A-Z0-9_]+$")

CALLED = re.compile(r"([A-Za-z_]\w*)\s*(?:<[^<>()]*>\s*)?\(")

CLASS = re.compile(r"\b(?:struct|class|union)\s+(?:[A-Z_]+\s+)*([A-Za-z_]\w*)")

ASSIGNED = re.compile(r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)?=")

NO_NAMES = re.compile(r"__\w+|alignas|decltype|noexcept|operator")
"""Words before a parenthesis in the head of a function that are not its name."""


class Definition(NamedTuple):
    """A function, class, macro or statement at the level of a namespace."""

    names: frozenset[str]
    uses: frozenset[str]
    first: int
    last: int
    """Lines, from 1."""
    is_local: bool = False
    """Whether no other file can use it."""
    macro: str = ""
    """The macro that defines it, if one does."""


def definitions(text: str, is_header: bool = False) -> list[Definition]:
    """Returns the definitions of a file, in their order."""
    return list(_Reader(_blank(text), is_header).read())


def _blank(text: str) -> str:
    """Returns a text without comments and strings, of the same lines. Strings of one word stay:
    they name operators."""

    def blank(match: re.Match[str]) -> str:
        found = match[0]
        if found[0] == '"' and WORD.fullmatch(found[1:-1]):
            return f" {found[1:-1]} "
        return " " + "\n" * found.count("\n")

    return BLANKED.sub(blank, text)


class _Reader:
    def __init__(self, text: str, is_header: bool) -> None:
        self._text, self._is_header = text, is_header
        self._line, self._counted = 1, 0

    def read(self) -> Iterator[Definition]:
        # Of each open namespace, whether it has no name.
        scopes: list[bool] = []
        start, body = -1, -1
        braces = parentheses = 0
        last = ""
        branches: list[tuple[int, int]] = []
        for token in TOKEN.finditer(self._text):
            text = token[0]
            if token["directive"] is not None:
                directive = token["directive"]
                if directive == "define":
                    yield self._define(token)
                elif directive.startswith("if"):
                    branches.append((braces, parentheses))
                elif directive in ("else", "elif") and branches:
                    # Both branches open what is closed once.
                    braces, parentheses = branches[-1]
                elif directive == "endif" and branches:
                    branches.pop()
                continue
            is_outside = not braces and not parentheses
            if start >= 0 and is_outside and last == ")" and self._begins(token, start):
                # A macro that ends without a semicolon.
                yield self._definition(start, start, token.start(), any(scopes))
                start = -1
            if start < 0 and text not in "{};":
                start = token.start()
            if text == "(":
                parentheses += 1
            elif text == ")":
                parentheses = max(0, parentheses - 1)
            elif text == "{":
                if is_outside:
                    head = WORD.findall(self._text, max(start, 0), token.start())
                    if "namespace" in head[:2] or head in (["extern"], ["extern", "C"]):
                        scopes.append(head[-1] == "namespace")
                        start = -1
                        last = text
                        continue
                    body = token.start()
                braces += 1
            elif text == "}":
                if braces:
                    braces -= 1
                    if not braces and not parentheses and start >= 0:
                        yield self._definition(start, body, token.end(), any(scopes))
                        start = -1
                elif scopes:
                    if start >= 0 and start < token.start():
                        yield self._definition(start, start, token.start(), any(scopes))
                    scopes.pop()
                    start = -1
            elif text == ";" and is_outside and start >= 0:
                yield self._definition(start, token.start(), token.end(), any(scopes))
                start = -1
            last = text
        if start >= 0:
            yield self._definition(start, start, len(self._text), any(scopes))

    def _begins(self, token: re.Match[str], start: int) -> bool:
        line = self._text.rfind("\n", 0, token.start()) + 1
        head = WORD.match(self._text, start)
        return (
            token["word"] is not None
            and head is not None
            and MACRO.match(head[0]) is not None
            and not self._text[line : token.start()].strip()
        )

    def _define(self, token: re.Match[str]) -> Definition:
        name, *uses = [word for word in WORD.findall(token[0]) if word != "define"] or [""]
        first = self._line_at(token.start())
        last = first + token[0].count("\n")
        return Definition(frozenset({name}), frozenset(uses), first, last)

    def _definition(self, start: int, body: int, end: int, is_anonymous: bool) -> Definition:
        head = self._text[start:body] if body > start else self._text[start:end]
        words = WORD.findall(self._text, start, end)
        names, macro = _names(head, has_body=self._text[body : body + 1] == "{")
        is_static = "static" in words[:3] or is_anonymous
        first = self._line_at(start)
        return Definition(
            frozenset(names),
            frozenset(words) - ({macro} if macro else set()),
            first,
            first + self._text.count("\n", start, max(start, end - 1)),
            is_local=is_static and not macro and not self._is_header,
            macro=macro,
        )

    def _line_at(self, place: int) -> int:
        if place < self._counted:
            return self._text.count("\n", 0, place) + 1
        self._line += self._text.count("\n", self._counted, place)
        self._counted = place
        return self._line


def _names(head: str, has_body: bool) -> tuple[set[str], str]:
    called = [(match[1], match.end()) for match in _outermost_calls(head)]
    begins = WORD.search(head)
    if called and begins is not None and begins[0] == called[0][0] and MACRO.match(begins[0]):
        plain = [name for name, _ in called if _is_plain(name)]
        if plain and has_body:
            # What is before it is an attribute.
            return {plain[0]}, ""
        arguments = _arguments(head, called[0][1])
        words = [word for word in arguments if WORD.fullmatch(word)]
        joined = {"_".join(words)} if words and len(words) == len(arguments) else set()
        return {*words[:1], *joined}, begins[0]
    plain = [name for name, _ in called if _is_plain(name)]
    if plain and has_body:
        return {plain[0]}, ""
    classes: list[str] = CLASS.findall(head)
    if classes and has_body:
        # Those before the last are parameters of a template.
        return {classes[-1]}, ""
    assigned = ASSIGNED.search(head)
    return ({assigned[1]} if assigned else set()), ""


def _is_plain(name: str) -> bool:
    return not MACRO.match(name) and not NO_NAMES.fullmatch(name)


def _outermost_calls(head: str) -> Iterator[re.Match[str]]:
    """Yields the words before parentheses that are in no others."""
    for match in CALLED.finditer(head):
        before = head[: match.end() - 1]
        if before.count("(") == before.count(")"):
            yield match


def _arguments(head: str, start: int) -> list[str]:
    """Returns the arguments of a call whose parenthesis is before `start`."""
    depth, begun, found = 0, start, []
    for place in range(start, len(head)):
        character = head[place]
        if character in "(<[{":
            depth += 1
        elif character in ">]}" or (character == ")" and depth):
            depth -= 1
        if (character == "," and not depth) or (character == ")" and not depth):
            found.append(head[begun:place].strip())
            begun = place + 1
            if character == ")":
                break
    return found
