"""Repositories of the forms that frameworks have, in small."""

from pathlib import Path

from tests.repositories import git

TORCH = {
    "aten/src/ATen/native/native_functions.yaml": """\
# Comments begin the file.
- func: relu(Tensor self) -> Tensor
  variants: function, method
  dispatch:
    CPU, CUDA: relu
  tags: [core, pointwise]

- func: relu_(Tensor(a!) self) -> Tensor(a!)
  dispatch:
    CPU, CUDA: relu_

- func: gelu.out(Tensor self, *, str approximate='none', Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  dispatch:
    CPU: gelu_out_cpu
    CUDA: gelu_out_cuda

- func: gelu(Tensor self, *, str approximate='none') -> Tensor
  structured_delegate: gelu.out

- func: gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') -> Tensor
  dispatch:
    CPU: gelu_backward_cpu

- func: add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
  structured: True
  ufunc_inner_loop:
    Generic: add (AllAndComplex, BFloat16, Half)
  dispatch:
    SparseCPU: add_out_sparse_cpu

- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  structured_delegate: add.out

- func: topk(Tensor self, SymInt k, int dim=-1) -> (Tensor values, Tensor indices)
  structured_delegate: topk.values

- func: topk.values(Tensor self, SymInt k, *, Tensor(a!) values, Tensor(b!) indices) -> (...)
  structured: True
  dispatch:
    CPU: topk_out_cpu

- func: _softmax(Tensor self, int dim, bool half_to_float) -> Tensor
  structured_delegate: _softmax.out

- func: _softmax.out(Tensor self, int dim, bool half_to_float, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU: softmax_cpu_out

- func: softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
  variants: function, method
""",
    "tools/autograd/derivatives.yaml": """\
- name: gelu(Tensor self, *, str approximate='none') -> Tensor
  self: "GradMode::is_enabled() ? other(grad, self) : gelu_backward(grad, self, approximate)"
""",
    "aten/src/ATen/native/Activation.cpp": """\
#include <ATen/native/Activation.h>
namespace at::meta {
TORCH_META_FUNC(gelu) (const Tensor& self, c10::string_view approximate) {
  build_unary_op(maybe_get_output(), self);
}
TORCH_META_FUNC2(add, Tensor) (const Tensor& self, const Tensor& other, const Scalar& alpha) {
  build_binary_op(maybe_get_output(), self, other);
}
} // namespace at::meta

namespace at::native {
static const double SCALE = 1.05;
DEFINE_DISPATCH(GeluKernel);

TORCH_IMPL_FUNC(gelu_out_cpu) (
  const Tensor& self, c10::string_view approximate, const Tensor& result
) {
#if AT_MKLDNN_ENABLED()
  if (use_mkldnn(self)) {
    compute(self);
  } else {
#else
  {
#endif
    GeluKernel(kCPU, *this, approximate_type);
  }
}

Tensor gelu_backward_cpu(const Tensor& grad, const Tensor& self, c10::string_view approximate) {
  return grad * self;
}

Tensor relu(const Tensor & self) {
  return at::clamp_min(self, 0); // "{" in a comment
}

Tensor& relu_(Tensor & self) {
  return at::clamp_min_(self, 0);
}

Tensor softmax(const Tensor& input, const int64_t dim, std::optional<ScalarType> dtype) {
  return at::_softmax(input, dim, false);
}
}
""",
    "aten/src/ATen/native/cpu/Activation.cpp": """\
namespace at::native {
namespace {

template <typename T>
inline T tanh_of(T x) {
  return x * T(0.5);
}

void gelu_kernel(TensorIteratorBase& it, GeluType approximate) {
  AT_DISPATCH_FLOATING_TYPES(it.dtype(), "gelu", [&]() {
    cpu_kernel(it, [](scalar_t x) { return tanh_of(x); });
  });
}

void unused_kernel(TensorIteratorBase& it) {
  cpu_kernel(it);
}
} // namespace

REGISTER_DISPATCH(GeluKernel, &gelu_kernel)
} // namespace at::native
""",
    "aten/src/ATen/native/SoftMax.cpp": """\
namespace at::native {
TORCH_IMPL_FUNC(softmax_cpu_out)
(const Tensor& input, const int64_t dim, const bool half_to_float, const Tensor& output) {
  softmax_lastdim_kernel(kCPU, output, input);
}
TORCH_IMPL_FUNC(topk_out_cpu)
(const Tensor& self, int64_t k, const Tensor& values, const Tensor& indices) {
  topk_stub(kCPU, values, indices, self);
}
}
""",
    "aten/src/ATen/native/ufunc/add.h": """\
namespace at::native::ufunc {
template <typename T>
C10_HOST_DEVICE C10_ALWAYS_INLINE T add(T self, T other, T alpha) {
  return self + alpha * other;
}
}
""",
    "README.md": "PyTorch\n",
    "torch/nn/functional.py": "def relu(input):\n    return torch.relu(input)\n",
}

