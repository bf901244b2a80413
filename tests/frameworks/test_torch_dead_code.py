"""Work of a function of PyTorch that a compiler drops, and work that it does."""

import pytest

torch = pytest.importorskip("torch")

from opperf.frameworks import load  # noqa: E402  (torch may be missing)
from opperf.frameworks.torch import dead_code  # noqa: E402
from opperf.instruments.prepared import Bound  # noqa: E402
from opperf.model import CallableTarget, Case, NoteCode, Settings, TensorSpec  # noqa: E402
from opperf.worker.measure import measure  # noqa: E402

SIZE = 64
STATE = []


class Box:
    def __init__(self, held):
        self.held = held


def work(x):
    for _ in range(4):
        x = torch.tanh(x @ x)
    return x


def nothing(x):
    work(x)


def besides(x):
    work(x)
    return x + 1


def in_place(x):
    total = torch.zeros_like(x)
    for _ in range(4):
        total += x @ x
    return x + 1


def drawn(x):
    for _ in range(9):
        torch.rand(4 * SIZE, SIZE)
    return x + 1


def decomposed(x):
    torch.linalg.qr(x)
    return x + 1


DROPPED = (nothing, besides, in_place, drawn, decomposed)


def boxed(x):
    return [Box(work(x))]


def deferred(x):
    made = work(x)
    return lambda: made


def kept_outside(x):
    STATE[:] = [work(x)]
    return x + 1


def written(x):
    x.copy_(work(x))


def of_views(x):
    return work(x)[0].view(-1)[2:]


def into_a_part(x):
    made = torch.zeros_like(x)
    made[0] = work(x)[0]
    return made


def as_a_number(x):
    return float(work(x).sum())


def sparse(x):
    return torch.sparse.mm(work(x).to_sparse(), x)


def checked(x):
    # It raises an error if the matrix is singular.
    torch.linalg.inv(x + SIZE * torch.eye(SIZE))
    return x + 1


KEPT = (
    *(work, boxed, deferred, kept_outside, written, of_views, into_a_part, as_a_number, sparse),
    checked,
)


def part(x):
    return (torch.sin(x) * 2 + 1)[:1] * 3


def summed(x):
    return torch.exp(x)[::9].sum()


def gathered(x):
    return torch.exp(x)[[3, 5]]


def returned_part(x):
    return torch.exp(x)[:1]


def copied_part(x):
    return torch.exp(x)[:1].clone()


def both(x):
    made = torch.exp(x)
    return made[:1] * 2, made + 1


def product_of_part(x):
    return torch.exp(x)[:1] @ x


def part_of_product(x):
    return (x @ x)[:1] * 2


@pytest.mark.parametrize(
    "function, is_left",
    [
        *((function, True) for function in (part, summed, gathered)),
        *((function, False) for function in (returned_part, copied_part, both)),
        *((function, False) for function in (product_of_part, part_of_product)),
    ],
)
def test_elements_that_nothing_reads_are_not_computed_by_fused_code(function, is_left, x):
    found = dead_code.notes(lambda: function(x), None, fuses=True)
    assert [note.metric for note in found] == (["forward", "total"] if is_left else [])
    assert all("of the function's work: the compiler dropped" in note.message for note in found)
    assert dead_code.notes(lambda: function(x), None) == []


def repeated(x):
    return sum(torch.tanh(x @ x) for _ in range(9))


def drawn_again(x):
    return sum(torch.rand(SIZE, SIZE) @ x for _ in range(9))


def changed_between(x):
    total = torch.zeros_like(x)
    for _ in range(9):
        x.add_(1)
        total = total + x @ x
    return total


def of_parts(x):
    return sum(x[:, n : n + 8] @ x[:8] for n in range(8))


@pytest.mark.parametrize(
    "function, is_merged",
    [(repeated, True), (drawn_again, False), (changed_between, False), (of_parts, False)],
)
def test_equal_calls_are_merged(function, is_merged):
    x = torch.full((SIZE, SIZE), 0.01)
    found = dead_code.notes(lambda: function(x), None, merges=True)
    assert len(found) == (2 if is_merged else 0)


@pytest.fixture(params=[False, True], ids=["predict", "train"])
def x(request):
    with torch.set_grad_enabled(request.param):
        yield torch.full((SIZE, SIZE), 0.01)


@pytest.mark.parametrize("function", DROPPED)
def test_work_that_reaches_no_result_is_noted(function, x):
    notes = dead_code.notes(lambda: function(x), None)
    assert [note.metric for note in notes] == ["forward", "total"]


@pytest.mark.parametrize("function", KEPT)
def test_work_that_reaches_one_is_not(function, x):
    assert dead_code.notes(lambda: function(x), None) == []


class Wasting(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x + 1

    @staticmethod
    def backward(context, head):
        work(head)
        return head


def noted(function, mode, passes=("forward",)):
    """The metrics with a note on dropped work, of a function that is measured."""
    framework = load("torch")
    settings = Settings(profiler="python", warmup=0, runs=2, memory=False, mode=mode)
    arguments = {"x": TensorSpec((SIZE, SIZE), gradient=True)}
    case = Case(CallableTarget("torch", "user.function"), arguments, settings, passes)
    record = measure(case, framework, Bound(function=function))
    assert record.status.value == "ok", record.reason
    return [note.metric for note in record.notes if note.code == NoteCode.DEAD_CODE]


@pytest.mark.parametrize(
    "mode, metrics",
    [
        ("compile:aot_eager", ["forward", "total"]),
        ("script", ["forward", "total"]),
        ("eager", []),
        # It runs all that was captured.
        ("compile:eager", []),
    ],
)
def test_the_modes_that_drop_it_have_the_note(mode, metrics):
    assert noted(besides, mode) == metrics
    assert noted(work, mode) == []
    assert noted(repeated, mode) == (metrics if mode == "script" else [])
    assert noted(part, mode) == []


def test_a_backward_pass_has_a_note_of_its_own():
    both = ("forward", "backward")
    assert noted(Wasting.apply, "compile:aot_eager", both) == ["backward"]
    assert noted(besides, "compile:aot_eager", both) == ["forward", "total"]
