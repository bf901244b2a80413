"""Requirements as they are written in `--with` and in arms."""

import pytest

from opperf.environments.specification import is_requirement, read_requirements


@pytest.mark.parametrize(
    ("text", "requirements", "python"),
    [
        ("torch==2.12", ["torch==2.12"], ""),
        ("torch==2.12,numpy<2", ["torch==2.12", "numpy<2"], ""),
        ("numpy>=1.20,<2, scipy", ["numpy<2,>=1.20", "scipy"], ""),
        ("jax[cpu,k8s]>=0.6,numpy", ["jax[cpu,k8s]>=0.6", "numpy"], ""),
        ("python==3.12,numpy", ["numpy"], "3.12"),
        ("python==3.12.4", [], "3.12.4"),
        ("numpy,numpy", ["numpy"], ""),
        ("numpy<2,-r /x/a b.txt,scipy", ["numpy<2", "-r /x/a b.txt", "scipy"], ""),
    ],
)
def test_each_requirement_is_read_as_pip_reads_it(text, requirements, python):
    spec = read_requirements(text)
    assert (list(spec.requirements), spec.python) == (requirements, python)
    assert not spec.is_own


def test_a_requirement_may_be_a_url():
    (found,) = read_requirements("scales @ https://x.org/s-1.whl").requirements
    # Versions of `packaging` differ in the blank before it.
    assert found.replace(" ", "") == "scales@https://x.org/s-1.whl"


def test_a_text_that_is_read_again_asks_for_the_same():
    for text in ("python==3.12,numpy>=1.20,<2,scipy", "jax[cpu,k8s]>=0.6,-r a.txt"):
        spec = read_requirements(text)
        assert read_requirements(spec.text) == spec


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("torch=>2", "'torch=>2' is no requirement"),
        ("", "is no requirement"),
        ("numpy==", "is no requirement"),
        ("python>=3.12", "write the version of Python as python==3.12"),
        ("python==3.12,python==3.11", "two versions"),
    ],
)
def test_what_is_no_requirement_is_said_in_one_line(text, words):
    with pytest.raises(ValueError, match=words) as raised:
        read_requirements(text)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("torch==2.12", True),
        ("torch>=2,<3", True),
        ("torch ~= 2.1", True),
        ("jax[cpu]==0.6", True),
        ("numpy @ file:///x.whl", True),
        ("OMP_NUM_THREADS=1", False),
        ("XLA_FLAGS=--xla_cpu=1", False),
        ("A=b>=c", False),
        ("EMPTY=", False),
        ("numpy", False),
    ],
)
def test_a_variable_is_no_requirement(text, expected):
    assert is_requirement(text) is expected
