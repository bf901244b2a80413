"""Whether --verify finds a wrong model, and accuses no right one.

The networks that come with opperf, in either phase and with several seeds, run under torch.compile:
as its own back end compiles them, and by a back end that multiplies the output of the last linear
layer or convolution of each graph by 1.01. Prints each verification, and how many of the wrong ones
are found and of the right ones accused. The first 24 cases have 20 that this back end changes:
PyTorch compiles no frame that calls an LSTM.

Run: python -m benchmarks.cost.verification [--models 24] [--size small] [--threads 1]
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any
from unittest import mock

import torch
from tabulate import tabulate
from torch.nn import functional

from opperf.frameworks import Framework, load
from opperf.model import Case, ModelTarget, Record, Settings
from opperf.models.base import models_of
from opperf.worker.measure import measure

FACTOR = 1.01

MADE_WRONG: list[str] = []
"""Layers that the wrong back end has changed, of the case in flight."""

LAYERS = (
    torch._C._nn.linear,
    functional.linear,
    torch.conv2d,
    functional.conv2d,
    torch.conv_transpose2d,
)
"""Functions of the layers of which one is made wrong, as the compiler's graphs call them."""

MODULES = (torch.nn.Linear, torch.nn.Conv2d)


def slightly_wrong(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
    """Returns a compiled graph whose last layer is wrong by 1 %, as a back end of torch.compile."""
    layers = [node for node in graph.graph.nodes if _is_layer(graph, node)]
    if layers:
        _scale(graph.graph, layers[-1])
        MADE_WRONG.append(str(layers[-1].target))
    graph.recompile()
    made: Callable[..., Any] = graph.forward
    return made


def _scale(graph: torch.fx.Graph, layer: torch.fx.Node) -> None:
    with graph.inserting_after(layer):
        scaled = graph.call_function(torch.mul, (layer, FACTOR))
    layer.replace_all_uses_with(scaled, lambda user: user is not scaled)


def _is_layer(graph: torch.fx.GraphModule, node: torch.fx.Node) -> bool:
    if node.op == "call_module":
        return isinstance(graph.get_submodule(str(node.target)), MODULES)
    return node.op == "call_function" and node.target in LAYERS


def cases(names: Sequence[str], size: str, count: int) -> list[Case]:
    """Returns so many cases: the networks in both phases, with one seed after the other."""
    made = (
        Case(
            ModelTarget("torch", name, "opperf", size=size),
            {},
            Settings(
                mode="compile",
                phase=phase,
                seed=seed,
                profiler="python",
                warmup=0,
                runs=1,
                memory=False,
                verify=True,
            ),
            ("forward", "backward") if phase == "train" else ("forward",),
        )
        for seed in itertools.count()
        for phase in ("predict", "train")
        for name in names
    )
    return list(itertools.islice(made, count))


def row_of(record: Record) -> list[str]:
    """Returns the cells of a verification."""
    found, settings = record.verification, record.case.settings
    words = [record.case.label, settings.phase, str(settings.seed)]
    if found is None:
        return [*words, record.status.value, "", "", "", record.reason]
    largest = found.max_relative_error
    error = "" if largest is None else f"{largest:.1e}"
    return [*words, found.code.value, found.method, str(found.compared), error, found.failed]


HEADERS = ("model", "phase", "seed", "code", "method", "arrays", "largest error", "first")


def verified(framework: Framework, planned: Sequence[Case], is_wrong: bool) -> list[Record]:
    """Returns the records of the cases, each of which is printed as it is made: with the wrong back
    end, of those that it has changed."""
    records = []
    compiled = torch.compile

    def wrong(function: Any, **options: Any) -> Any:
        return compiled(function, **{**options, "backend": slightly_wrong})

    with mock.patch.object(torch, "compile", wrong) if is_wrong else nullcontext():
        for case in planned:
            MADE_WRONG.clear()
            record = measure(case, framework)
            print(" ".join(row_of(record)), flush=True)
            if MADE_WRONG or not is_wrong:
                records.append(record)
    return records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=24)
    parser.add_argument("--size", default="small")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    framework = load("torch")
    names = [model.name for model in models_of("opperf", "torch")]
    planned = cases(names, options.size, options.models)
    for title, is_wrong in (("wrong by 1 %", True), ("as compiled", False)):
        records = verified(framework, planned, is_wrong)
        print(f"\n{title}\n{tabulate(map(row_of, records), HEADERS)}")
        codes = [record.verification for record in records]
        found = sum(code is not None and code.is_wrong for code in codes)
        print(f"{'found' if is_wrong else 'accused'}: {found} of {len(records)}\n")


if __name__ == "__main__":
    main()
