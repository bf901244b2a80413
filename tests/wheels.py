"""Wheels of tiny packages, and an environment of pip and uv that installs from these alone."""

import base64
import hashlib
import zipfile

import pytest

from opperf.environments.builders import CHOICE
from opperf.folders import FOLDER


def make_wheel(folder, name, version, source, requires=()):
    """Makes the wheel of a package of one module, and returns its path."""
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    files = {
        f"{name}.py": source,
        f"{info}/METADATA": metadata + "".join(f"Requires-Dist: {one}\n" for one in requires),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name} = {name}:main\n",
    }
    lines = [f"{path},{_hash(text)},{len(text)}\n" for path, text in files.items()]
    files[f"{info}/RECORD"] = "".join(lines) + f"{info}/RECORD,,\n"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for inner, text in files.items():
            archive.writestr(inner, text)
    return path


def _hash(text):
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


SOURCE = """\
FACTOR = {factor}


def scale(data):
    return data * FACTOR


def main():
    print(FACTOR)
"""


@pytest.fixture(scope="session")
def wheels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheels")
    for factor in (1, 2):
        make_wheel(folder, "scales", f"{factor}.0", SOURCE.format(factor=factor))
    make_wheel(folder, "uses_scales", "1.0", "", requires=["scales>=1"])
    return folder


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """Kept for all tests of a process, so that what one installs another finds."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def offline(monkeypatch, wheels, cache):
    """pip and uv install from the wheels alone, whatever the user has configured."""
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_INDEX"):
        monkeypatch.delenv(name, raising=False)
    own = {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_CONFIG_FILE": "/dev/null",
        "UV_OFFLINE": "1",
        "UV_CACHE_DIR": str(cache / "uv"),
        "UV_FIND_LINKS": str(wheels),
        "UV_NO_CONFIG": "1",
        CHOICE: "pip",
        FOLDER: str(cache),
    }
    for name, value in own.items():
        monkeypatch.setenv(name, value)
