"""The fields of requests for programs that cases are profiled under."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

from opperf.errors import UsageError
from opperf.instruments.wrapped.programs import name_of
from opperf.model import Wrapper, Wrapping
from opperf.model.declaring import integer_from
from opperf.model.runs import BATCH_SIZE
from opperf.reading import read_text
from opperf.requests.declaring import Group, Option, declared


class Nsight(NamedTuple):
    """A program of NVIDIA's with options of its own, and PARAM's numbers of calls."""

    name: str
    title: str
    finds: str
    """Its results, in words."""
    warmup: int
    runs: int

    @property
    def itself(self) -> Option:
        """The declaration of whether it is used."""
        return Option(f"Profile each case's calls under NVIDIA {self.title} too: {self.finds}.")

    @property
    def program(self) -> Option:
        """The declaration of its path."""
        return Option(f"The program.  [default: {self.name}]", metavar="PATH")

    @property
    def arguments(self) -> Option:
        """The declaration of a file of arguments."""
        return Option(f"File with further arguments of {self.name}.")

    @property
    def warmups(self) -> Option:
        """The declaration of the number of calls before."""
        help = f"Calls of each pass before those under {self.name}.  [default: {self.warmup}]"
        return Option(help, integer_from(0), metavar="CALLS")

    @property
    def iterations(self) -> Option:
        """The declaration of the number of calls."""
        help = f"Calls of each pass under {self.name}.  [default: {self.runs}]"
        return Option(help, integer_from(1), metavar="CALLS")


NCU = Nsight("ncu", "Nsight Compute", "figures of its kernels, as metrics", 5, 1)

NSYS = Nsight("nsys", "Nsight Systems", "a timeline, in a report beside the run file", 5, 10)

NSIGHT = (NCU, NSYS)

WARMUP = 5
"""Calls before those under `--batch-cmd`, if `--warmup` does not say how many: PARAM's number."""


class ProfilingPrograms(Group, frozen=True, kw_only=True):
    """Programs that the cases are profiled under."""

    section: ClassVar[str] = "Profiling"

    ncu: Annotated[bool, NCU.itself] = False
    ncu_bin: Annotated[str, NCU.program] = ""
    ncu_args_file: Annotated[Path | None, NCU.arguments] = None
    ncu_warmup: Annotated[int | None, NCU.warmups] = None
    ncu_iteration: Annotated[int | None, NCU.iterations] = None
    nsys: Annotated[bool, NSYS.itself] = False
    nsys_bin: Annotated[str, NSYS.program] = ""
    nsys_args_file: Annotated[Path | None, NSYS.arguments] = None
    nsys_warmup: Annotated[int | None, NSYS.warmups] = None
    nsys_iteration: Annotated[int | None, NSYS.iterations] = None
    batch_cmd: Annotated[
        str | None,
        Option(
            "Profile each case's calls under another program too, as 'perf stat', 'perf record' or "
            "'vtune -collect hotspots -result-dir {report} --'; {report} is a path beside the run "
            "file. perf stat's counts are metrics. -w and -r are the numbers of calls.",
            metavar="COMMAND",
        ),
    ] = None
    batch_size: Annotated[
        int | None,
        Option(
            "Most cases of a process that a program profiles; perf stat has one in each.  "
            f"[default: {BATCH_SIZE}]",
            low=1,
            spellings="--run-batch-size",
        ),
    ] = None
    cuda_device: Annotated[
        int | None,
        Option(
            "The only GPU that these processes see, by CUDA's index.  [default: that of the cases]",
            integer_from(0),
            metavar="INDEX",
            spellings="--batch-cuda-device",
        ),
    ] = None

    def without_effect(self) -> Iterator[tuple[str, str]]:
        """Yields the fields that have no effect, each with the options of which it needs one."""
        names = declared(type(self))
        for nsight in NSIGHT:
            own = [name for name in names if name.startswith(f"{nsight.name}_")]
            for name in own if not getattr(self, nsight.name) else ():
                if getattr(self, name) not in (None, ""):
                    yield name, names[nsight.name].shown
        programs = [*(nsight.name for nsight in NSIGHT), "batch_cmd"]
        if not any(getattr(self, name) for name in programs):
            for name in ("batch_size", "cuda_device"):
                if getattr(self, name) is not None:
                    yield name, " or ".join(names[program].shown for program in programs)

    def wrapping(self, warmup: int | None, runs: int | None) -> Wrapping | None:
        """Returns the programs, None without one; the numbers of calls are those of the settings.
        Raises `UsageError` for an option that has no effect, a file that cannot be read and a
        command that is none."""
        for name, needed in self.without_effect():
            raise UsageError(f"{declared(type(self))[name].shown} needs {needed}")
        wrappers = [self._wrapper(nsight) for nsight in NSIGHT if getattr(self, nsight.name)]
        if self.batch_cmd is not None:
            words = _split(self.batch_cmd, "--batch-cmd")
            if not words:
                raise UsageError("--batch-cmd names no program; e.g. --batch-cmd 'perf stat'")
            name = name_of(words)
            if name in {nsight.name for nsight in NSIGHT}:
                raise UsageError(
                    f"--batch-cmd: {name} has an option of its own; use --{name}, and "
                    f"--{name}-args-file for its arguments"
                )
            wrappers.append(Wrapper(name, words, WARMUP if warmup is None else warmup, runs))
        if not wrappers:
            return None
        size = BATCH_SIZE if self.batch_size is None else self.batch_size
        return Wrapping(tuple(wrappers), size, self.cuda_device)

    def _wrapper(self, nsight: Nsight) -> Wrapper:
        def own(end: str) -> Any:
            return getattr(self, f"{nsight.name}_{end}")

        path: Path | None = own("args_file")
        arguments: tuple[str, ...] = ()
        if path is not None:
            option = f"--{nsight.name}-args-file {path}"
            try:
                text = read_text(path)
            except (OSError, UnicodeDecodeError) as error:
                reason = getattr(error, "strerror", None) or "not a file of text"
                raise UsageError(f"{option}: {reason}") from error
            arguments = _split(text, option)
        warmup, runs = own("warmup"), own("iteration")
        return Wrapper(
            nsight.name,
            (own("bin") or nsight.name, *arguments),
            nsight.warmup if warmup is None else warmup,
            nsight.runs if runs is None else runs,
        )


def _split(text: str, option: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text, comments=True))
    except ValueError as error:
        raise UsageError(f"{option}: {error}: {text.strip()[:80]}") from error
