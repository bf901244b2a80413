"""Runs one forward pass of each model of a suite, and says how many run, and why the others do not.

    python benchmarks/models/packages.py SUITE [--output FILE] [--shapes]

They run in a process with a limit of memory, and of processor time for each; one that ends the
process costs itself. The interpreter is one that has the package, with the repository on
PYTHONPATH. Models whose results are in the output file already are not run again.
With --shapes a model of PyTorch is built and called on the device `meta`, which has shapes without
numbers, with the loss of a training step, all in one process: in about a second, whatever its size.
Detectors, whose steps depend on numbers, do not run so.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import re
import resource
import signal
import sys
import time
from collections import Counter
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from opperf.errors import one_line
from opperf.frameworks import load
from opperf.model import Case, ModelTarget, Settings
from opperf.models.base import find_suite, models_of
from opperf.worker.binding import build_model
from opperf.worker.measure import measure

Outcome = tuple[str, str, float | None]
"""Status, reason, and nanoseconds of the forward pass."""

ONCE = {"profiler": "python", "runs": 1, "warmup": 0, "memory": False}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("suite")
    parser.add_argument("--output", type=Path, help="JSON lines, a model each")
    parser.add_argument("--size", default="small")
    parser.add_argument("--batch-size", type=int, help="by default that of the size")
    parser.add_argument("--phase", choices=["predict", "train"], default="predict")
    parser.add_argument("--filter", default="", help="regular expression of names")
    parser.add_argument("--sample", type=int, help="run so many models, evenly spaced in the list")
    parser.add_argument("--folder", default="", help="of the suite's files")
    parser.add_argument("--shapes", action="store_true", help="shapes without numbers")
    parser.add_argument("--seconds", type=int, default=30, help="limit of processor time")
    parser.add_argument("--gib", type=float, default=8, help="limit of memory for a model")
    return parser.parse_args()


def serve(connection: Connection, options: argparse.Namespace) -> None:
    """Runs the models that come, one after the other, and sends the outcome of each."""
    limit = int(options.gib * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    # What models print is not for the table.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    os.dup2(2, 1)
    while True:
        case: Case = connection.recv()
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        allowed = math.ceil(time.process_time()) + options.seconds
        resource.setrlimit(resource.RLIMIT_CPU, (allowed, most))
        record = measure(case, load(case.target.framework))
        times = record.summaries.get("forward")
        connection.send((record.status.value, record.reason, times and times.median))


def run_shapes(case: Case) -> Outcome:
    import torch
    from torch.utils._pytree import tree_map_only

    try:
        with torch.device("meta"):
            model = build_model(case, load("torch"))
            model.call.train(case.settings.phase == "train")
            place = partial(tree_map_only, torch.Tensor, lambda tensor: tensor.to("meta"))
            inputs, targets = place(model.inputs), place([*model.targets])
            named = isinstance(inputs, dict)
            outputs = model.call(**inputs) if named else model.call(*inputs)
            if model.loss is not None and case.settings.phase == "train":
                assert model.loss(outputs, *targets).shape == ()
    except Exception as error:
        return "failed", one_line(f"{type(error).__name__}: {error}"), None
    return "ok", "", None


STUCK = 20
"""Multiple of the processor time after which a model that takes none is ended."""


class Child:
    """A process that runs models, and another one after one that ended it. Starting one, and what
    it imports with its first model, takes longer than most models."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.process: Any = None

    def start(self) -> None:
        forking = multiprocessing.get_context("fork")
        self.connection, other = forking.Pipe()
        self.process = forking.Process(target=serve, args=(other, self.options), daemon=True)
        self.process.start()
        other.close()

    def run(self, case: Case) -> Outcome:
        if self.process is None:
            self.start()
        seconds = self.options.seconds
        outcome: Outcome = ("timeout", f"longer than {seconds} s of processor", None)
        try:
            self.connection.send(case)
            if self.connection.poll(seconds * STUCK):
                received: Outcome = self.connection.recv()
                return received
        except EOFError:
            self.process.join()
            if self.process.exitcode != -signal.SIGXCPU:
                outcome = ("crashed", f"ended with exit code {self.process.exitcode}", None)
        self.process.kill()
        self.process.join()
        self.process = None
        return outcome


def known(output: Path | None) -> dict[str, dict[str, Any]]:
    """Results that the output has already, by model."""
    if output is None or not output.exists():
        return {}
    return {row["model"]: row for row in map(json.loads, output.read_text().splitlines())}


def kind_of(reason: str) -> str:
    """The reason with numbers and names in quotes removed, so that the same ones are counted."""
    return re.sub(r"'[^']*'|\d+(\.\d+)?", "*", reason)[:100]


def main() -> None:
    options = arguments()
    framework = find_suite(options.suite).frameworks[0]
    load(framework)
    listed = [
        model
        for model in models_of(options.suite, framework, options.folder)
        if re.search(options.filter, model.name) and options.phase in model.phases
    ]
    if options.sample is not None:
        listed = listed[:: max(1, len(listed) // options.sample)]
    rows = known(options.output)
    child = Child(options)
    passes = ("forward", "backward") if options.phase == "train" else ("forward",)
    for model in listed:
        if model.name in rows:
            continue
        target = ModelTarget(
            framework,
            model.name,
            suite=options.suite,
            size=options.size if options.size in model.sizes else "default",
            batch_size=options.batch_size,
            folder=options.folder,
        )
        case = Case(target, {}, Settings(**ONCE, phase=options.phase), passes)
        begun = time.monotonic()
        status, reason, forward = run_shapes(case) if options.shapes else child.run(case)
        seconds = round(time.monotonic() - begun, 2)
        row = {"model": model.name, "status": status, "reason": reason}
        row |= {"forward": forward, "seconds": seconds}
        rows[model.name] = row
        print(f"{row['model']:45} {row['status']:8} {row['seconds']:6.1f} s  {row['reason']}")
        sys.stdout.flush()
        if options.output is not None:
            with options.output.open("a") as file:
                file.write(json.dumps(row) + "\n")
    found = [rows[model.name] for model in listed]
    passed = [row for row in found if row["status"] == "ok"]
    print(f"\n{options.suite}: {len(passed)} of {len(found)} models run ({options.phase})")
    reasons = Counter(
        (row["status"], kind_of(row["reason"])) for row in found if row["status"] != "ok"
    )
    for (status, reason), count in reasons.most_common():
        print(f"{count:5}  {status}: {reason}")


if __name__ == "__main__":
    main()
