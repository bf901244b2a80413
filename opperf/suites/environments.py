"""The environments of a suite's benches, each of which those of an install group share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from opperf.environments.building import build_environment
from opperf.environments.specification import EnvironmentSpec, Installed, Locked
from opperf.errors import InstallationError, UsageError, one_line
from opperf.suites.bench import Bench, folder_of_script
from opperf.suites.placeholders import FOLDERS, bench_values
from opperf.suites.resolving import Suite

VARIANT = "install_variant"
"""Key of a bench with the middle of the name of its pinned file of requirements."""

UNPINNED = "unpinned"
"""The variant of the file that others are pinned from."""

BASE, USUAL = "base_requirements", "requirements.in"
"""Constant of a benchfile with the names of that file, and its usual name."""


def environment_of(bench: Bench) -> EnvironmentSpec:
    """Returns the environment that a bench asks for: by its `env`, and by the files of requirements
    in its folder."""
    files = (f"-r {path}" for path in _requirements_files(bench))
    requirements = (*bench.env.requirements, *files)
    return msgspec.structs.replace(bench.env, requirements=requirements)


def _requirements_files(bench: Bench) -> list[Path]:
    """Returns the pinned file in the folder of a script, that of its variant first; else those that
    it would be pinned from."""
    if bench.workload != "script" or not bench.content:
        return []
    folder = folder_of_script(bench)
    variant = bench.others.get(VARIANT)
    pinned = [f"requirements.{variant}.txt"] if variant else []
    for name in () if variant == UNPINNED else (*pinned, "requirements.txt"):
        if (folder / name).is_file():
            return [(folder / name).resolve()]
    named = bench.benchfile.get(BASE, USUAL)
    names = named if isinstance(named, list) else [named]
    paths = (folder / name for name in names if isinstance(name, str))
    return [found.resolve() for found in paths if found.is_file()]


def environments_of(benches: Sequence[Bench]) -> dict[str, EnvironmentSpec]:
    """Returns the environment of each bench by its name; benches whose environments have one name
    share what all of them ask for. Raises `UsageError` for two versions of Python in one."""
    own = {bench.name: environment_of(bench) for bench in benches}
    shared: dict[str, EnvironmentSpec] = {}
    for name, spec in own.items():
        if spec.name:
            before = shared.get(spec.name, EnvironmentSpec(name=spec.name))
            shared[spec.name] = _union(before, spec, name)
    return {name: shared.get(spec.name, spec) for name, spec in own.items()}


def suite_environments(suite: Suite, names: Collection[str]) -> dict[str, EnvironmentSpec]:
    """Returns the environments of benches of a suite by their names. All that are enabled count,
    selected or not, so that what is selected does not change what is shared."""
    benches = (*suite.benches, *suite.others)
    found = environments_of([bench for bench in benches if bench.enabled or bench.name in names])
    return {name: found[name] for name in names}


def with_requirements(spec: EnvironmentSpec, asked: EnvironmentSpec) -> EnvironmentSpec:
    """Returns an environment with what is asked for, in place of its own requirements of the same
    packages."""
    packages = {_package(requirement) for requirement in asked.requirements}
    kept = (word for word in spec.requirements if _package(word) not in packages)
    return msgspec.structs.replace(
        spec, requirements=(*kept, *asked.requirements), python=asked.python or spec.python
    )


def _package(requirement: str) -> str:
    # Takes 20 ms, and few commands have an environment.
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    try:
        return canonicalize_name(Requirement(requirement).name)
    except InvalidRequirement:
        return requirement


def _union(first: EnvironmentSpec, second: EnvironmentSpec, bench: str) -> EnvironmentSpec:
    if first.python and second.python and first.python != second.python:
        raise UsageError(
            f"{bench}: its install_group {first.name} has Python {first.python}, and it asks for "
            f"{second.python}; give it an install_group of its own"
        )
    return EnvironmentSpec(
        name=first.name,
        requirements=tuple(dict.fromkeys((*first.requirements, *second.requirements))),
        python=first.python or second.python,
        index_urls=tuple(dict.fromkeys((*first.index_urls, *second.index_urls))),
        variables={**first.variables, **second.variables},
    )


def install_environments(
    specs: Mapping[str, EnvironmentSpec],
    say: Callable[[str], None],
    locked: Locked | None = None,
    again: bool = False,
) -> dict[str, Installed | str]:
    """Returns, by the name of each bench whose environment is not opperf's own, that environment,
    installed, or in one line why it cannot be."""
    done: dict[str, Installed | str] = {}
    found: dict[str, Installed | str] = {}
    for bench, spec in specs.items():
        if spec.is_own:
            continue
        key = f"{spec.name} {spec}"
        if key not in done:
            done[key] = _install(spec, say, locked, again)
        found[bench] = done[key]
    return found


def _install(
    spec: EnvironmentSpec, say: Callable[[str], None], locked: Locked | None, again: bool
) -> Installed | str:
    try:
        packages = () if locked is None else locked.packages(spec)
        return build_environment(spec, say, packages, again)
    except (InstallationError, UsageError) as error:
        return one_line(str(error), LONGEST_REASON)


LONGEST_REASON = 600
"""Most characters of a reason, which ends with the path of a log."""


def folder_of(bench: Bench) -> Path:
    """Returns the folder in which a bench is run; of what is no script, this one."""
    return (folder_of_script(bench) if bench.workload == "script" else Path()).resolve()


def bench_variables(bench: Bench, suite: Suite, environment: Installed | None) -> dict[str, str]:
    """Returns the environment variables of a bench's scripts, milabench's too."""
    code = str(folder_of(bench))
    values = bench_values(suite.system, bench.name, code, bench.env.name, bench.group, bench.dirs)
    folders = {f"MILABENCH_DIR_{name.upper()}": values[f"milabench_{name}"] for name in FOLDERS}
    own = {}
    if environment is not None:
        own = {"MILABENCH_DIR_VENV": environment.folder, **environment.variables}
    # What programs fetch is kept beside the data.
    cache = {"XDG_CACHE_HOME": values["milabench_cache"], "MILABENCH_DIR_CODE": code}
    return {**folders, **cache, **own, **bench.env.variables}
