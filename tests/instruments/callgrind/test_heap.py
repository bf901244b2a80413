"""The allocator of processes whose instructions are counted."""

import ctypes
import os
import shutil
import subprocess
import sys
import threading

import pytest

from opperf.instruments.callgrind import valgrind

pytestmark = pytest.mark.skipif(
    shutil.which(os.environ.get("CC", "cc")) is None, reason="needs a C compiler"
)

SIZES = [*range(130), *(size + step for size in (256, 1024, 4096, 2**20) for step in (-64, 0, 1))]


@pytest.fixture(scope="module")
def functions():
    """The allocator's own functions, in a process that has another."""
    library = ctypes.CDLL(str(valgrind.library()))
    for name in ("malloc", "calloc", "realloc", "memalign"):
        getattr(library, name).restype = ctypes.c_void_p
    library.malloc_usable_size.restype = ctypes.c_size_t
    return library


def fill(address, size, value):
    ctypes.memset(address, value, size)


def release(functions, *addresses):
    for address in addresses:
        functions.free(ctypes.c_void_p(address))


def test_blocks_are_aligned_apart_and_as_large_as_asked(functions):
    begins = {}
    for number, size in enumerate(SIZES):
        address = functions.malloc(ctypes.c_size_t(size))
        assert address % (16 if size <= 48 else 64) == 0
        usable = functions.malloc_usable_size(ctypes.c_void_p(address))
        assert size <= usable
        fill(address, usable, number % 251)
        begins[address] = usable, number % 251
    assert len(begins) == len(SIZES)
    for address, (usable, value) in begins.items():
        assert ctypes.string_at(address, usable) == bytes([value]) * usable
    release(functions, *begins)


@pytest.mark.parametrize("size", [1, 48, 64, 65, 1000, 100_000, 3 * 2**20])
def test_a_size_has_its_last_freed_block(functions, size):
    address = functions.malloc(ctypes.c_size_t(size))
    release(functions, address)
    again = functions.malloc(ctypes.c_size_t(size))
    if size < 2**20:
        assert again == address
    release(functions, again)


@pytest.mark.parametrize("size", [7, 5000, 2**21])
def test_calloc_clears_what_was_used(functions, size):
    address = functions.malloc(ctypes.c_size_t(size))
    fill(address, size, 255)
    release(functions, address)
    address = functions.calloc(ctypes.c_size_t(1), ctypes.c_size_t(size))
    assert ctypes.string_at(address, size) == bytes(size)
    release(functions, address)


def test_realloc_keeps_the_content(functions):
    address, content = functions.realloc(None, ctypes.c_size_t(10)), b"0123456789"
    ctypes.memmove(address, content, 10)
    for size in (11, 60, 5000, 2**21, 2**22, 300, 10):
        address = functions.realloc(ctypes.c_void_p(address), ctypes.c_size_t(size))
        assert ctypes.string_at(address, 10) == content
    assert functions.realloc(ctypes.c_void_p(address), ctypes.c_size_t(0)) is None


@pytest.mark.parametrize("power", [3, 6, 7, 12, 16, 21])
def test_alignment(functions, power):
    for size in (1, 48, 100, 5000):
        address = ctypes.c_void_p()
        asked = ctypes.c_size_t(1 << power), ctypes.c_size_t(size)
        assert functions.posix_memalign(ctypes.byref(address), *asked) == 0
        assert address.value % (1 << power) == 0
        assert functions.malloc_usable_size(address) >= size
        fill(address.value, size, 1)
        release(functions, address.value)
        again = functions.memalign(*asked)
        assert again % (1 << power) == 0
        release(functions, again)


def test_what_cannot_be_allocated_is_refused(functions):
    most = ctypes.c_size_t(2**64 - 1)
    assert functions.malloc(most) is None and functions.malloc(ctypes.c_size_t(2**63)) is None
    assert functions.calloc(most, ctypes.c_size_t(2)) is None
    address = ctypes.c_void_p()
    assert functions.posix_memalign(ctypes.byref(address), 24, 8) != 0


def test_threads_have_blocks_of_their_own(functions):
    wrong = []

    def work(value):
        for _ in range(300):
            addresses = [functions.malloc(ctypes.c_size_t(100)) for _ in range(20)]
            for address in addresses:
                fill(address, 100, value)
            content = bytes([value]) * 100
            if any(ctypes.string_at(address, 100) != content for address in addresses):
                wrong.append(value)
            release(functions, *addresses)

    threads = [threading.Thread(target=work, args=(value,)) for value in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


IN_A_PROCESS = """
import os, threading
import numpy as np
from opperf.instruments.callgrind import valgrind
print(valgrind.is_loaded())
stop = threading.Event()
def allocate():
    while not stop.is_set():
        bytearray(5000)
threading.Thread(target=allocate).start()
for number in range(20):
    child = os.fork()
    if not child:
        os._exit(int(np.ones(10000).sum() != 10000))
    assert os.waitpid(child, 0)[1] == 0
stop.set()
"""


def test_a_process_has_it_in_place_of_the_systems():
    """Its forks too, while another thread allocates."""
    environment = {**os.environ, "LD_PRELOAD": str(valgrind.library())}
    done = subprocess.run(
        # Python 3.12 warns of a fork beside a thread, which is what this is about.
        [sys.executable, "-W", "ignore", "-c", IN_A_PROCESS],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
    assert not valgrind.is_loaded()


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    """Makes a C compiler that ends with a code."""

    def make(code):
        path = tmp_path / "some-cc"
        path.write_text(f"#!/bin/sh\necho wrong here >&2\nexit {code}\n")
        path.chmod(0o755)
        monkeypatch.setenv("CC", str(path))
        monkeypatch.setenv("OPPERF_CACHE", str(tmp_path / "cache"))
        valgrind.library.cache_clear()

    yield make
    valgrind.library.cache_clear()


def test_a_compiler_that_fails(compiler):
    compiler(1)
    with pytest.raises(valgrind.HeapError, match="some-cc ended with 1: wrong here"):
        valgrind.library()


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("CC", 'cc "', "CC: No closing quotation"),
        ("OPPERF_CACHE", "/of a user", "the cache folder /of a user has a space or a colon"),
    ],
)
def test_a_command_or_a_folder_that_cannot_be_used(compiler, monkeypatch, name, value, why):
    compiler(0)
    monkeypatch.setenv(name, value)
    with pytest.raises(valgrind.HeapError, match=why):
        valgrind.library()


def test_a_compiler_that_makes_nothing(compiler):
    compiler(0)
    with pytest.raises(valgrind.HeapError, match="No such file"):
        valgrind.library()


def test_no_compiler(compiler, monkeypatch):
    compiler(0)
    monkeypatch.setenv("CC", "no-such-cc")
    with pytest.raises(valgrind.HeapError, match="no C compiler no-such-cc"):
        valgrind.library()


def test_it_is_compiled_once(compiler, monkeypatch):
    compiler(0)
    monkeypatch.delenv("CC")
    made = valgrind.library()
    changed = made.stat().st_mtime_ns
    valgrind.library.cache_clear()
    assert valgrind.library() == made and made.stat().st_mtime_ns == changed
    assert [path.name for path in made.parent.iterdir()] == [made.name]
