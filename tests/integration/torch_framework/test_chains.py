"""Chains of calls in recordings of programs that use PyTorch."""

import weakref

import pytest

import opperf
from opperf.frameworks import flow, load
from opperf.instruments.prepared import PreparedCase, case_scope
from opperf.model import INPUT
from opperf.recording.session import Session
from opperf.sources.chains import chain_cases
from tests.recorded_functions import record
from tests.shared_workers import replace_workers

torch = pytest.importorskip("torch")
pytest.importorskip("opperf.frameworks.torch.recorder")

BYTES = 4 * 4 * 4
"""Of the tensors below."""


def found_in(program):
    """The chains of a function's calls, as their operators and what is between them in bytes."""
    session = Session("test")
    session.start(["torch"])
    try:
        program()
    finally:
        session.stop()
    return session.calls["torch"].chains


def names(chain):
    return " ".join(own.call.case.target.name for own in chain.calls)


def of_tensor(function):
    x = torch.ones(4, 4)
    return found_in(lambda: function(x))


def keep(value, kept=[]):  # noqa: B006
    kept.append(value)
    return value


def write(tensor, call):
    call(tensor)
    return tensor


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x.add(1).relu().mul(2), {"add relu mul": 4 * BYTES}),
        (lambda x: x.mm(x).relu(), {"mm relu": 2 * BYTES}),
        (lambda x: x.sum(0).exp(), {"sum exp": 2 * BYTES / 4}),
        (lambda x: x.softmax(0).exp().cumsum(0), {"_softmax exp": 2 * BYTES}),
        # One kernel has one product.
        (lambda x: x.mm(x) + x.mm(x), {"mm add": 2 * BYTES}),
        (lambda x: x.sin() * x.cos(), {"sin cos mul": 4 * BYTES}),
        # Views are looked through, and what is broadcast is read once.
        (lambda x: x.add(1).t().relu(), {"add t relu": 2 * BYTES}),
        (lambda x: x.sum(0).exp() + x, {"sum exp add": 4 * BYTES / 4}),
        (lambda x: x.add(1).mul_(2).relu(), {"add mul_ relu": 4 * BYTES}),
        (lambda x: torch.add(x, 1, out=torch.empty(4, 4)).relu(), {"add relu": 2 * BYTES}),
        (lambda x: x.double().add(1), {"_to_copy add": 4 * BYTES}),
        # Read twice: the sum is no part of what follows it.
        (lambda x: (lambda y: y.sin() * y.cos())(x.add(1)), {"sin cos mul": 4 * BYTES}),
        (lambda x: keep(x.add(1)).relu(), {}),
        (lambda x: x.add(1).relu().cumsum(0), {"add relu": 2 * BYTES}),
        (lambda x: x.cumsum(0).relu(), {}),
        (lambda x: [x.add(1).relu() for _ in range(3)], {"add relu": 2 * BYTES}),
        # Written in part, it is of two calls.
        (lambda x: write(x.add(1), lambda y: y[0].mul_(2)).relu(), {}),
        # There what the first call reads is gone.
        (lambda x: write(x.add(1), lambda _: x.mul_(2)).relu(), {}),
        # One elementwise call reads it through a view of which nobody else knows.
        (lambda x: x.add(1)[:2].relu(), {"add slice relu": 1.5 * BYTES}),
    ],
)
def test_what_is_between_calls_alone_makes_a_chain(function, expected):
    chains = of_tensor(function)
    assert {
        names(chain): sum(own.between_bytes for own in chain.calls) for chain in chains
    } == expected


def test_what_the_backward_pass_reads_is_in_no_chain():
    x = torch.ones(4, 4, requires_grad=True)
    saved = found_in(lambda: x.exp().sin().sum().backward())
    # Each of the two has its result or its input read by the backward pass.
    assert [names(chain) for chain in saved] == ["cos mul mul"]
    free = found_in(lambda: x.add(1).mul(2).sum().backward())
    assert "add mul" in {names(chain) for chain in free}


def test_a_call_counts_as_often_as_the_first_step_makes_it():
    x = torch.ones(4, 4)

    def program():
        for number in range(1, 4):
            for _ in range(2 * number):
                # The next one lies at the address of this.
                x.add(1).relu()
            opperf.step()

    (chain,) = found_in(program)
    assert names(chain) == "add relu" and len(chain.sites) == 2
    assert len(set(chain.sites)) == 1


