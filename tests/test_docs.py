"""Every example in the documentation runs."""

import linecache
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click import Option

from opperf.frameworks import BUILT_IN, PREFERENCE, is_available
from opperf.opperf import cli, main
from tests.jobs import make_job
from tests.shared_workers import replace_workers, sharing

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TASKS = [page for page in PAGES if page.parent.name == "tasks"]

LONG = (
    "bisecting.md",
    "experiments.md",
    "guide.md",
    "jax.md",
    "pytorch.md",
    "recording.md",
    "snippets.md",
    "sweeps.md",
    "versus.md",
    "workloads.md",
    *(page.name for page in TASKS),
)
"""Pages that measure for more than 15 s: in `make test-all` only."""

FRAMEWORKS: dict[str, tuple[str, ...]] = {
    "jax": ("jax",),
    "versus": ("torch", "jax"),
    **dict.fromkeys(("experiments", "pytorch", "recording", "snippets", "workloads"), ("torch",)),
    **dict.fromkeys((page.stem for page in TASKS), ("mxnet", "torch", "jax")),
}
"""Frameworks that pages need."""

NOT_RUN = ("pip install", "make ", "git clone")
"""Beginnings of commands that install or run everything; CI itself starts with them."""

PLANNED = re.compile(
    r"opperf (--quick --output-format json --output-file results\.json"
    r"|ab (?!.*--dry-run)|suite run .*machine)"
)
"""Commands that measure everything, or for a minute, or whose verdict depends on the machine: they
are planned in full, and not carried out."""


MEASURING = re.compile(
    r"opperf (run )?"
    r"(?!list|show|coverage|runs|record|report|compare|analyze|aggregate|bisect|explain|plot|export|ab|versus|doctor|frameworks|"
    r"param|suite|trace|history)"
)
"""Commands that measure, for as long as their figures take to settle."""

BRIEFLY = " --max-time 0.01"
"""What such a command is given besides: what it says and writes is the same."""

OF_A_FILE = re.compile(
    r"\Aopperf experiment | --(shape|quick|inputs|replay|import)\b|\.(json|jsonl|py|txt|param)\b"
)
"""What a command of models, of a file or of given shapes has: it takes no size or fewer
configurations. Its output is no such file."""

SMALLER = {" --size": " --size small", " --max-configs": " --max-configs 1"}
"""What a command that measures operators of a registry is given besides, unless it has the like: a
large product of matrices alone takes seconds a call."""


def briefly(command):
    """Returns a command that measures in less time."""
    if not OF_A_FILE.search(re.sub(r" -o \S+", "", command)):
        command += "".join(more for option, more in SMALLER.items() if option not in command)
    return command + BRIEFLY


