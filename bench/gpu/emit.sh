#!/bin/bash
# bench/gpu/emit.sh TWILL [FOLDER]: writes the Gluon and CUDA kernels that device.sh runs, where twill is built, for a
# machine where it is not. FOLDER (default .emitted, which git ignores) has to travel there with the tree.
set -eu
twill=$1
folder=${2:-$(dirname "${BASH_SOURCE[0]}")/../../.emitted}
mkdir -p "$folder"
for kernel in fmha-forward hopper-fwd-plain gemm hopper-gqa hopper-mlp; do
  "$twill" emit "$kernel" --machine hopper --to gluon --quiet -o "$folder/$kernel.py"
  echo "$folder/$kernel.py"
done
for kernel in fmha-forward hopper-fwd-plain gemm hopper-gqa hopper-mlp hopper-bwd hopper-bwd-q64; do
  "$twill" emit "$kernel" --machine hopper --to cuda --quiet -o "$folder/$kernel.cu"
  echo "$folder/$kernel.cu"
done
git -C "$(dirname "${BASH_SOURCE[0]}")" describe --always --dirty --abbrev=40 > "$folder/commit.txt" || true
