"""Tables by size."""

import pytest

from opperf.model import Status
from opperf.results.sweep_table import is_swept, render_by_size, row_count, sweep_tables
from tests.results.conftest import summary


def cells(table):
    columns = (*table.sizes, *table.columns)
    return [column.title for column in columns], list(
        zip(*(column.cells for column in columns), strict=True)
    )


def test_one_line_has_a_table_of_its_metrics_with_the_sizes_sorted(make_point):
    both = {"forward": summary(2000.0), "memory": summary(8192.0, "B")}
    records = [make_point(n=n, moved=16000, summaries=both) for n in (1024, 64)]
    (table,) = sweep_tables(records)
    assert table.title == "relu: data: (16, n)"
    titles, rows = cells(table)
    assert titles == ["n", "Forward us", "Memory kB", "Forward GB/s"]
    assert [row[0] for row in rows] == ["64", "1024"]
    assert [row[3] for row in rows] == ["8.0 ±5.0 %", "8.0 ±5.0 %"]
    assert rows[0][1].lstrip().startswith("2.0") and rows[0][2].startswith("8.")


def test_several_lines_have_a_table_for_each_metric_with_a_column_each(make_point):
    both = {"forward": summary(2000.0), "memory": summary(8192.0, "B")}
    records = [
        make_point(name, n=n, dtype=dtype, summaries=both)
        for dtype in ("float32", "float64")
        for name in ("relu", "exp")
        for n in (64, 128)
    ]
    forward, memory = sweep_tables(records)
    assert (forward.title, memory.title) == ("Forward by n", "Memory by n")
    # The columns of one operator are together.
    assert [column.title for column in forward.columns] == [
        "relu\nfloat32\nus",
        "relu\nfloat64\nus",
        "exp\nfloat32\nus",
        "exp\nfloat64\nus",
    ]
    assert [column.title for column in memory.columns][0] == "relu\nfloat32\nkB"


def test_the_only_operator_is_in_the_title(make_point):
    (table,) = sweep_tables([make_point(n=n, threads=t) for t in (1, 2) for n in (64, 128)])
    assert table.title == "Forward of relu by n"
    assert [column.title for column in table.columns] == ["threads 1\nus", "threads 2\nus"]


def test_several_variables_have_a_column_each(make_point):
    (table,) = sweep_tables([make_point(n=n, m=m) for n in (64, 128) for m in (2, 1)])
    _, rows = cells(table)
    assert [row[:2] for row in rows] == [("64", "1"), ("64", "2"), ("128", "1"), ("128", "2")]


def test_operators_with_other_variables_have_tables_of_their_own(make_point):
    tables = sweep_tables([make_point("relu", n=64), make_point("exp", n=64, m=2)])
    assert [[column.title for column in table.sizes] for table in tables] == [["n"], ["n", "m"]]


def test_a_point_without_a_result_has_its_status_and_a_missing_one_a_dash(make_point):
    records = [
        make_point("relu", n=64),
        make_point("relu", n=128, status=Status.CRASHED),
        make_point("exp", n=64),
    ]
    (table,) = sweep_tables(records)
    _, rows = cells(table)
    assert [row[1].strip() for row in rows][1] == "crashed"
    assert [row[2].strip() for row in rows][1] == "---"


@pytest.mark.parametrize("width", [80, 120, 200])
def test_no_line_is_wider_than_the_terminal_and_no_column_is_lost(make_point, width):
    names = [f"operator_number_{i}" for i in range(12)]
    records = [make_point(name, n=n, threads=1) for name in names for n in (64, 128)]
    lines = render_by_size(records, width).splitlines()
    assert max(map(len, lines)) <= width
    assert sum(line.split().count(name) for line in lines for name in names) == len(names)
    # Each part has the sizes.
    assert sum(line.startswith(" 64") for line in lines) > (1 if width < 200 else 0)


def test_records_that_are_no_points_have_the_usual_table(make_point, make_record):
    records = [make_point(n=64), make_record("dot"), make_point(n=128)]
    text = render_by_size(records)
    assert text.index("relu: data: (16, n)") < text.index("Operator  Inputs")
    assert is_swept(records) and row_count(records) == 3
    assert not is_swept([make_record()]) and row_count([make_record(), make_record()]) == 2
    assert render_by_size([make_record("dot")]).startswith("Operator  Inputs")
