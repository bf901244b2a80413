"""The report for a terminal."""

import pytest

from opperf.comparison.explaining.difference import compare_dumps
from tests.writing import explained


@pytest.fixture
def difference(dump_of, make_body):
    lib, libc = "liba.so", "libc.so.6"
    base = make_body(
        {("run", lib): 100, ("kernel(int, int)", lib): 1000, ("free", libc): 5},
        [(("run", lib), ("kernel(int, int)", lib), 1000)],
    )
    new = make_body(
        {("run", lib): 101, ("kernel(int, int)", lib): 1500, ("malloc", libc): 8},
        [(("run", lib), ("kernel(int, int)", lib), 1500)],
    )
    return compare_dumps(
        dump_of(base, "base", trigger="opperf calls=10 overhead=20"),
        dump_of(new, "new", trigger="opperf calls=10 overhead=20"),
    )


def test_the_report(difference, tmp_path):
    text = explained(difference, "add (x: (4,)), forward").replace(f"{tmp_path}/", "")
    assert text == (
        """\
add (x: (4,)), forward

base  base  10 calls
new   new   10 calls

Instructions per call: 110.5 to 160.9, +50.4 (+45.61 %).
Of these, 2 and 2 are of the loop around the calls, as counted with an empty call.

                             Exclusive  Exclusive  Exclusive  Inclusive  Inclusive  Inclusive
Function          Object          base        new     change       base        new     change
----------------- ---------- ---------- ---------- ---------- ---------- ---------- ---------
kernel(int, int)  liba.so        100.0      150.0      +50.0      100.0      150.0      +50.0
malloc            libc.so.6                   0.8       +0.8                   0.8       +0.8
free              libc.so.6        0.5                  -0.5        0.5                  -0.5
run               liba.so         10.0       10.1       +0.1      110.0      160.1      +50.1
total                            110.5      160.9      +50.4
"""
    )


def test_the_others_are_one_row(difference):
    lines = explained(difference, "", 1).splitlines()
    assert lines[-2].split() == ["3", "other", "functions", "10.5", "10.9", "+0.4"]
    assert "1 other function " in explained(difference, "", 3)


def test_a_narrow_terminal_has_the_changes(difference):
    text = explained(difference, "", width=60)
    assert max(map(len, text.splitlines())) <= 60 and "+50.0" in text and "base   " not in text


def test_what_does_not_differ(dump_of):
    dump = dump_of("fn=f\n1 5")
    text = explained(compare_dumps(dump, dump), "")
    assert "Instructions per call: 5 to 5, +0 (+0.00 %)." in text
    assert text.endswith("\n\nNo function differs.\n") and "empty call" not in text


def test_the_loop_is_counted_in_the_first_event_only(dump_of):
    dump = dump_of("fn=f\n1 5 3", events="Ir D1mr", trigger="opperf calls=1 overhead=2")
    assert "around the calls" in explained(compare_dumps(dump, dump), "")
    text = explained(compare_dumps(dump, dump, "D1mr"), "")
    assert "Misses of the first data cache, reading per call: 3" in text
    assert "around the calls" not in text
