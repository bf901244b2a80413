"""The code in CONTRIBUTING.md is complete: each block is imported, and its rules are called."""

import re
import textwrap
from pathlib import Path

import pytest

from opperf.rules.registering import Families
from opperf.rules.sizes import PRESETS
from opperf.rules.torch import FAMILIES as TORCH

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = [
    (TEXT[: match.start()].count("\n") + 1, textwrap.dedent(match[1]))
    for match in re.finditer(r"^ *```python\n(.*?)^ *```", TEXT, re.MULTILINE | re.DOTALL)
]


@pytest.fixture
def torch_as_before():
    """Removes what the block for a user's own operator registers."""
    before = dict(TORCH.by_name)
    yield
    TORCH.by_name.clear()
    TORCH.by_name.update(before)


@pytest.fixture
def run_block(torch_as_before):
    def run(block):
        names = {"__name__": "contributed"}
        exec(compile(block, str(PAGE), "exec"), names)
        return names

    return run


def test_there_are_blocks_for_each_framework():
    rules = "".join(block for _, block in BLOCKS if "Families" in block)
    for word in ("_contrib_quadratic", "index_select", "JAX.add", "NUMPY.add", "operation("):
        assert word in rules


@pytest.mark.parametrize("line, block", BLOCKS, ids=[f"line {line}" for line, _ in BLOCKS])
def test_a_block_is_complete(line, block, run_block):
    names = run_block(block)
    made = [one for one in names.values() if isinstance(one, Families) and one is not TORCH]
    for families in made:
        assert families.count
        for family in (*families.by_name.values(), *families.by_operation.values()):
            for size in PRESETS.values():
                assert all(isinstance(one, dict) for one in family(None, size))


TOP = "opperf|tests|benchmarks|tools|docs"


def test_each_path_exists():
    named = set(re.findall(rf"`((?:{TOP})/[^`\s<]*)", TEXT))
    rows = re.findall(r"^\| (`.*?) \|", TEXT, re.MULTILINE)
    assert len(named) > 50 and len(rows) > 10
    for path in named | {name for row in rows for name in re.findall(r"`(.*?)`", row)}:
        assert list(ROOT.glob(path)) or (ROOT / "opperf" / path).exists(), path


def test_folders_are_in_the_order_of_imports():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (layers,) = re.findall(r'containers = \["opperf"\]\nlayers = \[\n(.*?)\n\]', project, re.DOTALL)
    lines = [re.findall(r"\w+", line) for line in reversed(layers.splitlines())]
    place = {name: number for number, line in enumerate(lines) for name in line}
    listed = re.findall(r"^\| `opperf/(\w+)", TEXT, re.MULTILINE)
    assert len(listed) > 15
    assert [place[name] for name in listed] == sorted(place[name] for name in listed)


def test_the_index_of_benchmarks_has_every_script():
    folder = ROOT / "benchmarks"
    index = (folder / "README.md").read_text(encoding="utf-8")
    listed = set()
    for section in index.split("\n## ")[1:]:
        name = section.partition("/")[0].strip("`")
        listed |= {
            f"{name}/{script}" for script in re.findall(r"^\| `(\S+)`", section, re.MULTILINE)
        }
    scripts = {
        str(file.relative_to(folder)).removesuffix("/__main__.py")
        for file in (*folder.rglob("*.py"), *folder.rglob("*.sh"))
        if file.suffix == ".sh" or 'if __name__ == "__main__"' in file.read_text(encoding="utf-8")
    }
    assert len(scripts) > 40
    assert listed == scripts
