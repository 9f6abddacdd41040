#!/bin/sh
# The comparison with other solvers in RESULTS.md: one after the other, on a machine that does
# nothing else.   bench/peers.sh [TWILL]
set -eu
twill=${1:-build/release/engine/twill}

# As SMT-LIB in the paper's form (Yices, Z3), in the modulo form (CP-SAT), the modulo program (CBC).
"$twill" bench peers --kernel hopper-fwd-plain --kernel blackwell-fwd-plain \
  --normalize 20 --normalize 30 --limit 30
# At raw clocks the text would not fit.
"$twill" bench peers --kernel hopper-fwd-plain --kernel hopper-bwd-sub2 --kernel blackwell-fwd-sub2 \
  --normalize none --limit 60 --text-limit 1M --question optimum --question ii-1
"$twill" bench peers --kernel hopper-fwd-plain --kernel blackwell-fwd-plain \
  --normalize 300 --limit 60 --question optimum
