"""Observes a program's loaders, optimizers and functions, where it imports or defines them."""

from __future__ import annotations

import builtins
import functools
import importlib.machinery
import sys
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

MAIN = ("__main__", "main")
"""Names of the script, besides its own without the ending."""

OPTIMIZERS = "torch.optim.optimizer"
TENSORS, SCALERS = "torch._tensor", "torch.amp.grad_scaler"
"""Modules of PyTorch, in which a loss is seen where its gradients are computed."""


class ObservedIterable:
    """An iterable whose items are batches: a step lasts from one to the next. Each of its loops
    begins anew, so that what is between two loops is no step."""

    def __init__(self, iterable: Any, hooks: Hooks, is_clock: bool) -> None:
        self._iterable, self._hooks, self._is_clock = iterable, hooks, is_clock
        self._own: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        steps, count = self._hooks.steps, self._hooks.item_count
        if self._is_clock:
            steps.length = _length(self._iterable)
        batches = iter(self._iterable)
        if self._is_clock:
            steps.begin()
        for batch in batches:
            steps.items += count(batch)
            yield batch
            if self._is_clock:
                steps.end()

    def __next__(self) -> Any:
        if self._own is None:
            self._own = iter(self)
        return next(self._own)

    def __len__(self) -> int:
        return len(self._iterable)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterable, name)


def _length(iterable: Any) -> int | None:
    try:
        return len(iterable)
    except TypeError:
        return None


