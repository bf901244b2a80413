"""A case that ends its process costs that case only."""

import sys

from tests.conformance import __main__ as command
from tests.conformance.exceptions import Found
from tests.conformance.judging import DOES_NOT_RUN, Finding
from tests.conformance.workers import Judgement, Wanted, judgements
from tests.fake.deadly_case import begun, work


def test_the_others_are_judged_by_another_process():
    deadly = Finding(DOES_NOT_RUN, "", "the process ended: SIGFPE")
    assert list(judgements(Wanted("toy", "small"), work)) == [
        begun(0),
        Judgement(begun(0), ()),
        begun(1),
        Judgement(begun(1), (Found(begun(1).case, deadly),)),
        begun(2),
        Judgement(begun(2), ()),
    ]


def test_a_misspelt_operator_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["conformance", "numpy", "small", "matmull"])
    assert command.main() == 2
    assert capsys.readouterr().err == (
        "python -m tests.conformance: no operator is called 'matmull'; did you mean matmul?\n"
    )
