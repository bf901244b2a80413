"""Cases with the same operator and inputs, distinguished by their settings in every report."""

import pytest

from opperf.reports.formats import REPORT, formats_of
from tests.writing import compared


@pytest.mark.parametrize("form", sorted(formats_of(REPORT)))
def test_rows_that_differ_in_settings_alone_show_them(row, comparison, form):
    alike = [row(settings=one, changed_settings=one) for one in ("threads 1", "threads 2")]
    text = compared(comparison(*alike), form)
    assert text.count("threads 1") == text.count("threads 2") >= 1


@pytest.mark.parametrize("form", ["text", "md", "html-fragment"])
def test_rows_with_one_set_of_settings_show_none(row, comparison, form):
    assert "Settings" not in compared(comparison(row()), form)


@pytest.mark.parametrize("form", ["text", "md", "json", "csv"])
def test_rows_of_a_sweep_show_their_points(row, comparison, form):
    text = compared(comparison(row(point="n=128"), row(point="n=256")), form)
    assert text.count("n=128") == text.count("n=256") >= 1


@pytest.mark.parametrize("form", ["text", "md"])
def test_rows_without_a_sweep_have_no_column_of_points(row, comparison, form):
    assert "Sweep" not in compared(comparison(row()), form)
