"""The nodes of a trace as a tree, those of one name below one place as one row."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from opperf.plurals import pluralize
from opperf.traces.overview import total_ns
from opperf.traces.trace import Trace

MOST_CHILDREN = 12
"""Rows below one row, those of the most calls; the others are one row."""


class Row(NamedTuple):
    """Nodes of one name below one place."""

    name: str
    depth: int
    nodes: int
    first: int
    """Number of the first; 0 of a row of several names."""
    calls: int
    """Number of topmost calls in them."""
    time_ns: int
    """Of these calls; -1 if unknown."""


class Amount(NamedTuple):
    """Topmost calls in a node, it included, and their time; -1 if unknown."""

    calls: int
    time_ns: int


NONE = Amount(0, -1)


NUMBERED = re.compile(r"\d+")


def outline_of(trace: Trace, depth: int, root: int | None = None) -> list[Row]:
    """Returns the rows of a trace, or of what is below one of its nodes, to a depth from 1 on."""
    # Those of no node are the topmost.
    children: dict[int | None, list[int]] = defaultdict(list)
    for identity in sorted(trace.nodes):
        parent = trace.nodes[identity].parent
        is_top = parent == identity or parent not in trace.nodes
        children[None if is_top else parent].append(identity)
    amounts = _amounts(trace, children)

    def row(name: str, level: int, nodes: Sequence[int], first: int) -> Row:
        found = [amounts[identity] for identity in nodes if identity in amounts]
        time_ns = total_ns(amount.time_ns for amount in found)
        return Row(name, level, len(nodes), first, sum(each.calls for each in found), time_ns)

    def rows(nodes: Iterable[int], level: int) -> Iterator[Row]:
        groups: dict[str, list[int]] = defaultdict(list)
        for identity in nodes:
            node = trace.nodes[identity]
            # Steps are one row, whatever their numbers.
            name = NUMBERED.sub("*", node.name) if trace.is_step(node) else node.name
            groups[name].append(identity)
        made = {name: row(name, level, own, own[0]) for name, own in groups.items()}
        ranked = sorted(made, key=lambda name: (-made[name].calls, -made[name].nodes))
        # One more row would stand in the place of one.
        shown = set(ranked if len(ranked) <= MOST_CHILDREN + 1 else ranked[:MOST_CHILDREN])
        for name in filter(shown.__contains__, made):
            yield made[name]
            if level + 1 < depth:
                yield from rows(_below(children, groups[name]), level + 1)
        left = [name for name in made if name not in shown]
        if left:
            others = [identity for name in left for identity in groups[name]]
            yield row(pluralize(len(left), "other name"), level, others, first=0)

    return list(rows(children[root], 0))


def _below(children: Mapping[int | None, list[int]], nodes: Iterable[int]) -> list[int]:
    return [child for identity in nodes for child in children.get(identity, ())]


def _amounts(trace: Trace, children: Mapping[int | None, list[int]]) -> Mapping[int, Amount]:
    found = {node.id: Amount(1, node.recorded_ns) for node in trace.topmost()}
    ordered = list(children.get(None, ()))
    for identity in ordered:
        ordered += children.get(identity, ())
    for identity in reversed(ordered):
        node = trace.nodes[identity]
        own = found.setdefault(identity, NONE)
        if node.parent in trace.nodes and node.parent != identity:
            above = found.get(node.parent, NONE)
            time = total_ns((above.time_ns, own.time_ns))
            found[node.parent] = Amount(above.calls + own.calls, time)
    return found