class Hooks:
    """Installs what observes. `observed` are kind, module and name of each; the first one is the
    clock, whose steps are timed. `rewrite` is that of the module of that name."""

    def __init__(
        self,
        observed: Iterable[tuple[str, str, str]],
        steps: Any,
        item_count: Callable[[Any], int],
        rewrite: Callable[..., Any],
    ) -> None:
        self._observed = [(kind, module, name) for kind, module, name in observed]
        self.steps, self.item_count, self._rewrite = steps, item_count, rewrite
        self.found: set[tuple[str, str, str]] = set()
        self._script = set(MAIN)
        self._unscaled: Any = None
        """The loss of which a gradient scaler has made another one; None without one."""
        steps.counts_items = any(kind == "loader" for kind, *_ in self._observed)

    def missing(self, in_script: bool = False) -> str:
        """Returns what the program did not have, in a sentence, or of it the script's own parts;
        empty if it had all."""
        names = [
            ":".join(filter(None, each))
            for each in self._observed
            if each not in self.found and (each[1] in self._script or not in_script)
        ]
        return f"the program has no {', '.join(names)}" if names else ""

    def install(self, script_module: str) -> None:
        """Makes the hooks work in all modules that are imported from now on. `script_module` is the
        name of the script without its ending."""
        self._script.add(script_module)
        vars(builtins).update(
            __opperf_loader__=self._loader_at,
            __opperf_class__=self._observe_class,
            __opperf_function__=self._observe_function,
        )
        wanted = {module for _, module, _ in self._observed if module} - self._script
        if not self._observed:
            return
        finder = Finder({*wanted, OPTIMIZERS, TENSORS, SCALERS}, self)
        sys.meta_path.insert(0, finder)
        for name in finder.names & set(sys.modules):
            self.imported(sys.modules[name])

    def _named(self, kind: str, modules: Iterable[str]) -> set[str]:
        return {name for each, module, name in self._observed if each == kind and module in modules}

    def compile(self, source: bytes, path: str, module: str = "") -> Any:
        """Returns the code of a module or script, with what is observed rewritten."""
        modules = {module} if module else self._script
        loaders, functions = self._named("loader", modules), self._named("function", modules)
        if not loaders and not functions:
            return compile(source, path, "exec", dont_inherit=True)
        code, found = self._rewrite(source, path, loaders, functions)
        self.found.update(
            each for each in self._observed if each[1] in modules and each[2] in found
        )
        return code

    def rewrites(self, module: str) -> bool:
        return bool(self._named("loader", {module}) | self._named("function", {module}))

    def imported(self, module: ModuleType) -> None:
        """Observes what a module has, which was just imported."""
        if module.__name__ == OPTIMIZERS:
            self._observe_optimizers(module)
        elif module.__name__ == TENSORS:
            self._observe_losses(module)
        elif module.__name__ == SCALERS:
            self._observe_scalers(module)
        for each in self._observed:
            kind, name, path = each
            if name != module.__name__ or (kind == "function" and each in self.found):
                continue
            *before, last = path.split(".")
            owner: Any = module
            for attribute in before:
                owner = getattr(owner, attribute, None)
            value = getattr(owner, last, None)
            if value is not None:
                self.found.add(each)
                self._replace(kind, owner, last, value)

    def _replace(self, kind: str, owner: Any, name: str, value: Any) -> None:
        if kind == "function":
            setattr(owner, name, self._observe_function(value))
        elif isinstance(value, type):
            self._observe_class(value)
        elif callable(value) and not hasattr(value, "__iter__"):

            @functools.wraps(value)
            def returned(*arguments: Any, **named: Any) -> Any:
                return self._loader_at(value(*arguments, **named))

            setattr(owner, name, returned)
        else:
            setattr(owner, name, self._loader_at(value))

    def _is_clock(self, kind: str) -> bool:
        return bool(self._observed[0][0] == kind)

    def _loader_at(self, iterable: Any) -> Any:
        if isinstance(iterable, ObservedIterable) or getattr(
            type(iterable), "__opperf_observed__", False
        ):
            return iterable
        return ObservedIterable(iterable, self, self._is_clock("loader"))

    def _observe_class(self, kind: Any) -> Any:
        iterate: Any = getattr(kind, "__iter__", None)
        hooks = self
        if iterate is None or "__opperf_observed__" in vars(kind):
            return kind

        class Loop:
            """One loop over an object, by the class's own method."""

            def __init__(self, loader: Any) -> None:
                self._loader = loader

            def __iter__(self) -> Any:
                return iterate(self._loader)

            def __len__(self) -> int:
                return len(self._loader)

        def observed(loader: Any) -> Iterator[Any]:
            return iter(ObservedIterable(Loop(loader), hooks, hooks._is_clock("loader")))

        kind.__iter__ = functools.wraps(iterate)(observed)
        kind.__opperf_observed__ = True
        return kind

    def _observe_function(self, function: Any) -> Any:
        steps, is_clock = self.steps, self._is_clock("function")

        @functools.wraps(function)
        def observed(*arguments: Any, **named: Any) -> Any:
            result = function(*arguments, **named)
            steps.keep_loss(result)
            if is_clock:
                steps.end()
            return result

        return observed

    def _observe_optimizers(self, module: Any) -> None:
        observed = next((each for each in self._observed if each[0] == "optimizer"), None)
        register = getattr(module, "register_optimizer_step_post_hook", None)
        if observed is None or register is None:
            return
        self.found.add(observed)
        if self._is_clock("optimizer"):
            register(lambda optimizer, arguments, named: self.steps.end())

    def _observe_losses(self, module: Any) -> None:
        def keep(tensor: Any, *arguments: Any, **named: Any) -> None:
            unscaled, self._unscaled = self._unscaled, None
            self.steps.keep_loss(tensor if unscaled is None else unscaled)

        _call_before(module.Tensor, "backward", keep)

    def _observe_scalers(self, module: Any) -> None:
        def keep(scaler: Any, outputs: Any) -> None:
            self._unscaled = outputs if hasattr(outputs, "detach") else None

        _call_before(module.GradScaler, "scale", keep)


def _call_before(kind: Any, name: str, act: Callable[..., None]) -> None:
    """Has a method of a class call a function first, with its arguments."""
    method = getattr(kind, name)

    @functools.wraps(method)
    def observed(*arguments: Any, **named: Any) -> Any:
        act(*arguments, **named)
        return method(*arguments, **named)

    setattr(kind, name, observed)


class Finder:
    """Lets other finders find modules, and has some observed once they are imported."""

    def __init__(self, names: set[str], hooks: Hooks) -> None:
        self.names, self._hooks = names, hooks

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name not in self.names:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                self._observe(spec.loader)
                return spec
        return None

    def _observe(self, loader: Any) -> None:
        execute, hooks = loader.exec_module, self._hooks

        def observed(module: ModuleType) -> None:
            is_source = isinstance(loader, importlib.machinery.SourceFileLoader)
            if is_source and hooks.rewrites(module.__name__):
                source = loader.get_data(loader.path)
                exec(hooks.compile(source, loader.path, module.__name__), module.__dict__)
            else:
                execute(module)
            hooks.imported(module)

        # That of this module alone: each has a loader of its own.
        loader.exec_module = observed
