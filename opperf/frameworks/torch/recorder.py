"""Records the calls of a program that uses PyTorch, by a dispatch mode: what reaches it are the
operators below autograd, each with its tensors, those of the backward pass and of optimizers
included.

A call of the backward pass has the site of the forward call whose node of autograd it computes.
Autograd numbers its nodes; a node's number is known before the forward call, and while it is
evaluated.
"""

from __future__ import annotations

import itertools
import re
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.optim import optimizer as optimizers

from opperf.errors import UnsupportedError
from opperf.frameworks.base import CallArguments
from opperf.frameworks.calls import (
    BACKWARD,
    FORWARD,
    Calls,
    EndStep,
    RecordedCall,
    Recorder,
    Site,
    Sites,
    caller,
)
from opperf.frameworks.flow import CUT, MOST_KEPT
from opperf.frameworks.timing import program_name
from opperf.frameworks.torch import private
from opperf.frameworks.torch.flow import TorchFlow
from opperf.frameworks.torch.recorded_calls import describe, key_of, name_of
from opperf.frameworks.user_modules import after_import

MOST_NODES = 2**18
"""Nodes of autograd whose sites are kept: more than one step has, and some 50 MB."""

IGNORED = frozenset({"profiler"})
"""Namespaces of what computes nothing."""

PLAIN_TYPES = frozenset({torch.Tensor, torch.nn.Parameter})


