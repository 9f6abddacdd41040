#!/bin/sh
# The comparison with other solvers in results/peers.md: one after the other, on a machine that does
# nothing else.   bench/peers.sh [TWILL]
set -eu
twill=${1:-build/release/engine/twill}

# As SMT-LIB in the paper's form (Yices, Z3), in the modulo form (CP-SAT), the modulo program (CBC).
"$twill" bench peers --kernel hopper-fwd-plain --kernel blackwell-fwd-plain \
  --normalize 20 --normalize 30 --cpu-limit 30
# The nine attention graphs at raw clocks, where the text would not fit.
kernels=
for kernel in hopper-fwd-plain hopper-fwd-sub2 hopper-fwd-sub2-m128 hopper-bwd hopper-bwd-sub2 \
  blackwell-fwd-plain blackwell-fwd-sub2 blackwell-bwd blackwell-bwd-sub2; do
  kernels="$kernels --kernel $kernel"
done
# shellcheck disable=SC2086
"$twill" bench peers $kernels --normalize none --cpu-limit 60 --text-limit 1M \
  --question optimum --question ii-1 --question length-1
"$twill" bench peers --kernel hopper-fwd-plain --kernel blackwell-fwd-plain \
  --normalize 300 --cpu-limit 60 --question optimum
