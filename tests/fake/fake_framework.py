"""A framework that computes nothing: its operators behave as a test needs.

In a worker it is found by the entry point beside this module; in a test's own process it is
`FakeFramework`, whose attributes a test may set and whose `calls` record its use.
"""

import itertools
import os
import random
import re
import signal
import sys
import time
from contextlib import contextmanager
from math import prod
from pathlib import Path

from opperf.errors import DeviceError, NoGradientError, UnknownOperatorError, UsageError, unknown
from opperf.frameworks import Framework, call_capabilities, capabilities
from opperf.frameworks.base import Extent
from opperf.frameworks.timing import PhaseTimes
from opperf.model import CallableTarget, Kind, MetricKind, Operator, OperatorTarget, Parameter

FORWARD_NS, BACKWARD_NS = 1000.0, 2500.0
"""Times of the passes by the fake profiler."""

WALL_FACTOR = 1.25
"""Ratio of a call's wall-clock time to its kernel time."""


STRETCH = {"fake.stretch": 1.0, "fake.turbo": False}
"""Options of this process: a factor of all times, and whether times are halved."""


def option_value(name, text):
    """Returns the value of an option. Raises `UsageError`."""
    if name not in STRETCH:
        raise unknown("option", name, STRETCH, "fake")
    if name == "fake.stretch":
        return float(text)
    if text not in ("true", "false"):
        raise UsageError(f"{name} is true or false, not {text!r}")
    return text == "true"


def luck(name):
    """Returns the factor of an operator's times by the fake profiler in this process.

    FAKE_SLOWDOWN gives factors, as in `relu=1.1,add=0.9,geared gear:high=2`, and FAKE_SLOWDOWN_ALL
    further ones of a process with all threads; FAKE_NOISE is the width of what every process draws
    for every operator anew.
    """
    factors = os.environ.get("FAKE_SLOWDOWN", "")
    if not os.environ.get("OMP_NUM_THREADS"):
        factors += "," + os.environ.get("FAKE_SLOWDOWN_ALL", "")
    by_name = dict(one.split("=") for one in factors.split(",") if one)
    noise = float(os.environ.get("FAKE_NOISE", "0"))
    drawn = random.Random(f"{os.getpid()} {name}").uniform(-noise, noise)
    stretch = STRETCH["fake.stretch"] * (0.5 if STRETCH["fake.turbo"] else 1.0)
    return stretch * float(by_name.get(name, 1.0)) * (1.0 + drawn)


class Refusal(Exception):
    """The fake framework does not take a call's arguments."""


class Array:
    """Counts its bytes with the framework for as long as it lives."""

    def __init__(self, framework, shape, dtype="float32"):
        self.framework, self.shape, self.dtype = framework, shape, dtype
        self.nbytes = 4 * prod(shape)
        framework.allocate(self.nbytes)

    def __del__(self):
        self.framework.allocate(-self.nbytes)


def like(array):
    return Array(array.framework, array.shape, array.dtype)


def needs_floats(array):
    if not array.dtype.startswith("float"):
        raise Refusal(f"expected floats, got {array.dtype}")
    return like(array)


def refuse(message):
    raise Refusal(message)


def fail(array):
    raise RuntimeError("bad luck,\nover two lines")


def with_workspace(array):
    workspace = Array(array.framework, (10, *array.shape))  # noqa: F841
    return like(array)


def die(number):
    print("about to die", file=sys.stderr, flush=True)
    os.kill(os.getpid(), number)
    time.sleep(60)


def prints(array):
    print("printed by Python", flush=True)
    os.write(1, b'{"type": "measured"}\n')
    return like(array)


UNARY = {
    "relu": like,
    "negative": like,
    "rounded": like,
    "needs_floats": needs_floats,
    "refuses": lambda array: refuse("shapes do not match"),
    "gpu_only": lambda array: refuse("only on GPU"),
    "fails": fail,
    "with_workspace": with_workspace,
    "segfaults": lambda array: die(signal.SIGSEGV),
    "is_killed": lambda array: die(signal.SIGKILL),
    "hangs": lambda array: time.sleep(3600),
    "exits": lambda array: sys.exit(7),
    "leaves": lambda array: os._exit(8),
    "prints": prints,
    "placeholder": like,
    "dropout": like,
}


def fragile(array):
    """Takes vectors only; a matrix ends the process."""
    return die(signal.SIGSEGV) if len(array.shape) == 2 else needs_vector(array)


def needs_vector(array):
    if len(array.shape) != 1:
        raise Refusal(f"expected a vector, got {array.shape}")
    return like(array)


def flaky(array):
    """Removes the file that FAKE_FLAKY names and ends the process, if there is one."""
    file = Path(os.environ.get("FAKE_FLAKY", "/nowhere"))
    if file.exists():
        file.unlink()
        die(signal.SIGSEGV)
    return like(array)


