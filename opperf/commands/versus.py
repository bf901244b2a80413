"""The command `versus`."""

from __future__ import annotations

from opperf.commands.compare import end, finish
from opperf.commands.options import command
from opperf.requests.versus.request import VersusRequest, folder_of
from opperf.results.messages import tell


@command(
    VersusRequest,
    examples={
        "Three implementations of two operations": (
            "opperf versus add softmax --among numpy,torch,jax"
        ),
        "What compilation gains, over sizes": (
            "opperf versus softmax --among torch,torch:compile --shape data=64xN "
            "--sweep N=256..8192:x2 --quick"
        ),
        "A kernel of your own against the function that it replaces": (
            "opperf versus --candidate mine.py:softmax --reference ref.py:softmax "
            "--inputs ref.py:make_inputs"
        ),
        "A kernel of your own against an operation, beside what would compile it": (
            "opperf versus softmax --candidate mine.py:softmax --among torch,torch:compile"
        ),
        "Kernels for the problems of a folder, as KernelBench has it": (
            "opperf versus KernelBench/level1 --candidate 1_relu_mine.py --set batch_size=16"
        ),
        "A gate: the second is right and not slower": (
            "opperf versus matmul --among numpy,torch --fail-on wrong,slower"
        ),
    },
)
def versus(request: VersusRequest) -> int:
    """Measure operations in several implementations side by side: on the same data, to the bit, in
    interleaved processes, with their results compared.

    OPERATION is a canonical operation (matrix_product), the field's name of one (matmul, conv2d,
    linear), or any framework's operator. FOLDER has problems of KernelBench, robust-kbench, GPU
    MODE, BackendBench or FlashInfer-Bench, whose candidates are judged. The exit code is 1 if
    results are wrong, and 3 if nothing could be decided.
    """
    from opperf.commands.running import command_line
    from opperf.requests.ab.resolving import progress_of
    from opperf.requests.versus.candidates import judge_candidates
    from opperf.requests.versus.operation_candidates import judge_operation
    from opperf.requests.versus.problems import judge_problems
    from opperf.requests.versus.running import run

    folder = folder_of(request)
    if folder is None and not request.candidates:
        return end(run(request, tell, progress_of(request.quiet), command_line()), request)
    request.check_outputs()
    if folder is not None:
        return finish(judge_problems(request, folder, tell), request)
    if request.reference or not (request.names or request.categories):
        return finish(judge_candidates(request, tell), request)
    return end(judge_operation(request, tell, command_line()), request)