class TorchRecorder(Recorder):
    """Records PyTorch's calls of the thread that begins the recording, and of its backward
    passes."""

    def __init__(self, calls: Calls, end_step: EndStep) -> None:
        super().__init__(calls, end_step)
        self.sites = TorchSites()
        self._mode = make_mode(calls, self.sites)
        self._hooks: list[Any] = []
        self._of_modules: list[Any] = []
        self._compiled = CompiledPrograms(calls, self.sites, self.sites.current, self._compiled_ran)
        self._is_cut = False
        """Whether the flow of tensors was too long to be kept."""
        self._cancel: Callable[[], None] = lambda: None

    def install(self) -> None:
        before = optimizers.register_optimizer_step_pre_hook
        after = optimizers.register_optimizer_step_post_hook
        self._hooks = [before(self._before_step), after(self._after_step)]
        self._cancel = after_import(COMPILED_CODE, self._compiled.watch)

    def _before_step(self, optimizer: Any, *_: Any) -> None:
        self.sites.optimizing = True

    def _after_step(self, optimizer: Any, *_: Any) -> None:
        self.sites.optimizing = False
        self.end_step(optimizer)

    def begin(self) -> None:
        # Here it is in no step of the program.
        private.import_early(private.OF_MODES)
        # About the hooks that follow, which are not the program's.
        warnings.filterwarnings("ignore", "Using `torch.compile.module.` when there are global")
        modules = torch.nn.modules.module
        before = modules.register_module_forward_pre_hook(self.sites.before_module)
        after = modules.register_module_forward_hook(self.sites.after_module, always_call=True)
        self._of_modules = [before, after]
        self._compiled.counting = True
        self._mode.recording = True
        self._mode.__enter__()

    def begin_flow(self) -> None:
        # Without it there are no chains, and all else.
        self._mode.flow = TorchFlow() if private.STORAGE.find() else None
        self.calls.chains = []

    def end_flow(self) -> None:
        flow, self._mode.flow = self._mode.flow, None
        if flow is not None:
            self.calls.chains, self._is_cut = flow.chains(), flow.is_cut

    def _compiled_ran(self, site: Site, values: Any) -> None:
        if self._mode.flow is not None:
            self._mode.flow.add_unknown(site, values)

    def notes(self) -> tuple[str, ...]:
        return (CUT.format(MOST_KEPT),) if self._is_cut else ()

    def end(self) -> None:
        self._mode.recording = False
        self._compiled.counting = False
        stack = private.DISPATCH_MODE.get()
        # A mode of the program's that lies above it ends first.
        if stack() is self._mode:
            self._mode.__exit__(None, None, None)
        for hook in self._of_modules:
            hook.remove()
        self.sites.clear()

    def wait(self) -> None:
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()

    def remove(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._cancel()
        self._compiled.remove()


def make_mode(calls: Calls, sites: TorchSites) -> Any:
    """Returns a dispatch mode that adds to the calls. Raises `UnsupportedError` if this version of
    PyTorch has none."""
    # In its own dict PyTorch finds what its compiler has to leave alone.
    own = {"__torch_dispatch__": Handler.__torch_dispatch__}
    made = type("RecordingMode", (Handler, private.MODE.get()), own)()
    made.calls, made.sites = calls, sites
    return made


class Handler:
    """Sees each call of an operator, makes it, and adds it to the calls."""

    # Without it, PyTorch refuses those that take functions.
    supports_higher_order_operators = True
    recording = False
    flow: TorchFlow | None = None
    """While it is kept."""
    calls: Calls
    sites: TorchSites

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        # Compiled functions stay compiled.
        return True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        named = kwargs or {}
        if not self.recording:
            return func(*args, **named)
        if types and not PLAIN_TYPES.issuperset(types):
            # The class of a tensor has its own meaning of the operator, whose calls come next.
            return NotImplemented
        calls = self.calls
        if not private.is_overload(func):
            calls.number += 1
            calls.refuse(str(func), "it takes functions, and is no operator with a schema")
            if self.flow is not None:
                self.flow.add_unknown(self.sites.current(), (args, named))
            return func(*args, **named)
        if func.namespace in IGNORED:
            return func(*args, **named)
        calls.number += 1
        site = self.sites.current()
        key = key_of(func, args, named)
        found = calls.known.get(key)
        if found is None:
            try:
                without = key_of(func, args, named, numbers=False)
                found = calls.begin(key, without, lambda: describe(func, args, named))
            except UnsupportedError as error:
                calls.refuse(name_of(func), str(error))
        flow = self.flow
        # A call may give an argument another storage.
        taken = None if flow is None else flow.taken(func, args, named)
        if not calls.timed or found is None:
            result = func(*args, **named)
            if found is not None:
                found.add(site)
        else:
            result = self._timed(found, site, func, args, named)
        if flow is not None and taken is not None:
            flow.add(func, found, site, taken, result)
        return result

    @staticmethod
    def _timed(
        found: RecordedCall, site: Site, func: Any, args: tuple[Any, ...], named: CallArguments
    ) -> Any:
        wait = torch.cuda.synchronize if torch.cuda.is_initialized() else None
        if wait is not None:
            wait()
        begun = time.perf_counter_ns()
        result = func(*args, **named)
        if wait is not None:
            wait()
        found.add(site, time.perf_counter_ns() - begun)
        return result


class TorchSites(Sites):
    """Knows also of the calls of a backward pass."""

    def __init__(self) -> None:
        super().__init__(str(torch.__file__), _parts)
        self._backward: dict[tuple[Site, str], Site] = {}
        """Of a forward site that of its backward calls in a compiled program."""
        self._by_node: dict[int, Site] = {}
        self._number = 0
        """Number of the next node at the last call."""
        self._node: Callable[[], Any] = private.CURRENT_NODE.get()
        self._next_number: Callable[[], int] = private.SEQUENCE_NUMBER.get()

    def clear(self) -> None:
        super().clear()
        self._by_node.clear()

    def before_module(self, module: torch.nn.Module, *_: Any) -> None:
        """A hook: a module is called."""
        # The hook would be a part of what is compiled, and is not to be.
        if not torch.compiler.is_compiling():
            self.enter(module, caller(), self._node() is not None)

    def after_module(self, *_: Any) -> None:
        """A hook: the call of a module ends, or failed."""
        if not torch.compiler.is_compiling():
            self.leave()

    def current(self) -> Site:
        """Returns the site of the call that the dispatch mode handles."""
        node = self._node()
        inner = self.innermost
        if node is None or (inner is not None and inner.is_backward):
            # In the backward pass it is computed again, for a checkpoint.
            site = self.at(caller(), FORWARD if node is None else BACKWARD)
            self._note_nodes(site)
            return site
        of_forward = self._by_node.get(private.number_of(node))
        if of_forward is not None:
            self._note_nodes(of_forward)
            key = (of_forward, self.program)
            if key not in self._backward:
                made = of_forward._replace(phase=BACKWARD, program=self.program)
                self._backward[key] = made
            return self._backward[key]
        variable = private.variable_of(node)
        module = "" if variable is None else self.path_of(variable)
        return self.of(module, self.frames.find(caller()), BACKWARD)

    def _note_nodes(self, site: Site) -> None:
        """Notes the site of the nodes that autograd has made since the last call: they are those
        of the call that is made now."""
        number = self._next_number()
        if number == self._number:
            return
        # A thread has its own numbers.
        for made in range(max(self._number, number - MOST_OF_A_CALL), number):
            self._by_node[made] = site
        self._number = number
        if len(self._by_node) > MOST_NODES:
            for made in list(itertools.islice(self._by_node, MOST_NODES // 2)):
                del self._by_node[made]


def _parts(outermost: torch.nn.Module) -> Iterator[tuple[object, str]]:
    first = type(outermost).__name__
    for name, module in outermost.named_modules():
        path = f"{first}.{name}" if name else first
        yield module, path
        for parameter in module.parameters(recurse=False):
            yield parameter, path


MOST_OF_A_CALL = 8
"""Nodes of one call: one, and those of views that no call is made for."""


COMPILED_CODE = "torch._inductor.output_code"
"""The module of the programs that `torch.compile` makes."""

KERNEL = re.compile(r"cpp_\w*_\d+")
"""Names of the functions of a compiled program's module that are its kernels on a CPU, which return
when they are done."""


class CompiledPrograms:
    """Adds the runs of these programs to the calls, and the time of their kernels where calls are
    timed."""

    def __init__(
        self,
        calls: Calls,
        sites: Sites,
        site_now: Callable[[], Site],
        ran: Callable[[Site, Any], None],
    ) -> None:
        """`site_now` returns the site of what is called now; `ran` takes that of a program, and
        what it was given."""
        self.counting = False
        self._ran = ran
        self._calls, self._sites, self._site_now = calls, sites, site_now
        self._replaced: list[tuple[dict[str, Any], str, Any]] = []
        """Of each kernel that is timed the names of its module, its own, and the kernel."""
        self._seen: set[int] = set()
        """Identities of the modules' names whose kernels are timed."""
        self._restore: Callable[[], None] = lambda: None

    def watch(self) -> None:
        """Watches the programs, once their module is imported."""
        kind = private.COMPILED_PROGRAM.find()
        if kind is None:
            return
        original = kind.__call__

        def call(program: Any, *args: Any, **named: Any) -> Any:
            if not self.counting:
                return original(program, *args, **named)
            return self._run(program, lambda: original(program, *args, **named), args)

        def restore() -> None:
            kind.__call__ = original

        kind.__call__, self._restore = call, restore

    def remove(self) -> None:
        """Ends watching."""
        self._restore()
        for names, name, kernel in self._replaced:
            names[name] = kernel

    def _run(self, program: Any, run: Callable[[], Any], given: Any) -> Any:
        site, outer = self._site_now(), self._sites.program
        self._ran(site, given)
        if self._calls.timed:
            self._time_kernels(program)
        is_async = torch.cuda.is_initialized()
        if is_async and self._calls.timed:
            torch.cuda.synchronize()
        self._sites.program = _name(site)
        begun = time.perf_counter_ns()
        try:
            result = run()
            if is_async and self._calls.timed:
                torch.cuda.synchronize()
        finally:
            elapsed = time.perf_counter_ns() - begun
            is_known = self._calls.timed or not is_async
            self._calls.compiled.add(self._sites.program, elapsed if is_known else None)
            self._sites.program = outer
        return result

    def _time_kernels(self, program: Any) -> None:
        names = private.names_of(program)
        if id(names) in self._seen:
            return
        self._seen.add(id(names))
        for name, kernel in list(names.items()):
            if KERNEL.fullmatch(name) and callable(kernel):
                self._replaced.append((names, name, kernel))
                names[name] = self._timed(name, kernel)

    def _timed(self, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            begun = time.perf_counter_ns()
            result = kernel(*args)
            if self.counting:
                elapsed = time.perf_counter_ns() - begun
                self._calls.compiled.add_kernel(self._sites.program, name, elapsed)
            return result

        return call


def _name(site: Site) -> str:
    name = program_name(site.module or site.function, site.file, site.line)
    return name if site.phase == FORWARD else f"{name} {site.phase}"
