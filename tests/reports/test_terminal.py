"""Tables on a terminal, and elsewhere."""

from __future__ import annotations

import pytest

from opperf.reports.fields import Field, figure
from opperf.reports.text import LEAST_TEXT, TextColumn, table_text, terminal_columns
from opperf.results.units import Figure

NAMES = ["relu", "broadcast_add"]
INPUTS = ["data: (1024, 1024)", "lhs: (10000, 1), rhs: (10000, 100), and " + "more " * 20]


def figure_column(
    figures: list[Figure | None], title: str = "Forward", extra: int = 0
) -> TextColumn:
    field = Field("", title, figure("ns"), lambda one: one, extra=extra)
    (column,) = terminal_columns([field.column(figures)], None)
    return column


def columns(extra: int = 0) -> list[TextColumn]:
    figures = [Figure(32_700.0, 392.4), Figure(1_234_500.0, 5e4)]
    return [
        TextColumn("Operator", NAMES),
        TextColumn("Inputs", INPUTS),
        figure_column(figures, extra=extra),
        figure_column(figures, "Backward"),
    ]


def test_a_table_in_a_file_is_plain_and_whole() -> None:
    titles, dashes, *lines = table_text(columns()).splitlines()
    assert titles.split() == ["Operator", "Inputs", "Forward", "us", "Backward", "us"]
    assert set(dashes) == {"-", " "} and len(lines) == 2
    assert INPUTS[1].strip() in lines[1] and "\x1b" not in lines[1]
    assert lines[0].count("  32.7 ±1.2 %") == 2 and lines[1].count("1230   ±4.1 %") == 2


def test_figures_with_a_mark_and_without_are_aligned() -> None:
    figures = [Figure(32_700.0, 392.4), Figure(1_234_500.0, 5e5), Figure(2e3, 1.0), None]
    column = figure_column(figures, "A title that is wider than the figures of its column")
    _, dashes, *lines = table_text([TextColumn("A", list("abcd")), column]).splitlines()
    assert [line.index(".") for line in lines[:1] + lines[2:3]] == [lines[0].index(".")] * 2
    assert [line.index("%") for line in lines[:3]] == [len(dashes) - 3] * 3
    assert [line.endswith(" % ?") for line in lines] == [False, True, False, False]
    assert lines[3].index("-") == lines[1].index("200")


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_a_terminal_cuts_the_longest_texts_and_no_figure(width: int) -> None:
    lines = table_text(columns(), width).splitlines()
    assert len(lines) == 4 and max(map(len, lines)) <= width
    assert lines[3].startswith("broadcast_add ") and "…" in lines[3]
    assert lines[3].count("1230   ±4.1 %") == 2


def test_a_terminal_that_is_wide_enough_cuts_nothing() -> None:
    plain = table_text(columns())
    assert table_text(columns(), max(map(len, plain.splitlines()))) == plain
    assert table_text(columns(), 500) == plain


def test_what_can_be_done_without_is_left_out_where_texts_have_no_room() -> None:
    # Names, figures twice, and the gaps before three columns.
    least = len(NAMES[1]) + LEAST_TEXT + 2 * len("  32.7 ±1.2 %") + 3 * 2
    assert "Forward" in table_text(columns(extra=1), least)
    narrow = table_text(columns(extra=1), least - 1)
    assert "Forward" not in narrow and "Backward" in narrow
    assert "Forward" in table_text(columns(extra=0), least - 1)


def test_reasons_take_several_lines() -> None:
    reason = "because of this and that and more of it"
    made = [TextColumn("Case", ["relu"]), TextColumn("Why", [reason], wraps=True)]
    lines = table_text(made, 30).splitlines()
    assert len(lines) == 4 and "…" not in "".join(lines)
    assert " ".join(" ".join(lines[2:]).split()) == f"relu {reason}"


ARGUMENTS = "normalized_shape: (768,), dtype: bfloat16, compile_cache: cold"


@pytest.mark.parametrize("width", [80, 120])
def test_lines_end_between_words_and_names_are_whole_where_other_texts_can_wrap(width: int) -> None:
    name = "torch.nn.functional.layer_norm"
    made = [
        TextColumn("Operator", [name, "relu"]),
        TextColumn("Inputs", [f"input: (8, 128, 768), {ARGUMENTS}", "x: (64,)"], wraps=True),
        TextColumn("Settings", [ARGUMENTS, "default"], wraps=True),
    ]
    lines = table_text(made, width).splitlines()
    assert max(map(len, lines)) <= width and width - max(map(len, lines)) < len(
        "normalized_shape: "
    )
    words = " ".join(lines).split()
    assert {name, *ARGUMENTS.split()} <= set(words) and "…" not in " ".join(lines)


def test_words_longer_than_a_line_are_split_at_separators() -> None:
    settings = ["options torch.set_flush_denormal=true", "mode eager"]
    made = [
        figure_column([Figure(1e3, 1.0)] * 2),
        TextColumn("Slowest cases", ["gelu", "relu"]),
        TextColumn("Settings", settings, wraps=True),
    ]
    titles, more, _, *lines = table_text(made, 40).splitlines()
    assert titles.strip() == "Slowest" and "cases" in more
    assert [line.split()[-1] for line in lines[:4]] == [
        "options",
        "torch.set_",
        "flush_",
        "denormal=",
    ]


def test_cut_names_stay_different() -> None:
    names = ["scaled_dot_product_attention.forward", "scaled_dot_product_attention.backward"]
    made = [TextColumn("Operator", names), TextColumn("Calls", ["1", "2"], is_text=False)]
    _, _, *lines = table_text(made, 26).splitlines()
    assert [line.split()[0][-8:] for line in lines] == [".forward", "backward"]


def test_what_looks_like_markup_or_a_number_stays_as_it_is() -> None:
    text = table_text(
        [TextColumn("A", ["[red]1e5[/red]", ":warning:"]), TextColumn("B", ["1.10", "x"])]
    )
    assert "[red]1e5[/red]" in text and ":warning:" in text and "1.10" in text


def test_a_table_of_nothing_has_its_titles() -> None:
    assert table_text([TextColumn("A", []), figure_column([])]).split()[:3] == [
        *("A", "Forward", "ns")
    ]
