"""Operators, iterators and data generators of a program and of other packages."""

import pytest

from opperf.errors import UsageError
from opperf.formats.param.schema import Spec
from opperf.model import CallableTarget, Fill, ObjectTarget, TensorSpec
from opperf.sources.param import registering
from opperf.sources.param.configuration import Configuration
from opperf.sources.param.registering import DATA_GENERATORS, ITERATORS, add_operator

TENSOR = {"type": "tensor", "dtype": "float", "shape": [4]}


class Scale:
    """A class of objects that are built before they are called."""


def double(x):
    """A function."""


@pytest.fixture(autouse=True)
def own_registries(monkeypatch):
    for registry in (ITERATORS, DATA_GENERATORS):
        monkeypatch.setattr(registry, "_own", dict(registry._own))
    monkeypatch.setattr(registering, "_own_operators", {})


def cases(name, **entry):
    return list(
        Configuration({name: {"config": [{"input": [{"args": [TENSOR]}]}], **entry}}).cases()
    )


def test_a_registered_function_or_class_is_an_operator():
    add_operator("thisown.double", "numpy", double)
    add_operator("own.scale", "numpy", Scale)
    (case,) = cases("thisown.double")
    assert case.target == CallableTarget("numpy", f"{__name__}:double")
    config = {"build": [{"args": [{"type": "int", "value": 3}]}], "input": [{}]}
    (case,) = Configuration({"own.scale": {"config": [config]}}).cases()
    assert case.target == ObjectTarget("numpy", f"{__name__}:Scale", {"0": 3})


def test_an_unknown_name_suggests_a_registered_one():
    add_operator("thisown.double", "numpy", double)
    with pytest.raises(UsageError, match="did you mean thisown.double"):
        cases("thisown.duoble")


def test_a_function_inside_another_is_refused():
    with pytest.raises(UsageError, match="define inside at the top of its module"):

        def inside():
            """Cannot be found by another process."""

        add_operator("own.inside", "numpy", inside)


def test_a_name_is_registered_once():
    add_operator("thisown.double", "numpy", double)
    add_operator("thisown.double", "numpy", double)
    with pytest.raises(UsageError, match="'thisown.double' is registered already"):
        add_operator("thisown.double", "numpy", Scale)
    with pytest.raises(UsageError, match="'DefaultConfigIterator' is registered already"):
        ITERATORS.add("DefaultConfigIterator", double)


def test_a_registered_iterator_reads_specs_of_its_own_form_and_knows_the_build():
    seen = []

    def squares(specs, build, place):
        seen.append((build, place))
        for extent in specs[0]["extents"]:
            yield f"{extent}", Spec(args=[{**TENSOR, "shape": [extent, extent]}])

    ITERATORS.add("Squares", squares)
    config = {"input": [{"extents": [2, 3]}], "build": [{"args": [{"type": "int", "value": 3}]}]}
    content = {"torch.nn.ReLU": {"config": [config], "input_iterator": "Squares"}}
    found = list(Configuration(content).cases())
    assert [case.source_id for case in found] == ["torch.nn.ReLU|0|0|2", "torch.nn.ReLU|0|0|3"]
    assert found[1].arguments["0"].shape == (3, 3)
    assert seen == [(Spec(args=[{"type": "int", "value": 3}]), "torch.nn.ReLU.config[0].input")]


def test_a_registered_data_generator_makes_the_arguments():
    def zeros(spec, place):
        return [TensorSpec(tuple(spec.args[0]["shape"]), fill=Fill("constant"))], {"out": None}

    DATA_GENERATORS.add("Zeros", zeros)
    (case,) = cases("torch.add", input_data_generator="Zeros")
    assert case.arguments == {"0": TensorSpec((4,), fill=Fill("constant")), "out": None}


def test_a_spec_that_an_iterator_or_generator_cannot_read_costs_its_own_cases():
    def squares(specs, build, place):
        for i, one in enumerate(specs):
            for number, extent in enumerate(one["extents"]):
                yield f"{i}_{number}", Spec(args=[{**TENSOR, "shape": [extent, extent]}])

    def no_threes(spec, place):
        if spec.args[0]["shape"] == [3, 3]:
            raise ValueError("no threes")
        return [TensorSpec(tuple(spec.args[0]["shape"]))], {}

    ITERATORS.add("Squares of some", squares)
    DATA_GENERATORS.add("No threes", no_threes)
    entry = {"input_iterator": "Squares of some", "input_data_generator": "No threes"}
    inputs = [{"extents": [2, 3]}, {"extent": [4]}, {"extents": [5]}]
    source = Configuration({"torch.relu": {"config": [{"input": inputs}], **entry}}, "f.json")
    assert [case.source_id for case in source.cases()] == [
        "torch.relu|0|0|0_0",
        "torch.relu|0|0|2_0",
    ]
    begin = "torch.relu.config[0].input"
    assert source.excluded == {
        f"{begin}[0]": "ValueError: no threes",
        f"{begin}[1]": "KeyError: 'extents'",
    }


def test_another_package_registers_by_entry_points(tmp_path, monkeypatch):
    installed = tmp_path / "toy-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1\n")
    (installed / "entry_points.txt").write_text(
        "[opperf.operators.numpy]\ntoy.double = toy_operators:double\n"
        "[opperf.iterators]\nTwice = toy_operators:twice\n"
        "[opperf.data_generators]\nToy = toy_operators:generate\n"
    )
    (tmp_path / "toy_operators.py").write_text(
        "def twice(specs, build, place):\n"
        "    from opperf.formats.param.schema import Spec\n"
        "    yield from (('a', Spec()), ('b', Spec()))\n"
        "def generate(spec, place):\n"
        "    return [1], {}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    found = cases("toy.double", input_iterator="Twice", input_data_generator="Toy")
    assert [case.source_id for case in found] == ["toy.double|0|0|a", "toy.double|0|0|b"]
    assert found[0].target == CallableTarget("numpy", "toy_operators:double")
    assert found[0].arguments == {"0": 1}
