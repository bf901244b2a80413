"""Times the resolution of a suite of 200 benches, beside the parsing of the same YAML.

    python benchmarks/cost/suite_resolving.py [BENCHES]

The goal is a second. The benches are those of a file with templates, matrices, references and
placeholders, in the kinds that milabench's files have.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import yaml

from opperf.suites.resolving import resolve
from opperf.suites.system import Machine

REPEATS = 5

TEMPLATES = """
_defaults:
  enabled: true
  max_duration: 600
  voir: {options: {stop: 60, interval: 1s}}
  validation: {usage: {gpu_load_threshold: 0.5, gpu_mem_threshold: 0.5}}
_net:
  inherits: _defaults
  definition: code
  install_group: torch
  tags: [vision, monogpu]
  plan: {method: per_gpu}
  argv:
    --lr: 0.01
    --num-workers: auto({n_worker}, 8)
    --data: "{milabench_data}/FakeImageNet"
"""

BENCH = """
net-{number}:
  inherits: _net
  tags: [convnet, n{number}]
  num_machines: 2
  requires_capabilities: ["len(nodes) >= ${{..num_machines}}"]
  argv:
    --model: net{number}
    --batch-size: auto_batch({number})
    --lr: ${{_defaults.max_duration}}
"""

MATRIX = """
sweep-{number}:
  matrix: {{size: [1, 2, 4, 8], dtype: [float32, float16, bfloat16], amp: [0, 1, 2]}}
  exclude: [{{dtype: float16, amp: 0}}]
  job:
    name: sweep-{number}-{{size}}-{{dtype}}-{{amp}}
    inherits: _net
    argv: {{--size: "{{size}}", --dtype: "{{dtype}}", --amp: "{{amp}}"}}
"""

JOBS = 4 * 3 * 3 - 4


def text_of(benches: int) -> str:
    """Returns a suite of so many benches, half of them of matrices."""
    matrices = benches // 2 // JOBS
    single = benches - matrices * JOBS
    parts = [BENCH.format(number=number) for number in range(single)]
    parts += [MATRIX.format(number=number) for number in range(matrices)]
    return "".join([TEMPLATES, *parts])


def seconds(function: Callable[[], object]) -> float:
    """Returns the median of the times of a function."""
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main() -> int:
    """Prints the times; returns 1 if the goal is missed."""
    benches = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("code").mkdir()
        Path("code/main.py").write_text("")
        path = Path("suite.yaml")
        path.write_text(text_of(benches))
        text = path.read_text()
        suite = resolve([path], Machine(16, 8))
        assert len(suite.benches) == benches and not suite.problems
        own = seconds(lambda: resolve([path], Machine(16, 8)))
        libyaml = seconds(lambda: yaml.load(text, Loader=yaml.CSafeLoader))
        pure = seconds(lambda: yaml.safe_load(text))
    print(f"{benches} benches, {len(text.splitlines())} lines: resolved in {own:.3f} s")
    print(f"parsed by libyaml in {libyaml:.3f} s, resolving takes {own / libyaml:.1f} times that")
    print(f"parsed by PyYAML alone in {pure:.3f} s, resolving takes {own / pure:.2f} times that")
    return int(own > 1)


if __name__ == "__main__":
    sys.exit(main())
