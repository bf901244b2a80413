"""Cases and the slots that they are given."""

import pytest

from opperf.execution.fleet.placements import Placements, Slot, Wanted


@pytest.fixture
def answers():
    return {}


@pytest.fixture
def ask(answers):
    def make(placements, name, node="", pair=""):
        placements.ask(Wanted(node, pair), lambda given: answers.__setitem__(name, given))

    return make


def cluster(*nodes, pairs=None):
    made = Placements(pairs)
    slots = [Slot(node, number) for number, node in enumerate(nodes)]
    for slot in slots:
        made.expect(slot.node)
    for slot in slots:
        made.free(slot)
    return made, slots


def test_a_case_is_given_the_slot_that_has_waited_longest_and_then_one_that_is_free_again(
    ask, answers
):
    placements, (a, b) = cluster("a", "b")
    for name in ("first", "second", "third", "fourth"):
        ask(placements, name)
    assert [answers[name].slot for name in ("first", "second")] == [a, b]
    assert "third" not in answers and placements.waiting == 2
    placements.free(b)
    placements.free(a)
    assert [answers[name].slot for name in ("third", "fourth")] == [b, a]


def test_what_is_compared_goes_to_one_node_and_others_pass_it(ask, answers):
    placements, (a, b) = cluster("a", "b")
    ask(placements, "one", pair="x")
    ask(placements, "partner", pair="x")
    ask(placements, "other")
    assert answers["one"].slot == a and answers["other"].slot == b
    assert "partner" not in answers
    placements.free(b)
    assert "partner" not in answers
    placements.free(a)
    assert answers["partner"].slot == a and not answers["partner"].parted


def test_two_partners_that_wait_are_given_one_node(ask, answers):
    """Both have asked before either has a slot."""
    placements, (a, b) = cluster("a", "b")
    ask(placements, "on a", node="a")
    ask(placements, "on b", node="b")
    for name in ("one", "partner", "other"):
        ask(placements, name, pair="" if name == "other" else "x")
    placements.free(a)
    placements.free(b)
    assert answers["one"].slot == a and answers["other"].slot == b
    placements.free(a)
    assert answers["partner"].slot == a


def test_a_case_of_a_node_waits_for_it(ask, answers):
    placements, (a, b) = cluster("a", "b")
    ask(placements, "first", node="b")
    ask(placements, "second", node="b")
    ask(placements, "any")
    assert answers["first"].slot == b and answers["any"].slot == a
    placements.free(a)
    assert "second" not in answers
    placements.free(b)
    assert answers["second"].slot == b


def test_of_a_node_that_ends_partners_go_on_elsewhere_and_say_so(ask, answers):
    placements, (a, b) = cluster("a", "b")
    ask(placements, "one", pair="x")
    ask(placements, "partner", pair="x")
    ask(placements, "third", pair="x")
    ask(placements, "bound", node="a")
    placements.lose("a")
    assert answers["bound"].slot is None
    assert answers["partner"] == (b, "a")
    placements.free(b)
    # It is with its partner again.
    assert answers["third"] == (b, "")


def test_a_node_that_has_another_slot_has_not_ended(ask, answers):
    placements, (first, second) = cluster("a", "a")
    ask(placements, "one", node="a")
    ask(placements, "two", node="a")
    ask(placements, "three", node="a")
    placements.lose("a")
    assert "three" not in answers
    placements.free(second)
    assert answers["three"].slot == second


def test_a_slot_that_is_expected_is_waited_for(ask, answers):
    placements = Placements()
    placements.expect("a")
    ask(placements, "one")
    assert not answers
    placements.free(Slot("a", 0))
    assert answers["one"].slot == Slot("a", 0)


def test_without_any_slot_there_is_an_answer(ask, answers):
    placements, (a,) = cluster("a")
    ask(placements, "one")
    ask(placements, "two")
    placements.lose("a")
    ask(placements, "three")
    assert answers["two"].slot is None and answers["three"].slot is None
    assert placements.nodes == ()


def test_a_free_slot_can_be_withdrawn(ask, answers):
    placements, (a, b) = cluster("a", "b")
    assert placements.withdraw(a)
    placements.lose("a")
    ask(placements, "one")
    assert answers["one"].slot == b
    assert not placements.withdraw(b)


def test_a_run_that_is_resumed_keeps_its_pairs_where_the_node_is_there(ask, answers):
    placements, (a, b) = cluster("a", "b", pairs={"x": "b", "y": "gone"})
    ask(placements, "x", pair="x")
    ask(placements, "y", pair="y")
    assert answers["x"] == (b, "") and answers["y"] == (a, "gone")
