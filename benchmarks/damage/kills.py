"""Kills of every command that writes, at random moments: what is lost, torn, or left behind.

Each trial is a command with what it writes, run in a fresh copy of a folder of inputs. A first run
is not killed: it says how long the command takes, how often it changes a file, and what the result
is. Later ones are killed by SIGKILL, the process alone or with its group, half of them after a
random time, half right before a random change of a file. After each kill

- a file that was there is the old or the new one, and whole; a new one is absent or whole, or its
  complete lines are readable, and the command that resumes it keeps them;
- no process is left after some seconds;
- a store opens, and the same command again gives the whole result;
- and then there is no file that a run without a kill does not leave.

Run: python -m benchmarks.damage.kills [--count KILLS] [--seed SEED] [--only COMMAND]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import click
import psutil

from benchmarks.damage.killed import OWN_LINES, TRIALS, WRITE_NOTHING, Trial, make_inputs
from opperf.errors import OpperfError
from opperf.opperf import cli
from opperf.opperf import main as opperf
from opperf.results.runfile import read_run

ALIVE_S = 5.0
"""Seconds that processes have to end after a kill."""

LONGEST_S = 300.0
"""Of a command that is not killed; a longer one waits for a lock that nobody releases."""

USAGE = 2
"""Exit code of what cannot be asked for."""

OLD = b"what was there before\n" * 1000
"""Content of a file that is replaced."""

MARK = "OPPERF_KILLED"
"""Environment variable by which the processes of a trial are found."""

VARYING = re.compile(r"[0-9a-f]{8,}|\d+")
"""In names of files: ids, times, processes."""


def leaves(command: click.Command, context: click.Context, *words: str) -> Iterator[str]:
    """Yields the commands of a command line, by their words."""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from leaves(found, click.Context(found, context), *words, name)
    else:
        yield " ".join(words)


def die_at(place: int, log: str, words: list[str]) -> None:
    """Runs opperf in this process, which ends before its change of a file number `place`. A line of
    the log is a change."""
    here, first, seen = Path.cwd(), os.getpid(), 0
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def look(event: str, values: tuple[Any, ...]) -> None:
        nonlocal seen
        if event == "open":
            changes = isinstance(values[2], int) and values[2] & (os.O_WRONLY | os.O_RDWR)
        else:
            changes = event in ("os.rename", "os.remove", "os.mkdir", "os.truncate", "os.link")
        # A file by its descriptor is cut or opened after it was opened by name.
        path = values[0] if changes else None
        if not isinstance(path, (str, os.PathLike)) or os.getpid() != first:
            return
        if here not in (here / os.fspath(path)).parents:
            return
        seen += 1
        os.write(file, f"{event} {path}\n".encode())
        if seen == place:
            os.kill(first, signal.SIGKILL)

    sys.addaudithook(look)
    sys.argv = ["opperf", *words]
    opperf()


class Ran(NamedTuple):
    """A run that was not killed."""

    seconds: float
    changes: int
    files: frozenset[str]
    contents: dict[str, bytes]
    counts: dict[str, int]


class Bench:
    """The folder of a trial, anew for each run."""

    def __init__(self, trial: Trial, inputs: Path, folder: Path, number: int) -> None:
        self.trial, self.number = trial, number
        self.folder, self.log = folder / f"{number}", folder / f"{number}.log"
        shutil.copytree(inputs, self.folder, symlinks=True)
        if trial.replaces:
            for name in trial.outputs:
                (self.folder / name).write_bytes(OLD)

    def start(self, words: tuple[str, ...], place: int = 0) -> subprocess.Popen[bytes]:
        own = {"OPPERF_DATA": "data", "OPPERF_CACHE": "cache", "OPPERF_HISTORY": "store.sqlite"}
        variables = {name: str(self.folder / path) for name, path in own.items()}
        # Temporary files of tools too, which a system clears.
        temporary = self.folder.with_name("tmp")
        temporary.mkdir(exist_ok=True)
        variables |= {MARK: str(self.folder), "TMPDIR": str(temporary)}
        variables["PYTHONPATH"] = str(Path(__file__).parents[2])
        with self.log.with_suffix(".txt").open("ab") as output:
            return subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "benchmarks.damage.kills",
                    "--die-at",
                    str(place),
                    str(self.log),
                ]
                + list(words),
                cwd=self.folder,
                env=os.environ | variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def run(self, words: tuple[str, ...]) -> tuple[int, float]:
        """Runs a command to its end, and returns its exit code and seconds."""
        begun = time.monotonic()
        started = self.start(words)
        try:
            return started.wait(LONGEST_S), time.monotonic() - begun
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            return started.wait(), LONGEST_S

    def files(self) -> frozenset[str]:
        """Returns the files and folders, without what differs in their names from run to run."""
        found = (str(path.relative_to(self.folder)) for path in self.folder.rglob("*"))
        # `.git` is another program's; what was cut short is a kept run that `opperf runs` lists,
        # and compiled modules are Python's.
        foreign = re.compile(r"^repository/\.git|^cache/unfinished|__pycache__|store\.sqlite-")
        return frozenset(VARYING.sub("#", name) for name in found if not foreign.search(name))

    def contents(self) -> dict[str, bytes]:
        found = {name: self.folder / name for name in self.trial.outputs}
        return {name: path.read_bytes() for name, path in found.items() if path.is_file()}

    def counts(self) -> dict[str, int]:
        """Returns the rows of each table of the store. Raises `sqlite3.Error`."""
        path = self.folder / "store.sqlite"
        if not self.trial.store or not path.is_file():
            return {}
        with closing(sqlite3.connect(path)) as store:
            assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            names = store.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            count = "SELECT count(*) FROM "
            return {name: store.execute(count + f'"{name}"').fetchone()[0] for (name,) in names}

    def alive(self) -> list[str]:
        """Returns the processes of this run that have not ended."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if (
                    process.environ().get(MARK) == str(self.folder)
                    and process.status() != psutil.STATUS_ZOMBIE
                ):
                    found.append(" ".join(process.cmdline())[-120:])
        return found


