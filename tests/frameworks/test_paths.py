"""Functions by dotted path, in modules that a package leaves to its users to import."""

import sys

import pytest

from opperf.errors import UnknownOperatorError
from opperf.frameworks.paths import find


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "left_to_users"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "there.py").write_text("def doubled(x):\n    return 2 * x\n")
    (folder / "needing.py").write_text("import not_installed_anywhere\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import left_to_users

    yield left_to_users
    for name in [one for one in sys.modules if one.partition(".")[0] == folder.name]:
        del sys.modules[name]


def test_a_module_is_imported_on_the_way(package):
    assert not hasattr(package, "there")
    assert find("p.there.doubled", "toy", {"p": package})(3) == 6


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("p.needing.f", "left_to_users.needing cannot be imported: No module named 'not_installed"),
        ("p.missing.f", "'p.missing.f': left_to_users has no 'missing'"),
    ],
)
def test_one_that_is_not_there_or_needs_another_is_said(package, path, why):
    with pytest.raises(UnknownOperatorError) as error:
        find(path, "toy", {"p": package})
    assert str(error.value).startswith(why)
