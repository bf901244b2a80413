#!/bin/sh
# Runs all that needs a GPU, on a machine that has one: the tests, PyTorch's registry at two sizes,
# ten operators by each profiler, and some under Nsight where it is installed. Prints the figures that docs/measuring.md has of a GPU. Run
# files and the GPU's state stay in a folder.
# Run: benchmarks/timers/gpu_check.sh [FOLDER] [PYTHON]
# Variables: DEVICE=cpu runs what a CPU can; OPERATORS limits the sweeps to some operators.
set -eu
cd "$(dirname "$0")/.."
folder=${1:-gpu_check}
python=${2:-python}
device=${DEVICE:-gpu(0)}
profilers=python,native,events
mkdir -p "$folder"

# Runs operators with options, to a run file of this name in the folder.
measure() {
    output=$folder/$1.jsonl
    shift
    "$python" -m opperf run "$@" --framework torch --ctx "$device" --overwrite \
        -f jsonl -o "$output"
}

if [ "$device" = cpu ]; then
    profilers=python,native
else
    nvidia-smi -q -d CLOCK,PERFORMANCE,POWER,TEMPERATURE >"$folder/gpu.txt"
    nvidia-smi --query-gpu=name,driver_version,uuid --format=csv
    # Without this, the tests would be skipped.
    "$python" -c 'import torch; assert torch.cuda.is_available(), "PyTorch finds no GPU"'
    "$python" -m pytest -q -p no:randomly -m gpu
fi
for size in small default; do
    # shellcheck disable=SC2086  # a list of words
    measure "$size" ${OPERATORS:-} --size "$size" --quick
    "$python" -m opperf coverage "$folder/$size.jsonl" --framework torch --overwrite \
        -o "$folder/$size-coverage.txt"
    # The lines before the tables by namespace and category.
    sed '/^$/q' "$folder/$size-coverage.txt"
done
# Kernels of every kind: pointwise, copies, reductions, products, convolution, normalisation,
# indexing, and several kernels in a call.
measure operators add.Tensor exp clone sum.dim_IntList softmax.int mm convolution \
    native_layer_norm index_select sort --size default --max-configs 1 --profiler "$profilers"
# Kernels in calls of one and of several, forward and backward: ncu's times beside the profiler's.
for program in ncu nsys; do
    if [ "$device" = cpu ]; then
        echo "no GPU: nothing to profile under $program"
    elif command -v "$program" >/dev/null; then
        measure "$program" add.Tensor mm softmax.int native_layer_norm relu_ --size default \
            --max-configs 1 --quick --profiler native "--$program"
        ls -l "$folder/$program.profiles"
    else
        echo "$program is not installed: its figures are not checked"
    fi
done
"$python" -m benchmarks.timers.gpu_figures "$device" "$folder"
