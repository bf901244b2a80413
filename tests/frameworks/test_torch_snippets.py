"""Snippets in PyTorch: gradients of Python, and translation units of C++ without a compiler."""

import re
import shutil
import threading
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from opperf.errors import NoGradientError, UnsupportedError, UsageError  # noqa: E402
from opperf.frameworks.torch import snippets  # noqa: E402
from opperf.frameworks.torch.snippets import PythonGradient, building, leaves  # noqa: E402
from opperf.frameworks.torch.snippets.building import (  # noqa: E402
    CompileError,  # noqa: E402
    key_of,
    read_faults,
    unit_name,
    unit_text,
)
from opperf.model import Case, Settings, SnippetTarget  # noqa: E402


def snippet(source, setup="", **fields):
    return SnippetTarget("torch", source, setup, "c++", **fields)


def case(source, setup="", mode="eager", **fields):
    return Case(SnippetTarget("torch", source, setup, **fields), {}, Settings(mode=mode))


def test_the_leaves_of_a_result_are_what_requires_a_gradient():
    w, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    other = torch.ones(2, requires_grad=True)
    found = leaves([(w * b + w).sum(), b * 2])
    assert {id(one) for one in found} == {id(w), id(b)} and other is not None
    assert leaves([w]) == [w]
    with pytest.raises(NoGradientError, match="requires_grad=True"):
        leaves([torch.ones(2)])


def test_a_backward_pass_adds_to_no_gradient():
    target = case(
        "y = x * w", "x = torch.ones(3)\nw = torch.ones(3, requires_grad=True)", output="y"
    )
    call = snippets.bind(target, {})
    made = snippets.gradient(target, call)
    assert isinstance(made, PythonGradient)
    made.record()
    made.backward()
    assert call().grad_fn is not None


def test_a_program_is_made_of_a_function_or_module():
    text = "def model(x):\n    y = x + 1\n    return y\n"
    scripted = case("y = model(x)", "x = torch.ones(2)", "script", model=text, output="y")
    assert snippets.bind(scripted, {})().tolist() == [2.0, 2.0]
    target = SnippetTarget("torch", "", model="n = 2\nmodel = torch.nn.Linear(n, n)")
    assert snippets.program_of(target, snippets.NAMES)[:2] == b"PK"


def test_what_torchscript_does_not_take_is_one_line():
    text = "def model(x):\n    return open(x)\n"
    refused = case("y = model(x)", "x = 1", "script", model=text)
    with pytest.raises(UsageError, match="TorchScript does not take it: ") as raised:
        snippets.bind(refused, {})
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(("mode", "model"), [("script", ""), ("compile", ""), ("eager", "model=1")])
def test_another_mode_is_no_other_measurement(mode, model):
    with pytest.raises(UnsupportedError, match=f"mode {mode}: this snippet is for --mode"):
        snippets.bind(case("1", mode=mode, model=model), {})


def test_a_key_is_that_of_the_code_alone():
    one = snippet("f();", "int x;", name="a")
    assert key_of(one) == key_of(snippet("f();", "int x;", name="b"))
    others = [
        snippet("g();", "int x;"),
        snippet("f();", "int y;"),
        snippet("f();", "int x;", global_setup="int z;"),
        snippet("f();", "int x;", model="model = 1"),
        snippet("f();", "int x;", differentiated=True, output="y"),
    ]
    assert len({key_of(one), *(key_of(other) for other in others)}) == 6
    # A result that nothing keeps is not compiled.
    assert key_of(snippet("f();", "int x;", output="y")) == key_of(one)


def test_a_unit_has_each_directive_once_and_other_names_apart():
    one = snippet("f();", global_setup="#include <map>\nstatic int f() { return 1; }")
    two = snippet("f() + 1;", global_setup="#include <map>\nstatic int f() { return 2; }")
    text = unit_text([one, two])
    assert text.count("#include <map>") == 1
    assert text.count("static int f()") == 2
    assert f"{{snippet_{key_of(one)}::make, snippet_{key_of(two)}::make}}" in text
    assert unit_name([one, two]) in text and unit_name([one]) != unit_name([two])
    long = snippet("X;", global_setup="#define X \\\n  1\nint y;")
    body = unit_text([long])
    assert body.index("  1") < body.index("namespace") < body.index("int y;")


def test_errors_are_those_of_the_snippet_they_are_in():
    one, two = snippet("a;"), snippet("b;")
    output = f"""
In file included from x.cpp:1:
setup of {key_of(one)}:3:7: error: expected ';' before 'int'
setup of {key_of(one)}:4:7: error: another
/usr/include/vector: In instantiation of 'class std::vector<void>':
statement of {key_of(two)}:2:5:   required from here
/usr/include/vector:10:3: error: forming reference to void
"""
    faults = read_faults(output)
    assert faults.by_key == {
        key_of(one): "C++ setup, line 3: expected ';' before 'int'",
        key_of(two): "C++ statement, line 2: forming reference to void",
    }
    assert faults.first == "expected ';' before 'int'"
    assert read_faults("ninja: it broke").first == "ninja: it broke"


