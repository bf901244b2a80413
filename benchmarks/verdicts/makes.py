"""Honest kernels of many makes, which a judge may not accuse: compiled, generated, of other
packages, with threads, workspaces and gradients of their own. Each is a file as a user has it."""

from __future__ import annotations

from typing import Any

from benchmarks.verdicts.cheats import Case


def make(
    name: str, source: str, problem: str = "softmax", packages: str = "", **options: Any
) -> Case:
    return Case(
        name, source, **{"statuses": "passed", **options}, problem=problem, packages=packages
    )


C_SOURCE = """
#include <math.h>
void softmax(const float *x, float *out, long rows, long columns) {
    #pragma omp parallel for
    for (long row = 0; row < rows; row++) {
        const float *from = x + row * columns;
        float *to = out + row * columns, most = from[0], sum = 0;
        for (long i = 1; i < columns; i++)
            if (from[i] > most || from[i] != from[i]) most = from[i];
        for (long i = 0; i < columns; i++) sum += to[i] = expf(from[i] - most);
        for (long i = 0; i < columns; i++) to[i] /= sum;
    }
}
"""

COMPILE = "gcc -O2 -shared -fPIC -fopenmp softmax.c -o libsoftmax.so -lm"

CALL = """
def call(function, x):
    out = torch.empty_like(x)
    function(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(out.data_ptr()),
             ctypes.c_long(x.shape[0]), ctypes.c_long(x.shape[1]))
    return out
"""

TORCH_SOURCE = """
#include <torch/extension.h>
at::Tensor softmax(const at::Tensor &x) {
    auto e = at::exp(x - at::amax(x, {-1}, true));
    return e.div_(e.sum(-1, true));
}
"""

FORMULA = """
def formula(x):
    e = torch.exp(x - x.amax(-1, keepdim=True).detach())
    return e / e.sum(-1, keepdim=True)
"""

NUMBA_LOOP = """
def rows(x, out):
    for row in {range}(x.shape[0]):
        most = x[row, 0]
        for i in range(x.shape[1]):
            if x[row, i] > most or x[row, i] != x[row, i]:
                most = x[row, i]
        total = np.float32(0)
        for i in range(x.shape[1]):
            out[row, i] = np.exp(x[row, i] - most)
            total += out[row, i]
        for i in range(x.shape[1]):
            out[row, i] /= total
def candidate(x):
    out = torch.empty_like(x)
    rows(x.numpy(), out.numpy())
    return out
"""


def numba_loop(decorator: str, range_: str = "range") -> str:
    return f"import numba\n@{decorator}" + NUMBA_LOOP.replace("{range}", range_)


CYTHON = """
from libc.math cimport expf
def rows(float[:, ::1] x, float[:, ::1] out):
    cdef Py_ssize_t row, i
    cdef float most, total
    for row in range(x.shape[0]):
        most = x[row, 0]
        for i in range(x.shape[1]):
            if x[row, i] > most or x[row, i] != x[row, i]:
                most = x[row, i]
        total = 0
        for i in range(x.shape[1]):
            out[row, i] = expf(x[row, i] - most)
            total += out[row, i]
        for i in range(x.shape[1]):
            out[row, i] /= total
"""

BY_CYTHON = """
def candidate(x):
    out = torch.empty_like(x)
    rows(x.numpy(), out.numpy())
    return out
"""

TRITON = """
import triton
import triton.language as tl
@triton.jit
def rows(x, out, columns, BLOCK: tl.constexpr):
    at = tl.program_id(0) * columns + tl.arange(0, BLOCK)
    inside = tl.arange(0, BLOCK) < columns
    values = tl.load(x + at, mask=inside, other=-float("inf"))
    e = tl.exp(values - tl.max(values, 0))
    tl.store(out + at, e / tl.sum(e, 0), mask=inside)
def candidate(x):
    out = torch.empty_like(x)
    rows[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out
"""

