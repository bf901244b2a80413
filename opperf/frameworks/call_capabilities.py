"""The capabilities of a framework that concern calls, their arrays and passes, each with its
default. Like `capabilities`, which has the others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from opperf.errors import NoGradientError, UnsupportedError
from opperf.frameworks.base import (
    CallArguments,
    Constant,
    Contents,
    Extent,
    Gradient,
    Kept,
    Watched,
)
from opperf.frameworks.calls import Calls, EndStep, Recorder
from opperf.frameworks.core import Capability
from opperf.frameworks.replays import CallSequence, Group, Replayed
from opperf.model import Argument, Case, Chain, Note, Operator, Settings, Target, TensorSpec


class Arrays(Capability):
    """Operations on arrays. Default: one array type, no memory formats, no arrays of users."""

    memory_formats: tuple[str, ...] = ()
    """Names for `TensorSpec.memory_format` that `tensor` supports, beside the default."""

    def array_type(self, target: Target) -> str:
        """Returns the array type that the target takes, one of `TensorSpec.array_type`."""
        return ""

    def constant(self, value: Constant, device: str) -> Any:
        """Returns the framework's object for a plain value of a case. Raises `UnsupportedError`."""
        raise UnsupportedError(
            f"{self.framework.name} does not take a {type(value).__name__} as an argument"
        )

    def view(self, storage: Any, spec: TensorSpec) -> Any:
        """Returns a view of a one-dimensional tensor, as specified. Raises `UnsupportedError`."""
        raise UnsupportedError(f"{self.framework.name} does not support strides or shared storage")

    def describe(self, value: Any) -> TensorSpec | None:
        """Returns the spec of a tensor that a user passed; None for any other value. Raises
        `UsageError` for a tensor that no case can have."""
        return None

    def copy_to_device(self, value: Any, spec: TensorSpec, device: str) -> Any:
        """Returns a copy, on the device, of a user's array, in the spec's dtype if that has one."""
        raise UnsupportedError(f"{self.framework.name} takes shapes only, not arrays")

    def write(self, view: Any, value: Any, spec: TensorSpec) -> Any:
        """Returns a `view` with the contents of an array that a user passed."""
        raise UnsupportedError(f"{self.framework.name} does not support strides or shared storage")

    def memory_of(self, value: Any) -> int | None:
        """Returns what views of one memory have in common; None for an array that shares none."""
        return None

    def requires_gradient(self, value: Any) -> bool:
        """Whether the user has requested a gradient with respect to an array."""
        return False

    def narrowed(self, dtype: str, beside: Collection[str], settings: Settings) -> str:
        """Returns the dtype that an array of NumPy gets, beside arrays of other dtypes."""
        return dtype

    def contents(self, value: Any) -> Contents | None:
        """Returns what a tensor holds; None for any other value, and by default."""
        return None

    def shared(self, array: Any, dtype: str) -> Any:
        """Returns a tensor over the memory of an array of NumPy, whose bytes are elements of a
        dtype; None where a tensor has memory of its own."""
        return None

    def address(self, value: Any) -> int | None:
        """Returns the address of the elements of a tensor in the main memory; None for any other,
        and for one whose elements are not there as they are, one after the other."""
        return None

    def has_nan(self, outputs: Any) -> bool:
        """Whether any tensor of a call's results has a NaN."""
        return False

    def extents(self, values: Any) -> list[Extent]:
        """Returns the places in memory of the tensors among values. Tensors that share memory, as a
        view and its base, have addresses in common."""
        return []


class Modes(Capability):
    """Execution modes, and what compiles. Default: eager, without mixed precision."""

    names: tuple[str, ...] = ("eager",)
    """Its execution modes, the default one first."""
    autocast_dtypes: tuple[str, ...] = ()
    compiled: tuple[str, ...] = ()
    """Those of its `modes` that compile."""

    def compiles(self, mode: str) -> bool:
        """Whether a mode compiles, with whatever back end behind a colon."""
        return mode.partition(":")[0] in self.compiled

    def backends(self, mode: str) -> tuple[str, ...]:
        """Returns the back ends of a mode, which are named behind it and a colon. May import what
        knows them."""
        return ()

    def obstacle(self, mode: str) -> str:
        """Returns why this environment cannot run one of its modes; empty if it can."""
        return ""

    def compilation(self, call: Callable[[], Any]) -> Mapping[str, float]:
        """Returns the figures of compiling a case since its `scope` began, by the metric's name, in
        its unit. `call` is the result of `bind`, in one of the `compiled_modes`."""
        return {}

    def removed_work(
        self, case: Case, call: Callable[[], Any], gradient: Callable[[], Gradient] | None
    ) -> Sequence[Note]:
        """Returns notes on the passes most of whose work a compiler has removed. `call`, which was
        measured, is the result of `bind`, or a model; `gradient` makes its gradient, if that was
        measured."""
        return ()

    def repeated(self, call: Callable[[], Any]) -> Callable[[], Any]:
        """Returns the result of `bind` without the steps that only other measurements need."""
        return call

    def compiled_mark(self, case: Case) -> Path | None:
        """Returns the path of a file that says that a cache has the programs of a case, for all
        processes with this environment; None if it has none, or is not to be used."""
        return None

    def compile_ahead(self, call: Callable[[], Any], inputs: Sequence[Any]) -> None:
        """Compiles what a call runs and what its gradient with respect to `inputs` does, into the
        cache, without running them. Raises what the compiler raises."""

    def first_compile_ns(self, call: Callable[[], Any]) -> float:
        """Returns what compiling took of a call's first, in nanoseconds, without its gradient."""
        return 0.0

    def build(self, cases: Sequence[Case]) -> None:
        """Compiles together, as is quicker, what cases need. Errors are of the cases' records."""

    def drawing_as_eager(self, mode: str) -> AbstractContextManager[None] | None:
        """Returns a context in which what a mode compiles draws the random numbers that eager mode
        draws from the same seed; None if every mode does so, or none can."""
        return None