@pytest.fixture
def compiler(monkeypatch, tmp_path):
    """A compiler that takes no snippet whose source has `bad`, and says where where it has `told`.
    Returns the number of snippets of each unit."""
    units = []
    lock = threading.Lock()

    def compile_unit(name, text, file):
        made = re.findall(r"namespace snippet_(\w+)", text)
        with lock:
            units.append(len(made))
        for key, statement in re.findall(r'#line 1 "statement of (\w+)"\n(.*)', text):
            if "told" in statement:
                raise CompileError(f"statement of {key}:1:1: error: told")
        if "bad" in text or "no headers" in broken:
            raise CompileError("unit.cpp:1:1: error: bad")
        file.write_text("")
        return SimpleNamespace(create=lambda index, program: (name, index))

    broken = set()
    monkeypatch.setattr(building, "HEADER_FAULTS", [])
    building.folder.cache_clear()
    building.MODULES.clear()
    monkeypatch.setenv("OPPERF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(building, "compile_unit", compile_unit)
    monkeypatch.setattr(building, "check_compiler", lambda: None)
    yield SimpleNamespace(units=units, broken=broken)
    building.folder.cache_clear()
    building.MODULES.clear()


def build(snippets):
    building.build(snippets)


def state(one):
    found = building.find(one)
    return found.error or "compiled"


def test_what_is_compiled_is_compiled_once(compiler):
    snippets = [snippet(f"f({number});") for number in range(5)]
    build(snippets)
    build([*snippets, *snippets])
    assert compiler.units == [5]
    assert [building.find(one).index for one in snippets] == [0, 1, 2, 3, 4]
    assert building.statement_of(snippets[3], b"")[1] == 3


def test_a_snippet_that_is_told_of_costs_two_more_units(compiler):
    snippets = [snippet(f"{'told' if number == 2 else 'f'}({number});") for number in range(6)]
    build(snippets)
    assert compiler.units == [6, 5, 1]
    assert [state(one) for one in snippets].count("compiled") == 5
    assert state(snippets[2]) == "C++ statement, line 1: told"
    with pytest.raises(UsageError, match="C\\+\\+ statement, line 1: told"):
        building.statement_of(snippets[2], b"")
    build(snippets)
    assert compiler.units == [6, 5, 1]


def test_a_snippet_that_is_not_told_of_is_found_by_bisection(compiler):
    snippets = [snippet(f"{'bad' if number == 6 else 'f'}({number});") for number in range(7)]
    build(snippets)
    assert [state(one) for one in snippets] == ["compiled"] * 6 + ["C++: bad"]
    # Of the single one, and then of the headers alone.
    assert compiler.units == [7, 3, 4, 2, 2, 1, 1, 0]


def test_headers_that_do_not_compile_are_no_snippets_fault(compiler):
    compiler.broken.add("no headers")
    one = snippet("f();")
    with pytest.raises(UnsupportedError, match="no snippet of C\\+\\+ can be compiled here: bad"):
        building.statement_of(one, b"")
    assert building.find(one) is None
    # Not once more for each snippet.
    tried = len(compiler.units)
    with pytest.raises(UnsupportedError, match="no snippet of C\\+\\+ can be compiled"):
        building.statement_of(snippet("g();"), b"")
    assert len(compiler.units) == tried


SMALL_HEADER = """
#include <Python.h>
#include <memory>
#include <string>
#include <vector>
namespace opperf {
struct Statement {};
using Constructor = std::unique_ptr<Statement> (*)(const std::string&);
template <class Work> struct Forward {};
template <template <class> class Kind, class Work> std::unique_ptr<Statement> make(Work work) {
  work();
  return nullptr;
}
}
#define OPPERF_UNIT(name, constructors) \\
  PyMODINIT_FUNC PyInit_##name() { \\
    static PyModuleDef made = {PyModuleDef_HEAD_INIT, #name, nullptr, (int)constructors.size()}; \\
    return PyModule_Create(&made); \\
  }
"""
"""In place of `statement.h`, whose headers of PyTorch take twenty seconds of a compiler."""


@pytest.mark.skipif(shutil.which("c++") is None, reason="there is no C++ compiler")
def test_a_compilers_messages_are_those_of_the_snippet_at_fault(monkeypatch, tmp_path):
    """Also if a brace is not closed, so that the compiler stops far from it."""
    header = tmp_path / "statement.h"
    header.write_text(SMALL_HEADER)
    monkeypatch.setattr(building, "HEADER", header)
    monkeypatch.setattr(building, "FLAGS", ("-O0",))
    monkeypatch.setattr(building, "HEADER_FAULTS", [])
    monkeypatch.setenv("OPPERF_CACHE", str(tmp_path / "cache"))
    building.folder.cache_clear()
    sound = snippet("x += 1;", "int x = 1;")
    own = snippet(
        "twice(x);", "int x = 1;", global_setup="static int twice(int x) { return 2 * x; }"
    )
    code = snippet("x.no_such_method();", "int x = 1;")
    brace = snippet("if (x) {", "int x = 1;")
    build([code, sound, brace, own])
    found = [state(one) for one in (sound, own, code, brace)]
    assert found[:2] == ["compiled", "compiled"]
    assert found[2].startswith("C++ statement, line 1: ") and "no_such_method" in found[2]
    assert found[3].startswith("C++ ")
    building.folder.cache_clear()
    building.MODULES.clear()


def test_without_a_compiler_one_line_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("OPPERF_CACHE", str(tmp_path))
    monkeypatch.setenv("CXX", "no-such-compiler")
    building.folder.cache_clear()
    building.compiler_version.cache_clear()
    one = snippet("f();")
    build([one])
    with pytest.raises(UnsupportedError, match="there is no no-such-compiler; install one"):
        building.statement_of(one, b"")
    building.folder.cache_clear()
    building.compiler_version.cache_clear()


def test_units_are_as_many_as_compilers_fit(monkeypatch):
    snippets = list(range(40))
    monkeypatch.setattr(building.os, "sched_getaffinity", lambda pid: range(4))
    for gib, sizes in ((16, [10] * 4), (5, [20, 20]), (1, [40])):
        free = SimpleNamespace(available=gib * 2**30)
        monkeypatch.setattr(building.psutil, "virtual_memory", lambda free=free: free)
        assert [len(unit) for unit in building._units(snippets)] == sizes
    assert [len(unit) for unit in building._units(snippets[:9])] == [9]