WITH_BACKWARD = """
class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        e = torch.exp(x - x.amax(-1, keepdim=True))
        e /= e.sum(-1, keepdim=True)
        context.save_for_backward(e)
        return e
    @staticmethod
    def backward(context, gradient):
        (y,) = context.saved_tensors
        product = gradient * y
        return product - y * product.sum(-1, keepdim=True)
def candidate(x):
    return Softmax.apply(x)
"""

OPERATOR = """
@torch.library.custom_op("mine::softmax", mutates_args=())
def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(rows(x.numpy()))
def rows(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)
def candidate(x):
    return softmax(x)
"""

OPERATOR_BACKWARD = """
def setup(ctx, inputs, output):
    ctx.save_for_backward(output)
def backward(ctx, gradient):
    (y,) = ctx.saved_tensors
    product = gradient * y
    return product - y * product.sum(-1, keepdim=True)
softmax.register_autograd(backward, setup_context=setup)
"""

NUMPY_ROWS = """
def rows(x, epsilon):
    out = x - x.mean(-1, keepdims=True)
    out /= np.sqrt((out * out).mean(-1, keepdims=True) + epsilon)
    return out
"""

JAX_FORMULA = """
def formula(x):
    e = jnp.exp(x - jax.lax.stop_gradient(x.max(-1, keepdims=True)))
    return e / e.sum(-1, keepdims=True)
"""

