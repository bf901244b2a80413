"""The process that runs a candidate, or a reference: it calls a function with the inputs that the
judge has put into memory, and says where the results are. It neither times nor compares, as the
candidate's code could change what it does."""

from __future__ import annotations

import copy
import mmap
import os
import random
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from types import ModuleType
from typing import Any

import msgspec
import numpy as np

from opperf.candidates import protocol
from opperf.candidates.protocol import Layout, Output, Place
from opperf.dtypes import is_floating
from opperf.errors import UsageError
from opperf.frameworks import Framework
from opperf.frameworks.base import CPU
from opperf.model import Case, FileTarget, Fill, Settings, TensorSpec
from opperf.processes.channel import Answer, Channel, Refusal, Request
from opperf.worker.process_state import PARTS

MODES = ("its cores", "its priority", "garbage collection", "denormal", "a tracer")
"""Beginnings of the parts of a process that decide how fast it computes, and how precisely."""

WATCHED = ("time", "statistics", "math", "gc", "os", "threading", "numpy", "numpy.testing")
"""Modules whose functions a candidate may not replace, beside those of its framework."""

INSIDE = ("", ".cuda", ".testing", ".cuda.streams", ".utils.benchmark")
"""Modules of a framework, likewise."""

SEEDS = 2**32

BUILD_SEED = 42
"""Before a class is built; as KernelBench's."""


