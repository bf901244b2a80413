"""The builders of environments, uv where it is, else venv and pip: their commands, and the reason
of a failure as they print it."""

from __future__ import annotations

import importlib.util
import itertools
import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from opperf.errors import UsageError, one_line

CHOICE = "OPPERF_INSTALLER"
"""Environment variable that chooses the builder: `uv` or `pip`."""

UV, PIP = "uv", "pip"

FEWER_RETRIES = {"PIP_RETRIES": "1", "UV_HTTP_RETRIES": "1"}
"""Variables, unless the user sets them: without network, the usual retries take half a minute."""

NO_NETWORK = re.compile(
    r"name resolution|dns error|new connection|connection error|tunnel connection|"
    r"network (is unreachable|connectivity is disabled)|connection refused|"
    r"(could not|failed to) connect|connect error|timed out",
    re.IGNORECASE,
)
"""Parts of the output of pip and uv where they do not reach an index."""

Words = list[str]


@dataclass(frozen=True)
class Builder:
    """Makes virtual environments and installs into them. Commands are lists of words."""

    name: str
    create: Callable[[str, Path], Words]
    """Of an interpreter and a folder: makes an environment."""
    pip: Callable[[Path], Words]
    """Of an environment's interpreter: beginning of a command with pip's words, without options."""
    target: Callable[[Path], Words]
    """Of an environment's interpreter: the options of a command that choose it."""
    freeze_options: tuple[str, ...]
    index_options: tuple[str, ...]
    """Besides the extra indexes, where there are any."""
    reason: Callable[[str], str]
    """Of the whole output of a failed command: why, in the builder's own words."""
    interpreters: tuple[str, ...] = ()
    """Beginning of the commands that find and download interpreters, where it has them."""

    def install(self, python: Path, words: Sequence[str], index_urls: Sequence[str] = ()) -> Words:
        """Returns the command that installs requirements."""
        indexes = [word for url in index_urls for word in ("--extra-index-url", url)]
        more = [*indexes, *self.index_options] if indexes else []
        return [*self.pip(python), "install", *self.target(python), *more, *words]

    def freeze(self, python: Path) -> Words:
        """Returns the command that prints every installed package with its version."""
        return [*self.pip(python), "freeze", *self.target(python), *self.freeze_options]


def find_builder() -> Builder:
    """Returns uv if it is on the path or installed beside opperf, else pip. Raises `UsageError` if
    the one that `OPPERF_INSTALLER` names is not here, or unknown."""
    choice = os.environ.get(CHOICE, "")
    if choice not in ("", UV, PIP):
        raise UsageError(f"{CHOICE}={choice}: write {UV} or {PIP}")
    uv = _uv_command() if choice != PIP else None
    if uv is not None:
        return _uv(uv)
    if choice == UV:
        raise UsageError(f"{CHOICE}={UV}: uv is not installed; install it with: pip install uv")
    return _pip()


def _uv_command() -> Words | None:
    found = shutil.which(UV)
    if found is not None:
        return [found]
    return [sys.executable, "-m", UV] if importlib.util.find_spec(UV) is not None else None


def _uv(command: Words) -> Builder:
    return Builder(
        UV,
        # `--seed` would add a pip that nobody asked for.
        create=lambda python, folder: [*command, "venv", "--python", python, str(folder)],
        pip=lambda python: [*command, "pip"],
        target=lambda python: ["--python", str(python)],
        freeze_options=(),
        # As pip does: the best version of all indexes, of which the user named the extra ones.
        index_options=("--index-strategy", "unsafe-best-match"),
        reason=uv_reason,
        interpreters=(*command, "python"),
    )


def _pip() -> Builder:
    """pip of opperf's own environment, so that the new one needs none; if it is too old, that which
    Python's `ensurepip` installs in the new one."""
    is_own = _has_recent_pip()
    without = ["--without-pip"] if is_own else []
    return Builder(
        PIP,
        create=lambda python, folder: [python, "-m", "venv", *without, str(folder)],
        pip=lambda python: (
            [sys.executable, "-m", PIP, "--python", str(python), *QUIET]
            if is_own
            else [str(python), "-m", PIP, *QUIET]
        ),
        target=lambda python: [],
        freeze_options=("--all",),
        index_options=(),
        reason=pip_reason,
    )


CONFLICT = "The conflict is caused by:"

QUIET = ("--disable-pip-version-check", "--no-input")

PIP_WITH_PYTHON = (22, 3)
"""The first version of pip with `--python`."""


def _has_recent_pip() -> bool:
    try:
        version = metadata.version(PIP)
    except metadata.PackageNotFoundError:
        return False
    return tuple(map(int, re.findall(r"\d+", version)[:2])) >= PIP_WITH_PYTHON


def pip_reason(output: str) -> str:
    """Returns pip's last error, or else its last line; of requirements in conflict, these."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    if CONFLICT in lines and errors and errors[-1].startswith("ERROR: ResolutionImpossible"):
        begin = lines.index(CONFLICT) + 1
        causes = itertools.takewhile(lambda line: " " in line and line[-1] != ":", lines[begin:])
        return one_line(f"the requirements conflict: {'; '.join(causes)}")
    return one_line((errors or lines or ["no output"])[-1].removeprefix("ERROR:"))


def uv_reason(output: str) -> str:
    """Returns uv's last paragraph, which begins at a mark of its tree of causes, as one line."""
    lines = [line for line in output.splitlines() if line.strip()]
    starts = [i for i, line in enumerate(lines) if CAUSE.match(line)]
    last = lines[starts[-1] :] if starts else lines[-1:]
    # What follows `hint:` is advice.
    text = " ".join(" ".join(last).split()).partition(" hint: ")[0]
    return one_line(CAUSE.sub("", text) or "no output")


CAUSE = re.compile(r"\s*(error:|[×╰├]─*▶?|Caused by:|cause:)\s*")


def has_no_network(output: str) -> bool:
    """Returns whether the output says that no index was reached."""
    return NO_NETWORK.search(output) is not None
