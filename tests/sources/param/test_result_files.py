"""Results in PARAM's format are cases again."""

import json
import math

import pytest
from click.testing import CliRunner

from opperf.commands.param import SWITCHES_WITHOUT_EFFECT, WITHOUT_EFFECT, param
from opperf.comparison.files.reading import read
from opperf.errors import RunFileError, UsageError
from opperf.results.runfile import read_run
from opperf.sources.base import open_source

TENSOR = {"type": "tensor", "dtype": "float", "shape": [4, 3, 4, 4]}
LAST = {**TENSOR, "memory_format": "channels_last"}
CONTENT = {
    "torch.clamp": {
        "config": [
            {
                "input": [
                    {"args": [LAST, {"type": "float", "value": -math.inf}]},
                    {"args": [TENSOR], "kwargs": {"max": {"type": "int", "value": 2.5}}},
                ]
            }
        ]
    },
    "torch.nn.Linear": {
        "build_iterator": "RangeConfigIterator",
        "config": [
            {
                "build": [
                    {
                        "args": [
                            {"type": "int", "value": 4},
                            {"type": "int", "value": [4, 8, 4], "__range__": ["value"]},
                        ]
                    }
                ],
                "input": [{"args": [TENSOR]}],
            }
        ],
    },
    "aten::add": {
        "config": [
            {
                "build": [{"args": [{"type": "str", "value": "aten::add.Tensor"}]}],
                "input": [{"args": [TENSOR, TENSOR]}],
            }
        ]
    },
}


def expand(folder, *options):
    """Returns the lines of the configuration's cases, which are not measured, and what is said."""
    config, output = folder / "config.json", folder / "lines.json"
    config.write_text(json.dumps(CONTENT))
    words = ["-c", str(config), "-w", "0", "-i", "0", "-o", str(output), *options]
    done = CliRunner().invoke(param, words)
    assert done.exit_code == 0, done.output
    return output, done.stderr


def test_the_cases_of_a_file_are_those_that_it_was_written_from(tmp_path):
    lines, _ = expand(tmp_path)
    before = list(open_source(tmp_path / "config.json").cases())
    after = list(open_source(lines).cases())
    assert [case.id for case in after] == [case.id for case in before]
    assert [case.source_id for case in after] == [case.source_id for case in before]
    assert after[0].arguments["0"].memory_format == "channels_last"
    assert after[-2].source_id == "torch.nn.Linear|0|0_1|0"


def test_lines_that_are_appended_again_are_the_same_cases(tmp_path):
    once, _ = expand(tmp_path)
    count = len(list(open_source(once).cases()))
    twice, _ = expand(tmp_path, "-a")
    assert len(list(open_source(twice).cases())) == count


def test_a_line_that_is_wrong_costs_its_own_case(tmp_path):
    lines, _ = expand(tmp_path)
    text = lines.read_text().splitlines()
    text[1] = text[1].replace('"float"', '"flaot"')
    text[2] = text[2].replace('"config"', '"konfig"')
    wrong = text[-2].replace('"metric": {}', '"metric": {"forward": {"measure.time": [-1]}}')
    wrong = wrong.replace('"id": "', '"id": "9')
    lines.write_text("\n".join([*text, wrong, text[-2][:60]]))
    source = open_source(lines)
    assert [case.source_id for case in source.cases()] == [
        *("torch.nn.Linear|0|0_0|0", "torch.nn.Linear|0|0_1|0", "aten::add|0|0|0")
    ]
    assert [where.partition(": ")[0] for where in source.excluded] == [
        *("line 2", "line 3", "line 8", "line 9")
    ]
    assert "metric.forward.measure.time has -1, and no time is below zero" in str(source.excluded)


def test_a_file_without_a_case_is_refused(tmp_path):
    path = tmp_path / "empty.json"
    path.write_text('{"run_options": {}}\n{"finish_time": "now"}\n')
    with pytest.raises(UsageError, match=r"empty\.json"):
        open_source(path)


def test_what_compares_and_exports_says_what_the_file_is(tmp_path):
    lines, _ = expand(tmp_path)
    with pytest.raises(RunFileError, match="results in PARAM's format .* have no settings"):
        read(lines)
    with pytest.raises(RunFileError, match="results in PARAM's format .* not an opperf run file"):
        read_run(lines)


def test_options_of_param_without_effect_are_accepted_in_one_line(tmp_path):
    values = [word for name in WITHOUT_EFFECT for word in (f"--{name}", "1")]
    switches = [f"--{name}" for name in SWITCHES_WITHOUT_EFFECT]
    _, said = expand(tmp_path, *values, *switches)
    names = ", ".join([f"--{name}" for name in WITHOUT_EFFECT] + switches)
    assert said == f"opperf: no effect here: {names}\n"
    assert expand(tmp_path, "-v")[1] == "opperf: no effect here: --verbose\n"
    # Without the program that they are for.
    _, said = expand(tmp_path, "--ncu-bin", "x", "--ncu-batch", "2", "--batch-cuda-device", "1")
    assert said == "opperf: no effect here: --ncu-bin, --run-batch-size, --batch-cuda-device\n"
