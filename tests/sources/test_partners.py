"""Arguments of two operators that correspond, by their roles or places."""

import pytest

from opperf.frameworks import load
from opperf.sources.plain import corresponding, with_names_of


def named(framework, path):
    target = framework.naming.callable_target(path)
    return target, framework.signature(target)


@pytest.mark.parametrize(
    ("framework", "one", "partner", "names"),
    [
        ("mxnet", "nd.argmax", "np.argmax", {"a": "data"}),
        ("mxnet", "np.argmax", "nd.argmax", {"data": "a"}),
        ("mxnet", "nd.concat", "np.concatenate", {"seq": "data", "axis": "dim"}),
        ("mxnet", "nd.dot", "np.dot", {"a": "lhs", "b": "rhs"}),
        ("numpy", "numpy.take", "numpy.take", {}),
    ],
)
def test_arguments_correspond(framework, one, partner, names):
    loaded = pytest.importorskip(framework) and load(framework)
    own, other = (named(loaded, path) for path in (one, partner))
    found = corresponding(loaded, own, other)
    assert {name: found.get(name) for name in names} == names
    _, operator = with_names_of(loaded, own, [other])
    assert {name: operator.own_name(name) for name in names} == names
    assert [one.name for one in operator.parameters] == [one.name for one in own[1].parameters]
