"""Requirements as users write them, `torch==2.12,numpy<2,-r FILE`, read into the environment that
they ask for. `python==3.12` among them is the version of Python."""

from __future__ import annotations

import re
from pathlib import Path

from opperf.environments.specification import EnvironmentSpec

VERSIONED = re.compile(r"[A-Za-z0-9][\w.-]*\s*(\[[^\]]*\]\s*)?(===?|~=|!=|<=?|>=?|@)")
"""A name and the beginning of what is asked of it; no variable `NAME=VALUE` begins so."""

BETWEEN = re.compile(r",(?![^\[\]]*\])\s*(?=[A-Za-z0-9]|-r\s)")
"""The comma between two requirements: not one within `[extra,extra]` or `>=1,<2`."""

PYTHON = "python"

OF_FILE = re.compile(r"-r\s+(\S.*)")
"""A file of requirements."""


def is_requirement(text: str) -> bool:
    """Returns whether a text is a requirement with a version or a URL, and no variable."""
    return VERSIONED.match(text) is not None


def read_requirements(text: str) -> EnvironmentSpec:
    """Returns the environment that `NAME==VERSION,...` asks for. Raises `ValueError` for what is no
    requirement."""
    # Takes 20 ms, and few commands have an environment.
    from packaging.requirements import InvalidRequirement, Requirement

    found: list[str] = []
    python = ""
    for part in BETWEEN.split(text.strip()):
        file = OF_FILE.fullmatch(part)
        if file is not None:
            # It is installed in another folder.
            found.append(f"-r {Path(file[1]).absolute()}")
            continue
        try:
            requirement = Requirement(part)
        except InvalidRequirement as error:
            reason = str(error).partition("\n")[0]
            raise ValueError(
                f"{part!r} is no requirement: {reason}; write it as torch==2.12, or several as "
                "torch==2.12,numpy<2"
            ) from error
        if requirement.name == PYTHON:
            python = _python_version(part, str(requirement.specifier), python)
        else:
            found.append(str(requirement))
    if not (found or python):
        raise ValueError("no requirement; write it as torch==2.12")
    return EnvironmentSpec(requirements=tuple(dict.fromkeys(found)), python=python)


def _python_version(part: str, specifier: str, before: str) -> str:
    match = re.fullmatch(r"==(\d+\.\d+(\.\d+)?)", specifier)
    if match is None:
        raise ValueError(f"{part!r}: write the version of Python as python==3.12")
    if before not in ("", match[1]):
        raise ValueError(f"Python {before} and {match[1]} are two versions; name one")
    return match[1]
