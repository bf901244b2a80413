"""A framework of lists, with the required methods only."""

from functools import partial

from opperf.frameworks import Framework
from opperf.model import Kind, Operator, Parameter


def scale(data, factor=2.0):
    return [factor * value for value in data]


def add(lhs, rhs):
    return [one + other for one, other in zip(lhs, rhs, strict=True)]


FUNCTIONS = {"add": add, "scale": scale}


def operator(framework, name, *tensors):
    parameters = tuple(Parameter(name, Kind.TENSOR, required=True) for name in tensors)
    return Operator(framework, "toy", name, namespaces=("toy",), parameters=parameters)


class Toy(Framework):
    name = "toy"
    rules = "toy_rules"
    dtypes = ("float64",)

    def version(self):
        return "1.0"

    def operators(self):
        return (operator(self.name, "add", "lhs", "rhs"), operator(self.name, "scale", "data"))

    def function(self, target):
        return FUNCTIONS[target.label]

    def tensor(self, spec, device, seed):
        return [float(seed % 7)] * spec.size

    def bind(self, case, arguments, function=None):
        return partial(function or self.function(case.target), **arguments)

    def refusal(self, error):
        return str(error) if isinstance(error, (TypeError, ValueError)) else None


def framework():
    return Toy()