MOODY = {"flaky": flaky}
"""Operators whose result differs between calls."""

UNRULED = {
    "mystery": like,
    "needs_vector": needs_vector,
    "fragile": fragile,
    "stubborn": lambda array: refuse("never"),
}
"""Operators with a parameter that no rule knows."""

KEPT = []


def keeps(array):
    """An operator with workspace that is kept for later calls."""
    KEPT.append(like(array))
    return like(array)


def counts(array):
    """Returns as many elements as it was called times in this process."""
    KEPT.append(array)
    return Array(array.framework, (len(KEPT),))


def hangs_once(array):
    """Writes its process to the file that FAKE_HANGS_ONCE names and hangs, if there is none."""
    file = Path(os.environ["FAKE_HANGS_ONCE"])
    if not file.exists():
        file.write_text(f"{os.getpid()}\n")
        time.sleep(3600)
    return like(array)


UNLISTED = {"keeps": keeps, "counts": counts, "hangs_once": hangs_once}
"""Operators that are in no list of the registry."""

OPTIONS = {
    "gear": Parameter("gear", Kind.ENUM, False, "low", ("high", "low", "middle", "reverse")),
    "turbo": Parameter("turbo", Kind.BOOL, False, "0"),
}
"""Parameters of the operator `geared`, which the registry has if FAKE_OPTIONS is set."""

NO_GRADIENT = {"rounded": "its gradient is zero everywhere"}


def parameter(name, kind=Kind.TENSOR, required=True):
    return Parameter(name=name, kind=kind, required=required)


def operator(name, parameters, category="unary", aliases=(), namespaces=("nd",)):
    return Operator(
        framework="fake",
        namespace=namespaces[0],
        name=name,
        aliases=aliases,
        namespaces=namespaces,
        parameters=tuple(parameters),
        category=category,
    )


ALIASES = {"negative": ("neg", "_np_negative")}

OPERATORS = tuple(
    sorted(
        [
            operator(
                name,
                [parameter("data")],
                aliases=ALIASES.get(name, ()),
                namespaces=("nd", "np") if name in ALIASES else ("nd",),
            )
            for name in UNARY
        ]
        + [
            operator("add", [parameter("lhs"), parameter("rhs")], "binary"),
            operator("add_n", [parameter("args", Kind.TENSORS), parameter("weight")], "binary"),
            operator("copyto", [parameter("data")], "copying", namespaces=("internal",)),
        ]
        + [
            operator(name, [parameter("data"), parameter("charm", Kind.INT)], "odd")
            for name in UNRULED
        ]
        + [operator(name, [parameter("data")], "moody") for name in MOODY]
        + [
            operator("geared", [parameter("data"), *OPTIONS.values()], "odd")
            for _ in range("FAKE_OPTIONS" in os.environ)
        ],
        key=lambda made: made.name,
    )
)


class FakeNaming(capabilities.Naming):
    def registered(self):
        return 2 * len(OPERATORS)

    def callable_target(self, path):
        if not path.startswith("fake."):
            raise UnknownOperatorError(f"{path}: no such function")
        return CallableTarget(framework="fake", path=path)


class FakeDeviceMemory(capabilities.DeviceMemory):
    def available(self, device):
        return self.framework.free

    @contextmanager
    def measure(self, device):
        reading, fake = Reading(), self.framework
        begin = fake.peak = fake.level
        yield reading
        reading.peak_bytes, reading.kept_bytes = fake.peak - begin, fake.level - begin


class FakeArrays(call_capabilities.Arrays):
    def array_type(self, target):
        return "np" if isinstance(target, CallableTarget) else ""

    def copy_to_device(self, value, spec, device):
        self.framework.calls.append(("adopt", value))
        return Array(self.framework, spec.shape, spec.dtype)

    def extents(self, values):
        listed = values if isinstance(values, list | tuple) else [values]
        found = [one for one in listed if isinstance(one, Array)]
        inner = [one for one in listed if isinstance(one, list | tuple)]
        return [
            *(Extent(one.nbytes, id(one), id(one) + 1) for one in found),
            *(extent for one in inner for extent in self.extents(one)),
        ]


class FakeModes(call_capabilities.Modes):
    def compilation(self, case):
        return {"graph_breaks": 2, "recompilations": 1}


class FakeDifferentiation(call_capabilities.Differentiation):
    supported = True

    def gradient(self, case, call, inputs):
        if case.label in NO_GRADIENT:
            raise NoGradientError(NO_GRADIENT[case.label])
        if not inputs:
            raise NoGradientError("none of its inputs takes a gradient")
        made = FakeGradient(self.framework, call, inputs)
        made.record()
        made.backward()
        return made


