"""Modules of rules are found by where they are, and their tables are merged."""

import pytest

from opperf.errors import RuleError
from opperf.rules.engine import rules_module

BEGIN = """from opperf.rules.registering import Families

FAMILIES = Families({})


@FAMILIES.also("relu")
def family(operator, size):
    return []


"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Returns a function that writes a package of rules, of modules by name, and loads it."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(package, **texts):
        folder = tmp_path / package
        (folder / "inner").mkdir(parents=True)
        (folder / "inner" / "__init__.py").touch()
        (folder / "__init__.py").write_text(
            "from opperf.rules.registering import families_in, modules_in\n\n"
            "MODULES = modules_in(__name__)\nFAMILIES = families_in(MODULES)\n"
        )
        for name, text in texts.items():
            (folder / f"{name.replace('__', '/')}.py").write_text(text)
        return rules_module(package)

    return write


def test_every_module_is_collected(package):
    rules = package(
        "own_rules",
        zebra=BEGIN.format(""),
        apple=BEGIN.format("are_last=True") + "WORK = {'relu': 1}\nTRAIN_PHASE = {'relu'}\n",
        inner__middle=BEGIN.format("") + "WORK = {'gelu': 2}\nTRAIN_PHASE = {'gelu'}\n",
        importing="from own_rules.apple import WORK\n",
    )
    found = [family.__module__ for family in rules.FAMILIES.further["relu"]]
    assert found == ["own_rules.inner.middle", "own_rules.zebra", "own_rules.apple"]
    assert rules.WORK == {"relu": 1, "gelu": 2} and rules.DIFFERENCES == {}
    assert {"relu", "gelu"} == rules.TRAIN_PHASE and frozenset() == rules.NEEDS_OUTPUT


def test_an_entry_of_two_modules_is_an_error(package):
    with pytest.raises(RuleError) as caught:
        package("twice", one="WORK = {'relu': 1}\n", two="WORK = {'relu': 2}\n")
    assert str(caught.value) == (
        "twice.two: WORK has an entry of 'relu', as twice.one has: leave one of them out"
    )