class Differentiation(Capability):
    """Gradients. Default: none."""

    supported: bool = False
    conjugated: bool = False
    """Whether gradients of complex numbers are the conjugates of PyTorch's."""

    def gradient(self, case: Case, call: Callable[[], Any], inputs: Sequence[Any]) -> Gradient:
        """Returns the call as a computation to differentiate, with respect to the tensors `inputs`.
        Raises `NoGradientError` if a trial shows that there is no gradient."""
        raise NoGradientError(f"{self.framework.name} does not compute gradients")

    def record_forward(self, case: Case, call: Callable[[], Any], inputs: Sequence[Any]) -> None:
        """Has calls, if the phase says so, record what gradients with respect to `inputs` need."""
        # The forward pass of a gradient is another computation.


class Recordings(Capability):
    """Calls that are recorded, written as scripts or replayed. Default: none."""

    def recorder(self, calls: Calls, end_step: EndStep) -> Recorder:
        """Returns what records the framework's calls in this process, and says when a step of an
        optimizer has ended. Raises `UnsupportedError`. Default: nothing sees them."""
        raise UnsupportedError(
            f"the calls of {self.framework.name} cannot be recorded: it has nothing that sees them"
        )

    def called(self, call: Callable[[], object]) -> tuple[str, ...]:
        """Returns the names of the operators that a call calls; empty where nothing sees them."""
        return ()

    def source(self, case: Case, arguments: CallArguments, call: Callable[[], Any]) -> str:
        """Returns a script of the case's tensors and its call. Raises `UnsupportedError`."""
        raise UnsupportedError(f"{self.framework.name} does not write scripts")

    def with_overload(self, case: Case) -> Case:
        """Returns a recorded call without an overload with the one that takes its arguments."""
        return case

    def chain_case(self, chain: Chain, cases: Mapping[str, Case]) -> Case:
        """Returns the case of a recorded chain as one function, in the mode that calls one operator
        after the other; `cases` are those of its calls, by `call_id`. Raises `UnsupportedError`."""
        raise UnsupportedError(f"{self.framework.name} makes no function of a chain of calls")

    def replay(self, case: Case, sequence: CallSequence, group: Group | None = None) -> Replayed:
        """Returns a recorded sequence of calls, ready to be replayed on the case's device. A call
        that fails is omitted. `group` are the processes that make collective operations together;
        None for this one alone. Raises `UnsupportedError`."""
        raise UnsupportedError(f"{self.framework.name} replays no traces")


class Inference(Capability):
    """Shapes and steps of operators, found without a call. Default: none."""

    def missing_kernel(self, operator: Operator, device: str) -> str:
        """Returns why a device cannot run an operator; empty if it can, or a call has to show."""
        return ""

    def output_shapes(self, case: Case) -> list[tuple[int, ...]] | None:
        """Returns the shapes of the case's outputs; None if only a call can show them."""
        return None

    def with_outputs(
        self, operator: Operator, arguments: Mapping[str, Argument]
    ) -> Mapping[str, Argument]:
        """Returns the arguments with tensors for the results. Raises `UnsupportedError`."""
        return arguments

    def returning(self, operator: Operator) -> Operator | None:
        """Returns the operator that returns what this one writes to tensors; None without one."""
        return None

    def fits_in_place(self, operator: Operator, arguments: Mapping[str, Argument]) -> bool:
        """Whether a result can be written to the argument it is for, as far as that is known."""
        return True

    def foreseen_refusal(self, case: Case) -> str:
        """Returns why a call would be refused; empty if only the call can show it."""
        return ""

    def with_inferred_shapes(self, case: Case) -> Case:
        """Returns the case with `UNKNOWN` shapes inferred. Raises `UnsupportedError`."""
        raise UnsupportedError(f"{self.framework.name} does not infer shapes")

    def callers(self, operator: Operator) -> tuple[Operator, ...] | None:
        """Returns the operators that this one is a step of, and has its inputs of, the nearest
        first; None for an operator that has inputs of its own."""
        return None

    def steps(
        self, caller: Operator, arguments: Mapping[str, Argument]
    ) -> Iterable[Mapping[str, Mapping[str, Argument]]]:
        """Returns, for each pass of a call, each operator's largest call in it, by name."""
        return ()

    def only_views(self, target: Target) -> bool:
        """Whether a target only makes a view of an argument, and computes nothing."""
        return False


class Restoring(Capability):
    """Arguments that a call writes to. Default: none is restored."""

    def restore(
        self, case: Case, arguments: CallArguments, call: Callable[[], Any]
    ) -> Callable[[], object] | None:
        """Returns a function that gives the arguments which a call writes to their contents of now;
        None if it writes to none, or only a call can show it."""
        return None

    def watch(self, target: Target, value: Any, call: Callable[[], Any]) -> Watched | None:
        """Returns an argument of a call, to see later whether the call wrote to it; else None."""
        return None

    def keep(self, value: Any) -> Kept | None:
        """Returns an array, or what else has contents that a user's code can change and that is no
        container, with a copy of them; else None."""
        return None

    def write_numbers(self, call: Callable[[], Any], tensor: Any, numbers: Any) -> Any:
        """Gives a dense tensor of a call other contents, an array of NumPy of its shape, and
        returns it, or a new one that the call has in its place. Raises `UnsupportedError`."""
        raise UnsupportedError(f"{self.framework.name} writes no other contents to a call's inputs")