class FakeRecordings(call_capabilities.Recordings):
    def source(self, case, arguments, call):
        return f"fake.{case.label}({', '.join(arguments)})\n"


class FakeInference(call_capabilities.Inference):
    def output_shapes(self, case):
        return self.framework.outputs


class FakeBuildInfo(capabilities.BuildInfo):
    unavailable = re.compile("only on GPU")

    def features(self):
        return {"CUDA": False}

    def large_tensor_limit(self):
        return "" if self.framework.int64 else "the fake counts to 2**31; use a real one"


class FakeProcesses(capabilities.Processes):
    variables = ("FAKE_THREADS",)

    def supports_fork(self, device):
        return os.environ.get("FAKE_FORKS") == "1"

    def option(self, name, text):
        value = option_value(name, text)
        return lambda: STRETCH.update({name: value})


class FakeProfilers(capabilities.Profilers):
    def own(self):
        return {"native": lambda device: FakeProfiler(self.framework)}


class FakeFramework(Framework):
    name = "fake"
    rules = "fake_rules"
    dtypes = ("float32", "float64", "int32")
    capabilities = (
        *(FakeNaming, FakeDeviceMemory, FakeArrays, FakeModes, FakeDifferentiation),
        *(FakeRecordings, FakeInference, FakeBuildInfo, FakeProcesses, FakeProfilers),
    )

    def __init__(self):
        super().__init__()
        self.calls = []
        self.free = 2**40
        self.int64 = False
        self.outputs = None
        self.bound = ""
        self.level = self.peak = 0

    def allocate(self, count):
        self.level += count
        self.peak = max(self.peak, self.level)

    def version(self):
        return "1.0"

    def devices(self):
        return ("cpu(0)", "gpu(0)", "gpu(1)")[: 3 if "FAKE_GPU" in os.environ else 1]

    def parse_device(self, text):
        if text in self.devices():
            return text
        if text.startswith("gpu"):
            raise DeviceError(f"{text}: the fake has no GPU", "gpu(0)")
        if not text.startswith("cpu"):
            raise UsageError(f"unknown device {text!r}")
        return "cpu(0)"

    def operators(self):
        return OPERATORS

    def signature(self, target, function=None):
        return self.resolve(target.label)

    def tensor(self, spec, device, seed):
        return Array(self, spec.shape, spec.dtype)

    def bind(self, case, arguments, function=None):
        name = case.target.name if isinstance(case.target, OperatorTarget) else case.label
        called = function or (UNARY | UNRULED | MOODY | UNLISTED).get(name)
        if arguments.get("gear") == "reverse":
            called = UNARY["refuses"]
        chosen = [f"{one}:{arguments[one]}" for one in OPTIONS if one in arguments]
        self.bound = " ".join([name, *chosen])

        def call():
            self.calls.append("call")
            first = next(iter(arguments.values()))
            first = first[0] if isinstance(first, list) else first
            return called(first) if called else like(first)

        return call

    @contextmanager
    def scope(self, case):
        self.calls.append(("scope", case.settings.phase))
        yield

    def synchronize(self, device):
        self.calls.append("wait")

    def refusal(self, error):
        return str(error) if isinstance(error, Refusal) else None


class Reading:
    peak_bytes = kept_bytes = 0
    reserved_bytes = None


class FakeGradient:
    """Keeps the output of the recorded call, and a gradient for every input."""

    def __init__(self, framework, call, inputs):
        self._framework, self._call = framework, call
        self._gradients = [like(array) for array in inputs]
        self._output = None

    def record(self):
        self._framework.calls.append("record")
        self._output = self._call()

    def backward(self):
        self._framework.calls.append("backward")


class FakeProfiler:
    """The fake framework's own profiler: runs the phases and returns made-up times."""

    def __init__(self, framework):
        self._framework, self._calls = framework, framework.calls

    kind = MetricKind.KERNEL
    resolution_ns = 1.0

    def trace(self, phases, count, loops=1):
        self._calls.append(("trace", len(phases), count))
        for _ in range(count * loops):
            for phase in phases:
                phase()
        factor = luck(self._framework.bound)
        each = itertools.cycle((factor * FORWARD_NS, factor * BACKWARD_NS))
        times = [[time] * count for time, _ in zip(each, phases, strict=False)]
        return [
            PhaseTimes(kernel, [WALL_FACTOR * time for time in kernel], kernel) for kernel in times
        ]


def framework():
    return FakeFramework()


def chatty():
    print("a banner on standard output")
    return FakeFramework()


def dying():
    die(signal.SIGABRT)


def refusing():
    raise DeviceError("the driver is too old; install a newer one")
