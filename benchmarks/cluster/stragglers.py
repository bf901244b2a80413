"""How often `opperf nodes` names a node that is like the others, and finds one that is not.

Simulates clusters of nodes whose speeds scatter, with cases that scatter on each: none differs, or
one in eight is slower. Prints the share of clusters with a node that is named wrongly, and the
share of slow nodes that are named, beside a rule that names each node beyond the margin. Then the
factor of the median absolute deviation for few values, and its value by simulation.

Run: python benchmarks/cluster/stragglers.py [--repetitions 400]
"""

from __future__ import annotations

import argparse

import numpy as np
from tabulate import tabulate

from opperf.statistics.stragglers import find_stragglers, mad_factor

CASES = 20

OF_NODES, OF_CASES = 0.01, 0.03
"""Standard deviations of the logarithms, of a node's speed and of a case on it."""

MARGIN = float(np.log1p(0.02))
"""The default threshold."""

SLOW_SHARE = 1 / 8


def cluster(
    random: np.random.Generator, nodes: int, slower: float
) -> tuple[dict[str, dict[str, float]], set[str]]:
    """Returns the figures of a cluster by node and case, and the names of the slow nodes."""
    slow = {f"n{n}" for n in range(round(nodes * SLOW_SHARE))} if slower else set()
    speeds = random.normal(0, OF_NODES, nodes)
    logs = speeds[:, None] + random.normal(0, OF_CASES, (nodes, CASES))
    found = {
        f"n{n}": {
            f"c{c}": float(np.exp(logs[n, c] + (np.log1p(slower) if f"n{n}" in slow else 0)))
            for c in range(CASES)
        }
        for n in range(nodes)
    }
    return found, slow


def factors(n: int) -> tuple[int, float, float]:
    """Returns the number of values, their factor, and that of simulated ones."""
    values = np.random.default_rng(n).normal(size=(100_000, n))
    medians = np.median(values, axis=1, keepdims=True)
    deviations = np.median(np.abs(values - medians), axis=1)
    return n, mad_factor(n), 1 / float(deviations.mean())


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=400)
    repetitions = parser.parse_args().repetitions
    random = np.random.default_rng(0)
    rows = []
    for nodes in (8, 32, 100):
        for slower in (0.0, 0.05, 0.1, 0.2):
            wrong = found = beyond_wrong = beyond = slow_nodes = 0
            for _ in range(repetitions):
                figures, slow = cluster(random, nodes, slower)
                # The standard error of a median of cases.
                error = 1.25 * OF_CASES / CASES**0.5
                results = find_stragglers(figures, dict.fromkeys(figures, error), MARGIN)
                named = {node.name for node in results if node.differs}
                simple = {node.name for node in results if abs(np.log(node.ratio)) > MARGIN}
                wrong += bool(named - slow)
                beyond_wrong += bool(simple - slow)
                found += len(named & slow)
                beyond += len(simple & slow)
                slow_nodes += len(slow)
            rows.append(
                [
                    nodes,
                    f"{slower:.0%}",
                    wrong / repetitions,
                    beyond_wrong / repetitions,
                    *((found / slow_nodes, beyond / slow_nodes) if slow_nodes else ("", "")),
                ]
            )
    headers = ["nodes", "slower by", "wrong", "beyond: wrong", "found", "beyond: found"]
    print(tabulate(rows, headers, floatfmt=".3f"))
    print()
    print(tabulate(map(factors, (4, 6, 8, 16, 100)), ["values", "factor", "simulated"]))


if __name__ == "__main__":
    main()
