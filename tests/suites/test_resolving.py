"""Resolution of suite files: merging, inheritance, references, selection, and their errors."""

from pathlib import Path

import pytest

from opperf.suites.bench import Plan
from opperf.suites.resolving import is_suite_file, resolve
from opperf.suites.system import obstacles


def test_a_bench_has_what_it_inherits_at_any_depth_and_star_beats_all(bench):
    found = bench(
        """
_base: {operators: [exp], enabled: false, tags: [b], weight: 1, group: base}
_middle: {inherits: _base, weight: 2, tags: [a]}
b: {inherits: _middle, weight: 3, tags: [c, a]}
"*": {weight: 4}
"""
    )
    assert (found.weight, found.enabled, found.group) == (4, False, "base")
    assert found.tags == ("a", "b", "c")
    assert found.templates == ("_middle", "_base")
    assert str(found.locations["group"]) == "suite.yaml:2: _base.group"
    assert found.locations["weight"].line == 5


def test_inheritance_is_as_deep_as_it_is_written(bench):
    lines = ["_t0: {operators: [exp]}"]
    lines += [f"_t{depth}: {{inherits: _t{depth - 1}}}" for depth in range(1, 2000)]
    assert bench("\n".join([*lines, "b: {inherits: _t1999}"])).content == ("exp",)


def test_lists_are_replaced_or_appended_to_and_keys_deleted(bench):
    found = bench(
        """
_t:
  definition: d
  requires_capabilities: ["1 > 0"]
  argv: {--a: 1, --b: 2, --c: 3, "--": [x]}
  observe: [optimizer]
b:
  inherits: _t
  requires_capabilities: {append: ["2 > 1"]}
  argv: {--a: 9, --b: !delete , --c: null, "--": {append: [y]}}
  observe: ["line:a"]
"""
    )
    assert found.requires_capabilities == ("1 > 0", "2 > 1")
    assert found.argv == ("--a", "9", "x", "y")
    assert found.observe == ("line:a",)


def test_dots_expand_and_mappings_merge_in_place(bench):
    found = bench(
        """
_more: &more {voir: {options: {skip: 2, stop: 3}}}
b: !expand-dot
  operators: [exp]
  voir.options.stop: 5
  <<<: *more
  plan.n: 2
"""
    )
    # What is merged in place is later than what is above it.
    assert (found.voir.stop, found.voir.skip, found.plan) == (3, 2, Plan("njobs", 2))


def test_yamls_own_merge_is_below_what_is_written(bench):
    found = bench("_t: &t {weight: 2, operators: [exp]}\nb: {<<: *t, weight: 3}\n")
    assert (found.weight, found.content) == (3, ("exp",))


def test_includes_are_below_their_file_and_paths_are_relative_to_the_file_that_has_them(suite):
    found = suite(
        "include: [parts/one.yaml, parts/two.yaml]\nb: {weight: 5}\n",
        files={
            "parts/one.yaml": "include: deep/base.yaml\nb: {inherits: _t, weight: 3}\n",
            "parts/two.yaml": "include: deep/base.yaml\nc: {inherits: _t}\n",
            "parts/deep/base.yaml": "_t: {definition: ../code, weight: 1}\nc: {weight: 9}\n",
            "parts/code/main.py": "",
        },
    )
    first, second = sorted(found.benches, key=lambda one: one.name)
    assert (first.weight, second.weight) == (5, 9)
    assert first.content == (str(Path("parts/code").absolute()),)
    assert first.locations["definition"].file == "parts/deep/base.yaml"
    assert found.files == ("parts/deep/base.yaml", "parts/one.yaml", "parts/two.yaml", "suite.yaml")
    assert not found.problems


def test_references_are_absolute_relative_or_of_the_environment(bench):
    found = bench(
        r"""
_t: {size: 7, list: [a, b]}
b:
  definition: d
  num_machines: 2
  x.y: 1
  requires_capabilities: ["len(nodes) >= ${..num_machines}"]
  weight: ${_t.size}
  argv:
    --a: ${.--b}
    --b: ${..num_machines}-${_t.list[1]}-${b.x.y}
    --c: ${oc.env:WHERE}/${oc.env:NONE,here}
    --d: \${HOME}
""",
        variables={"WHERE": "/w"},
    )
    assert found.weight == 7
    assert found.requires_capabilities == ("len(nodes) >= 2",)
    assert found.argv == ("--a", "2-b-1", "--b", "2-b-1", "--c", "/w/here", "--d", "${HOME}")


