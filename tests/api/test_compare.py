"""`opperf.compare` and `opperf.export`, as a program calls them."""

import json

import pytest

import opperf
from opperf.api.calls import call_settings, measure_calls
from opperf.errors import FOUND, RunFileError, UsageError
from opperf.frameworks import load


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two run files, of which the second has one case less."""
    folder = tmp_path_factory.mktemp("files")
    numpy = load("numpy")
    settings = call_settings(numpy, None, "float32", None, 0, 8)
    shapes = [(4, 4), (8, 8)]
    for name, chosen in (("base", shapes), ("new", shapes[:1])):
        inputs = [{"x": shape} for shape in chosen]
        function = numpy.function(numpy.naming.callable_target("np.negative"))
        measure_calls(numpy, function, inputs, settings, False, folder / f"{name}.jsonl")
    return folder / "base.jsonl", folder / "new.jsonl"


def test_a_comparison_has_rows_a_report_and_an_exit_code(files):
    made = opperf.compare(*files, fail_on=["missing"])
    assert (made.exit_code, made.reason) == (FOUND, "1 missing")
    assert {(row.operator, row.metric) for row in made.rows} >= {("negative", "forward")}
    assert [change.kind.value for change in made.changes] == ["disappeared"]
    assert str(made).startswith(f"base  {files[0]}")
    assert json.loads(made.report("json"))
    assert opperf.compare(*map(str, files)).exit_code == FOUND
    assert opperf.compare(*map(str, files), fail_on=()).exit_code == 0


def test_it_can_be_called_after_its_parts_are_imported(files):
    import opperf.comparison.files

    assert opperf.compare(*files, metrics=["forward"]).rows
    assert opperf.compare(files[0], files[0]).warnings == (
        f"{files[0]} and {files[0]} are the same file",
    )


def test_an_export_has_its_content_and_prints_as_json(files):
    made = opperf.export(files[0], "bencher")
    assert json.loads(str(made)) == made.content
    assert len(made.content) == 2 and made.warnings == ()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"metrics": ["forwrd"]}, "unknown metric 'forwrd'; did you mean forward"),
        ({"fail_on": ["worse"]}, "unknown finding 'worse'"),
        ({"fail_on": "missing"}, "findings is a list of texts, not 'missing'"),
        ({"operators": "add"}, "operators is a list of texts, not 'add'"),
        ({"threshold": 2}, "threshold: 2 is not a share between 0 and 1"),
    ],
)
def test_options_that_are_refused(files, options, words):
    with pytest.raises(UsageError, match=words):
        opperf.compare(*files, **options)


def test_files_and_formats_that_are_refused(files, tmp_path):
    with pytest.raises(RunFileError, match="cannot be read"):
        opperf.compare(files[0], tmp_path / "missing.jsonl")
    with pytest.raises(UsageError, match="unknown tool 'benher'; did you mean bencher"):
        opperf.export(files[0], "benher")
    with pytest.raises(UsageError, match="unknown format 'xml'"):
        opperf.compare(*files).report("xml")
