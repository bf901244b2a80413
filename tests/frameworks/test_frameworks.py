"""Frameworks by name: which is meant, which is there, and what is said where one is not."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from opperf import frameworks
from opperf.errors import FrameworkError, UsageError
from opperf.extras import install_command
from opperf.frameworks import BUILT_IN, installed
from opperf.frameworks.installed import Package

FAKE = Path(__file__).resolve().parents[1] / "fake"


@pytest.fixture
def there(monkeypatch):
    """Sets which packages are installed."""

    def only(*packages):
        for module in (installed, frameworks):
            monkeypatch.setattr(module, "is_installed", packages.__contains__)

    return only


@pytest.fixture
def known(monkeypatch):
    """Makes a framework known, whose module says nothing but what is set here."""

    def framework(name, **attributes):
        module = ModuleType(f"described_{name}")
        vars(module).update(attributes)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(BUILT_IN, name, f"{module.__name__}:framework")

    return framework


def test_the_preferred_framework_is_the_first_that_is_there(there):
    there("mxnet", "numpy")
    assert frameworks.default_framework() == "mxnet"
    there("numpy")
    assert frameworks.default_framework() == "numpy"
    there("numpy", "jax")
    assert frameworks.default_framework() == "jax"
    there("numpy", "torch", "jax")
    assert frameworks.default_framework() == "torch"


def test_one_that_another_interpreter_has_is_preferred_as_if_it_were_here(there):
    there("numpy")
    assert frameworks.default_framework(["mxnet"]) == "mxnet"
    assert frameworks.default_framework(["torch"]) == "torch"
    assert frameworks.default_framework(["", "undescribed"]) == "numpy"


def test_where_there_is_none(there):
    there()
    with pytest.raises(FrameworkError, match="none of mxnet, torch, jax, numpy is installed"):
        frameworks.default_framework()


def test_a_framework_that_is_not_installed_says_the_command(there, monkeypatch):
    there("numpy")
    monkeypatch.setattr(sys, "version_info", (3, 12, 0, "final", 0))
    # Not the cached one: another test may have loaded MXNet in this process.
    for ask in (frameworks.load.__wrapped__, frameworks.identity):
        with pytest.raises(FrameworkError) as caught:
            ask("mxnet")
        assert str(caught.value) == (
            f"mxnet is not installed; install it with: {install_command('opperf[mxnet]')}"
        )


def test_an_unknown_framework_suggests_a_known_one():
    with pytest.raises(UsageError, match="unknown framework 'nunpy'; did you mean numpy"):
        frameworks.identity("nunpy")


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (ImportError("MXNet needs NumPy below 2"), "MXNet needs NumPy below 2"),
        (AttributeError("no PZERO\nanywhere"), "AttributeError: no PZERO anywhere"),
        (OSError("libgfortran.so.4: not there"), "OSError: libgfortran.so.4: not there"),
    ],
)
def test_an_installed_one_that_cannot_be_imported_says_why(known, error, cause):
    def framework():
        raise error

    known("mine", framework=framework)
    with pytest.raises(FrameworkError) as caught:
        frameworks.load("mine")
    assert str(caught.value) == f"mine cannot be imported: {cause}"
    known("other", framework=framework, PACKAGE=Package("numpy", "forward", "numpy"))
    with pytest.raises(FrameworkError, match=r"^other \d+\.\d+\.\S+ cannot be imported: "):
        frameworks.load("other")


def test_an_error_that_is_for_the_user_stays_as_it_is(known):
    def framework():
        raise UsageError("set MINE_HOME")

    known("mine", framework=framework)
    with pytest.raises(UsageError, match="^set MINE_HOME$"):
        frameworks.load("mine")


def test_a_framework_of_another_package(monkeypatch):
    monkeypatch.syspath_prepend(FAKE)
    assert "fake" in frameworks.available()
    # Its module says nothing of its package.
    assert (frameworks.package_of("fake"), frameworks.identity("fake")) == (None, None)
    assert frameworks.is_available("fake")
    assert not frameworks.is_available("absent") and not frameworks.is_available("unheard of")
    with pytest.raises(FrameworkError, match="absent cannot be imported: No module named"):
        frameworks.load("absent")


def test_variables_are_read_without_an_import(there, known):
    def factory():
        raise AssertionError("imported")

    package = Package("described", "forward", "described", variables=("ITS_THREADS",))
    known("described", PACKAGE=package, framework=factory)
    there("described")
    assert frameworks.variables_of("described") == ("ITS_THREADS",)
    there()
    with pytest.raises(FrameworkError, match="described is not installed"):
        frameworks.variables_of("described")


def test_variables_of_a_framework_that_says_nothing_of_its_package(known):
    processes = SimpleNamespace(variables=("ITS_THREADS",))
    known("undescribed", framework=lambda: SimpleNamespace(processes=processes))
    assert frameworks.variables_of("undescribed") == ("ITS_THREADS",)