def is_whole(name: str, content: bytes, usual: bytes) -> bool:
    """Whether a file's content is all of it: the ends are as usual."""
    suffix = Path(name).suffix
    if suffix == ".json" and usual.startswith((b"{", b"[")) and usual.count(b"\n{") == 0:
        with suppress(ValueError):
            json.loads(content)
            return True
        return False
    ends = {".html": b"</html>", ".svg": b"</svg>", ".png": b"IEND\xaeB`\x82"}
    end = ends.get(suffix, usual[-1:])
    return content.rstrip(b"\n").endswith(end.rstrip(b"\n")) and (
        suffix in ends or 2 * content.count(b"\n") >= usual.count(b"\n")
    )


def lines_of(content: bytes) -> list[bytes]:
    """Returns the complete lines with results: records of runs, blocks of sessions."""
    found = content.split(b"\n")[:-1]
    return [line for line in found if any(b'"line":"%b"' % kind in line for kind in OWN_LINES)]


def ids(file: Path) -> list[str]:
    """Returns the ids of the whole records in a run file, as they are in it."""
    if not file.is_file():
        return []
    marked = (line for line in file.read_bytes().split(b"\n")[:-1] if b'"line":"record"' in line)
    return [line.partition(b'"id":"')[2].partition(b'"')[0].decode() for line in marked]


def unkilled(trial: Trial, inputs: Path, folder: Path, number: int) -> Ran:
    """Runs a trial without a kill. Raises `SystemExit` if it fails."""
    bench = Bench(trial, inputs, folder, number)
    code, seconds = bench.run(trial.words)
    contents = bench.contents()
    if code not in trial.codes or any(contents.get(name, OLD) == OLD for name in trial.outputs):
        said = bench.log.with_suffix(".txt").read_text()
        raise SystemExit(f"{trial}: exit code {code}\n{said}")
    changes = len(bench.log.read_text().splitlines())
    ran = Ran(seconds, changes, bench.files(), contents, bench.counts())
    shutil.rmtree(bench.folder)
    return ran


