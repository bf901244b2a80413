"""Orders of blocks and of cases."""

from opperf.statistics.design import block_order, visiting_order


def test_orders_are_balanced_after_any_even_number_of_blocks():
    for seed in range(20):
        orders = [block_order(seed, "comparison", block) for block in range(12)]
        for done in range(2, 13, 2):
            assert orders[:done].count(tuple("ABBA")) == done // 2


def test_either_order_may_be_the_first():
    first = [block_order(seed, "comparison", 0) for seed in range(200)]
    # Five standard deviations of 200 fair draws are 35.
    assert 65 <= first.count(tuple("ABBA")) <= 135


def test_orders_follow_from_the_seed_and_the_phase():
    def orders(seed, phase):
        return [block_order(seed, phase, block) for block in range(40)]

    assert orders(1, "comparison") == orders(1, "comparison")
    assert orders(1, "comparison") != orders(2, "comparison")
    assert orders(1, "comparison") != orders(1, "control")


def test_an_order_of_cases_is_that_of_one_process_of_each_arm():
    cases = [f"case{number}" for number in range(30)]
    arms = {}
    for block in range(5):
        for position, arm in enumerate(block_order(3, "comparison", block)):
            order = visiting_order(cases, 3, "comparison", block, position)
            assert sorted(order) == sorted(cases)
            arms.setdefault(tuple(order), []).append(arm)
    assert [sorted(of_order) for of_order in arms.values()] == [["A", "B"]] * 10


def test_the_order_of_cases_does_not_depend_on_the_order_they_are_given_in():
    cases = ["a", "b", "c", "d"]
    again = visiting_order(reversed(cases), 3, "control", 1, 2)
    assert visiting_order(cases, 3, "control", 1, 2) == again
