"""One real bisection: a C extension of thirty commits, one of which makes a function 5 % slower.

Makes the repository, whose commits add functions and change comments, and bisects it by time and by
instructions. One commit does not compile. Prints for each: the commit found and the right one,
steps, builds and seconds. Ends with 1 if one is wrong.
Run: python -m benchmarks.bisection.extension [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

COMMITS = 30
SLOWER = 19
"""Number of the commit with the loss."""
BROKEN = 15
"""Number of the commit that does not compile."""

SOURCE = """\
#define PY_SSIZE_T_CLEAN
#include <Python.h>

%(others)s
/* Revision %(revision)d. */
static PyObject *total(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"x", NULL};
    PyObject *x;
    Py_buffer view;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", names, &x)) return NULL;
    if (PyObject_GetBuffer(x, &view, PyBUF_C_CONTIGUOUS) < 0) return NULL;
    const float *values = view.buf;
    Py_ssize_t count = view.len / sizeof(float);
    double sum = 0;
    for (Py_ssize_t i = 0; i < count; i++) sum += values[i] * (double)values[i];
%(loss)s
    PyBuffer_Release(&view);
    return PyFloat_FromDouble(sum);
}

static PyMethodDef methods[] = {
    {"total", (PyCFunction)(void (*)(void))total, METH_VARARGS | METH_KEYWORDS, "Sum of squares."},
    {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "fastops", NULL, -1, methods};
PyMODINIT_FUNC PyInit_fastops(void) { return PyModule_Create(&module); }
"""

LOSS = "    for (Py_ssize_t i = 0; i < count / 20; i++) sum += values[i] * 1e-12;"
"""A twentieth of the additions more."""

OTHER = "double other_%d(double x) { return x * %d.5 + 1; }\n"
"""A function that nothing calls, which moves those behind it."""

INPUTS = """\
import numpy as np


def inputs():
    return {"x": np.ones(1 << 16, np.float32)}
"""


def make_repository(folder: Path) -> list[str]:
    """Returns the hashes of the commits of a new repository, the first one included."""
    folder.mkdir(parents=True)
    run(folder, "git", "init", "--quiet")
    run(folder, "git", "config", "user.name", "A. Developer")
    run(folder, "git", "config", "user.email", "developer@example.org")
    hashes = []
    for number in range(COMMITS + 1):
        others = "".join(OTHER % (i, i) for i in range(number // 2))
        loss = LOSS if number >= SLOWER else ""
        text = SOURCE % {"others": others, "revision": number, "loss": loss}
        if number == BROKEN:
            text = text.replace("double sum = 0;", "double sum = 0")
        (folder / "fastops.c").write_text(text)
        run(folder, "git", "add", "fastops.c")
        subject = "Weigh the first values" if number == SLOWER else f"Revision {number}"
        run(folder, "git", "commit", "--quiet", "-m", subject)
        hashes.append(run(folder, "git", "rev-parse", "HEAD").strip())
    return hashes


def build_words() -> list[str]:
    """Returns the command that builds a commit."""
    include = sysconfig.get_paths()["include"]
    words = f"gcc -O2 -shared -fPIC -I{include} fastops.c -o fastops.so"
    return words.split()


def run(folder: Path, *words: str) -> str:
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout


def bisect(folder: Path, hashes: list[str], name: str, more: list[str]) -> bool:
    """Prints one bisection; whether it found the right commit."""
    report = folder / f"{name}.json"
    begun = time.monotonic()
    words = [sys.executable, "-m", "opperf", "bisect", hashes[0], hashes[-1]]
    words += ["--repository", str(folder / "repository"), "--folder", str(folder / name)]
    words += ["--ops", "fastops:total", "--inputs", "inputs.py:inputs", "--framework", "numpy"]
    words += ["-o", str(report), *more, "--", *build_words()]
    done = subprocess.run(words, cwd=folder, check=False)
    seconds = time.monotonic() - begun
    if not report.exists():
        print(f"{name}: exit code {done.returncode}")
        return False
    found = json.loads(report.read_text())
    commits = [commit["sha"] for commit in found["first_bad"]]
    numbers = ", ".join(str(hashes.index(sha)) for sha in commits)
    is_right = commits == [hashes[SLOWER]]
    print(
        f"{name}: {'right' if is_right else 'WRONG'}: commit {numbers} of {COMMITS} "
        f"(right: {SLOWER}), probability {found['probability']:.3f}, ratio {found['ratio']:.3f} "
        f"({found['low']:.3f} to {found['high']:.3f}); {len(found['steps'])} steps, "
        f"{found['builds']} builds, {len(found['skipped'])} skipped, {seconds:.0f} s"
    )
    for row in found["confirmed"]:
        print(f"    {row['metric']}: {row['ratio']:.3f} ({row['low']:.3f} to {row['high']:.3f})")
    return is_right


def main() -> int:
    """Prints both bisections; 1 if one is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, help="an empty folder to work in, which is kept")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="opperf-") as temporary:
        folder = arguments.folder or Path(temporary, "bisection")
        hashes = make_repository(folder / "repository")
        (folder / "inputs.py").write_text(INPUTS)
        os.environ["OPPERF_CACHE"] = str(folder / "cache")
        seed = ["--seed", str(arguments.seed)]
        results = [
            bisect(folder, hashes, name, [*seed, *more])
            for name, more in {"time": [], "instructions": ["--profiler", "instructions"]}.items()
        ]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
