"""A comparison as text for a terminal."""

import re

import msgspec
import pytest

from opperf.comparison.compared import Change, ChangeKind, Side
from opperf.machine.environment import Difference
from opperf.statistics.data import Verdict
from tests.writing import compared


def test_text(everything):
    # Whatever the widths of the columns are.
    text = re.sub(r"  +", "  ", compared(everything, "text"))
    order = [
        "base  base.jsonl",
        "versions.mxnet  1.9.1  2.0.0",
        "settings.threads  all  4",
        "forward: 3 cases in common: 1 ambiguous, 1 suspect (1 slower), 1 no clear change; ",
        "relu  1.500  1.485 to 1.515  suspect  1.000  1.500  data: (1024, 1024)",
        "1 ambiguous: 3 and 3 samples",
        "memory: 2 cases in common: 1 regressed, 1 same",
        "FullyConnected  2.000  regressed  1.000  2.000",
        "unary  1.225 (2)  1.414 (2)",
        "all  1.225 (2)  1.414 (2)",
        "Measured in base, not in new: 1 case:",
        "  svd (A: (4, 4)): crashed: signal 11",
        "In base only: 2 cases: dot (2)",
        "In new only: 1 case: gelu",
        "Of a time no more can be said.",
        "2 cases measured in neither run.",
        "  opperf ab relu --a python:/path/to/base/python",
    ]
    places = [text.find(words) for words in order]
    assert -1 not in places, order[places.index(-1)]
    assert places == sorted(places)


@pytest.mark.parametrize("width", [60, 80, 120, 160])
def test_text_fits_the_terminal(width, everything, row, comparison):
    long = row("_contrib_interleaved_matmul_selfatt_qk_and_more", inputs="data: (1, 2), " * 9)
    found = comparison(long, row("exp"), changes=everything.changes, notes=everything.notes * 5)
    text = compared(found, "text", width)
    assert max(map(len, text.splitlines())) <= width
    assert ("Base ms" in text) == (width >= 120)
    assert "Inputs" in text or width < 80


def test_the_command_is_never_cut(row, comparison):
    command = "opperf ab " + " ".join(f"operator{number}" for number in range(20))
    assert f"  {command}\n" in compared(comparison(row(), confirm=command), "text", 60)


def lines(text):
    """The lines, whatever the widths of the columns are."""
    return [re.sub(r"  +", "  ", line) for line in text.splitlines()]


def test_what_there_is_none_of_is_not_told(comparison, row):
    told = lines(compared(comparison(row(category="")), "text"))
    assert told[:5] == [
        "base  base.jsonl  2025-01-02T03:04:05+00:00, 4 cases",
        "new  new.jsonl  2025-01-03T03:04:05+00:00, 4 cases",
        "",
        "No difference between the environments in the files.",
        "",
    ]
    assert told[-3:] == ["all  1.500 (1)", "", "Changes up to these count as none: forward 2%."], (
        "no command, no changes and no other sentences"
    )
    nothing = compared(comparison(row(ratio=None)), "text")
    assert "mean" not in nothing and "more" not in nothing and "To confirm" not in nothing


def test_averages_are_said_to_be_such(comparison, row):
    told = compared(comparison(row(), base=Side("old.json", "", 1, averages=True)), "text")
    assert "old.json" in told and "  1 case, averages only\n" in told
    assert told.count("averages only") == 1


def test_without_an_interval_there_is_no_column_of_them(comparison, row):
    none = row("exp", low=None, high=None)
    assert "95 % interval" not in compared(comparison(none), "text")
    some = lines(compared(comparison(row("relu"), none), "text"))
    assert any("95 % interval" in line for line in some)
    assert any(line.startswith("exp  1.500  suspect") for line in some)


def test_columns_of_numbers_end_and_columns_of_words_begin_alike(comparison, row):
    one = row("a", ratio=1.5, base=1e6, inputs="x")
    other = row("longer", ratio=10.25, verdict=Verdict.NO_CLEAR_CHANGE, inputs="yy")
    text = compared(comparison(one, other), "text")
    header, _, first, second = next(
        text.splitlines()[number : number + 4]
        for number, line in enumerate(text.splitlines())
        if line.startswith("Operator")
    )
    for title, a, b in (
        ("Operator", "a", "longer"),
        ("Verdict", "sus", "no cl"),
        ("Inputs", "x", "y"),
    ):
        assert header.index(title) == first.index(a) == second.index(b)
    for title, a, b in (("Ratio", " 1.500", "10.250"), ("Base ms", "1.000", "1.000")):
        ends = [line.index(w) + len(w) for line, w in ((header, title), (first, a), (second, b))]
        assert len(set(ends)) == 1
    means = [line for line in text.splitlines() if line.endswith(" (2)")]
    assert means and {len(line) for line in means} == {len(means[0])}


def test_a_table_in_a_file_is_as_wide_as_it_is(comparison, row):
    wide = row("operator" * 5, inputs="data: (1, 2), " * 9)
    table = [
        line for line in compared(comparison(wide), "text").splitlines() if "operator" * 5 in line
    ]
    assert len(table) == 1 and "1.000" in table[0] and table[0].endswith("…")
    assert len(table[0]) > 100


