"""The project's file of thresholds and tolerances."""

import pytest

from opperf.comparison.project_file import find_project_file, read_project_file
from opperf.comparison.tolerances import tolerance_text
from opperf.errors import UsageError
from opperf.instruments.instructions import INSTRUCTIONS
from opperf.requests.comparing import LimitFields

TEXT = """
threshold = "5%"

[tolerance]
instructions = "1%"

[tolerance."conv2d*"]
instructions = "3% or 200"
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository with a folder in it, where the command runs."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    return tmp_path


def limits(same_within=None, **options):
    return LimitFields(**options).limits(same_within)


def shown(found, operator="relu"):
    return tolerance_text(found.tolerances.of(INSTRUCTIONS, [operator]))


def test_the_nearest_file_of_the_repository(project):
    assert limits().path == "" and limits().thresholds.threshold == 0.02
    (project / "opperf.toml").write_text(TEXT)
    found = limits()
    assert found.path == "../opperf.toml"
    assert (found.thresholds.threshold, found.thresholds.same_within) == (0.05, 0.1)
    assert (shown(found), shown(found, "conv2d_nhwc")) == (
        "1% or 50 instructions",
        "3% or 200 instructions",
    )
    (project / "sub" / "pyproject.toml").write_text("[tool.opperf]\nthreshold = 0.03\n")
    assert limits().threshold == 0.03
    (project / "sub" / "pyproject.toml").write_text("[tool.ruff]\n")
    assert limits().threshold == 0.05


def test_nothing_above_the_repository_counts(project):
    (project / "opperf.toml").write_text(TEXT)
    (project / "sub" / ".git").write_text("gitdir: elsewhere")
    assert find_project_file(project / "sub").path is None


def test_options_come_before_the_file(project):
    (project / "opperf.toml").write_text(TEXT + "memory = 1\n")
    found = limits(threshold=0.1, tolerances=("instructions=2%",))
    assert (found.thresholds.threshold, found.thresholds.same_within) == (0.1, 0.2)
    assert (shown(found), shown(found, "conv2d")) == (
        "2% or 50 instructions",
        "3% or 200 instructions",
    )


def test_what_is_the_same_is_of_the_threshold_beside_it(project):
    (project / "opperf.toml").write_text('threshold = "5%"\nsame-within = "6%"\n')
    assert limits().thresholds.same_within == 0.06
    assert limits(threshold=0.2).thresholds.same_within == 0.4
    assert limits(same_within=0.3).thresholds.same_within == 0.3


def test_another_file_by_name(project):
    (project / "opperf.toml").write_text("broken")
    (project / "ours.toml").write_text("[tolerance]\ninstructions = 9\n")
    assert shown(limits(config=project / "ours.toml")) == "9 instructions"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("thrshold = 1", "thrshold is no key here; did you mean threshold?"),
        (
            "[tolerance]\ninstrctions = 1",
            "tolerance.instrctions: unknown metric 'instrctions'; did",
        ),
        ('[tolerance."a*"]\nforward = 1', r'tolerance."a\*".forward: forward has no tolerance'),
        ("threshold = 5", "threshold: 5 is not a share between 0 and 1"),
        ("threshold = true", "threshold: True is not a share"),
        ("tolerance = 3", "tolerance is a table of keys, not 3"),
        ("tolerance.memory = []", r"tolerance.memory: \[\] is not a tolerance"),
        ('same-within = "1%"', "same-within: 1% is below the threshold 2%"),
        ("x = ", "is not TOML: Invalid value .at"),
    ],
)
def test_an_error_names_the_file_and_the_key(tmp_path, text, words):
    path = tmp_path / "opperf.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=f"opperf.toml:? {words}"):
        read_project_file(path)


def test_a_file_that_is_named_has_to_have_the_table(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        read_project_file(tmp_path / "none.toml")
    path = tmp_path / "pyproject.toml"
    path.write_text("[tool.ruff]\n")
    with pytest.raises(UsageError, match=r"has no table \[tool.opperf\]"):
        read_project_file(path)
    path.write_text("[tool.opperf]\nthrshold = 1\n")
    with pytest.raises(UsageError, match="tool.opperf.thrshold is no key here"):
        read_project_file(path)
