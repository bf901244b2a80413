"""What is known of a package without importing it."""

import sys

import pytest

from opperf.frameworks import installed
from opperf.frameworks.installed import UNKNOWN, Package, is_installed, package_version


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder on the path, in which `broken` is a package that cannot be imported."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "__init__.py").write_text("raise RuntimeError")
    return tmp_path


def test_a_package_is_installed_though_it_cannot_be_imported(folder):
    assert is_installed("broken")
    assert not is_installed("nowhere")


def test_the_version_is_what_the_installation_says(folder):
    assert package_version("broken") == UNKNOWN
    metadata = folder / "broken-1.2.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.2\n")
    assert package_version("broken") == "1.2"


def test_a_version_of_a_distribution_of_another_name(folder):
    metadata = folder / "broken_cu112-1.3.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-cu112\nVersion: 1.3\n")
    (metadata / "top_level.txt").write_text("broken\n")
    assert package_version("broken") == "1.3"


def test_a_distribution_of_the_packages_own_name_needs_no_search(monkeypatch):
    monkeypatch.setattr(installed.metadata, "packages_distributions", None)
    assert installed.distribution_name("pytest") == "pytest"


@pytest.mark.parametrize(
    ("python", "advice"),
    [
        ((3, 12), "pip install 'mine[all]'"),
        ((3, 13), "pip install 'mine[all]', with Python below 3.13"),
    ],
)
def test_the_command_and_the_python_for_it(monkeypatch, python, advice):
    monkeypatch.setattr(sys, "version_info", (*python, 1, "final", 0))
    package = Package("mine", offers="forward", requirement="mine[all]", below_python=(3, 13))
    assert package.install_advice() == advice


def test_a_package_for_every_python(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 99, 0, "final", 0))
    package = Package("mine", offers="forward", requirement="mine")
    assert (package.install_advice(), package.obstacle()) == ("pip install mine", "")