def blocks(page):
    """Yields the language and the code of every block of a page, in order, with its line."""
    text = page.read_text()
    for match in re.finditer(r"^```(sh|python)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield match[1], match[2], text[: match.start()].count("\n") + 1


NEEDS_A_SHELL = re.compile(r"[|<>;&$`]|\A(?!opperf )")
"""What is in a command that is more than opperf and its words."""


OF_A_USER = re.compile(r"opperf .*(\.py\b|my_package|--import|--replay)")
"""Commands whose workers import or run what the page's own folder has."""


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """The repository that every page begins with, and is given a copy of."""
    folder = tmp_path_factory.mktemp("job")
    make_job(folder, ("base", "head"))
    return folder


@pytest.fixture(scope="module")
def module_worker():
    """In place of `Worker`, for the pages that measure operators alone."""
    with sharing() as worker:
        yield worker


@pytest.fixture
def page_worker(page, module_worker):
    """In place of `Worker`, for the commands of a page."""
    if not any(OF_A_USER.search(one) for _, block, _ in blocks(page) for one in commands(block)):
        yield module_worker
        return
    with sharing() as worker:
        yield worker


@pytest.fixture
def paste(page, job, page_worker, tmp_path, monkeypatch, capsys):
    """Carries out code of a page in a repository of its own; returns what is printed. Commands of
    opperf, and Python, are carried out in this process and share their workers, as starting these
    would take most of the time."""
    shutil.copytree(job, tmp_path, symlinks=True, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")

    def start(arguments, place):
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, f"{place}: {done.stdout}{done.stderr}"
        return done.stdout

    def pasted(language, code, place):
        if language == "python":
            # A file, as functions are handed over by their source.
            script = tmp_path / "block.py"
            script.write_text(code)
            linecache.checkcache()
            runpy.run_path(str(script), run_name="__main__")
            printed = capsys.readouterr().out
            script.unlink()
            return printed
        if NEEDS_A_SHELL.search(re.sub(r"'[^']*'", "", code)):
            return start(["sh", "-c", code], place)
        with pytest.raises(SystemExit) as ended:
            main(shlex.split(code)[1:])
        out, err = capsys.readouterr()
        assert not ended.value.code, f"{place}: {out}{err}"
        return out

    replace_workers(monkeypatch, page_worker)
    return pasted


def commands(block):
    """Yields the commands of a block that are carried out, as they are."""
    for line in block.replace("\\\n", " ").splitlines():
        command = line.partition("  #")[0].strip()
        named = re.search(r"--framework (\w+)", command)
        if named and not is_available(named[1]):
            continue
        if not command or command.startswith(("#", *NOT_RUN)):
            continue
        if PLANNED.match(command):
            command += " --dry-run"
        elif MEASURING.match(command) and not re.search(r" -r | --(list|resume)\b", command):
            command = briefly(command)
        yield command


def test_the_first_page_has_an_example_of_each_framework():
    text = (ROOT / "README.md").read_text().partition("## Measure")[2].partition("\n## ")[0]
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^### )", text, re.MULTILINE | re.DOTALL))
    for name, title in zip(PREFERENCE, ("MXNet", "PyTorch", "JAX", "NumPy"), strict=True):
        assert f"--framework {name}" in sections[title]
    first, *_ = zip(*table("guide.md", "framework"), strict=True)
    assert [re.findall(r"`(\w+)`", name) for name in first] == [[name] for name in PREFERENCE]


@pytest.mark.parametrize("page", TASKS, ids=lambda page: page.name)
def test_a_task_has_a_section_of_each_framework(page):
    sections = re.split(r"^## .*\n", page.read_text(), flags=re.MULTILINE)
    named = [re.findall(r"^### (\w+)$", section, re.MULTILINE) for section in sections]
    assert any(named)
    assert all(set(names) == {"MXNet", "PyTorch", "JAX", "NumPy"} for names in named if names)


def test_there_are_examples():
    found = [language for page in PAGES for language, _, _ in blocks(page)]
    assert found.count("sh") >= 3 and found.count("python") >= 3


def anchors(page):
    """Returns the names of a page's headings in links, and those of its own anchors."""
    text = page.read_text()
    headings = re.findall(r"^#+ (.*)", text, re.MULTILINE)
    named = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
    return named | set(re.findall(r'<a id="([\w-]+)">', text))


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_lead_to_files_and_headings(page):
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text()):
        path, _, heading = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not heading or heading in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_takes_opperf_from_an_index(page):
    for line in page.read_text().splitlines():
        assert not re.search(r"pip install (-\S+ )*'?opperf(\[\w+\])?'?( *$|[^\w\[ ])", line), line


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=[pytest.mark.sweep] if page.name in LONG else [])
        for page in PAGES
    ],
)
def test_a_page_is_pasted_in_order_in_one_folder(page, paste):
    if page.stem in FRAMEWORKS:
        for framework in FRAMEWORKS[page.stem]:
            pytest.importorskip(framework)
    for language, block, line in blocks(page):
        place = f"{page.name}:{line}"
        if language == "python":
            output = paste(language, block, place)
            assert "print(" not in block or output.strip(), place
            continue
        for command in commands(block):
            paste(language, command, f"{place}: {command}")


