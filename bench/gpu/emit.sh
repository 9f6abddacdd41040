#!/bin/bash
# bench/gpu/emit.sh TWILL [FOLDER]: writes all kernels of Hopper that device.sh runs, where twill is built, for a machine
# where it is not: Gluon and CUDA of the built-in ones, of some with a mask, head dimension 64 or bf16, and Gluon of TTGIR
# modules (these need numpy). FOLDER (default .emitted, which git ignores) has to travel there with the tree.
set -eu
twill=$(realpath "$1")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${2:-$here/../../.emitted}
mkdir -p "$folder"
python3 -B "$here/emit_builtin.py" "$twill" "$folder"
python3 -B "$here/modules.py" --emit "$twill" "$folder/modules"
git -C "$here" describe --always --dirty --abbrev=40 > "$folder/commit.txt" || true