class Host:
    """Answers the judge's requests."""

    def __init__(self, framework: Framework, memory: mmap.mmap) -> None:
        self._framework, self._memory = framework, memory
        self._synchronize: Callable[[str], None] = framework.synchronize
        self._head = memoryview(memory)[: protocol.HEAD_BYTES].cast("q")
        self._function: Callable[..., Any] = len
        self._arguments: Lazily | list[tuple[Any, ...]] = []
        self._results: list[Any] = []
        self._kept: list[Any] = []
        self._layout = Layout((), ())
        self._gradients = False
        self._plain = type(self._tensor(np.zeros(1, np.float32), "float32"))
        self._before = self._state()
        self._names = {name: dict(vars(module)) for name, module in self._watched()}

    def answer(self, request: Request[Any]) -> Any:
        """Returns the answer to a request. Raises what the user's code raises."""
        return ANSWERS[type(request).__name__](self, request)

    def load(self, request: protocol.Load) -> None:
        target = FileTarget(self._framework.name, request.file, request.function)
        with self._framework.naming.importing():
            self._function = self._framework.function(target)
        if isinstance(self._function, type):
            # Alike for the reference and all that replace it: weights of one seed are equal.
            self._seed(BUILD_SEED)
            self._function = self._function()

    @cached_property
    def _wide(self) -> Callable[..., Any]:
        """The function for inputs in float64."""
        own: Any = self._function
        wide: Callable[..., Any] = copy.deepcopy(own).double() if hasattr(own, "double") else own
        return wide

    def make(self, request: protocol.Make) -> Layout:
        made = self._framework.function(
            FileTarget(self._framework.name, request.file, request.function)
        )
        layout = Layout((), ())
        for slot, seed in enumerate(request.seeds):
            self._seed(seed)
            arrays: list[tuple[Any, str]] = []
            arguments = tuple(self._written(each, arrays) for each in made(seed, **request.trial))
            own = Layout(_places(arrays), arguments)
            if slot and own != layout:
                raise UsageError(
                    f"{request.function} returns other shapes or values for another seed; make "
                    "them a trial's"
                )
            layout = own
            for place, (numbers, _) in zip(own.tensors, arrays, strict=True):
                bytes_ = protocol.encoded(numbers, place.dtype)
                self._slot(layout, slot, place)[:] = bytes_
        return layout

    def _seed(self, seed: int) -> None:
        random.seed(seed)
        np.random.seed(seed % SEEDS)
        self._framework.processes.seed(seed)

    def _written(self, value: Any, arrays: list[tuple[Any, str]]) -> list[Any]:
        contents = self._framework.arrays.contents(value)
        if contents is None and isinstance(value, np.ndarray):
            raise UsageError(f"an input is an array of NumPy, and none of {self._framework.name}")
        if contents is not None:
            if "cpu" not in str(getattr(value, "device", CPU)).lower():
                raise UsageError(f"an input is on {value.device}; candidates are judged on the CPU")
            arrays.append((contents.numbers(1).reshape(contents.shape), contents.dtype))
            return ["t", len(arrays) - 1]
        if isinstance(value, (list, tuple)):
            kind = "u" if isinstance(value, tuple) else "l"
            return [kind, *(self._written(each, arrays) for each in value)]
        if value is None or isinstance(value, (bool, int, float, str)):
            return ["v", value]
        raise UsageError(
            f"an input is a {type(value).__name__}; it has to be a tensor, a number, a text, or a "
            "list of these"
        )

    def _slot(self, layout: Layout, slot: int, place: Place) -> Any:
        begin = protocol.HEAD_BYTES + slot * layout.bytes + place.offset
        return np.frombuffer(self._memory, np.uint8, place.bytes, begin)

    def bind(self, request: protocol.Bind) -> None:
        self._layout, self._gradients = request.layout, request.gradients
        self._results.clear()
        self._kept.clear()
        # Where they are copies, they are made for each call, so that no earlier work knows them.
        made = Lazily(partial(self._arguments_of, wide=False))
        is_shared = self._framework.arrays.shared(np.zeros(1, np.float32), "float32") is not None
        self._arguments = [made[slot] for slot in range(request.slots)] if is_shared else made

    def _arguments_of(self, slot: int, wide: bool) -> tuple[Any, ...]:
        arrays = []
        for place in self._layout.tensors:
            data = self._slot(self._layout, slot, place)
            stored = data.view(protocol.STORED.get(place.dtype, place.dtype)).reshape(place.shape)
            if wide and is_floating(place.dtype):
                numbers = protocol.decoded(data, place.dtype, place.shape).astype(np.float64)
                arrays.append(self._tensor(numbers, "float64"))
            else:
                shared = self._framework.arrays.shared(stored, place.dtype)
                numbers = protocol.decoded(data, place.dtype, place.shape)
                made = self._tensor(numbers, place.dtype) if shared is None else shared
                arrays.append(made)
        arguments = tuple(_read(each, arrays) for each in self._layout.arguments)
        if not self._gradients:
            return arguments
        pairs = zip(self._layout.tensors, arrays, strict=True)
        inputs = [made for place, made in pairs if is_floating(place.dtype)]
        case = Case(FileTarget(self._framework.name, "", ""), {}, Settings())
        call = partial(self._wide if wide else self._function, *arguments)
        return (self._framework.gradients.gradient(case, call, inputs),)

    def _tensor(self, numbers: Any, dtype: str) -> Any:
        spec = TensorSpec(numbers.shape, dtype, fill=Fill("given", dtype=dtype))
        return self._framework.arrays.copy_to_device(numbers, spec, CPU)

    def run(self, request: protocol.Run) -> int:
        self._results.clear()
        self._kept.clear()
        arguments = self._arguments
        if request.wide:
            arguments = Lazily(partial(self._arguments_of, wide=True))
        own = self._wide if request.wide else self._function
        function = _differentiate if self._gradients else own
        keep, place, head = self._results.append, self._place, self._head
        made = 0
        for done, slot in enumerate(request.slots):
            head[0] = done
            result = function(*arguments[slot])
            keep(result)
            for part in _parts(result):
                made += 1
                head[made] = place(part)
        self._synchronize(CPU)
        head[0] = len(request.slots)
        return made

    def _place(self, value: Any) -> int:
        """Returns the address of a result's numbers, which are converted if they are not there."""
        found = self._framework.arrays.address(value)
        if found is not None:
            return found
        contents = (
            None if type(value) is not self._plain else self._framework.arrays.contents(value)
        )
        if contents is None:
            if not isinstance(value, (bool, int, float, complex, np.generic)):
                return 0
            array = np.asarray(value).reshape(1)
        else:
            array = contents.numbers(1)
        self._kept.append(array)
        return int(array.__array_interface__["data"][0])

    def look(self, request: protocol.Look) -> list[list[Output]]:
        return [
            [self._described(each) for each in _parts(self._results[call])]
            for call in request.calls
        ]

    def _described(self, value: Any) -> Output:
        if isinstance(value, (bool, int, float, complex, np.generic)):
            name = np.asarray(value).dtype.name
            return Output((), name, name)
        if type(value) is not self._plain:
            is_derived = isinstance(value, self._plain)
            how = "a class derived from" if is_derived else "no"
            words = f"a {type(value).__name__}, {how} {self._plain.__name__}"
            return Output((), "", "", words, is_derived)
        own = vars(value) if hasattr(value, "__dict__") else {}
        if own:
            return Output((), "", "", f"a tensor with {next(iter(own))} of its own", True)
        contents = self._framework.arrays.contents(value)
        assert contents is not None
        stored = contents.dtype
        if self._framework.arrays.address(value) is None:
            stored = contents.numbers(1).dtype.name
        return Output(tuple(contents.shape), contents.dtype, protocol.STORED.get(stored, stored))

    def called(self, request: protocol.Called) -> tuple[str, ...]:
        function = _differentiate if self._gradients else self._function
        return self._framework.recordings.called(partial(function, *self._arguments[0]))

    def changed(self, request: protocol.Changed) -> list[str]:
        now = self._state()
        left = [what for what, value in self._before.items() if now[what] != value]
        for name, module in self._watched():
            for key, value in self._names.get(name, {}).items():
                now_there = vars(module).get(key)
                if callable(value) and now_there is not value and not _is_own(now_there, module):
                    left.append(f"{name}.{key} replaced")
        return left

    def _state(self) -> dict[str, Any]:
        numerics = self._framework.processes.numerics()
        return {
            **{part.left: part.read() for part in PARTS if part.left.startswith(MODES)},
            "the number of threads changed": self._framework.processes.threads(),
            **{f"its {name} changed": value for name, value in numerics.items()},
        }

    def _watched(self) -> Iterator[tuple[str, ModuleType]]:
        own = [f"{root}{inside}" for root in self._framework.naming.roots for inside in INSIDE]
        for name in (*WATCHED, *own):
            if name in sys.modules:
                yield name, sys.modules[name]


