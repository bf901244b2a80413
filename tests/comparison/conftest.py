"""Workers of arms that are planned and not measured."""

import pytest

from tests.shared_workers import share_arms, sharing


@pytest.fixture(scope="module")
def arm_worker():
    """In place of `Worker`, for the arms that the tests of a module plan."""
    with sharing() as worker:
        yield worker


@pytest.fixture
def planning(monkeypatch, arm_worker):
    """Commands that measure nothing share the workers of their arms."""
    share_arms(monkeypatch, arm_worker)
