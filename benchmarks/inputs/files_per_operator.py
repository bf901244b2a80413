"""Files of rules that a contributor to an operator has to read.

    python benchmarks/inputs/files_per_operator.py [FRAMEWORK ...]

prints for each framework the mean number of files of `opperf/rules` that made an operator's cases,
and of those that say anything of it: also its operation, for checks of values, its work, exceptions
and contents; and, of operators with three or more, which files come after the first two. Recorded
inputs, which are data, do not count.
"""

from __future__ import annotations

import argparse
import statistics
from collections import Counter
from collections.abc import Iterator

import opperf  # noqa: F401  (restores what MXNet needs of NumPy)
from opperf.frameworks import PREFERENCE, Framework, is_available, load
from opperf.instruments.profilers import find_profilers
from opperf.model import RulePlace, Settings
from opperf.rules.engine import rules_module
from opperf.rules.places import entries
from opperf.sources.registry import plan, rule_uses
from opperf.sources.selecting import Selection

FOLDER = "opperf/rules/"
TABLES = ("OPERATIONS", "WORK", "CONTENTS", "RESULTS", "DIFFERENCES")
"""Those that make no case."""
MOST = 12
"""Files that are listed."""


def file_of(place: RulePlace) -> str:
    """Returns a file in the folder of rules; empty for any other, and for recorded inputs."""
    file = place.file.rpartition(FOLDER)[2]
    return "" if file == place.file or file.endswith(".json") else file


def files(framework: Framework) -> Iterator[tuple[list[str], list[str]]]:
    """Yields for each operator the files that made its cases, and those that only say of it."""
    settings = Settings(profiler=next(iter(find_profilers(framework))))
    planned = plan(framework, Selection(size="small", settings=settings, rules=True))
    made: dict[str, dict[str, None]] = {}
    for use in rule_uses(planned):
        if use.cases and (file := file_of(use.place)):
            made.setdefault(use.operator, {})[file] = None
    rules = rules_module(framework.rules)
    for operator in framework.operators():
        if operator.label in made:
            said = (place for table in TABLES for place in entries(operator, rules, table))
            further = dict.fromkeys(map(file_of, said)).keys() - made[operator.label].keys()
            yield [*made[operator.label]], sorted(further)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    frameworks = list(filter(is_available, PREFERENCE))
    parser.add_argument("frameworks", nargs="*", default=frameworks)
    for name in parser.parse_args().frameworks:
        found = list(files(load(name)))
        cases = statistics.mean(len(made) for made, _ in found)
        all_of_them = statistics.mean(len(made) + len(said) for made, said in found)
        print(f"{name}: {len(found)} operators, {cases:.2f} files made their cases; ", end="")
        print(f"{all_of_them:.2f} files say anything of them")
        beyond = Counter(file for made, said in found for file in [*made, *said][2:])
        for file, count in beyond.most_common(MOST):
            print(f"  {count:4} {file}")


if __name__ == "__main__":
    main()