def test_a_reference_without_dots_is_to_a_key_of_its_own_entry_first(bench):
    text = "z: {operators: x, n: 1}\nb: {operators: '${n}-${z.n}', n: 2, z: {n: 3}}"
    assert bench(text).content == ("2-3",)
    assert bench(text.replace(", z: {n: 3}", "")).content == ("2-1",)


def test_what_is_switched_off_for_another_file_is_no_bench(suite):
    found = suite("b: {operators: x}\ngone: {enabled: false}")
    assert [bench.name for bench in found.benches] == ["b"]
    assert found.notes == ("not enabled, and nothing to run: gone",)


def test_keys_may_be_written_with_hyphens(bench):
    text = "_t: {install-group: t, max-duration: 5}\nb: {inherits: _t, operators: x, num-gpus: 2}"
    found = bench(text)
    assert (found.env.name, found.max_duration_s, found.others["num-gpus"]) == ("t", 5, 2)


def test_a_definition_of_a_repository_is_a_problem_of_its_bench(suite):
    found = suite("b: {definition: {git: 'https://e.org/x', branch: main}}")
    assert found.problems == {"b": "https://e.org/x: clone it, and name its folder instead"}


def test_placeholders_and_functions_have_the_values_of_the_system(bench):
    text = """
b:
  definition: code
  argv:
    --w: "auto({n_worker}, 3)"
    --n: expr({cpu_count} * 2 + len(nodes))
    --j: '{"a": {"b": 1}}'
    --e: "{{arch}}"
    device={device_name}: true
    size=auto_batch(8): true
    --d: "{milabench_data}/x"
    --c: "{benchmark_folder}"
"""
    found = bench(text, overrides=("system.cpu.enabled=1", "system.sizer.auto=1"))
    words = dict(zip(found.argv[2::2], found.argv[3::2], strict=True))
    assert found.argv[:2] == ("device=cuda", "size=8")
    assert words["--w"] == "4" and words["--n"] == "17" and words["--e"] == "{arch}"
    assert words["--j"] == '{"a": {"b": 1}}'
    assert words["--d"] == "/base/data/x" and words["--c"] == str(Path("code").absolute())
    assert bench(text).argv[3] == "3"
    sizes = {"mult": 2.5, "add": 3, "multiple": 4}
    overrides = [f"system.sizer.{key}={value}" for key, value in sizes.items()]
    found = bench(text, overrides=("system.sizer.auto=1", *overrides))
    assert found.argv[1] == "size=20"


def test_the_command_line_beats_the_environment_and_that_the_file(bench):
    text = (
        "_t: {group: g}\nb: {inherits: _t, definition: d, weight: 1, argv: {--lr-x: 1, --m: 1}}\n"
    )
    variables = {"MILABENCH_B_ARGV_LR_X": "2", "MILABENCH_B_WEIGHT": "3", "MILABENCH_BASE": "/e"}
    found = bench(text, variables=variables)
    assert (found.weight, found.argv) == (3, ("--lr-x", "2", "--m", "1"))
    assert str(found.locations["weight"]) == "MILABENCH_B_WEIGHT: b.weight"
    overrides = ("b.argv.--lr-x=4", "b*.weight=5", "_t.group=h", "b.argv.--m={arch}")
    found = bench(text, variables=variables, overrides=overrides)
    assert (found.weight, found.argv) == (5, ("--lr-x", "4", "--m", "cuda"))
    assert found.group == "h"
    assert str(found.locations["argv.--lr-x"]) == "--override: b.argv.--lr-x"


def test_names_with_hyphens_and_dots_can_be_overridden(suite):
    text = "bert-fp16: {operators: [exp]}\nv1.5: {operators: [exp]}\n"
    found = suite(text, overrides=("bert-fp16.weight=2", "v1.5.weight=3"))
    assert [bench.weight for bench in found.benches] == [2, 3]


SELECTED = """
a1: {operators: [exp], group: g, tags: [x]}
a2: {definition: code/nets, install_group: i}
b: {operators: [exp], tags: [x, y]}
"""


