"""The pages of the documentation site: what is in them, and where links lead. `make docs` builds
it."""

import contextlib
import importlib
import inspect
import keyword
import re
from pathlib import Path

import pytest
from click import Context, Group, Option

import opperf
from opperf import errors
from opperf.api.run import from_keywords
from opperf.commands import COMMANDS
from opperf.metrics import metrics_by_name
from opperf.model.metrics import NoteCode
from opperf.opperf import load_command
from opperf.reports.formats import BUILT_IN
from opperf.results.columns import DERIVED
from tools.site.documented import texts_of_members
from tools.site.markdown import code, escape, table
from tools.site.reference import API, KEYWORDS, RUNNERS, pages
from tools.site.rewriting import FRAMEWORKS, OUTSIDE, lead_links, make_tabs, name_links, plain_pipes

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def texts():
    return {path: text for path, (_, text) in pages().items()}


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text().partition("nav:")[2].partition("hooks:")[0]
    named = re.findall(r": ([\w/-]+\.md)\s*$", navigation, re.MULTILINE)
    written = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert len(named) == len(set(named))
    assert set(named) == written | set(OUTSIDE.values())


def options(command):
    """Yields the names of all options of a command, and of those below it, that help shows."""
    for param in command.params:
        if isinstance(param, Option) and not param.hidden:
            yield max(param.opts, key=len)
    if isinstance(command, Group):
        for name in command.list_commands(None):
            yield from options(command.get_command(None, name))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_a_page_with_all_of_its_options(texts, name):
    command, page = load_command(name), texts[f"reference/commands/{name}.md"]
    found = list(options(command))
    assert found and [option for option in found if option not in page] == []
    usage = " ".join(command.collect_usage_pieces(Context(command)))
    assert f"opperf {name} {usage}" in page


def test_all_metrics_columns_notes_formats_and_errors_have_a_row(texts):
    rows = {
        path: {cell[0]: cell for cell in re.findall(r"^\| `([^`]+)` (.*)", text, re.MULTILINE)}
        for path, text in texts.items()
    }
    columns = {column.metric.name for column in DERIVED}
    assert set(rows["reference/metrics.md"]) >= columns | set(metrics_by_name())
    assert set(rows["reference/notes.md"]) >= {note.value for note in NoteCode}
    assert set(rows["reference/formats.md"]) == {format.name for format in BUILT_IN}
    assert set(rows["reference/exit-codes.md"]) >= {"OpperfError", "UsageError", "ProfilerError"}
    assert f"| {errors.INTERRUPTED} | Exit code after Ctrl-C" in texts["reference/exit-codes.md"]
    for page in ("notes", "formats", "exit-codes"):
        for name, (_, row) in rows[f"reference/{page}.md"].items():
            assert not row.endswith("|  |"), f"{name} is not described"


def test_rows_have_as_many_cells_as_titles(texts):
    for path, text in texts.items():
        for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            counts = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
            assert len(counts) == 1, f"{path}: {block}"


@pytest.mark.parametrize("name", KEYWORDS)
def test_the_keywords_that_are_listed_are_those_that_are_taken(texts, name):
    section = texts["reference/python.md"].partition(f"### Options of {name}\n\n")[2]
    rows = [
        re.split(r"(?<!\\) \| ", line.strip("| "))
        for line in section.partition("\n\n")[0].splitlines()[2:]
    ]
    assert all(kind and default and meaning for _, kind, _, default, meaning in rows)
    listed = {row[0].strip("`") for row in rows}
    named = inspect.signature(getattr(opperf, name.removeprefix("opperf."))).parameters
    command = KEYWORDS[name]
    # An option of None is that which is not set.
    from_keywords(command.kind, (), dict.fromkeys(listed))
    words = {option.lstrip("-").replace("-", "_") for option in options(command)}
    taken = set()
    for word in words:
        with contextlib.suppress(errors.UsageError):
            from_keywords(command.kind, (), {word: None})
            taken.add(f"{word}_" if keyword.iskeyword(word) else word)
    assert taken - set(named) <= listed and len(taken) > 50
    with pytest.raises(errors.UsageError, match="unknown option 'resume'"):
        from_keywords(command.kind, (), {"resume": None})


