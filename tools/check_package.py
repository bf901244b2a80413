"""Checks the package that `python -m build` made, as an index and those who install it would.

    python tools/check_package.py DIST [--python PYTHON]...

`DIST` is the folder with one wheel and one source distribution of this checkout. Prints each fault
and ends with 1 if there is any. The wheel is installed for each `--python`, and measures there.
Needs `pip install 'opperf[package]'`.
"""

from __future__ import annotations

import argparse
import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

PACKAGE = "opperf"

NOT_DISTRIBUTED = (".dockerignore", ".gitignore")
"""Files of the repository that its source distribution is without."""

GENERATED = ("PKG-INFO", "setup.cfg", f"{PACKAGE}.egg-info/")
"""What setuptools adds to a source distribution."""

TOOLS = (
    ("twine", "check", "--strict", "{wheel}", "{sdist}"),
    # Licenses of what others wrote are beside it, and all are in the metadata's folder (W002).
    ("check_wheel_contents", "--ignore", "W002", "{wheel}"),
    ("validate_pyproject", "pyproject.toml"),
)
"""Modules that check what an index refuses or shows wrongly, common errors in the contents of
wheels, and the project file with its classifiers."""

COMMANDS = (
    ("--version",),
    ("frameworks",),
    ("run", "add", "--framework", "numpy", "--size", "small", "-w", "1", "-r", "3", "-o", "a.json"),
)
"""Commands of an installed opperf that work without any extra."""


def files_of(archive: Path) -> dict[str, bytes]:
    """Returns the files of a wheel or source distribution; of the latter, without its folder."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist() if name[-1] != "/"}
    with tarfile.open(archive) as sdist:
        files = {one.name: sdist.extractfile(one) for one in sdist if one.isfile()}
        return {name.partition("/")[2]: data.read() for name, data in files.items() if data}


def tracked() -> set[str]:
    """Returns the files of the repository."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    return set(filter(None, listed.stdout.decode().split("\0")))


def differences(found: set[str], expected: set[str], where: str) -> Iterator[str]:
    """Yields what is missing, and what should not be there."""
    yield from (f"{where}: {name} is missing" for name in sorted(expected - found))
    yield from (f"{where}: {name} does not belong there" for name in sorted(found - expected))


def metadata_file(wheel: dict[str, bytes]) -> str:
    """Returns the name of the file of the wheel's metadata."""
    (name,) = (one for one in wheel if re.fullmatch(r"[^/]+\.dist-info/METADATA", one))
    return name


def content_faults(
    wheel: dict[str, bytes], sdist: dict[str, bytes], repository: set[str]
) -> Iterator[str]:
    """Yields the files that either lacks or should not have, and licenses that nobody named."""
    information = metadata_file(wheel).removesuffix("METADATA")
    package = {name for name in repository if name.startswith(f"{PACKAGE}/")}
    installed = {name for name in wheel if not name.startswith(information)}
    yield from differences(installed, package, "wheel")
    sources = {name for name in sdist if not name.startswith(GENERATED)}
    yield from differences(sources, repository - set(NOT_DISTRIBUTED), "source distribution")
    licenses = {"LICENSE", *(name for name in package if name.endswith("LICENSE"))}
    prefix = f"{information}licenses/"
    named = {name.removeprefix(prefix) for name in wheel if name.startswith(prefix)}
    yield from differences(named, licenses, "license-files")


def metadata_faults(wheel: dict[str, bytes]) -> Iterator[str]:
    """Yields links that lead nowhere from an index, and a version that others contradict."""
    from readme_renderer import markdown

    metadata = email.message_from_bytes(wheel[metadata_file(wheel)])
    shown = markdown.render(metadata.get_payload(decode=True).decode()) or ""
    links = re.findall(r'<(?:a|img|source)\b[^>]*?\b(?:href|src|srcset)="([^"]*)"', shown)
    for link in links:
        if not link.startswith(("https://", "http://", "mailto:", "#")):
            yield f"metadata: the README's link to {link} leads nowhere from an index"
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    if cited is None or cited[1] != metadata["Version"]:
        yield f"CITATION.cff: its version is not {metadata['Version']}, as the package's is"


def rebuilt_faults(wheel: dict[str, bytes], folder: Path) -> Iterator[str]:
    """Yields the files in which the wheel, made from the source distribution, differs from one made
    from the checkout."""
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", folder, "."]
    checkout = folder / "checkout"
    # Of a copy: setuptools would take what an earlier build left in `build`.
    for name in tracked():
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, checkout / name)
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True)
    if done.returncode:
        yield f"wheel from the checkout: {done.stderr.strip() or done.stdout.strip()}"
        return
    (path,) = folder.glob("*.whl")
    other = files_of(path)
    for name in sorted(wheel.keys() | other.keys()):
        if wheel.get(name) != other.get(name):
            yield f"wheel: {name} differs between the source distribution and the checkout"


def tool_faults(wheel: Path, sdist: Path) -> Iterator[str]:
    """Yields what each tool prints when it finds a fault."""
    for module, *words in TOOLS:
        command = [word.format(wheel=wheel, sdist=sdist) for word in words]
        done = subprocess.run(
            [sys.executable, "-m", module, *command], cwd=ROOT, capture_output=True, text=True
        )
        if done.returncode:
            yield f"{module}: {(done.stdout + done.stderr).strip()}"


def installed_faults(wheel: Path, python: str, folder: Path) -> Iterator[str]:
    """Yields the commands that fail where nothing but the wheel and its dependencies is."""
    environment = folder / "environment"
    there = environment / "bin" / PACKAGE
    # The checkout is not found in place of what is installed.
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for command in (
        [python, "-m", "venv", "--without-pip", environment],
        [sys.executable, "-m", "pip", "--python", environment, "install", "-qq", wheel],
        *([there, *words] for words in COMMANDS),
    ):
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)
        if done.returncode:
            yield f"{python}: {' '.join(map(str, command))}: {(done.stderr or done.stdout).strip()}"
            return


def main(arguments: list[str] | None = None) -> int:
    """Prints the faults; returns 1 if there are any, 2 if there is nothing to check."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("dist", type=Path, help="folder of the wheel and the source distribution")
    parser.add_argument("--python", action="append", default=[], help="where the wheel must work")
    options = parser.parse_args(arguments)
    wheels, sdists = (sorted(options.dist.glob(kind)) for kind in ("*.whl", "*.tar.gz"))
    if len(wheels) != 1 or len(sdists) != 1:
        parser.error(
            f"{options.dist} has {len(wheels)} wheels and {len(sdists)} source distributions, "
            "not one of each: `python -m build --outdir` makes them in an empty folder"
        )
    wheel, sdist = wheels[0].resolve(), sdists[0].resolve()
    contents = files_of(wheel)
    faults = [
        *tool_faults(wheel, sdist),
        *content_faults(contents, files_of(sdist), tracked()),
        *metadata_faults(contents),
    ]
    with tempfile.TemporaryDirectory() as folder:
        faults += rebuilt_faults(contents, Path(folder))
    for python in options.python:
        # It runs in another folder; not resolved, as an environment's own is a link.
        python = str(Path(python).absolute()) if os.sep in python else python
        with tempfile.TemporaryDirectory() as folder:
            faults += installed_faults(wheel, python, Path(folder))
    print(*faults or [f"{wheel.name}, {sdist.name}: no faults"], sep="\n")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