@pytest.mark.parametrize(
    ("select", "exclude", "names"),
    [
        ((), (), "a1 a2 b"),
        (("*",), (), "a1 a2 b"),
        (("g",), (), "a1"),
        (("i", "b"), (), "a2 b"),
        (("nets",), (), "a2"),
        (("x",), ("y",), "a1"),
        (("a*",), (), "a1 a2"),
        ((), ("a?",), "b"),
    ],
)
def test_benches_are_selected_by_name_group_tag_folder_or_glob(suite, select, exclude, names):
    found = suite(SELECTED, select=select, exclude=exclude)
    assert [bench.name for bench in found.benches] == names.split()


def test_capabilities_are_those_of_the_system_file(suite):
    text = 'b: {operators: [exp], requires_capabilities: ["len(nodes) >= 2", "gpu[\'count\'] > 1"]}'
    nodes = "{nodes: [{name: a, ip: 1.2.3.4, user: u}, {name: c, ip: b, user: u}], arch: rocm}"
    here = suite(text)
    (reason,) = obstacles(here.benches[0], here.system)
    assert reason == "len(nodes) >= 2 does not hold on this system"
    none = suite(text, files={"system.yaml": "system: {nodes: []}"}, system=Path("system.yaml"))
    assert none.system.nodes == here.system.nodes
    there = suite(text, files={"system.yaml": f"system: {nodes}"}, system=Path("system.yaml"))
    assert obstacles(there.benches[0], there.system) == []
    assert (there.system.arch, [node.name for node in there.system.nodes]) == ("rocm", ["a", "c"])


@pytest.mark.parametrize(
    ("given", "expression", "holds"),
    [
        ("nodes=2", "len(nodes) >= 2", True),
        ("nodes=2", "len(nodes) >= 3", False),
        ("nodes=0", "len(nodes) >= 1", False),
        ("nodes=1", "nodes[0].name == 'local'", True),
        ("gpu.count=8,arch=cuda", "gpu['count'] >= 8 and gpu.capacity and arch == 'cuda'", True),
        ("gpu.count=1", "gpu['count'] >= 2", False),
        ("switches=3", "switches > 2.5", True),
        ("fast=true", "fast", True),
    ],
)
def test_capabilities_of_the_command_line_stand_for_those_of_the_system(
    suite, given, expression, holds
):
    text = f'b: {{operators: [exp], requires_capabilities: ["{expression}"]}}'
    found = suite(text, capabilities=(given,))
    assert (obstacles(found.benches[0], found.system) == []) is holds


def test_later_files_are_merged_over_earlier_ones(tmp_path):
    paths = [tmp_path / "a.yaml", tmp_path / "b.yaml"]
    paths[0].write_text("b: {operators: [exp], weight: 1}\n")
    paths[1].write_text("b: {weight: 2}\nc: {operators: [log]}\n")
    assert [bench.weight for bench in resolve(paths).benches] == [2, 1]


def test_suites_are_told_from_other_yaml(tmp_path):
    texts = {
        "suite.yaml": "b: {operators: [exp]}",
        "parts.yml": "include: [a.yaml]",
        "broken.yaml": "b: [",
        "axes.yaml": "mode: [eager, compile]\nenv: {A: [1]}",
        "system.yaml": "system: {arch: cuda}",
        "suite.json": "{}",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert {name for name in texts if is_suite_file(tmp_path / name)} == {
        "suite.yaml",
        "parts.yml",
        "broken.yaml",
    }


LAUGHS = "\n".join(
    ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    + [
        f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]"
        for old, new in zip("abcdef", "bcdefg", strict=True)
    ]
)

