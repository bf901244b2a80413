"""What a manager and its worker say to each other comes out as what went in."""

import msgspec
import pytest

from opperf.instruments.peaks import Peaks
from opperf.machine.environment import environment
from opperf.model import ListedOperator, Listing, Operator, Record, Status, Struct
from opperf.runner import messages
from opperf.runner.observed import Observed, Value
from opperf.runner.searching import Entry
from opperf.runner.trial import Trial
from opperf.sources.completing import Completed
from opperf.sources.registry import Plan, Resolution
from opperf.sources.selecting import Selection

SELECTION = Selection(patterns=("relu",), shapes={"lhs": (2, 3)})


@pytest.fixture
def said(make_case, fake):
    """An example of everything that is said."""
    case = make_case("relu")
    record = Record(case=case, id=case.id, status=Status.OK)
    operator = Operator("fake", "nd", "relu")
    return [
        messages.PlanRequest(SELECTION, {"relu": case.arguments}),
        messages.ResolveRequest({"dtype": ("float32", "int8"), "threads": (None, 2)}),
        messages.ListRequest(),
        messages.ChoicesRequest(),
        messages.CompleteRequest((case,)),
        messages.BuildRequest((case,)),
        messages.ScriptRequest((case,)),
        messages.TraceRequest((case,), "/x/trace.json", ""),
        messages.MeasureRequest(case, reference_work=True),
        messages.TryRequest(case),
        messages.ObserveRequest(case, "/x", draw=1),
        messages.ForkRequest(("cpu(0)", "gpu(0)")),
        messages.EndRequest(),
        messages.ReadyResponse(environment(fake)),
        messages.PlanResponse(Plan((case,), {"x": "none"}, {"neg": "negative"}, ("x",))),
        messages.ResolveResponse(Resolution({"device": ("gpu(0)",)}, {"device": ()})),
        messages.ListResponse(Listing("fake", "1", 1, (ListedOperator(operator, "rule:x"),))),
        messages.ChoicesResponse({"dtype": ("float32", "int8")}),
        messages.CompleteResponse((Completed(case, "no such operator"),)),
        messages.BuildResponse(),
        messages.ScriptResponse(("print()",)),
        messages.TraceResponse({case.id: "no such operator"}),
        messages.MeasureResponse(record),
        messages.TryResponse(Trial(refusal="no", ended=True)),
        messages.ObserveResponse(Observed((Value("output", (2,), "float32", "dense", "0.npy"),))),
        messages.ForkResponse(forked=True),
        messages.EndResponse(),
        messages.ErrorResponse("UsageError", "no", "trace"),
    ]


def kinds(module):
    return {
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Struct)
        and value.__module__ == module.__name__
    }


def test_every_message_comes_out_as_it_went_in(said):
    assert {type(one) for one in said} == kinds(messages)
    for one in said:
        line = msgspec.json.encode(one)
        assert b"\n" not in line
        asked = type(one).__name__.endswith("Request")
        union = messages.Request if asked else messages.Response
        assert msgspec.json.decode(line, type=union) == one


@pytest.mark.parametrize(
    "kind",
    sorted(
        kinds(messages) | {Plan, Selection, Trial, Peaks, Entry}, key=lambda kind: kind.__name__
    ),
)
def test_nothing_that_is_handed_on_is_changed_on_the_way(kind):
    assert kind.__struct_config__.frozen