@pytest.mark.parametrize("framework", RUNNERS)
def test_the_parameters_of_a_runner_are_described(framework):
    for runner in RUNNERS[framework].values():
        described = re.findall(r"^(\w+(?:, \w+)*) : ", inspect.getdoc(runner), re.MULTILINE)
        names = [name for each in described for name in each.split(", ")]
        assert sorted(names) == sorted([*inspect.signature(runner).parameters, "device"])


def test_what_is_no_code_is_no_markup():
    assert escape("'*.x' <b> `a*|b` [1]") == r"'\*.x' \<b\> `a*\|b` \[1\]"
    assert table(("a",), [[code("x|y")]]) == "| a |\n| --- |\n| `x\\|y` |\n"


def test_texts_below_members_are_theirs():
    texts = texts_of_members(NoteCode)
    assert list(texts) == [note.name for note in NoteCode]
    assert texts["NAN"] == "An output has a NaN."


@pytest.mark.parametrize(
    "page, link, led",
    [
        ("guide.md", "../README.md#numpy", "start.md#numpy"),
        ("tasks/gate.md", "../../README.md", "../start.md"),
        ("tasks/gate.md", "../ci.md#jax", "../ci.md#jax"),
        ("start.md", "docs/tasks/gate.md", "tasks/gate.md"),
        ("start.md", "CONTRIBUTING.md", "contributing.md"),
        ("guide.md", "https://example.org/README.md", "https://example.org/README.md"),
        ("guide.md", "#frameworks", "#frameworks"),
    ],
)
def test_links_lead_to_pages_of_the_site(page, link, led):
    assert lead_links(f"see [it]({link}).", page) == f"see [it]({led})."


def test_links_named_by_a_file_have_the_title_of_its_page():
    titles = {"jax.md": "JAX"}
    assert name_links("[docs/jax.md](docs/jax.md) [x.md](x.md)", titles) == (
        "[JAX](docs/jax.md) [x.md](x.md)"
    )


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs/tasks").glob("*.md")), ids=lambda page: page.name
)
def test_a_tab_has_what_is_of_its_framework_alone(page):
    tabs = re.findall(
        r'^=== "(\w+)"\n((?: {4}.*\n|\n)*)', make_tabs(page.read_text()), re.MULTILINE
    )
    assert tabs and [name for name, _ in tabs] == [*FRAMEWORKS] * (len(tabs) // len(FRAMEWORKS))
    for first in range(0, len(tabs), len(FRAMEWORKS)):
        group = tabs[first : first + len(FRAMEWORKS)]
        # A block below the last section would be in its tab.
        assert len({text.count("```") for _, text in group}) == 1


def test_code_in_tables_is_not_escaped():
    assert plain_pipes("| `a\\|b` | c\\|d |\n`e\\|f`\n") == "| `a|b` | c\\|d |\n`e\\|f`\n"


def test_sections_of_frameworks_are_tabs():
    page = (
        "## Run\n\n### JAX\n\n```sh\n# before\nx\n```\n\n### NumPy\n\ny\n\n## Read\n\n### Other\n"
    )
    assert make_tabs(page) == (
        '## Run\n\n=== "JAX"\n\n    ```sh\n    # before\n    x\n    ```\n\n'
        '=== "NumPy"\n\n    y\n\n## Read\n\n### Other\n'
    )


def test_arguments_that_are_described_together_have_one_default():
    """The page shows the first one's for all of them."""
    described = 0
    for defined in API.values():
        module, _, name = defined.rpartition(".")
        function = getattr(importlib.import_module(module), name)
        found = re.search(
            r"Parameters\n-+\n(.*?)(?:\n\n|\Z)", inspect.getdoc(function) or "", re.DOTALL
        )
        if found is None or not inspect.isfunction(function):
            continue
        parameters = inspect.signature(function).parameters
        for line in re.findall(r"^\w.*", found[1], re.MULTILINE):
            names = line.partition(" : ")[0].split(", ")
            defaults = {repr(parameters[one].default) for one in names if one in parameters}
            assert len(defaults) <= 1, f"{defined}: {line}"
            described += 1
    assert described > 20


def test_types_of_results_are_under_their_public_names(texts):
    page = texts["reference/python.md"]
    for name in ("RunResult", "FileComparison", "ArmComparison"):
        assert f"heading: opperf.{name}," in page and name in opperf.__all__
        assert getattr(opperf, name).__name__ == name