def after_kill(bench: Bench, usual: Ran) -> Iterator[str]:
    """Yields what is wrong after a kill, and after the command was repeated."""
    trial = bench.trial
    left, deadline = bench.alive(), time.monotonic() + ALIVE_S
    while left and time.monotonic() < deadline:
        time.sleep(0.1)
        left = bench.alive()
    if left:
        yield f"processes are left: {left}"
    before = bench.contents()
    for name, content in before.items():
        if trial.resume:
            if content != OLD and trial.replaces and not content.startswith(b'{"line":'):
                yield f"{name} is neither old nor new: {content[:60]!r}"
        elif content != OLD and not is_whole(name, content, usual.contents[name]):
            yield f"{name} is torn: {len(content)} bytes"
    if trial.replaces and len(before) != len(trial.outputs):
        yield f"what was there is lost: {set(trial.outputs) - set(before)}"
    try:
        bench.counts()
    except (sqlite3.Error, AssertionError) as error:
        yield f"the store does not open: {error}"
    main = trial.outputs[0] if trial.outputs else ""
    if trial.resume and (given := before.get(main, OLD)) != OLD:
        words = trial.resume
        if lines_of(given) and bench.run((*trial.reader, main))[0] == USAGE:
            yield f"{main} cannot be read"
    else:
        is_there = any((bench.folder / name).exists() for name in trial.outputs)
        replaces = is_there and trial.overwrites and "--overwrite" not in trial.words
        words = trial.words + (("--overwrite",) if replaces else ())
    code, _ = bench.run(words)
    if code == USAGE and trial.again:
        # Refused, as there is an unfinished run.
        words = trial.again
        code, _ = bench.run(words)
    if code not in (*trial.codes, *trial.later_codes):
        yield f"again, by {' '.join(words)}: exit code {code}"
    after = bench.contents()
    for name in trial.outputs:
        if name not in after or after[name] == OLD:
            yield f"{name} is missing in the end"
        elif not trial.resume and not is_whole(name, after[name], usual.contents[name]):
            yield f"{name} is torn in the end"
    if trial.resume and main in after:
        if lost := set(lines_of(before.get(main, b""))) - set(lines_of(after[main])):
            yield f"{len(lost)} lines of {main} are lost"
        if trial.reader[0] != "compare":
            with suppress(OpperfError):
                run, _ = read_run(bench.folder / main)
                records = [record.id for record in run.records]
                if lost := {case.id for case in run.cases} - set(records):
                    yield f"{len(lost)} cases have no record"
                if len(records) != len(set(records)):
                    yield "records are doubled"
    if bench.counts() != usual.counts:
        yield f"the store has {bench.counts()} in place of {usual.counts}"
    if extra := sorted(bench.files() - usual.files):
        yield f"left behind: {', '.join(extra)}"


def killed(
    trial: Trial, usual: Ran, inputs: Path, folder: Path, number: int, generator: random.Random
) -> tuple[str, list[str]]:
    """Kills a trial once; returns how, and what is wrong then."""
    bench = Bench(trial, inputs, folder, number)
    place = generator.randint(1, usual.changes) if usual.changes and number % 2 else 0
    wait_s = generator.uniform(0.0, usual.seconds)
    group = generator.random() < 0.5
    how = f"before change {place} of {usual.changes}" if place else f"after {wait_s:.2f} s"
    started = bench.start(trial.words, place)
    with suppress(subprocess.TimeoutExpired):
        started.wait(LONGEST_S if place else wait_s)
    if started.poll() is None:
        (os.killpg if group else os.kill)(started.pid, signal.SIGKILL)
        how += ", with its group" if group else ""
    started.wait()
    wrong = list(after_kill(bench, usual))
    if place and bench.log.is_file():
        how += f" ({bench.log.read_text().splitlines()[place - 1 : place]})"
    if not wrong:
        shutil.rmtree(bench.folder)
    return how, wrong


def main(count: int, seed: int, only: str, folder: Path) -> int:
    """Prints a line for each kind of trial; the exit code is 1 if anything is wrong."""
    known = {trial.command for trial in TRIALS} | set(WRITE_NOTHING)
    if missing := sorted(set(leaves(cli, click.Context(cli))) - known):
        raise SystemExit(f"no trial of: {', '.join(missing)}")
    generator = random.Random(seed)
    inputs = folder / "inputs"
    if not inputs.is_dir():
        make_inputs(inputs)
    trials = [trial for trial in TRIALS if only in trial.command]
    generator.shuffle(trials)
    usual: dict[Trial, Ran] = {}
    lost, kills = Counter[str](), Counter[str]()
    for number in range(count):
        trial = trials[number % len(trials)]
        if trial not in usual:
            usual[trial] = unkilled(trial, inputs, folder, -number - 1)
        # Every second turn of all trials is after a time.
        turn = 2 * number + (number // len(trials)) % 2
        how, wrong = killed(trial, usual[trial], inputs, folder, turn, generator)
        kills[trial.command] += 1
        lost[trial.command] += bool(wrong)
        for one in wrong:
            print(f"{' '.join(trial.words)}: killed {how}: {one} ({turn})", flush=True)
    print(f"\n{'command':20} kills  lost")
    for command in sorted(kills):
        print(f"{command:20} {kills[command]:5} {lost[command]:5}")
    print(f"{count} kills, {sum(lost.values())} lost")
    return int(any(lost.values()))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--die-at"]:
        die_at(int(sys.argv[2]), sys.argv[3], sys.argv[4:])
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="part of a command's words")
    parser.add_argument("--keep", type=Path, help="folder that stays, with what was wrong")
    chosen = parser.parse_args()
    begun = time.monotonic()
    if chosen.keep:
        chosen.keep.mkdir(parents=True, exist_ok=True)
        code = main(chosen.count, chosen.seed, chosen.only, chosen.keep)
    else:
        with tempfile.TemporaryDirectory() as name:
            code = main(chosen.count, chosen.seed, chosen.only, Path(name))
    print(f"{time.monotonic() - begun:.0f} s")
    sys.exit(code)
