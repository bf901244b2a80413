"""What is asked of the C library, of one that does as it is told, refuses, or knows nothing."""

import ctypes
from types import SimpleNamespace

import pytest

from opperf.machine import heap
from opperf.worker import pristine

# From glibc's malloc.h.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8

HIGHEST_MMAP_THRESHOLD = 4 * 1024 * 1024 * ctypes.sizeof(ctypes.c_long)
"""glibc's DEFAULT_MMAP_THRESHOLD_MAX, above which it refuses; 32 MiB where a long has 8 bytes."""


@pytest.fixture(autouse=True)
def unconfigured(monkeypatch):
    """As if this process's heap had not been configured."""
    monkeypatch.setattr(heap, "_configured", [])


@pytest.fixture
def asked(monkeypatch):
    """Set the heap up anew with a C library that gives this answer; what was said, and what the
    library was asked for."""

    def steadied(answer, framework="mxnet"):
        calls = {}

        def mallopt(parameter, value):
            calls[parameter] = value
            return answer(parameter)

        library = SimpleNamespace(mallopt=mallopt)
        monkeypatch.setattr(heap.ctypes, "CDLL", lambda name: library)
        return pristine.configure_heap(framework), calls

    return steadied


def test_large_blocks_stay_on_one_heap_that_is_not_given_back(asked):
    said, calls = asked(lambda parameter: 1)
    assert said == "glibc, 1 arena, keeps 1024 MiB of freed memory"
    assert calls == {
        M_MMAP_THRESHOLD: HIGHEST_MMAP_THRESHOLD,
        M_TRIM_THRESHOLD: 2**30,
        M_ARENA_MAX: 1,
    }


def test_threads_that_allocate_in_parallel_have_heaps_of_their_own(asked):
    said, calls = asked(lambda parameter: 1, "jax")
    assert said == "glibc, keeps 1024 MiB of freed memory"
    assert calls == {M_MMAP_THRESHOLD: HIGHEST_MMAP_THRESHOLD, M_TRIM_THRESHOLD: 2**30}


def test_an_unknown_framework_has_one_heap(asked):
    assert M_ARENA_MAX in asked(lambda parameter: 1, "of-a-plugin")[1]


@pytest.mark.parametrize("refused", [M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, M_ARENA_MAX])
def test_what_is_refused_is_not_said_to_be_set(asked, refused):
    assert asked(lambda parameter: int(parameter != refused))[0] == "glibc defaults"


@pytest.mark.parametrize("error", [OSError("none"), AttributeError("mallopt")])
def test_another_c_library_is_left_as_it_is(monkeypatch, error):
    def none(name):
        raise error

    monkeypatch.setattr(heap.ctypes, "CDLL", none)
    assert pristine.configure_heap("mxnet") == "as the system has it"


def test_it_is_set_up_once(monkeypatch):
    said = pristine.configure_heap("mxnet")
    monkeypatch.setattr(heap.ctypes, "CDLL", None)
    assert pristine.configure_heap("mxnet") == pristine.configure_heap("jax") == said