REFUSALS = {
    "b: [1\nc: 2\n": "suite.yaml:2: no YAML: ",
    "": "suite.yaml: it is empty",
    "- b": "suite.yaml:1: a suite is a mapping",
    "b: 3": "suite.yaml:1: b: a bench is a mapping, and this is 3",
    "b: {}\nb: {}": "suite.yaml:2: b: it is there twice; first on line 1",
    "a: {inherits: b}\nb: {inherits: a}": "a inherits from b inherits from a",
    "_defaults: {}\nb: {inherits: _default}": "b.inherits: unknown template _default; did you",
    "include: no.yaml": "suite.yaml:1: include: no.yaml: it cannot be read: No such file",
    "b: {wieght: 3}": "suite.yaml:1: b.wieght: unknown key wieght; did you mean weight?",
    "b: {weight: 3}": "b has nothing to run",
    "b: {operators: x, model: y}": "b has operators (suite.yaml:1: b.operators) and model",
    "b: {operators: x, weight: heavy}": "b.weight: a number is expected, and this is 'heavy'",
    "b: {operators: x, weight: .nan}": "b.weight: a finite number of at least 0",
    "b: {operators: x, enabled: 'yes'}": "b.enabled: true or false is expected",
    "b: {operators: x, max_duration: soon}": "b.max_duration: a duration above 0",
    "b: {operators: x, plan: {method: per_gpus}}": "unknown plan 'per_gpus'; did you mean per_gpu?",
    "b: {operators: x, plan: {m: 3}}": "b.plan.m: unknown key m",
    "b: {operators: x, argv: {--a: 1}}": "b.argv: argv is of scripts",
    "b: {definition: x, settings: {a: 1}}": "b.settings: settings are of benches",
    "b: {definition: x, argv: {--x: '{n_workers}'}}": "did you mean n_worker?",
    "b: {definition: x, argv: {--x: 'auto(1)'}}": "b.argv.--x: 'auto(1)' fails",
    "b: {definition: x, requires_capabilities: ['len(']}": "b.requires_capabilities: 'len(' is",
    "b: {definition: x, y: '${c.d}'}": "b.y: ${c.d}: there is no c",
    "b: {definition: x, y: '${.wait}', weight: 1}": "${.wait}: b has no wait",
    "b: {definition: x, y: '${.z}', z: '${.y}'}": "references have a cycle: b.y refers to b.z",
    "b: {definition: x, y: '${....z}'}": "${....z} is above the file",
    "b: !!python/object:os.system {}": "unknown tag",
    "b: &b {c: *b}": "suite.yaml:1: no YAML: an alias of what it is in",
    "b: " + "[" * 101 + "]" * 101: "no YAML: nested more than 100 deep",
    "b: " + "[" * 20000: "no YAML",
    LAUGHS: "more than 200000 values",
    "system: {arch: cpu}": "give its file by --system",
    "a/b: {operators: x}": "'a/b' cannot be the name of a bench",
    "_a: {definition: d, argv: [x]}\nb: {inherits: _a, argv: {--x: 1}}": "with the list of",
}


@pytest.mark.parametrize("text", REFUSALS, ids=list(map(str, range(len(REFUSALS)))))
def test_what_does_not_resolve_is_one_line_with_its_place(refusal, text):
    assert REFUSALS[text] in refusal(text)


def test_texts_that_double_at_each_reference_end(refusal):
    lines = [f"r{n}: {{operators: x, y: '${{r{n + 1}.y}}${{r{n + 1}.y}}'}}" for n in range(40)]
    assert "r0 refers to more than" in refusal("\n".join([*lines, "r40: {operators: x, y: z}"]))


def test_includes_of_each_other_are_named(refusal):
    found = refusal(
        "include: a.yaml", files={"a.yaml": "include: c.yaml", "c.yaml": "\ninclude: a.yaml"}
    )
    assert "c.yaml:2: include: files include each other: a.yaml includes c.yaml" in found


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"select": ("bb",)}, "--select bb: no bench has this name, group or tag; did you mean b?"),
        ({"exclude": ("c*",)}, "--exclude c*: no bench"),
        ({"overrides": ("b.weight",)}, "--override b.weight: write NAME.KEY=VALUE"),
        ({"overrides": ("bb.weight=3",)}, "there is no bb; did you mean b?"),
        ({"overrides": ("b.weight=[",)}, "--override b.weight=[: '[' is no value in YAML"),
        ({"overrides": ("b.wieght=3",)}, "--override: b.wieght: unknown key wieght"),
        ({"overrides": ("system.cpu.maxx=3",)}, "unknown option cpu.maxx; did you mean cpu.max?"),
        ({"overrides": ("system.cpu.max=x",)}, "cpu.max is an integer, and 'x' is not"),
        ({"variables": {"MILABENCH_CPU_MAX": "many"}}, "MILABENCH_CPU_MAX: cpu.max is an integer"),
        ({"capabilities": ("nodes",)}, "--capabilities nodes: write NAME=VALUE"),
        ({"capabilities": ("node=2",)}, "unknown capability 'node'; did you mean nodes?"),
        ({"capabilities": ("nodes=[",)}, "--capabilities nodes=["),
        ({"system": Path("no.yaml")}, "no.yaml: it cannot be read"),
    ],
)
def test_options_that_fit_nothing_are_refused(refusal, option, message):
    assert message in refusal("b: {operators: [exp]}", **option)