def test_steps_of_an_optimizer_are_parts_of_marked_ones():
    weight = torch.nn.Parameter(torch.ones(4, 4))
    optimizer = torch.optim.SGD([weight], 0.1)

    def program():
        for _ in range(3):
            for _ in range(2):
                weight.grad = weight.detach().add(1).relu()
                optimizer.step()
            opperf.step()

    found = {names(chain): len(chain.sites) for chain in found_in(program)}
    # The gradient of the second step is still there at its end.
    assert found == {"add relu add_": 1, "add relu": 1}


def test_a_step_goes_on_after_an_interruption():
    x = torch.ones(4, 4)
    session = Session("test")
    session.start(["torch"])
    with session.interrupted():
        x.exp().sin()
    x.add(1).relu()
    session.stop()
    assert [names(chain) for chain in session.calls["torch"].chains] == ["add relu"]


def test_no_tensor_is_kept():
    seen = []

    def program():
        storage = torch.ones(4, 4)
        seen.append(weakref.ref(storage))
        storage.add(1)
        del storage
        assert seen[0]() is None

    found_in(program)


def test_a_step_that_is_too_long_is_cut(monkeypatch):
    monkeypatch.setattr(flow, "MOST_KEPT", 3)
    x = torch.ones(4, 4)
    session = Session("test")
    session.start(["torch"])
    for _ in range(3):
        x.add(1).relu()
    session.stop()
    (chain,) = session.calls["torch"].chains
    assert len(chain.sites) == 1
    assert any("first" in note and "chains" in note for note in session.program().notes)


def test_what_calls_beyond_the_kept_ones_may_read_is_in_no_chain(monkeypatch):
    monkeypatch.setattr(flow, "MOST_KEPT", 2)
    x = torch.ones(4, 4)

    def program():
        y = x.add(1)
        y.relu()
        x.neg()
        y.mul(2)

    assert not found_in(program)


def test_equal_calls_with_other_bytes_between_are_another_chain():
    x = torch.ones(4, 4)

    def program():
        for is_kept in (False, True):
            dropped, mask = torch.native_dropout(x, 0.5, True)
            dropped.mul(mask)
            if is_kept:
                keep(mask)

    found = found_in(program)
    assert [names(own) for own in found] == 2 * ["native_dropout mul"]
    between = [sum(call.between_bytes for call in own.calls) for own in found]
    assert between == [2 * (BYTES + 16), 2 * BYTES]


# PyTorch compiles for it in this process.
@pytest.mark.sweep
def test_a_compiled_program_reads_what_it_is_given():
    compiled = torch.compile(lambda y: y * 3)
    x = torch.ones(4, 4)
    compiled(x)

    def program():
        y = x.add(1)
        y.relu()
        compiled(y)

    assert found_in(program) == []


def test_a_recording_has_its_chains_and_their_cases(tmp_path, monkeypatch, shared_worker):
    replace_workers(monkeypatch, shared_worker)
    x = torch.rand(4, 4)
    run = record(tmp_path, lambda: x.mm(x).t().add(x, alpha=2).relu().mul_(0.5))
    (chain,) = run.header.program.chains
    assert chain.name == "mm > add.Tensor > relu > mul_.Tensor" and chain.count == 1
    assert [call.kind for call in chain.calls] == ["producer", "view", *["pointwise"] * 3]
    assert chain.calls[2].feeds == {"self": (1, 0), "other": (INPUT, 0)}
    assert chain.first.file == chain.last.file == __file__
    torch_framework = load("torch")
    made = chain_cases(torch_framework, [chain], run.cases)
    assert not made.refused
    eager, compiled = made.cases
    assert (eager.settings.mode, compiled.settings.mode) == ("eager", "compile")
    assert eager.target.source == (
        "def chain(x0):\n"
        "    t0 = torch.ops.aten.mm.default(x0, x0)\n"
        "    t1 = torch.ops.aten.t.default(t0)\n"
        "    t2 = torch.ops.aten.add.Tensor(t1, x0, alpha=2)\n"
        "    t3 = torch.ops.aten.relu.default(t2)\n"
        "    t4 = torch.ops.aten.mul_.Tensor(t3, 0.5)\n"
        "    return t4\n"
    )
    with case_scope(eager, torch_framework):
        prepared = PreparedCase(eager, torch_framework)
        given = prepared.arguments["x0"]
        expected = ((given @ given).t() + 2 * given).relu() * 0.5
        torch.testing.assert_close(prepared.call(), expected)
