"""Cost of a process for each experiment, beside the import of the framework.

Measures a small model of PyTorch some times with a process for each case, and as often in one
process, and times `import torch` in a process of its own. Prints the difference for a case, as a
ratio to the import in the same run.

Run: python benchmarks/cost/experiment_isolation.py [CASES]
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

CASES = 8

MODEL = """
import torch


def make(batch_size=16):
    return torch.nn.Linear(32, 32), (torch.randn(batch_size, 32),)
"""


def processor_s(command: list[str], folder: Path) -> float:
    """Returns the seconds of processor of a command and what it starts: those of the wall clock
    depend on what else runs. Raises `CalledProcessError` if it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(cases: int) -> None:
    """Prints the cost of a case."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "nets.py").write_text(MODEL)
        sizes = ",".join(str(16 + number) for number in range(cases))
        words = [sys.executable, "-m", "opperf", "experiment", "nets.py:make"]
        words += ["--quiet", "--no-memory"]
        words += ["--batch-size", sizes, "-w", "0", "-r", "3", "--threads", "1"]
        words += ["-o", "run.jsonl", "--overwrite"]
        took = {
            executor: processor_s([*words, "--executor", executor], folder)
            for executor in ("isolated", "local")
        }
        imports = [
            processor_s([sys.executable, "-c", "import torch"], folder) for _ in range(cases)
        ]
    # One process is started in any case.
    each = (took["isolated"] - took["local"]) / (cases - 1)
    alone = median(imports)
    print(f"{cases} cases: isolated {took['isolated']:.1f} s, in one process {took['local']:.1f} s")
    print(f"a process for a case costs {each:.2f} s of processor; import torch takes {alone:.2f} s")
    print(f"ratio {each / alone:.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else CASES)
