"""Expansion of matrices: combinations, names, points, and what a job has."""

import pytest

NETS = """
sweep:
  weight: 2
  inherits: _t
  matrix: {net: [a, b], size: [1, 2], mode: eager}
  job:
    name: "{net}-{size}-{mode}"
    argv: {--net: "{net}", --all: "{net}/{size:02d}", -v: "{flag}"}
    num_machines: "{size}"
_t: {definition: d, tags: [x]}
"""


def names_of(suite, text, **more):
    return [bench.name for bench in suite(text, **more).benches]


def test_a_job_has_its_combination_and_what_stands_beside_the_matrix(suite):
    found = suite(NETS.replace(', -v: "{flag}"', ""))
    # The first key varies fastest; a value that is no list is the only one.
    names = [bench.name for bench in found.benches]
    assert names == ["a-1-eager", "b-1-eager", "a-2-eager", "b-2-eager"]
    last = found.benches[-1]
    assert last.point == {"net": "b", "size": 2, "mode": "eager"}
    assert last.argv == ("--net", "b", "--all", "b/02") and last.num_machines == 2
    assert (last.weight, last.tags, last.matrix) == (2, ("x",), "sweep")
    assert last.templates == ("_t",) and last.locations["weight"].key == "sweep.weight"


def test_other_braces_of_a_job_are_placeholders(refusal):
    assert "unknown placeholder {flag}" in refusal(NETS)


ZIPPED = """
m:
  matrix: {a: [1, 2, 3], b: [x, y, z], c: [0, 1]}
  zip: [a, b]
  exclude: [{a: 2}, {b: [x, z], c: 1}]
  job: {operators: [exp]}
"""


def test_zipped_keys_vary_together_and_what_is_excluded_is_no_job(suite):
    assert names_of(suite, ZIPPED) == ["m-1-x-0", "m-3-z-0"]
    two = ZIPPED.replace("[a, b]", "[[a, b]]").replace("{a: 2}, ", "")
    assert names_of(suite, two) == ["m-1-x-0", "m-2-y-0", "m-3-z-0", "m-2-y-1"]


def test_jobs_are_selected_and_overridden_by_their_matrix(suite):
    text = ZIPPED + "b: {operators: [exp]}\n"
    found = suite(text, select=("m",), overrides=("m.weight=3", "m-1-x-0.weight=4"))
    assert [(bench.name, bench.weight) for bench in found.benches] == [
        ("m-1-x-0", 4),
        ("m-3-z-0", 3),
    ]


def test_true_of_a_matrix_is_a_word_of_a_command_line(suite):
    text = "m: {matrix: {amp: [true, false]}, job: {definition: d, argv: {--amp: '{amp}'}}}"
    assert [bench.argv[1] for bench in suite(text).benches] == ["True", "False"]


JOB = "job: {name: 'x{a}', operators: [y]}"

REFUSALS = {
    "m: {matrix: {a: [1]}}": "suite.yaml:1: m.matrix: m has a matrix and no job",
    f"m: {{{JOB}}}": "m.job: m has a job and no matrix",
    "m: {matrix: {a: [1, 2]}, job: {name: x, operators: y}}": "two benches are called x",
    f"x1: {{operators: y}}\nm: {{matrix: {{a: 1}}, {JOB}}}": "m.job: two benches are called x1",
    "m: {matrix: {size: 1}, job: {name: '{sise}'}}": "m.job.name: the matrix has no key sise; did",
    f"m: {{matrix: {{a: [1], b: [1, 2]}}, zip: [a, b], {JOB}}}": "a has 1, b has 2",
    f"m: {{matrix: {{a: [1]}}, zip: [a, c], {JOB}}}": "m.zip: the matrix has no key c",
    f"m: {{matrix: {{a: [1]}}, exclude: [c: 1], {JOB}}}": "m.exclude.0.c: the matrix has no key c",
    f"m: {{matrix: {{a: [1]}}, exclude: [a: 1], {JOB}}}": "m.exclude: it excludes all jobs of m",
    f"m: {{matrix: {{a: []}}, {JOB}}}": "m.matrix.a: it has no values",
    f"m: {{matrix: [1], {JOB}}}": "m.matrix: a matrix is a mapping",
    "m: {exclude: [a: 1], operators: y}": "m.exclude: it is for a matrix, and m has none",
    f"m: {{matrix: {{a: 1}}, {JOB}}}\nb: {{inherits: m}}": "m is a matrix; inherit from one of its",
}


@pytest.mark.parametrize("text", REFUSALS, ids=list(map(str, range(len(REFUSALS)))))
def test_a_matrix_that_cannot_be_expanded_is_one_line(refusal, text):
    assert REFUSALS[text] in refusal(text)


def test_a_matrix_of_too_many_jobs_is_refused_at_once(refusal):
    keys = ", ".join(f"k{key}: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]" for key in range(12))
    assert "1000000000000 combinations" in refusal(f"m: {{matrix: {{{keys}}}, {JOB}}}")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("x-{s:0999999999d}", "{s:0999999999d}: a width or precision has at most three digits"),
        ("x-{s:٩٩٩٩d}", "{s:٩٩٩٩d}: a width or precision has at most three digits"),
        ("x-{s:.99999999f}", "{s:.99999999f}: a width or precision has at most three digits"),
        ("{s:999}" * 200, "it has more than 131,072 characters with the values of the matrix"),
    ],
    ids=["width", "script", "precision", "many"],
)
def test_a_name_that_a_format_makes_huge_is_refused_before_it_is_made(refusal, name, message):
    text = f"m: {{matrix: {{s: [1]}}, job: {{name: '{name}', operators: y}}}}"
    assert f"m.job.name: {message}" in refusal(text)


def test_a_width_of_three_digits_is_a_format_as_any_other(suite):
    text = "m: {matrix: {s: [1]}, job: {name: '{s:0100d}', operators: y}}"
    assert names_of(suite, text) == ["1".rjust(100, "0")]
