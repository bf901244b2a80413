// PyTorch's atan2 on a CPU with more instructions: EXTRA of them for each 1024 elements of the result.

#include <ATen/ops/atan2_cpu_dispatch.h>
#include <cstdlib>
#include <torch/library.h>

namespace {

const char *const wanted = std::getenv("EXTRA");
const long extra = wanted == nullptr ? 0 : std::atol(wanted);

// Two instructions each time.
void count_down(long times)
{
    if (times <= 0)
        return;
#if defined(__x86_64__)
    asm volatile("1: sub $1, %0\n jnz 1b" : "+r"(times) : : "cc");
#else
    asm volatile("1: subs %0, %0, #1\n b.ne 1b" : "+r"(times) : : "cc");
#endif
}

at::Tensor longer_atan2(const at::Tensor &self, const at::Tensor &other)
{
    at::Tensor result = at::cpu::atan2(self, other);
    count_down(extra * result.numel() / 2048);
    return result;
}

} // namespace

TORCH_LIBRARY(injected, m) { m.def("atan2(Tensor self, Tensor other) -> Tensor", &longer_atan2); }

TORCH_LIBRARY_IMPL(aten, CPU, m) { m.impl("atan2", &longer_atan2); }
