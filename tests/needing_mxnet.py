"""Tests that need MXNet, which are skipped if it is not installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from opperf.frameworks import is_available
from opperf.frameworks.mxnet import PACKAGE

TESTS = Path(__file__).parent

WITH_MXNET = (
    *("frameworks/test_registry.py", "frameworks/test_trace.py", "test_docs.py"),
    "integration",
)
"""Files and folders whose tests measure MXNet, or run the documentation's commands, which do."""

WITHOUT_MXNET = (
    *("integration/numpy_framework", "integration/values/test_numpy.py"),
    *("integration/torch_framework", "integration/values/test_torch.py"),
)
"""Files and folders in these that do not."""


def is_among(path: Path, names: tuple[str, ...]) -> bool:
    """Whether a path is one of these, or in one of them."""
    return any(path.is_relative_to(TESTS / name) for name in names)


class NeedsMXNet(pytest.Module):
    """A module of tests that is not imported, and shown as skipped."""

    def collect(self) -> list[pytest.Item]:
        pytest.skip(f"MXNet is not installed: {PACKAGE.install_advice()}")


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    """Replaces a module whose tests need MXNet if it is not installed."""
    needed = is_among(module_path, WITH_MXNET) and not is_among(module_path, WITHOUT_MXNET)
    if not needed or is_available("mxnet"):
        return None
    return NeedsMXNet.from_parent(parent, path=module_path)
