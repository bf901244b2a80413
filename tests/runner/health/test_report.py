"""The report as text: widths, wrapping, counts."""

import pytest

from opperf.runner.health.finding import Finding
from opperf.runner.health.report import print_report, report_text

LONG = Finding("cpu_quota", "seven by seven " * 20, "warn", "It is " * 40 + "so.", "make it so")
SHORT = Finding("smt", "off", "ok", "Why.")


def table_of(report):
    return report.split("\n\n")[0].splitlines()


@pytest.mark.parametrize("width", [60, 100, 200])
def test_a_terminal_is_filled_and_not_exceeded(width):
    lines = report_text([LONG, SHORT], width).splitlines()
    longest_word = len("seven")
    assert width - longest_word - 1 <= max(map(len, lines)) <= width
    table = max(map(len, table_of(report_text([LONG, SHORT], width))))
    assert width - longest_word - 1 <= table <= width


def test_states_have_twenty_columns_however_narrow_the_terminal_is():
    rows = table_of(report_text([LONG, SHORT], 10))
    # Names and levels, and the gaps after them, come before.
    begin = rows[0].index("State")
    assert max(len(row) - begin for row in rows) == len("seven by seven seven")


def test_without_a_terminal_nothing_is_wrapped():
    rows = table_of(report_text([LONG, SHORT]))
    assert len(rows) == 4 and LONG.state.strip() in rows[2]
    assert f"cpu quota: {LONG.explanation}\n    make it so" in report_text([LONG, SHORT])


def test_rows_have_no_blanks_at_their_ends():
    for width in (None, 60):
        assert all(line == line.rstrip() for line in report_text([LONG, SHORT], width).splitlines())


def test_only_warnings_are_explained_and_all_are_counted():
    unknown = Finding("turbo", "no file", "unknown", "Why not.")
    blocks = report_text([LONG, SHORT, unknown, SHORT]).split("\n\n")
    assert len(blocks) == 3 and blocks[1].startswith("cpu quota: It is")
    assert blocks[-1] == "1 warning, 1 unknown, 2 ok"


def test_a_warning_that_no_command_mends_has_none():
    heat = Finding("temperature", "91 C", "warn", "It is hot.")
    assert report_text([heat]).split("\n\n")[1] == "temperature: It is hot."


def test_a_file_gets_the_text_as_it_is(capsys):
    print_report([LONG, SHORT], None)
    assert capsys.readouterr().out == report_text([LONG, SHORT]) + "\n"
