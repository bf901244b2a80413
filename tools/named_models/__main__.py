"""Holds the configurations that name a model against that model.

    python -m tools.named_models record CALLS.json
    python -m tools.named_models check CALLS.json [mxnet] [torch] [jax]

The first needs the packages that ship the models (torchvision, timm, transformers), in an
environment of their own if need be, with this repository's root as the working directory; the
second needs opperf. A row agrees if the model has a call of its shapes. What differs is printed
beside the calls that come nearest, and the exit code is then 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(description="Holds named configurations against their models.")
    parser.add_argument("step", choices=["record", "check"])
    parser.add_argument("calls", type=Path, help="file of the models' calls")
    parser.add_argument("frameworks", nargs="*", default=["mxnet", "torch", "jax"])
    options = parser.parse_args()
    return _record(options.calls) if options.step == "record" else _check(options)


def _record(path: Path) -> int:
    from tools.named_models.recording import record_all

    found, refused = record_all()
    path.write_text(json.dumps(found), encoding="utf-8")
    for name, reason in refused.items():
        print(f"{name}: {reason}", file=sys.stderr)
    print(f"{len(found)} models recorded, {len(refused)} not")
    return 1 if refused else 0


def _check(options: argparse.Namespace) -> int:
    from tools.named_models.checking import agrees, explained, named_rows, nearest_calls

    calls = json.loads(options.calls.read_text(encoding="utf-8"))
    counts: Counter[str] = Counter()
    for framework in options.frameworks:
        seen = set()
        for row in named_rows(framework, list(calls)):
            key = (row.why, str(row.shapes))
            if key in seen:
                continue
            seen.add(key)
            if agrees(row, calls[row.model]):
                counts["agree"] += 1
                continue
            if explained(row):
                counts["explained"] += 1
                continue
            counts["differ"] += 1
            print(f"{framework} {row.operator}: {row.why}: {row.shapes}")
            for one in nearest_calls(row, calls[row.model]):
                print(f"    {row.model}: {one[:150]}")
    print(
        f"{counts.total()} named rows: {counts['agree']} agree, {counts['explained']} are not in "
        f"the forward pass and explained, {counts['differ']} differ"
    )
    return 1 if counts["differ"] else 0


sys.exit(main())