ANSWERS: Mapping[str, Callable[[Host, Any], Any]] = {
    "Load": Host.load,
    "Make": Host.make,
    "Bind": Host.bind,
    "Run": Host.run,
    "Look": Host.look,
    "Called": Host.called,
    "Changed": Host.changed,
}


class Lazily:
    """The arguments of slots, each made when it is needed."""

    def __init__(self, made: Callable[[int], tuple[Any, ...]]) -> None:
        self._made = made

    def __getitem__(self, slot: int) -> tuple[Any, ...]:
        return self._made(slot)


def _is_own(value: Any, module: ModuleType) -> bool:
    """Whether a function is of a module's package, which wraps some as it imports others."""
    root = sys.modules[module.__name__.partition(".")[0]]
    file = str(getattr(getattr(value, "__code__", None), "co_filename", ""))
    return any(map(file.startswith, getattr(root, "__path__", ())))


def _differentiate(gradient: Any) -> list[Any]:
    gradient.record()
    return [each for each in gradient.read(gradient.backward()) if each is not None]


def _places(arrays: Sequence[tuple[Any, str]]) -> tuple[Place, ...]:
    places: list[Place] = []
    offset = 0
    for numbers, dtype in arrays:
        place = Place(tuple(numbers.shape), dtype, offset)
        offset = -(-(offset + place.bytes) // protocol.ALIGNMENT) * protocol.ALIGNMENT
        places.append(place)
    return tuple(places)


def _read(written: Sequence[Any], arrays: Sequence[Any]) -> Any:
    kind, *rest = written
    if kind in ("t", "v"):
        return arrays[rest[0]] if kind == "t" else rest[0]
    values = [_read(each, arrays) for each in rest]
    return tuple(values) if kind == "u" else values


def _parts(result: Any) -> Sequence[Any]:
    if isinstance(result, (tuple, list)):
        return result
    return list(result.values()) if type(result) is dict else (result,)


def serve(framework: Framework, connection: socket.socket, memory: int, size: int) -> None:
    """Answers requests until the judge ends this process."""
    host = Host(framework, mmap.mmap(memory, size))
    os.close(memory)
    stream: Any = connection.makefile("rwb", buffering=0)
    channel = Channel(stream, stream)
    decoders = {name: msgspec.json.Decoder(getattr(protocol, name)) for name in ANSWERS}
    encode = msgspec.json.Encoder().encode
    for line in channel.lines():
        kind, _, document = line.partition(b" ")
        request = decoders[kind.decode()].decode(document)
        try:
            reply: Any = Answer(msgspec.Raw(encode(host.answer(request))))
        except Exception as error:
            reply = Refusal.of(error)
        channel.send(reply)