def test_names_and_inputs_have_a_width_of_their_own(comparison, row):
    def shown(name, inputs, width=200):
        text = compared(comparison(row(name, inputs=inputs)), "text", width)
        return name in text, inputs in text

    assert shown("n" * 25, "i" * 9, 96) == (True, True)
    assert shown("n" * 50, "i" * 60) == (True, True)
    # Inputs wrap, and names are whole as long as these have room for their words.
    assert shown("n" * 51, "i i " * 40) == (True, False)
    assert shown("n" * 51, "i" * 9, 60) == (False, True)
    # A file is searched for names.
    assert shown("n" * 25, "i" * 100, width=None) == (True, True)
    assert shown("n" * 25, "i" * 101, width=None) == (True, False)


def test_values_of_the_environment_are_whole_on_several_lines(comparison, row):
    values = [" ".join([f"feature{number}=on" for number in range(20)] + [end]) for end in "ab"]
    differences = (Difference("features", *values),)
    for width in (80, None):
        told = compared(comparison(row(), differences=differences), "text", width).split()
        assert told.count("feature7=on") == 2 and {"a", "b"} <= set(told)


def test_long_paths_keep_both_their_ends(comparison, row):
    found = comparison(row())
    folder = "/a/long/way/" * 9
    sides = {name: Side(f"{folder}{name}.jsonl", "2025-01-02", 4) for name in ("base", "new")}
    first, second, *_ = compared(
        msgspec.structs.replace(found, sides=tuple(sides.values())), "text", 80
    ).splitlines()
    assert len(first) <= 80 and first.endswith("base.jsonl  2025-01-02, 4 cases")
    assert len(second) <= 80 and second.endswith("new.jsonl  2025-01-02, 4 cases")


def test_sentences_are_wrapped_to_the_width_or_to_a_hundred_columns(comparison, row):
    found = comparison(row(), notes=("word " * 60,))
    # Of "word " twenty fit into a hundred columns, and twelve into sixty.
    assert " ".join(["word"] * 20) + "\n" in compared(found, "text")
    assert " ".join(["word"] * 21) not in compared(found, "text")
    assert " ".join(["word"] * 12) + "\n" in compared(found, "text", 60)
    assert " ".join(["word"] * 13) not in compared(found, "text", 60)
    times = [one for one in Verdict if one not in (Verdict.DIFFERENT, Verdict.MISSING)]
    metric = comparison(*(row(verdict=one) for one in times), groups=())
    sentence = (
        "forward: 8 cases in common: 1 regressed, 1 improved, 1 same, 1 ambiguous, 1 invalid,"
    )
    assert (
        f"{sentence} 1 suspect (1 slower), 1\n  no clear change, 1 instructions same\n"
        in compared(metric, "text", 108)
    )
    assert (
        f"{sentence} 1 suspect (1\n  slower), 1 no clear change, 1 instructions same\n"
        in compared(metric, "text")
    )


# Of the inputs and of the name, 16 columns are to be seen.
@pytest.mark.parametrize(("extra", "figures"), [(0, True), (-1, False)])
def test_figures_are_shown_where_the_texts_have_room(comparison, row, extra, figures):
    found = comparison(row("n" * 16, inputs="i i " * 10))
    header = next(line for line in compared(found, "text").splitlines() if "Inputs" in line)
    told = compared(found, "text", header.index("Inputs") + 16 + extra)
    assert ("Base ms" in told, "New ms" in told) == (figures, figures)


@pytest.mark.parametrize(("number", "more"), [(20, ""), (21, "  and 1 more"), (25, "  and 5 more")])
def test_twenty_cases_that_broke_are_named(comparison, row, number, more):
    changes = tuple(
        Change(ChangeKind.BROKEN, "", f"op{n}", "", reason="crashed") for n in range(number)
    )
    told = compared(comparison(row(), changes=changes), "text").splitlines()
    title = told.index(f"Measured in base, not in new: {number} cases:")
    names = [f"  op{n}: crashed" for n in range(20)]
    assert told[title + 1 : -2] == [*names, *([more] if more else [])]


def test_changes_without_reasons_are_on_one_line(comparison, row):
    changes = tuple(Change(ChangeKind.APPEARED, "", "gelu", f"{n}") for n in range(2))
    told = compared(comparison(row(), changes=changes), "text")
    assert "\nIn new only: 2 cases: gelu (2)\n" in told
    some = (*changes, Change(ChangeKind.APPEARED, "", "new", "", reason="failed: no"))
    told = compared(comparison(row(), changes=some), "text")
    assert "cases:\n  gelu (0)\n  gelu (1)\n  new: failed: no\n" in told


def test_the_tolerances_of_a_metric_are_told_with_their_operators(comparison, row):
    limits = {"relu": "1%", "exp": "1%", "conv2d": "3% or 50 instructions"}
    rows = [row(name, metric="instructions", tolerance=one) for name, one in limits.items()]
    told = " ".join(compared(comparison(*rows, row(), limits_file="opperf.toml"), "text").split())
    limit = "instructions 1% (conv2d 3% or 50 instructions), forward 2%, by opperf.toml."
    assert told.endswith(f"Changes up to these count as none: {limit}")
