"""Makes the table of recorded inputs of PyTorch's operators.

    python -m tools.recorded_inputs FOLDER [TABLE]

FOLDER has recordings of training runs as PyTorch's `operator_inp_utils` writes them; TABLE is
`opperf/rules/torch/recorded.json` by default. The same files and the same PyTorch make the same
table, byte for byte.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tools.recorded_inputs.table import TABLE, make_table

parser = argparse.ArgumentParser(description="Makes the table of recorded inputs.")
parser.add_argument("folder", type=Path, help="folder of recordings")
parser.add_argument("table", type=Path, nargs="?", default=TABLE, help="file to write")
options = parser.parse_args()
options.table.write_text(make_table(options.folder), encoding="utf-8")
