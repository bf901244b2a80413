"""The commands of uv and pip, and what they print when they fail."""

import importlib.util
import shutil
from pathlib import Path

import pytest

from opperf.environments import builders
from opperf.environments.builders import CHOICE, find_builder, has_no_network, pip_reason, uv_reason
from opperf.errors import UsageError

PIP_UNREACHED = """\
WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after \
connection broken by 'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object \
at 0x7f>: Failed to establish a new connection: [Errno -3] Temporary failure in name \
resolution')': /simple/six/
ERROR: Could not find a version that satisfies the requirement six==1.16.0 (from versions: none)
ERROR: No matching distribution found for six==1.16.0
"""

PIP_NO_VERSION = """\
Looking in links: /wheels
ERROR: Could not find a version that satisfies the requirement scales==9 (from versions: 1.0, 2.0)
ERROR: No matching distribution found for scales==9

[notice] A new release of pip is available: 23.2.1 -> 26.0
"""

PIP_CONFLICT = """\
The conflict is caused by:
    The user requested torch==99
    The user requested (constraint) torch<=2.14.1

Additionally, some packages in these conflicts have no matching distributions available for your \
environment:
    torch

ERROR: Cannot install torch==99 because these package versions have conflicting dependencies.
ERROR: ResolutionImpossible: for help visit https://pip.pypa.io/en/latest/topics/
"""

UV_NO_VERSION = """\
Using Python 3.11.7 environment at: /cache/x
  × No solution found when resolving dependencies:
  ╰─▶ Because there is no version of scales==9 and you require scales==9, we
      can conclude that your requirements are unsatisfiable.

      hint: Packages were unavailable because index lookups were disabled.
"""

UV_UNREACHED = """\
error: Failed to fetch: `https://pypi.org/simple/six/`
  Caused by: Request failed after 1 retry
  Caused by: error sending request for url (https://pypi.org/simple/six/)
  Caused by: client error (Connect)
  Caused by: dns error
  Caused by: failed to lookup address information: Temporary failure in name resolution
"""


def test_the_reason_is_the_last_that_was_said():
    assert pip_reason(PIP_NO_VERSION) == "No matching distribution found for scales==9"
    assert pip_reason("one\ntwo\n") == "two"
    assert pip_reason(PIP_CONFLICT) == (
        "the requirements conflict: The user requested torch==99; The user requested (constraint) "
        "torch<=2.14.1"
    )
    assert uv_reason(UV_NO_VERSION) == (
        "Because there is no version of scales==9 and you require scales==9, we can conclude that "
        "your requirements are unsatisfiable."
    )
    assert uv_reason(UV_UNREACHED) == (
        "failed to lookup address information: Temporary failure in name resolution"
    )
    assert uv_reason("") == pip_reason("") == "no output"


def test_whether_an_index_was_reached():
    assert has_no_network(PIP_UNREACHED) and has_no_network(UV_UNREACHED)
    assert not (has_no_network(PIP_NO_VERSION) or has_no_network(UV_NO_VERSION))


@pytest.fixture
def uv_here(monkeypatch):
    def set_path(path):
        monkeypatch.setattr(shutil, "which", lambda name: path)
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name: None if name == "uv" else object()
        )

    monkeypatch.delenv(CHOICE, raising=False)
    return set_path


def test_uv_is_preferred_where_it_is(uv_here, monkeypatch):
    uv_here("/bin/uv")
    uv = find_builder()
    python = Path("/env/bin/python")
    assert uv.create("python3", Path("/env")) == ["/bin/uv", "venv", "--python", "python3", "/env"]
    assert uv.install(python, ["six"]) == [
        *("/bin/uv", "pip", "install", "--python", "/env/bin/python", "six")
    ]
    # Extra indexes count as pip has them.
    assert uv.install(python, ["six"], ["https://x"])[5:] == [
        *("--extra-index-url", "https://x", "--index-strategy", "unsafe-best-match", "six")
    ]
    monkeypatch.setenv(CHOICE, "pip")
    assert find_builder().name == "pip"


def test_pip_of_the_new_environment_where_opperf_has_none_or_an_old_one(uv_here, monkeypatch):
    uv_here(None)
    python = Path("/env/bin/python")
    for version, has_own in (("26.0", True), ("22.3", True), ("22.2.1", False), ("9.0", False)):
        monkeypatch.setattr(builders.metadata, "version", lambda name, found=version: found)
        pip = find_builder()
        assert ("--without-pip" in pip.create("python3", Path("/env"))) is has_own
        assert (pip.freeze(python)[0] == "/env/bin/python") is not has_own
        assert pip.freeze(python)[-1] == "--all"


@pytest.mark.parametrize(("choice", "words"), [("conda", "write uv or pip"), ("uv", "pip install")])
def test_a_builder_that_is_not_here(uv_here, monkeypatch, choice, words):
    uv_here(None)
    monkeypatch.setenv(CHOICE, choice)
    with pytest.raises(UsageError, match=words):
        find_builder()
