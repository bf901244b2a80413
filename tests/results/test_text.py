"""Inputs and durations as text."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from opperf.model import Record, TensorSpec
from opperf.plurals import counted, pluralize
from opperf.results.text import (
    cut_distinct,
    duration,
    inputs_text,
    terminal_width,
    truncate,
    truncate_middle,
    wrap,
)

MakeRecord = Callable[..., Record]


def test_inputs(make_record: MakeRecord) -> None:
    record = make_record(
        "add_n",
        args=(TensorSpec((2, 3)), TensorSpec(())),
        axis=(0, 1),
        flags=(True, False),
        act_type="relu",
        exclude=False,
        p=0.5,
        none=None,
    )
    assert inputs_text(record.case) == (
        "data: (1024, 1024), args: [(2, 3), ()], axis: (0, 1), flags: [True, False], "
        "act_type: relu, exclude: False, p: 0.5, none: None"
    )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (9.95, "10 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (125, "2 min 05 s"),
        (3599.4, "59 min 59 s"),
        (3600, "1 h 00 min"),
        (4200, "1 h 10 min"),
        (86399, "23 h 59 min"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_large_numbers_have_separators() -> None:
    assert [counted(n, "call") for n in (1, 2, 1404)] == ["1 call", "2 calls", "1,404 calls"]


def test_one_is_not_many() -> None:
    assert [pluralize(n, "record") for n in (0, 1, 2)] == ["0 records", "1 record", "2 records"]


@pytest.mark.parametrize(
    ("width", "text"), [(None, "abcdef"), (7, "abcdef"), (6, "abcdef"), (5, "abcd…"), (1, "…")]
)
def test_what_is_too_wide_is_cut(width: int | None, text: str) -> None:
    assert truncate("abcdef", width) == text


@pytest.mark.parametrize(("terminal", "width"), [(True, 77), (False, None)])
def test_a_terminal_has_a_width_and_a_file_has_none(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, width: int | None
) -> None:
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((77, 20)))
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(isatty=lambda: terminal))
    assert terminal_width() == width


@pytest.mark.parametrize(
    ("width", "text"),
    [(10, "abcdefghij"), (9, "abcd…ghij"), (8, "abcd…hij"), (7, "abc…hij"), (6, "abc…ij")],
)
def test_a_name_is_shortened_in_its_middle(width: int, text: str) -> None:
    assert truncate_middle("abcdefghij", width) == text


def test_texts_that_differ_are_different_when_they_are_cut() -> None:
    assert cut_distinct(["relu", "batch_norm"], 8) == ["relu", "batch_n…"]
    assert cut_distinct(["batch_norm.Tensor", "batch_norm.out"], 9) == ["batc…nsor", "batc….out"]
    begin, end = "at::native::" * 9, "::kernel" * 9
    places = cut_distinct([f"{begin}add{end}", f"{begin}mul{end}", "relu"], 20)
    assert places == ["at::nativ…add::kern…", "at::nativ…mul::kern…", "relu"]
    # Where nothing that fits tells them apart.
    one, two, other = (f"{begin}{middle}{end}" for middle in ("a" * 20 + "b", "a" * 20 + "c", "d"))
    assert cut_distinct([one, two, other], 20) == [one, two, "at::nativ…d::kernel…"]
    assert cut_distinct(["same name"] * 2, 6) == ["same …"] * 2


def test_a_paragraph_is_wrapped_between_words() -> None:
    text = "well-known operators _contrib_interleaved_matmul and more"
    assert wrap(text, 20).splitlines() == [
        "well-known operators",
        "  _contrib_interleaved_matmul",
        "  and more",
    ]
    assert wrap("one well-known name", 8).splitlines() == ["one", "  well-known", "  name"]
