"""Finds the benches of suite files, and what they lack."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec

from opperf.errors import UsageError, suggest
from opperf.requests.declaring import Group, Option, Request, Say, argument, declared
from opperf.requests.operators import names_option
from opperf.requests.outputs import JsonRequest

if TYPE_CHECKING:
    from opperf.environments.specification import EnvironmentSpec
    from opperf.suites.bench import Bench
    from opperf.suites.resolving import Suite
    from opperf.suites.system import Machine

# Help and completion do without the imports of what resolves files.


class SuiteFiles(Group, frozen=True, kw_only=True):
    """Suite files, of which later ones are merged over earlier ones, and what is chosen of them."""

    files: Annotated[tuple[Path, ...], argument("FILE.yaml...", Path)]
    select: Annotated[
        tuple[str, ...],
        names_option(
            "--select",
            "Only benches of these names, groups, install groups, tags or folders; globs, commas "
            "separate several.",
        ),
    ] = ()
    exclude: Annotated[
        tuple[str, ...],
        names_option("--exclude", "No benches of these names, groups, tags or folders."),
    ] = ()
    overrides: Annotated[
        tuple[str, ...],
        Option(
            "--override",
            "Set a value of a bench, a template, all benches (*) or the system: "
            "'*.voir.options.stop=10', system.arch=cpu. Repeat it for several.",
            metavar="NAME.KEY=VALUE",
        ),
    ] = ()
    system: Annotated[
        Path | None,
        Option(
            "--system",
            "File of the system: architecture, nodes, options.  [default: this machine]",
            metavar="FILE",
        ),
    ] = None
    capabilities: Annotated[
        tuple[str, ...],
        Option(
            "--capabilities",
            "What requires_capabilities of benches sees in place of what the system has: nodes=2 "
            "is two nodes, gpu.count=8. Repeat it, or separate several with commas.",
            metavar="NAME=VALUE",
        ),
    ] = ()
    base: Annotated[
        Path | None,
        Option(
            "--base",
            "Folder of the benches' data, caches and outputs.  [default: in opperf's cache]",
            metavar="FOLDER",
        ),
    ] = None

    def resolved(self, machine: Machine | None = None) -> Suite:
        """Returns the suite on a machine, by default this one. Raises as `resolve`."""
        from opperf.suites.resolving import resolve, suite_file

        chosen = msgspec.structs.asdict(self)
        paths = [suite_file(str(path)) for path in chosen.pop("files")]
        return resolve(paths, machine, **chosen, variables=dict(os.environ))

    def words(self) -> Iterator[str]:
        """Yields the words of a command for the same benches in any folder."""
        for path in self.files:
            yield str(path.resolve()) if path.exists() else str(path)
        for name, field in declared(SuiteFiles).items():
            value = getattr(self, name)
            whole = value.resolve() if isinstance(value, Path) else value
            for text in field.texts(whole) if field.names and whole is not None else ():
                yield from (field.shown, text)


class CheckSuiteRequest(Request, frozen=True, kw_only=True):
    """Resolves suite files."""

    suite: SuiteFiles

    def run(self, say: Say) -> Suite:
        """Returns the suite. Raises `UsageError`."""
        return self.suite.resolved()


class ListSuiteRequest(JsonRequest, frozen=True, kw_only=True):
    """Finds the benches of suite files."""

    suite: SuiteFiles

    def run(self, say: Say) -> Suite:
        """Returns the suite. Raises `UsageError`."""
        self.check_outputs(self.suite.files)
        return self.suite.resolved()


class ShownBench(NamedTuple):
    """A bench, and what runs it."""

    suite: Suite
    bench: Bench
    environment: EnvironmentSpec
    commands: list[str]


class ShowBenchRequest(JsonRequest, frozen=True, kw_only=True):
    """Finds a bench of suite files."""

    suite: SuiteFiles
    name: Annotated[str, argument("NAME")]

    def run(self, say: Say) -> ShownBench:
        """Returns the bench. Raises `UsageError` if there is none of this name."""
        from opperf.suites.environments import suite_environments
        from opperf.suites.pasting import commands_of

        self.check_outputs(self.suite.files)
        suite = self.suite.resolved()
        bench = find_bench(suite, self.name)
        environment = suite_environments(suite, [self.name])[self.name]
        return ShownBench(suite, bench, environment, commands_of(bench, suite.system, environment))


def find_bench(suite: Suite, name: str) -> Bench:
    """Returns the bench of a name. Raises `UsageError`, with near names, if there is none."""
    for bench in suite.benches:
        if bench.name == name:
            return bench
    if name in suite.templates:
        raise UsageError(f"{name} is a template, from which benches inherit")
    names = [bench.name for bench in suite.benches]
    raise UsageError(f"no bench is called {name}{suggest(name, names)}; suite list has all")
