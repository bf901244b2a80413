"""Resolution of suite files: from their text to benches, in which nothing is left to look up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import NamedTuple

import msgspec

from opperf.errors import UsageError, suggest
from opperf.suites import SUFFIXES
from opperf.suites.bench import Bench
from opperf.suites.benches import KEYS, WORKLOADS, has_nothing, make_bench
from opperf.suites.inheriting import (
    EVERY,
    Inheritance,
    Inherited,
    Override,
    apply,
    of_environment,
    read_overrides,
)
from opperf.suites.matrices import JOB, Expanded, Point, expand
from opperf.suites.reading import (
    INCLUDE,
    Files,
    Node,
    is_file_name,
    kind_of,
    parse,
    read_text,
    settle,
)
from opperf.suites.references import References
from opperf.suites.sizing import Sizer
from opperf.suites.system import (
    SYSTEM,
    Machine,
    System,
    check_capabilities,
    read_capabilities,
    read_system,
)

TELLING = (*WORKLOADS, "inherits", "matrix", "voir", "max_duration")
"""Keys of which an entry of a suite has one, and few others do."""

GPU_TAGS = ("monogpu", "multigpu", "multinode")
"""Tags of which milabench asks for exactly one."""

STANDARD = "standard"
"""Name of the suite that comes with opperf."""

STANDARD_FILE = Path(__file__).with_name("standard") / "standard.yaml"


class Suite(NamedTuple):
    """A suite, resolved."""

    benches: tuple[Bench, ...]
    """Those that are selected, those that are not enabled too."""
    system: System
    templates: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """Paths of all that was read, in the order of merging."""
    problems: Mapping[str, str] = {}
    """By the name of a selected bench, which script or file of it is not there."""
    notes: tuple[str, ...] = ()
    others: tuple[Bench, ...] = ()
    """Benches that are not selected."""


def suite_file(text: str) -> Path:
    """Returns the path of a suite: that of the one that comes with opperf by its name."""
    path = Path(text)
    return STANDARD_FILE if text == STANDARD and not path.exists() else path


def is_suite_file(path: Path) -> bool:
    """Returns whether a file is YAML that has benches or includes other files, or is no valid YAML:
    nothing else that opperf measures is of YAML."""
    if path.suffix.lower() not in SUFFIXES or not path.is_file():
        return False
    try:
        root = parse(read_text(str(path)), str(path))
    except UsageError:
        # It says what is wrong when it is resolved.
        return True
    entries, known = root.entries(), set(TELLING)
    return INCLUDE in entries or any(known & node.entries().keys() for node in entries.values())


def resolve(
    paths: Sequence[Path],
    machine: Machine | None = None,
    *,
    select: Sequence[str] = (),
    exclude: Sequence[str] = (),
    overrides: Sequence[str] = (),
    system: Path | None = None,
    base: Path | None = None,
    capabilities: Sequence[str] = (),
    variables: Mapping[str, str] = {},  # noqa: B006  (not changed)
) -> Suite:
    """Returns the benches of suite files, of which later ones are merged over earlier ones, on a
    machine, by default this one. `system` is its file, `base` the folder of data, caches and
    outputs, `variables` are those of the environment; the others are as on the command line. Raises
    `UsageError`, with file, line and keys, for what cannot be resolved, and for words that select
    nothing."""
    files = Files()
    for path in paths:
        files.add(str(path))
    expanded = expand(_checked(files.root))
    given = list(read_overrides(overrides, expanded.entries, expanded.origins))
    of_system = {override.path: override.value for override in given if override.entry == SYSTEM}
    found = msgspec.structs.replace(
        read_system(system, variables, of_system, base, machine),
        capabilities=read_capabilities(capabilities),
    )
    inheritance = Inheritance(expanded.entries, expanded.origins)
    own = [*of_environment(variables, inheritance), *given]
    resolution = _Resolution(expanded, own, variables)
    sizer = Sizer(found)
    empty = [name for name in resolution.bench_names() if has_nothing(resolution.entry(name).node)]
    made = []
    for name in resolution.bench_names():
        if name not in empty:
            entry = resolution.resolved(name)
            point, matrix = expanded.points.get(name, Point()), expanded.origins.get(name, "")
            made.append(make_bench(name, entry.node, sizer, entry.templates, point, matrix))
    benches = choose([each.bench for each in made], select, exclude)
    check_capabilities(found, benches)
    selected = {bench.name for bench in benches}
    problems = {
        each.bench.name: each.problem
        for each in made
        if each.problem and each.bench.name in selected
    }
    return Suite(
        benches,
        found,
        tuple(name for name in resolution.names() if is_template(name)),
        tuple(files.paths),
        problems,
        tuple(_notes(benches, empty, [name for name in sizer.unsized if name in selected])),
        tuple(each.bench for each in made if each.bench.name not in selected),
    )


def is_template(name: str) -> bool:
    """Returns whether an entry of this name is inherited from and not run."""
    return name.startswith("_")


def _checked(root: Mapping[str, Node]) -> dict[str, Node]:
    for name, node in root.items():
        if name == SYSTEM:
            raise UsageError(f"{node.at}: a system is no bench; give its file by --system")
        if not isinstance(node.content, dict):
            raise UsageError(f"{node.at}: a bench is a mapping, and this is {kind_of(node)}")
        if not is_file_name(name):
            raise UsageError(f"{node.at}: {name!r} cannot be the name of a bench, and of its files")
    return {name: _with_underscores(node) for name, node in root.items()}


def _with_underscores(node: Node) -> Node:
    entries = {}
    for key, value in node.entries().items():
        known = key.replace("-", "_")
        entries[known if known in KEYS else key] = value
    if isinstance(entries[JOB].content if JOB in entries else None, dict):
        entries[JOB] = _with_underscores(entries[JOB])
    return Node(entries, node.at)


class _Resolution:
    """Entries with all that they inherit, what is set for them, and no references."""

    def __init__(
        self, expanded: Expanded, overrides: Sequence[Override], variables: Mapping[str, str]
    ) -> None:
        self._overrides, self._origins = overrides, expanded.origins
        # What is set for a template is inherited.
        of_templates = [override for override in overrides if is_template(override.entry)]
        entries = {
            name: apply(node, of_templates, name) if is_template(name) else node
            for name, node in expanded.entries.items()
        }
        self._inheritance = Inheritance(entries, expanded.origins)
        self._found: dict[str, Inherited] = {}
        self._references = References(self._node, self.names, variables)

    def names(self) -> list[str]:
        return self._inheritance.names()

    def bench_names(self) -> list[str]:
        return [name for name in self.names() if not is_template(name)]

    def entry(self, name: str) -> Inherited:
        """Returns an entry with all that it inherits, and references."""
        if name not in self._found:
            found = self._inheritance.settled(name)
            node = found.node
            if not is_template(name):
                # Over what is inherited, and over `*`.
                node = settle(apply(node, self._overrides, name, self._origins.get(name, "")))
            self._found[name] = found._replace(node=node)
        return self._found[name]

    def _node(self, name: str) -> Node | None:
        known = name != EVERY and self._inheritance.has(name)
        return self.entry(name).node if known else None

    def resolved(self, name: str) -> Inherited:
        found = self.entry(name)
        return found._replace(node=self._references.resolve(name, found.node))


def _notes(benches: Sequence[Bench], empty: Sequence[str], unsized: Sequence[str]) -> Iterator[str]:
    if empty:
        yield f"not enabled, and nothing to run: {', '.join(empty)}"
    if unsized:
        names = ", ".join(dict.fromkeys(unsized))
        yield f"batches of the size in the file, as sizer.config has no sizes of them: {names}"
    scripts = [bench for bench in benches if bench.workload == "script"]
    tagged = {bench.name: sum(tag in bench.tags for tag in GPU_TAGS) for bench in scripts}
    odd = [name for name, number in tagged.items() if number != 1]
    # A suite without any of the tags is none of milabench's.
    if odd and any(tagged.values()):
        yield f"not exactly one of the tags {', '.join(GPU_TAGS)}: {', '.join(odd)}"


def words_for(bench: Bench) -> set[str]:
    """Returns what selects a bench: its name, group, install group, matrix and tags, and the last
    part of its definition."""
    words = {bench.name, bench.group, bench.env.name, bench.matrix, *bench.tags}
    if bench.workload == "script":
        paths = map(PurePath, bench.content)
        words.update(path.parent.name if path.suffix else path.name for path in paths)
    return words - {""}


def choose(
    benches: Sequence[Bench], selected: Iterable[str], excluded: Iterable[str]
) -> tuple[Bench, ...]:
    """Returns the benches that one of the `selected` words or globs fits, all without any, and none
    of the `excluded` ones fits. Raises `UsageError` for a word that fits no bench."""
    by_name = {bench.name: words_for(bench) for bench in benches}
    chosen = set(by_name)
    wanted = list(selected)
    if wanted:
        chosen = {name for word in wanted for name in _fitting(word, by_name, "--select")}
    for word in excluded:
        chosen -= _fitting(word, by_name, "--exclude")
    return tuple(bench for bench in benches if bench.name in chosen)


def _fitting(word: str, benches: dict[str, set[str]], option: str) -> set[str]:
    found = {
        name
        for name, words in benches.items()
        if any(fnmatchcase(element, word) for element in words)
    }
    if not found and benches:
        known = [*benches, *sorted({element for words in benches.values() for element in words})]
        raise UsageError(
            f"{option} {word}: no bench has this name, group or tag{suggest(word, known)}"
        )
    return found
