"""How much of a program's step its operators explain, and which of them are the slowest.

Records a program with the time of each call, measures its calls one by one on the same machine and
as many threads, and prints the parts of a step: by measured and by recorded times, each as a share
of the step without a recorder; and the three operators with the most measured time, each with its
share of that step beside its share by recorded times. By default the program is a training step of
a model of `transformers`, of random weights, whose package has to be installed.

Run: python -m benchmarks.inputs.explained_step [--script FILE] [--steps 20:40] [--threads 1]
[OPTION of opperf run]...
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tabulate import tabulate

SLOWEST = 3

BERT = """\
import torch
from transformers import BertConfig, BertForMaskedLM

torch.manual_seed(0)
config = BertConfig(
    hidden_size=256,
    num_hidden_layers=4,
    num_attention_heads=4,
    intermediate_size=1024,
    vocab_size=8000,
)
model = BertForMaskedLM(config).train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
tokens = torch.randint(0, config.vocab_size, (8, 128))
for _ in range(60):
    loss = model(input_ids=tokens, labels=tokens).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
"""A masked language model of BERT's kind, as deep as a small one, with a batch of 8 sentences."""


def opperf(folder: Path, threads: int, *words: str) -> str:
    """Runs a command of opperf in a folder, and returns its output. Ends with the command's own
    message if it fails."""
    root = Path(__file__).resolve().parents[2]
    path = os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(
        [sys.executable, "-m", "opperf", *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout


def report(folder: Path, script: Path, steps: str, threads: int, options: list[str]) -> Any:
    """Records a script and measures its calls, and returns the report of both."""
    recorded = ("record", "--timed", "--steps", steps, "-o", "recorded.jsonl", str(script))
    opperf(folder, threads, *recorded)
    measuring = ("--threads", str(threads), "--profiler", "python", "-o", "measured.jsonl")
    opperf(folder, threads, "run", "recorded.jsonl", *measuring, *options)
    return json.loads(opperf(folder, threads, "report", "measured.jsonl", "-f", "json"))


def parts_table(program: dict[str, Any]) -> str:
    """Returns the parts of a step as a table."""
    rows = [
        ["- " * part["depth"] + part["part"], part["time_ms"], 100 * part["share"]]
        for part in program["parts"]
    ]
    return tabulate(rows, ["part of a step", "ms", "%"], floatfmt=".1f", tablefmt="simple")


def slowest_table(found: dict[str, Any]) -> str:
    """Returns the operators with the most measured time as a table."""
    (program,) = found["programs"]
    step_ms = program["step"]["median_ms"] * program["steps"]
    rows = [
        [
            row["operator"],
            row["calls"] / program["steps"],
            100 * row["time_ms"] / step_ms,
            100 * row["recorded_ms"] / step_ms,
        ]
        for row in found["hotspots"][:SLOWEST]
    ]
    titles = ["operator", "calls in a step", "measured, % of the step", "recorded, %"]
    return tabulate(rows, titles, floatfmt=".1f", tablefmt="simple")


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--script", type=Path, help="program to record")
    parser.add_argument("--steps", default="20:40", help="steps to record")
    parser.add_argument("--threads", type=int, default=1, help="threads of the program")
    given, options = parser.parse_known_args()
    if given.script is None and find_spec("transformers") is None:
        parser.error("install transformers, or name a script of your own")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        script = folder / "bert.py" if given.script is None else given.script.resolve()
        if given.script is None:
            script.write_text(BERT)
        found = report(folder, script, given.steps, given.threads, options)
    print(parts_table(found["programs"][0]))
    print()
    print(slowest_table(found))


if __name__ == "__main__":
    main()
