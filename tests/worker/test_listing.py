"""The list of a registry is made once for each build, and made again when it cannot be read."""

import errno
import os

import pytest

from opperf import decoding, frameworks
from opperf.execution import paces
from opperf.execution.paces import load_listing
from opperf.frameworks.installed import package_identity
from opperf.model import Listing
from opperf.worker.answers import list_operators, script


@pytest.fixture
def asked(fake, tmp_path, monkeypatch):
    """Counts how often the listing had to be made."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    build = {"identity": "build 1"}
    monkeypatch.setattr(paces, "identity", lambda name: build["identity"])
    calls = []

    def ask():
        calls.append(1)
        return list_operators(fake)

    ask.calls, ask.build, ask.folder = calls, build, tmp_path / "cache"
    return ask


def cached(ask):
    return list(ask.folder.rglob("*.json"))


def test_every_operator_is_listed_with_its_rule_or_the_reason(fake):
    made = list_operators(fake)
    assert [one.operator for one in made.operators] == list(fake.operators())
    by_name = {one.operator.name: one for one in made.operators}
    assert by_name["relu"].rule and not by_name["relu"].reason
    assert by_name["placeholder"].reason and not by_name["placeholder"].rule
    assert by_name["mystery"].rule == "search"


def test_it_is_made_once_for_a_build(asked):
    first, _ = load_listing("fake", asked)
    again, warnings = load_listing("fake", asked)
    assert first == again and warnings == [] and len(asked.calls) == 1
    asked.build["identity"] = "build 2"
    load_listing("fake", asked)
    assert len(asked.calls) == 2


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"null",
        b"[]",
        b'{"framework": 3}',
        b'{"framework": "fake", "version": "1", "registered": 1}',
        b'{"framework": "fake", "version": "1", "registered": 1, "operators": [{"rule": "x"}]}',
    ],
)
def test_a_damaged_one_is_made_again_with_a_warning(asked, damage):
    first, _ = load_listing("fake", asked)
    (path,) = cached(asked)
    path.write_bytes(damage)
    again, (warning,) = load_listing("fake", asked)
    assert again == first and str(path) in warning and "made again" in warning
    assert load_listing("fake", asked) == (first, [])


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_truncated_one_is_made_again_with_a_warning(asked, share):
    first, _ = load_listing("fake", asked)
    (path,) = cached(asked)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    again, (warning,) = load_listing("fake", asked)
    assert again == first and "made again" in warning
    assert path.read_bytes() == whole


def test_a_folder_in_its_place_costs_warnings(asked):
    first, _ = load_listing("fake", asked)
    (path,) = cached(asked)
    path.unlink()
    path.mkdir()
    again, warnings = load_listing("fake", asked)
    assert again == first and len(warnings) == 2
    assert "cannot be read and is made again" in warnings[0] and "is not cached" in warnings[1]
    assert all(str(path) in warning for warning in warnings)
    assert list(path.parent.iterdir()) == [path]


def test_one_that_may_not_be_read_is_made_again_with_a_warning(asked, monkeypatch):
    first, _ = load_listing("fake", asked)
    (path,) = cached(asked)

    def denied(path, most):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    # Root may read everything, so that a mode does not do.
    with monkeypatch.context() as patched:
        patched.setattr(decoding, "read_bytes", denied)
        again, (warning,) = load_listing("fake", asked)
    assert again == first and "Permission denied" in warning and str(path) in warning
    assert load_listing("fake", asked) == (first, [])


def test_a_cache_that_cannot_be_written_costs_a_warning(asked):
    asked.folder.write_text("in the way")
    made, (warning,) = load_listing("fake", asked)
    assert isinstance(made, Listing) and "is not cached" in warning


def test_without_an_identity_nothing_is_kept(asked):
    asked.build["identity"] = None
    assert load_listing("fake", asked)[1] == []
    assert cached(asked) == []


def test_a_package_is_told_by_its_files_without_being_imported(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / "not_to_be_imported"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError")
    (folder / "kernel.so").write_bytes(b"1")
    patterns = ("__init__.py", "*.so")
    first = package_identity("not_to_be_imported", patterns)
    assert package_identity("not_to_be_imported", patterns) == first
    os.utime(folder / "kernel.so", (1, 1))
    assert package_identity("not_to_be_imported", patterns) != first
    with pytest.raises(ImportError, match="nowhere"):
        package_identity("nowhere")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("relu", "fake.relu(data)\n"),
        ("rounded", "fake.rounded(data)\n# no backward pass: its gradient is zero everywhere\n"),
        ("refuses", "# cannot be made here: shapes do not match\n"),
        ("fails", "# cannot be made here: RuntimeError: bad luck, over two lines\n"),
    ],
)
def test_a_script_says_what_it_lacks(fake, make_case, name, shown):
    assert script(fake, make_case(name, passes=("forward", "backward"))) == shown


def test_a_framework_has_an_identity_or_none(fake):
    assert "numpy" in frameworks.identity("numpy")