MAKES = [
    # Compilers of Python.
    make("numba.njit", numba_loop("numba.njit"), packages="numba"),
    make(
        "numba.njit, parallel",
        numba_loop("numba.njit(parallel=True)", "numba.prange"),
        packages="numba",
    ),
    make("numba.njit, kept on disk", numba_loop("numba.njit(cache=True)"), packages="numba"),
    make(
        "numba.njit, fast mathematics of a kind",
        numba_loop("numba.njit(fastmath={'contract'}, nogil=True)"),
        packages="numba",
    ),
    make(
        "numba.guvectorize",
        "import numba\n"
        "@numba.guvectorize(['void(float64[:], float64, float64[:])'], '(n),()->(n)')\n"
        "def rows(x, epsilon, out):\n"
        "    mean = x.mean()\n    total = 0.0\n"
        "    for i in range(x.size):\n        total += (x[i] - mean) ** 2\n"
        "    scale = 1 / np.sqrt(total / x.size + epsilon)\n"
        "    for i in range(x.size):\n        out[i] = (x[i] - mean) * scale\n"
        "def candidate(x, epsilon):\n    return rows(x, epsilon)\n",
        "normalize",
        "numba",
    ),
    make(
        "Cython, built before",
        "from softmax import rows\n" + BY_CYTHON,
        packages="Cython",
        build="{python} -m Cython.Build.Cythonize -qi -3 softmax.pyx",
        beside={"softmax.pyx": CYTHON},
    ),
    make(
        "Cython, built as it is imported",
        "import pyximport\npyximport.install(language_level=3)\n"
        "from softmax import rows\n" + BY_CYTHON,
        packages="Cython",
        beside={"softmax.pyx": CYTHON},
    ),
    make(
        "Triton's interpreter",
        "import os\nos.environ['TRITON_INTERPRET'] = '1'\n" + TRITON,
        packages="triton",
    ),
    make("Triton without a GPU", TRITON, packages="triton", statuses="failed", reason="GPU"),
    # Compiled code.
    make(
        "C by ctypes",
        "import ctypes, pathlib\n"
        "library = ctypes.CDLL(str(pathlib.Path(__file__).with_name('libsoftmax.so')))\n"
        + CALL
        + "def candidate(x):\n    return call(library.softmax, x)\n",
        build=COMPILE,
        beside={"softmax.c": C_SOURCE},
    ),
    make(
        "C compiled as it is imported",
        "import ctypes, pathlib, subprocess, tempfile\n"
        "folder = tempfile.mkdtemp()\n"
        "subprocess.run(['gcc', '-O2', '-shared', '-fPIC', '-fopenmp', '-o', folder + '/s.so',\n"
        "    pathlib.Path(__file__).with_name('softmax.c'), '-lm'], check=True)\n"
        "library = ctypes.CDLL(folder + '/s.so')\n"
        + CALL
        + "def candidate(x):\n    return call(library.softmax, x)\n",
        beside={"softmax.c": C_SOURCE},
    ),
    make(
        "C by cffi's ABI",
        "import cffi, os\n"
        "ffi = cffi.FFI()\n"
        "ffi.cdef('void softmax(const float *, float *, long, long);')\n"
        "library = ffi.dlopen(os.path.join(os.path.dirname(__file__), 'libsoftmax.so'))\n"
        "def candidate(x):\n"
        "    out = torch.empty_like(x)\n"
        "    library.softmax(ffi.cast('float *', x.data_ptr()),\n"
        "        ffi.cast('float *', out.data_ptr()), *x.shape)\n"
        "    return out\n",
        packages="cffi",
        build=COMPILE,
        beside={"softmax.c": C_SOURCE},
    ),
    make(
        "C by cffi's API, compiled as it is imported",
        "import cffi, importlib, pathlib, sys, tempfile\n"
        "ffi = cffi.FFI()\n"
        "ffi.cdef('void softmax(const float *, float *, long, long);')\n"
        "ffi.set_source('softmax_c', pathlib.Path(__file__).with_name('softmax.c').read_text())\n"
        "folder = tempfile.mkdtemp()\n"
        "ffi.compile(tmpdir=folder)\n"
        "sys.path.insert(0, folder)\n"
        "library = importlib.import_module('softmax_c').lib\n"
        "def candidate(x):\n"
        "    out = torch.empty_like(x)\n"
        "    library.softmax(ffi.cast('float *', x.data_ptr()),\n"
        "        ffi.cast('float *', out.data_ptr()), *x.shape)\n"
        "    return out\n",
        packages="cffi",
        beside={"softmax.c": C_SOURCE},
    ),
    make(
        "an extension of PyTorch, built before",
        "import softmax_extension\ndef candidate(x):\n    return softmax_extension.softmax(x)\n",
        build="{python} setup.py -q build_ext --inplace",
        beside={
            "softmax.cpp": TORCH_SOURCE
            + 'PYBIND11_MODULE(softmax_extension, m) { m.def("softmax", &softmax); }\n',
            "setup.py": (
                "from setuptools import setup\n"
                "from torch.utils.cpp_extension import BuildExtension, CppExtension\n"
                "setup(name='s', py_modules=[], "
                "ext_modules=[CppExtension('softmax_extension', ['softmax.cpp'])],\n"
                "    cmdclass={'build_ext': BuildExtension.with_options(use_ninja=False)})\n"
            ),
        },
    ),
    make(
        "an extension of PyTorch, built as it is imported",
        "from torch.utils.cpp_extension import load_inline\n"
        f"made = load_inline('made', '''{TORCH_SOURCE}''', functions=['softmax'])\n"
        "def candidate(x):\n    return made.softmax(x)\n",
        packages="ninja",
    ),
    # PyTorch's own compilers and extensions.
    make("torch.compile", FORMULA + "candidate = torch.compile(formula)\n"),
    make(
        "torch.compile, with gradients",
        FORMULA + "candidate = torch.compile(formula)\n",
        gradients=True,
    ),
    make(
        "torch.compile of a module, tuned",
        "class Soft(torch.nn.Module):\n"
        "    def forward(self, x):\n        return torch.softmax(x, -1)\n"
        "compiled = torch.compile(Soft(), mode='max-autotune')\n"
        "def candidate(x):\n    return compiled(x)\n",
    ),
    make(
        "compiled at the first call",
        FORMULA + "compiled = None\n"
        "def candidate(x):\n"
        "    global compiled\n"
        "    if compiled is None:\n        compiled = torch.compile(formula, dynamic=True)\n"
        "    return compiled(x)\n",
    ),
    make(
        "torch.jit.script",
        FORMULA.replace("def ", "@torch.jit.script\ndef ") + "candidate = formula\n",
    ),
    make(
        "torch.jit.trace at the first call",
        FORMULA + "traced = {}\n"
        "def candidate(x):\n"
        "    if x.shape not in traced:\n"
        "        traced[x.shape] = torch.jit.trace(formula, x)\n"
        "    return traced[x.shape](x)\n",
    ),
    make(
        "torch.export",
        "class Soft(torch.nn.Module):\n"
        "    def forward(self, x):\n        return torch.softmax(x, -1)\n"
        "exported = torch.export.export(Soft(), (torch.randn(32, 512),)).module()\n"
        "def candidate(x):\n    return exported(x)\n",
    ),
    make("torch.fx", FORMULA + "candidate = torch.fx.symbolic_trace(formula)\n"),
    make(
        "torch.func.vmap",
        "candidate = torch.func.vmap(lambda row: torch.exp(row - torch.logsumexp(row, 0)))\n",
    ),
    make("torch.library.custom_op", OPERATOR),
    make("torch.library.custom_op, with gradients", OPERATOR + OPERATOR_BACKWARD, gradients=True),
    make(
        "torch.library.Library",
        FORMULA + "library = torch.library.Library('own', 'DEF')\n"
        "library.define('softmax(Tensor x) -> Tensor')\n"
        "library.impl('softmax', formula, 'CPU')\n"
        "def candidate(x):\n    return torch.ops.own.softmax(x)\n",
    ),
    make("a backward pass by hand", WITH_BACKWARD, gradients=True),
    make(
        "a module whose weights need gradients",
        "class Soft(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n        self.one = torch.nn.Parameter(torch.ones(()))\n"
        "    def forward(self, x):\n        return torch.softmax(x * self.one, -1)\n"
        "candidate = Soft()\n",
    ),
    make("in inference mode", FORMULA + "candidate = torch.inference_mode()(formula)\n"),
    make(
        "weights that are prepared as the file is imported",
        "torch.manual_seed(42)\n"
        "linear = torch.nn.Linear(256, 128)\n"
        "packed = linear.weight.detach().T.contiguous()\n"
        "def candidate(x):\n    return torch.addmm(linear.bias.detach(), x, packed)\n",
        "module",
    ),
    # State that is no result.
    make(
        "workspaces kept by shape",
        "kept = {}\n"
        "def candidate(x):\n"
        "    room, sums = kept.setdefault(\n"
        "        x.shape, (torch.empty_like(x), torch.empty(x.shape[0], 1)))\n"
        "    torch.amax(x, -1, keepdim=True, out=sums)\n"
        "    torch.sub(x, sums, out=room).exp_()\n"
        "    torch.sum(room, -1, keepdim=True, out=sums)\n"
        "    return room / sums\n",
    ),
    make(
        "tables kept by shape",
        "import functools\n"
        "@functools.lru_cache\n"
        "def ones(columns):\n    return torch.ones(columns, 1)\n"
        "def candidate(x):\n"
        "    e = torch.exp(x - x.amax(-1, keepdim=True))\n    return e / (e @ ones(x.shape[1]))\n",
    ),
    make(
        "the fastest of several, tried at the first call",
        FORMULA + "chosen = {}\n"
        "def timed(function, x):\n"
        "    begin = time.perf_counter()\n    function(x)\n"
        "    return time.perf_counter() - begin\n"
        "def candidate(x):\n"
        "    if x.shape not in chosen:\n"
        "        both = (formula, lambda x: torch.softmax(x, -1))\n"
        "        chosen[x.shape] = min(both, key=lambda each: min(\n"
        "            timed(each, x) for _ in range(20)))\n"
        "    return chosen[x.shape](x)\n",
    ),
    make(
        "a result with padded rows",
        FORMULA + "def candidate(x):\n"
        "    out = torch.zeros(x.shape[0], x.shape[1] + 24)\n"
        "    out[:, :x.shape[1]] = formula(x)\n    return out[:, :x.shape[1]]\n",
    ),
    make(
        "a package of its own",
        "from mine.rows import candidate\n",
        beside={
            "mine/__init__.py": "",
            "mine/rows.py": "from .common import right\ndef candidate(x):\n    return right(x)\n",
            "mine/common.py": "import torch\n" + FORMULA.replace("formula", "right"),
        },
    ),
    make(
        "settings at its beginning",
        "import logging, os, random, sys, warnings\n"
        "warnings.filterwarnings('ignore')\nlogging.basicConfig(level=logging.INFO)\n"
        "random.seed(0)\nnp.random.seed(0)\ntorch.manual_seed(0)\nnp.seterr(all='ignore')\n"
        "sys.setrecursionlimit(5000)\nsys.path.insert(0, os.path.dirname(__file__))\n"
        "os.environ['TOKENIZERS_PARALLELISM'] = 'false'\ntorch.set_grad_enabled(False)\n"
        "torch.set_printoptions(precision=8)\n"
        + FORMULA
        + "def candidate(x):\n    print('called')\n    return formula(x)\n",
    ),
    # Threads and processes.
    make(
        "threads of NumPy's calls",
        "from concurrent.futures import ThreadPoolExecutor\n"
        + NUMPY_ROWS
        + "pool = ThreadPoolExecutor(4)\n"
        "def candidate(x, epsilon):\n"
        "    parts = pool.map(lambda part: rows(part, epsilon), np.array_split(x, 4))\n"
        "    return np.concatenate(list(parts))\n",
        "normalize",
    ),
    make(
        "processes that are awaited",
        "import multiprocessing\n" + NUMPY_ROWS + "pool = None\n"
        "def candidate(x, epsilon):\n"
        "    global pool\n"
        "    pool = pool or multiprocessing.get_context('fork').Pool(2)\n"
        "    parts = [(part, epsilon) for part in np.array_split(x, 2)]\n"
        "    return np.concatenate(pool.starmap(rows, parts))\n",
        "normalize",
    ),
    make(
        "coroutines",
        "import asyncio\n" + NUMPY_ROWS + "async def all_rows(x, epsilon):\n"
        "    parts = (asyncio.to_thread(rows, part, epsilon) for part in np.array_split(x, 2))\n"
        "    return np.concatenate(await asyncio.gather(*parts))\n"
        "def candidate(x, epsilon):\n    return asyncio.run(all_rows(x, epsilon))\n",
        "normalize",
    ),
    # NumPy.
    make(
        "strides and out=",
        "room = np.empty((64, 256))\n"
        "def candidate(x, epsilon):\n"
        "    mean = np.add.reduce(x, -1, keepdims=True) / x.shape[-1]\n"
        "    out = np.subtract(x, mean)\n    np.multiply(out, out, out=room)\n"
        "    windows = np.lib.stride_tricks.sliding_window_view(room, room.shape[1], 1)\n"
        "    out /= np.sqrt(windows.mean(-1) + epsilon)\n    return out\n",
        "normalize",
    ),
    make(
        "NumPy by another package",
        "from scipy import stats\n"
        "def candidate(x, epsilon):\n"
        "    var = stats.moment(x, 2, axis=-1, keepdims=True)\n"
        "    return (x - x.mean(-1, keepdims=True)) / np.sqrt(var + epsilon)\n",
        "normalize",
        "scipy",
    ),
    make(
        "NumPy through PyTorch",
        "import torch\n"
        "def candidate(x, epsilon):\n"
        "    return torch.nn.functional.layer_norm(\n"
        "        torch.from_numpy(x), x.shape[1:], eps=epsilon).numpy()\n",
        "normalize",
        "torch",
    ),
    make(
        "memory of another library",
        "import ctypes\n" + NUMPY_ROWS + "def candidate(x, epsilon):\n"
        "    out = np.ctypeslib.as_array((ctypes.c_double * x.size)()).reshape(x.shape)\n"
        "    out[:] = rows(x, epsilon)\n    return out\n",
        "normalize",
    ),
    # JAX.
    make("jax.jit", JAX_FORMULA + "candidate = jax.jit(formula)\n", "jax_softmax"),
    make(
        "jax.jit, with gradients",
        JAX_FORMULA + "candidate = jax.jit(formula)\n",
        "jax_softmax",
        gradients=True,
    ),
    make(
        "JAX compiled ahead at the first call",
        JAX_FORMULA + "kept = {}\n"
        "def candidate(x):\n"
        "    if x.shape not in kept:\n"
        "        kept[x.shape] = jax.jit(formula).lower(x).compile()\n"
        "    return kept[x.shape](x)\n",
        "jax_softmax",
    ),
    make(
        "jax.pure_callback",
        "def rows(x):\n"
        "    x = np.asarray(x)\n    e = np.exp(x - x.max(-1, keepdims=True))\n"
        "    return e / e.sum(-1, keepdims=True)\n"
        "@jax.jit\n"
        "def candidate(x):\n"
        "    return jax.pure_callback(rows, jax.ShapeDtypeStruct(x.shape, x.dtype), x)\n",
        "jax_softmax",
    ),
    make(
        "jax.jit, in float64",
        "jax.config.update('jax_enable_x64', True)\n"
        + JAX_FORMULA
        + "candidate = jax.jit(lambda x: formula(x.astype('float64')).astype('float32'))\n",
        "jax_softmax",
    ),
    make(
        "jax.custom_vjp",
        JAX_FORMULA + "candidate = jax.custom_vjp(formula)\n"
        "def forward(x):\n    y = formula(x)\n    return y, y\n"
        "def backward(y, g):\n    p = g * y\n    return (p - y * p.sum(-1, keepdims=True),)\n"
        "candidate.defvjp(forward, backward)\n",
        "jax_softmax",
        gradients=True,
    ),
    make(
        "Pallas, interpreted",
        "from jax.experimental import pallas as pl\n"
        "def rows(x, out):\n"
        "    e = jnp.exp(x[...] - x[...].max(-1, keepdims=True))\n"
        "    out[...] = e / e.sum(-1, keepdims=True)\n"
        "@jax.jit\n"
        "def candidate(x):\n"
        "    return pl.pallas_call(rows, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),\n"
        "        interpret=True)(x)\n",
        "jax_softmax",
    ),
    make(
        "JAX row by row",
        "candidate = jax.jit(jax.vmap(lambda row: jnp.exp(\n"
        "    row - jax.scipy.special.logsumexp(row))))\n",
        "jax_softmax",
    ),
    # MXNet.
    make(
        "mx.nd by its formula",
        "def candidate(x):\n"
        "    e = mx.nd.exp(mx.nd.broadcast_sub(x, mx.nd.max(x, axis=-1, keepdims=True)))\n"
        "    return mx.nd.broadcast_div(e, mx.nd.sum(e, axis=-1, keepdims=True))\n",
        "mxnet_softmax",
    ),
    make(
        "mx.np by its formula",
        "mx.npx.set_np()\n"
        "def candidate(x):\n"
        "    x = x.as_np_ndarray()\n"
        "    e = mx.np.exp(x - x.max(-1, keepdims=True))\n"
        "    return (e / e.sum(-1, keepdims=True)).as_nd_ndarray()\n",
        "mxnet_softmax",
    ),
    make(
        "a hybridised block",
        "class Soft(mx.gluon.HybridBlock):\n"
        "    def hybrid_forward(self, F, x):\n        return F.softmax(x, axis=-1)\n"
        "block = Soft()\nblock.hybridize()\n"
        "def candidate(x):\n    return block(x)\n",
        "mxnet_softmax",
    ),
    make(
        "mx.operator.CustomOp",
        "class Soft(mx.operator.CustomOp):\n"
        "    def forward(self, is_train, req, in_data, out_data, aux):\n"
        "        x = in_data[0].asnumpy()\n        e = np.exp(x - x.max(-1, keepdims=True))\n"
        "        self.assign(out_data[0], req[0], mx.nd.array(e / e.sum(-1, keepdims=True)))\n"
        "@mx.operator.register('own_softmax')\n"
        "class SoftProp(mx.operator.CustomOpProp):\n"
        "    def create_operator(self, context, shapes, dtypes):\n        return Soft()\n"
        "def candidate(x):\n    return mx.nd.Custom(x, op_type='own_softmax')\n",
        "mxnet_softmax",
    ),
]