MXNET = {
    "src/operator/mshadow_op.h": """\
#define MXNET_UNARY_MATH_OP(name, expr) \\
  struct name { static DType Map(DType a) { return expr; } }
namespace mxnet {
MXNET_UNARY_MATH_OP(softsign_grad, 1.0f / a);
struct hypot_of {
  static DType Map(DType a, DType b) { return a + b; }
};
}
""",
    "src/operator/tensor/unary.h": """\
namespace mxnet {
template <typename xpu>
void SoftsignForward(const nnvm::NodeAttrs& attrs) {
  Kernel<xpu>::Launch(attrs);
}
struct UnusedParam : public dmlc::Parameter<UnusedParam> {
  int axis;
};
}
""",
    "src/operator/tensor/unary.cc": """\
#include "./unary.h"
#include "../mshadow_op.h"
namespace mxnet {
// relu
MXNET_OPERATOR_REGISTER_UNARY(relu)
MXNET_ADD_SPARSE_OP_ALIAS(relu)
.describe(R"code(Computes rectified linear.

   max("features", 0) {
)code" ADD_FILELINE)
.set_attr<FCompute>("FCompute<cpu>", UnaryOp::Compute<cpu, mshadow_op::relu>)
.set_attr<nnvm::FInplaceOption>("FInplaceOption",
  [](const NodeAttrs& attrs){
    return std::vector<std::pair<int, int> >{{0, 0}};
  });

MXNET_OPERATOR_REGISTER_UNARY(softsign)
.set_attr<FCompute>("FCompute<cpu>", SoftsignForward<cpu>)
.set_attr<nnvm::FGradient>("FGradient", ElemwiseGradUseIn{"_backward_softsign"});

MXNET_OPERATOR_REGISTER_BINARY(_backward_softsign)
.set_attr<FCompute>("FCompute<cpu>", Binary::Compute<cpu, unary_bwd<mshadow_op::softsign_grad> >);
}
""",
    "src/operator/tensor/hypot.cc": """\
#include "../mshadow_op.h"
NNVM_REGISTER_OP(_npi_hypot)
.set_attr<FCompute>("FCompute<cpu>", Compute<cpu, mshadow_op::hypot_of>);
""",
}

JAX = {
    "jax/_src/numpy/ufuncs.py": """\
from jax._src.lax import lax


def exp(x):
    return lax.exp(x)


def sin(x):
    return lax.sin(x)
""",
    "jax/_src/lax/lax.py": """\
def _unary(name):
    return name


def exp(x):
    return exp_p.bind(x)


exp_p = _unary("exp")


def sin(x):
    return x
""",
}

KERNELS = {
    "my_package/__init__.py": "",
    "my_package/kernels.py": """\
import numpy as np

CLIP = 3


def _inner(x):
    return np.tanh(x)


def gelu(x):
    return x * _inner(x)


def relu(x):
    return np.maximum(x, 0)


def clipped(x):
    return np.minimum(x, CLIP)
""",
    "tests/test_kernels.py": """\
from my_package.kernels import gelu


def check():
    assert gelu(0) == 0
""",
    "loose.py": """\
from my_package import kernels


def twice(x):
    return 2 * kernels.gelu(x)
""",
}


def make(folder: Path, files: dict[str, str]) -> Path:
    """Returns a repository of these files, committed on the branch `main`."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "base")
    return folder


def change(folder: Path, file: str, old: str, new: str) -> None:
    path = folder / file
    text = path.read_text()
    assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {file}"
    path.write_text(text.replace(old, new))
