"""What a manager and its worker say to each other comes out as what went in."""

import msgspec
import pytest

from opperf.execution.searching import Entry
from opperf.instruments.peaks import Peaks
from opperf.instruments.visit import CompiledAhead
from opperf.machine.environment import environment
from opperf.model import (
    Environment,
    ListedOperator,
    Listing,
    LoadedFile,
    Operator,
    Record,
    Role,
    Status,
    Struct,
)
from opperf.model.cases import CallSite
from opperf.model.chains import Chain, ChainCall
from opperf.models.base import SuiteModel
from opperf.processes import channel
from opperf.processes.channel import Answer, Refusal
from opperf.sources.chains import MadeChains
from opperf.sources.completing import Completed
from opperf.sources.operation_cases import OperationCases
from opperf.sources.operation_rows import Row
from opperf.sources.registry import Plan
from opperf.sources.resolving import Resolution
from opperf.sources.selecting import Selection
from opperf.worker import protocol
from opperf.worker.protocol import Loaded, Observed, Trial, Value

SELECTION = Selection(patterns=("relu",), shapes={"lhs": (2, 3)})


@pytest.fixture
def said(make_case, fake):
    """An example of each request, with one of its answers."""
    case = make_case("relu")
    record = Record(case=case, id=case.id, status=Status.OK)
    operator = Operator("fake", "nd", "relu")
    file = LoadedFile("k", "/k.py", "2", Role.MEASURED)
    site = CallSite()
    chain = Chain((ChainCall("1", "add", "pointwise", {}),), 1, site, site)
    values = (Value("output", (2,), "float32", "dense", "0.npy"),)
    return [
        (
            protocol.PlanRequest(SELECTION, {"relu": case.arguments}),
            Plan((case,), {"x": "none"}, {"neg": "negative"}, ("x",)),
        ),
        (
            protocol.ResolveRequest({"dtype": ("float32", "int8"), "threads": (None, 2)}),
            Resolution({"device": ("gpu(0)",)}, {"device": ()}),
        ),
        (
            protocol.OperationsRequest((Row("relu", case.arguments),), SELECTION, "np"),
            OperationCases({0: case}, {1: "no such operator"}),
        ),
        (protocol.NumericsRequest(), {"denormals": "kept"}),
        (protocol.ListRequest(), Listing("fake", "1", 1, (ListedOperator(operator, "rule:x"),))),
        (protocol.ChoicesRequest(), {"dtype": ("float32", "int8")}),
        (protocol.ModelsRequest("nets", "/x"), (SuiteModel("mlp", ("small",), tier=1),)),
        (protocol.CheckModelsRequest((case,)), None),
        (protocol.CompleteRequest((case,)), (Completed(case, "no such operator"),)),
        (protocol.BuildRequest((case,)), None),
        (protocol.UncompiledRequest((case,)), (case.id,)),
        (protocol.CompileRequest((case,)), {case.id: CompiledAhead(2.0, 1.0, 3)}),
        (protocol.ScriptRequest((case,)), ("print()",)),
        (protocol.TraceRequest((case,), "/x/trace.json", ""), {case.id: "no such operator"}),
        (protocol.MeasureRequest(case, reference_work=True), record),
        (protocol.AlternateRequest((case, case), (None, None), draw="1"), (record, record)),
        (protocol.LoadedRequest((case.target,)), Loaded((file,), "1")),
        (protocol.TryRequest(case), Trial(refusal="no", ended=True)),
        (protocol.ObserveRequest(case, "/x", draw=1), Observed(values)),
        (protocol.ForkRequest(("cpu(0)", "gpu(0)")), True),
        (protocol.ChainsRequest((chain,), (case,)), MadeChains((case,), {"add": "no such call"})),
        (protocol.EndRequest(), None),
    ]


def kinds(module):
    return {
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Struct)
        and value.__module__ == module.__name__
    }


def test_every_request_and_answer_comes_out_as_it_went_in(said):
    asked = {type(request) for request, _ in said}
    results = {protocol.Observed, protocol.Value, Trial, Loaded}
    own = {protocol.Kept, protocol.Importing, protocol.Batch, protocol.Begun, protocol.Made}
    assert asked == kinds(protocol) - own - results
    for request, result in said:
        line = msgspec.json.encode(request)
        assert b"\n" not in line
        assert msgspec.json.decode(line, type=protocol.AnyRequest) == request
        answer = msgspec.json.decode(msgspec.json.encode(Answer.of(result)), type=protocol.Response)
        assert isinstance(answer, Answer)
        assert msgspec.json.decode(answer.result, type=request.answer_type()) == result


def test_a_refusal_is_no_answer(fake):
    line = msgspec.json.encode(Refusal("UsageError", "no", "trace"))
    assert isinstance(msgspec.json.decode(line, type=protocol.Response), Refusal)
    line = msgspec.json.encode(Answer.of(environment(fake)))
    ready = msgspec.json.decode(line, type=protocol.Response)
    assert msgspec.json.decode(ready.result, type=Environment) == environment(fake)


@pytest.mark.parametrize(
    "kind",
    sorted(
        kinds(protocol) | kinds(channel) | {Plan, Selection, Trial, Peaks, Entry},
        key=lambda kind: kind.__name__,
    ),
)
def test_nothing_that_is_handed_on_is_changed_on_the_way(kind):
    assert kind.__struct_config__.frozen
