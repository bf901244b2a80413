"""Lets a virtual environment import the PyTorch that this interpreter has.

    python tools/share_torch.py FOLDER

Only where MXNet does not run, and so PyTorch is what `make run` measures: to install another would
take gigabytes. It uses nothing but the standard library, as it runs outside the environment.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

WITHOUT_MXNET = (3, 13)
"""The first Python that MXNet does not run on."""

NAME = "torch_of_the_interpreter.pth"


def share(folder: Path) -> None:
    """Writes the path of the packages beside PyTorch into the environment's own."""
    found = importlib.util.find_spec("torch")
    if sys.version_info < WITHOUT_MXNET or found is None or found.origin is None:
        return
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    packages = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    line = f"{Path(found.origin).parents[1]}\n"
    (Path(packages.stdout.strip()) / NAME).write_text(line, encoding="utf-8")


if __name__ == "__main__":
    share(Path(sys.argv[1]))
