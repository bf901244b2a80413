#!/bin/sh
# Runs the tests that need a GPU, and PyTorch's registry on gpu(0), on a machine that has one.
# The run file and the GPU's state stay in a folder.
# Run: benchmarks/gpu_check.sh [FOLDER] [PYTHON]
set -eu
cd "$(dirname "$0")/.."
folder=${1:-gpu_check}
python=${2:-python}
mkdir -p "$folder"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,temperature.gpu,clocks_throttle_reasons.active \
    --format=csv | tee "$folder/gpu.csv"
# Without this, the tests would be skipped.
"$python" -c 'import torch; assert torch.cuda.is_available(), "PyTorch finds no GPU"'
"$python" -m pytest -q -p no:randomly -m gpu
"$python" -m opperf run --framework torch --ctx 'gpu(0)' --size small -f jsonl -o "$folder/registry.jsonl"
