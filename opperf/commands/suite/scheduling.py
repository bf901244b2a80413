"""Writes the script of a Slurm array job that runs suite files, and submits it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from opperf.commands.suite.listing import resolved
from opperf.errors import UsageError
from opperf.plurals import pluralize
from opperf.results.output import check_output, replace, unwritable
from opperf.suites.job_script import (
    Job,
    job_script,
    minutes_of,
    needs_gpus,
    nodes_of,
    submit,
)


def slurm_command(options: Mapping[str, Any]) -> int:
    """Writes the script, and submits it if that is asked for; the exit code."""
    output = options["output"]
    suite = resolved(options)
    benches = [bench for bench in suite.benches if bench.enabled]
    if not benches:
        raise UsageError("no bench that is selected is enabled; `opperf suite list` has all")
    check_output(output, options["overwrite"], options["files"])
    # Slurm starts jobs in the folder of `sbatch`, which need not be this one.
    folder = output.resolve().with_suffix("")
    if folder == output.resolve():
        raise UsageError(f"{output}: name the script with an extension, as {output}.sh")
    gpus = options["gpus"]
    if gpus is None:
        gpus = suite.system.gpu_count if needs_gpus(benches) else 0
    job = Job(
        name=folder.name,
        command=("opperf", "suite", "run", *_words(options)),
        parts=options["parts"],
        folder=str(folder),
        nodes=options["nodes"] or nodes_of(benches),
        gpus=gpus,
        minutes=options["minutes"] or minutes_of(benches),
        options=options["sbatch"],
        setup=options["setup"],
    )
    try:
        # Slurm drops the output of jobs whose folder is not there.
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    replace(output, job_script(job).encode())
    what = f"{pluralize(job.parts, 'part')} of {pluralize(len(benches), 'bench')}"
    print(f"{output}: {what}, {pluralize(job.nodes, 'node')} each; results in {job.result}")
    if options["submit"]:
        print(f"submitted as {submit(job, output)}")
    else:
        print(f"Submit it with: sbatch {output}")
    return 0


def _words(options: Mapping[str, Any]) -> Iterator[str]:
    """Yields the words of `suite run` for the same files and options, with whole paths."""
    for path in options["files"]:
        yield str(path.resolve()) if path.exists() else str(path)
    for name in ("select", "exclude"):
        for word in options[name] or ():
            yield from (f"--{name}", word)
    for name, option in (("overrides", "--override"), ("capabilities", "--capabilities")):
        for word in options[name]:
            yield from (option, word)
    for name in ("system", "base"):
        if options[name] is not None:
            yield from (f"--{name}", str(options[name].resolve()))
