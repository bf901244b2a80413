"""Inheritance: what an entry has from its templates, and what `*` gives all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from opperf.errors import UsageError, suggest
from opperf.suites.bench import Location
from opperf.suites.nodes import DELETED, Node, kind_of, merge, settle

INHERITS, TAGS, EVERY = "inherits", "tags", "*"


class Inherited(NamedTuple):
    """An entry with all that it inherits."""

    node: Node
    templates: tuple[str, ...] = ()
    """Names that it inherits from, the nearest first."""


class Inheritance:
    """The entries of a suite, each with all that it inherits; those of a name that was looked up
    before are kept."""

    def __init__(self, entries: Mapping[str, Node], origins: Mapping[str, str]) -> None:
        self._entries = entries
        self._matrices = set(origins.values())
        self._found: dict[str, Inherited] = {}

    def names(self) -> list[str]:
        """Returns the names of all entries, those of templates too."""
        return [name for name in self._entries if name != EVERY]

    def has(self, name: str) -> bool:
        """Returns whether there is an entry of this name."""
        return name in self._entries

    def settled(self, name: str) -> Inherited:
        """Returns an entry with what it inherits and, over that, what `*` gives all. Raises
        `UsageError` for an unknown template, and for templates that inherit from each other."""
        found = self._resolve(name)
        every = self._entries.get(EVERY)
        node = found.node if every is None else _over(found.node, every)
        return Inherited(settle(node), found.templates)

    def _resolve(self, name: str) -> Inherited:
        # Without recursion: templates may inherit from templates at any depth.
        chain = [name]
        while chain[-1] not in self._found:
            parent = self._entries[chain[-1]].entries().get(INHERITS)
            if parent is None or parent.content in (None, DELETED):
                break
            chain.append(self._template(parent, chain))
        above: Inherited | None = None
        for template, current in zip([*chain[1:], ""][::-1], chain[::-1], strict=True):
            if current not in self._found:
                entry = self._entries[current]
                own = Node({k: v for k, v in entry.entries().items() if k != INHERITS}, entry.at)
                self._found[current] = (
                    Inherited(own)
                    if above is None
                    else Inherited(_over(above.node, own), (template, *above.templates))
                )
            above = self._found[current]
        return self._found[name]

    def _template(self, node: Node, chain: Sequence[str]) -> str:
        name = node.content
        if not isinstance(name, str):
            raise UsageError(f"{node.at}: the name of a template, and this is {kind_of(node)}")
        if name in chain:
            names = " inherits from ".join((*chain[chain.index(name) :], name))
            raise UsageError(f"{node.at}: inheritance has a cycle: {names}")
        if name in self._matrices and name not in self._entries:
            raise UsageError(f"{node.at}: {name} is a matrix; inherit from one of its jobs")
        if name not in self._entries or name == EVERY:
            raise UsageError(f"{node.at}: unknown template {name}{suggest(name, self.names())}")
        return name


def _over(first: Node, second: Node) -> Node:
    """Returns the second entry over the first, with the tags of both."""
    merged = merge(first, second)
    above, own = first.entries().get(TAGS), second.entries().get(TAGS)
    if above is None or own is None or own.content is DELETED or above.content is DELETED:
        return merged
    return Node({**merged.entries(), TAGS: _union(above, own)}, merged.at)


def _union(first: Node, second: Node) -> Node:
    texts: dict[str, Location] = {}
    for node in (*tags_of(first), *tags_of(second)):
        texts.setdefault(node.content, node.at)
    return Node([Node(text, texts[text]) for text in sorted(texts)], second.at)


def tags_of(node: Node) -> list[Node]:
    """Returns the tags of a value: a list of them, one, or `{append: [...]}`. Raises `UsageError`
    for another."""
    settled = settle(node)
    found = [settled] if isinstance(settled.content, str) else settled.elements()
    if settled.content is not None and not found and settled.content != []:
        raise UsageError(f"{node.at}: tags are a list of words, and this is {kind_of(settled)}")
    for element in found:
        if not isinstance(element.content, str):
            raise UsageError(f"{element.at}: a tag is a word, and this is {kind_of(element)}")
    return found