def table(page, title):
    """Returns the rows of the table whose first heading is this, as lists of cells."""
    text = (ROOT / "docs" / page).read_text()
    found = re.search(rf"^\| {title} \|.*\n\|[ |-]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    return [re.split(r"(?<!\\)\|", row.strip("|")) for row in found[1].splitlines()]


def shown_options(command):
    """Returns the names of each option of a command that its help shows."""
    options = [one for one in command.params if isinstance(one, Option) and not one.hidden]
    return [{*one.opts, *one.secondary_opts} for one in options]


TABLES_OF_OPTIONS = [
    ("guide.md", "flag", "run", set()),
    ("workloads.md", "option", "param", set()),
    ("traces.md", "option", "trace", set()),
    # Those of every command that writes a file are with the commands of the page.
    ("sweeps.md", "option", "plot", {"--output-file", "--overwrite", "--debug"}),
]


@pytest.mark.parametrize(("page", "title", "name", "elsewhere"), TABLES_OF_OPTIONS)
def test_a_table_has_all_options_of_its_command_and_no_others(page, title, name, elsewhere):
    known = shown_options(cli.get_command(None, name))
    written = set()
    for flag, *_ in table(page, title):
        found = set(re.findall(r"(?<![\w-])(--?[a-z][\w-]*)", flag))
        assert found and found <= set().union(*known), flag
        written |= found
    assert [names for names in known if not names & (written | elsewhere)] == []


def test_the_types_of_arguments_of_a_configuration_are_all():
    from opperf.formats.param.schema import TYPES

    rows = [
        re.findall(r"`(\w+)`", kind) for kind, *_ in table("workloads.md", "type of an argument")
    ]
    assert sorted(name for row in rows for name in row) == sorted(TYPES)


def test_the_definitions_of_snippets_are_exported():
    from opperf import snippets

    rows = [re.findall(r"`(\w+)\(", made) for made, *_ in table("snippets.md", "definition")]
    assert rows and all(hasattr(snippets, name) for row in rows for name in row)


def test_the_guides_frameworks_are_the_registry():
    (row,) = [row for flag, row, *_ in table("guide.md", "flag") if "--framework" in flag]
    assert re.findall(r"`(\w+)`", row) == list(PREFERENCE)
    assert set(PREFERENCE) == set(BUILT_IN)


def test_the_guides_dtypes_and_formats_are_the_programs():
    from opperf.commands.run import run as command
    from opperf.dtypes import DTYPES

    (formats,) = [one.type.choices for one in command.params if "-f" in one.opts]
    rows = {flag.strip(): meaning for flag, meaning, *_ in table("guide.md", "flag")}
    assert set(re.findall(r"`(\w+)`", rows["`--dtype`"])) <= {*DTYPES, "f16", "bf16", "half"}
    assert set(re.findall(r"`([\w-]+)`", rows["`-f`, `--output-format`"])) == set(formats)


def test_the_guides_settings_of_an_arm_are_all():
    from opperf.comparison.ab.arms import KINDS

    written = [re.findall(r"`(\w+):", setting) for setting, *_ in table("guide.md", "setting")]
    assert sorted(name for row in written for name in row) == sorted(KINDS)


def test_the_guides_columns_are_registered():
    from opperf.results.columns import DERIVED, known_columns

    names = [re.findall(r"`(\w+)`", column) for column, *_ in table("guide.md", "column")]
    written = {name for row in names for name in row}
    assert written <= set(known_columns())
    assert written >= {column.metric.name for column in DERIVED}


def test_the_guides_verdicts_are_those_of_compare():
    from opperf.statistics.data import Verdict

    names = [re.findall(r"`([a-z ]+)`", verdict) for verdict, *_ in table("guide.md", "verdict")]
    written = {name for row in names for name in row}
    # Those of ab alone: of a whole session, and of what its counts leave untimed.
    of_ab = {Verdict.INVALID.value, Verdict.INSTRUCTIONS_SAME.value}
    assert written | of_ab == {verdict.value for verdict in Verdict}
