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


def test_a_backward_pass_has_a_note_of_its_own():
    both = ("forward", "backward")
    assert noted(Wasting.apply, "compile:aot_eager", both) == ["backward"]
    assert noted(besides, "compile:aot_eager", both) == ["forward", "total"]
