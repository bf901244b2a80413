"""The option `--framework`: the cases of one framework alone, of opperf's or of another package."""

import pytest

from tests.conformance.frameworks import PARTS, TABLES


def pytest_addoption(parser):
    parser.addoption("--framework", help="check the cases of this framework alone")
    parser.addoption(
        "--exceptions",
        metavar="MODULE",
        help="module with TABLE, BY_DTYPE and FINITE_AT_TIMES, as tests/conformance/legitimate has",
    )


def pytest_configure(config):
    name = config.getoption("--framework", None)
    if name:
        # Before the tests are collected, which are of each of these.
        PARTS.setdefault(name, 1)
        if config.getoption("--exceptions"):
            TABLES[name] = config.getoption("--exceptions")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    wanted = config.getoption("--framework", None)
    if not wanted:
        return
    of_it = [item for item in items if _framework_of(item) == wanted]
    others = [item for item in items if _framework_of(item) != wanted]
    config.hook.pytest_deselected(items=others)
    items[:] = of_it


def _framework_of(item):
    return item.callspec.params.get("name") if hasattr(item, "callspec") else None
