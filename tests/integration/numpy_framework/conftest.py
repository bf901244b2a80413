"""One worker under Valgrind at a time."""

import os

import pytest


@pytest.fixture(scope="module")
def one_core():
    """Commands have one core, and so start one worker: under Valgrind a start takes seconds, a case
    less."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield
    os.sched_setaffinity(0, before)
