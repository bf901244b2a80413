"""The counts against those that callgrind_annotate prints for the same files."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from opperf.comparison.explaining.callgrind import read_dump
from opperf.comparison.explaining.functions import count_functions

PROGRAM = """
#include <stdlib.h>
#include <string.h>
#define APART __attribute__((noinline))
static inline __attribute__((always_inline)) long twice(long n) { return 2 * n + 1; }
APART long leaf(long n) { long s = 0; for (long i = 0; i < n; i++) s += twice(i) % 7; return s; }
APART long fib(long n) { return n < 2 ? leaf(n + 1) : fib(n - 1) + fib(n - 2); }
long odd(long n);
APART long even(long n) { return n ? leaf(3) + odd(n - 1) : 1; }
APART long odd(long n) { return n ? leaf(5) + even(n - 1) : 0; }
APART long copies(long n) {
    char *p = malloc(n);
    memset(p, 1, n);
    long s = p[n / 2];
    free(p);
    return s;
}
int main(int argc, char **argv) {
    long s = 0;
    for (int i = 0; i < 10 * argc; i++)
        s += fib(8) + even(6) + odd(9) + leaf(20) + copies(4096);
    return s == 42;
}
"""

NAMES = ("main", "leaf", "fib", "even", "odd", "copies")

PRINTED = re.compile(r"^\s*([\d,]+) .*?[^\s:]+:([\w()' ]+) \[(\S+)\]$", re.MULTILINE)
"""A function's counts of the first event, its name and its object."""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    for tool in ("gcc", "valgrind", "callgrind_annotate"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    folder = tmp_path_factory.mktemp("program")
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run(
        ["gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "-o", "program", "program.c"],
        cwd=folder,
        check=True,
    )
    return folder / "program"


def profiled(program, *options):
    path = program.with_name("dump")
    path.unlink(missing_ok=True)
    words = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={path}", *options]
    subprocess.run([*words, program], capture_output=True, check=False)
    assert path.exists()
    return path


def annotated(path, *options):
    """Returns the counts that callgrind_annotate prints, by name."""
    words = ["callgrind_annotate", "--threshold=100", *options, path]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    found = {}
    for count, name, where in PRINTED.findall(text):
        if Path(where).name == "program":
            found[name] = found.get(name, 0) + int(count.replace(",", ""))
    return found


def counted(path):
    return {
        function.name: (one.own[0], one.inclusive[0])
        for function, one in count_functions(read_dump(path)).items()
        if function.object == "program"
    }


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--cache-sim=yes",),
        ("--dump-instr=yes", "--collect-jumps=yes"),
        ("--compress-strings=no", "--compress-pos=no"),
    ],
    ids=" ".join,
)
def test_counts_are_those_of_callgrind_annotate(program, options):
    path = profiled(program, *options)
    found, own = counted(path), annotated(path)
    inclusive = annotated(path, "--inclusive=yes")
    for name in NAMES:
        # It prints nested calls apart.
        assert found[name][0] == own[name] + own.get(f"{name}'2", 0), name
        assert found[name][1] == inclusive[name], name


def test_recursion_that_is_not_apart_counts_once(program):
    apart = counted(profiled(program))
    path = profiled(program, "--separate-recs=1")
    found, doubled = counted(path), annotated(path, "--inclusive=yes")
    for name in ("main", "leaf", "fib", "copies"):
        assert found[name] == apart[name]
    # Of a cycle, at most the counts of the cycle.
    for name in ("even", "odd"):
        assert apart[name][1] <= found[name][1] < doubled[name]


def test_parts_add_up_to_the_whole(program):
    whole = counted(profiled(program))
    parts = profiled(program, "--combine-dumps=yes", "--dump-before=copies")
    assert parts.read_text().count("\npart: ") == 11
    assert counted(parts) == whole
