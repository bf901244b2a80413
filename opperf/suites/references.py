"""References to other values of a suite, as OmegaConf has them: `${bench.argv.--lr}`,
`${..num_machines}`, `${oc.env:HOME}`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from opperf.errors import UsageError, suggest
from opperf.suites.bench import Location
from opperf.suites.reading import Node, kind_of

REFERENCE = re.compile(r"(\\)?\$\{([^${}]*)\}")
"""A reference; after a backslash it is text."""

ENVIRONMENT = "oc.env:"
"""Begin of a reference to an environment variable: `${oc.env:NAME}`, `${oc.env:NAME,default}`."""

MOST_LOOKUPS = 10_000
"""Of an entry: a few texts that each refer to another one twice need any number."""

Keys = tuple[str, ...]


class References:
    """Replaces references by what they refer to. `entry` gives the value of a name at the top, or
    None."""

    def __init__(
        self,
        entry: Callable[[str], Node | None],
        names: Callable[[], list[str]],
        variables: Mapping[str, str],
    ) -> None:
        self._entry, self._names, self._variables = entry, names, variables
        self._name, self._left = "", MOST_LOOKUPS

    def resolve(self, name: str, node: Node) -> Node:
        """Returns the value of a name at the top without references. Raises `UsageError` for what
        there is not, and for references to each other."""
        self._name, self._left = name, MOST_LOOKUPS
        return self._resolve(node, (name,), ())

    def _resolve(self, node: Node, keys: Keys, chain: tuple[Keys, ...]) -> Node:
        content = node.content
        if isinstance(content, str):
            return self._text(node, keys, chain) if "${" in content else node
        if isinstance(content, dict):
            made = {
                key: self._resolve(element, (*keys, key), chain) for key, element in content.items()
            }
            is_same = all(made[key] is element for key, element in content.items())
            return node if is_same else Node(made, node.at)
        if isinstance(content, list):
            elements = [
                self._resolve(element, (*keys, str(index)), chain)
                for index, element in enumerate(content)
            ]
            return Node(elements, node.at)
        return node

    def _text(self, node: Node, keys: Keys, chain: tuple[Keys, ...]) -> Node:
        if keys in chain:
            names = " refers to ".join(
                ".".join(element) for element in (*chain[chain.index(keys) :], keys)
            )
            raise UsageError(f"{node.at}: references have a cycle: {names}")
        around = (*chain, keys)
        whole = REFERENCE.fullmatch(node.content)
        if whole and not whole[1]:
            found = self._find(whole[2], keys, node.at, around)
            return Node(found.content, node.at)

        def replaced(match: re.Match[str]) -> str:
            if match[1]:
                return match[0][1:]
            found = self._find(match[2], keys, node.at, around)
            if isinstance(found.content, (dict, list)):
                raise UsageError(
                    f"{node.at}: {match[0]} is {kind_of(found)}, and no part of a text"
                )
            return str(found.content)

        text = REFERENCE.sub(replaced, node.content)
        return Node(text, node.at)

    def _find(self, text: str, keys: Keys, at: Location, chain: tuple[Keys, ...]) -> Node:
        self._left -= 1
        if self._left < 0:
            raise UsageError(f"{at}: {self._name} refers to more than {MOST_LOOKUPS} values")
        whole = text.strip()
        if whole.startswith(ENVIRONMENT):
            return self._variable(whole.removeprefix(ENVIRONMENT), at)
        dots = len(whole) - len(whole.lstrip("."))
        path = re.sub(r"\[([^\]]*)\]", r".\1", whole[dots:])
        if not path or ":" in path.partition(".")[0]:
            raise UsageError(
                f"{at}: ${{{text}}} is no reference; write ${{bench.key}}, or \\${{...}} for text"
            )
        # One dot is the mapping or list that the value is in.
        base = keys[: len(keys) - dots] if dots else ()
        if dots and not base:
            raise UsageError(f"{at}: ${{{text}}} is above the file")
        return self._look_up(base or self._owner(path, keys), path, text, at, chain)

    def _owner(self, path: str, keys: Keys) -> Keys:
        """Returns the entry that a reference is in if that has the key, which then is of it."""
        own = self._entry(keys[0])
        has = own is not None and path.partition(".")[0] in own.entries()
        return keys[:1] if has else ()

    def _look_up(
        self, base: Keys, path: str, text: str, at: Location, chain: tuple[Keys, ...]
    ) -> Node:
        words = path.split(".")
        if base:
            first, walked = base[0], list(base[1:])
        else:
            # A name may have dots.
            ends = range(len(words), 0, -1)
            known = (".".join(words[:end]) for end in ends)
            first = next((name for name in known if self._entry(name) is not None), words[0])
            words, walked = words[first.count(".") + 1 :], []
        node = self._entry(first)
        if node is None:
            hint = suggest(first, self._names())
            raise UsageError(f"{at}: ${{{text}}}: there is no {first}{hint}")
        for key in walked:
            # It is known to be there.
            node = node.content[int(key) if isinstance(node.content, list) else key]
        keys = base or (first,)
        while words:
            elements = {str(index): value for index, value in enumerate(node.elements())}
            named = node.entries() or elements
            # A key may have dots, too.
            joined = (".".join(words[:end]) for end in range(len(words), 0, -1))
            found = next((word for word in joined if word in named), None)
            if found is None:
                hint = suggest(words[0], named)
                raise UsageError(f"{at}: ${{{text}}}: {'.'.join(keys)} has no {words[0]}{hint}")
            node, keys, words = named[found], (*keys, found), words[found.count(".") + 1 :]
        return self._resolve(node, keys, chain)

    def _variable(self, text: str, at: Location) -> Node:
        name, comma, default = (part.strip() for part in text.partition(","))
        if name in self._variables:
            return Node(self._variables[name], at)
        if not comma:
            raise UsageError(f"{at}: the environment has no variable {name}")
        return Node(default.strip("'\""), at)
