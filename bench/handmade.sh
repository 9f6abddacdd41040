#!/bin/sh
# Schedules that people made, completed by pins and compared with the optimum: the table in
# bench/results/machine.md, with operands that are free when their reader issues. Usage: bench/handmade.sh [TWILL]
set -eu
twill=${1:-build/release/engine/twill}

# row NAME ARGUMENTS...: name, I, L
row() {
  name=$1
  shift
  "$twill" solve "$@" --reading paper --json --quiet | tr -d ' ,"' | awk -F: -v name="$name" '
    $1 == "initiation_interval" && !ii { ii = $2 } $1 == "length" && !l { l = $2 }
    END { printf "%-52s I = %5d  L = %5d\n", name, ii, l }'
}

# ids ARGUMENTS...: the ops of the problem
ids() { "$twill" lower "$@" --reading paper --quiet | sed -n 's/^ *"id": "\(.*\)",$/\1/p'; }

fwd="hopper-fwd-sub2 --machine hopper --layout 2x4"
roles=$(ids $fwd | sed -n 's/^s0_.*/--pin &=wg0/p; s/^s1_.*/--pin &=wg1/p')
row "Hopper forward, optimum" $fwd
row "  FlashAttention-3: roles" $fwd $roles
row "  FlashAttention-3: roles and the order of the MMAs" $fwd $roles \
  --pin s0_qk@0 --pin s0_pv@2560 --pin s1_qk@1024 --pin s1_pv@3584

bwd="hopper-bwd --machine hopper --layout 1x8"
row "Hopper backward, optimum" $bwd
row "  FlashAttention-3: iterations do not overlap" $bwd --stages 1

fa4="blackwell-fwd-sub2-chunked --machine blackwell --layout softmax-correction"
roles=$(ids $fa4 | sed -n 's/^s._[qp][kv]$/--pin &=mma/p; t; s/^s._rescale$/--pin &=correction/p; t
  s/^s\([01]\)_.*/--pin &=softmax\1/p')
order="--pin s0_qk@0 --pin s1_qk@1032 --pin s0_pv@3616 --pin s1_pv@4648"
slots=layouts.softmax-correction.slots
split="--set $slots.correction.registers=72 --set $slots.load.registers=56"
split="$split --set $slots.mma.registers=56 --set $slots.aux.registers=56"
row "Blackwell forward, optimum" $fa4
row "  CUTLASS 77 (192, 192, 96, 32 registers): roles" $fa4 $roles
row "  CUTLASS 77: roles and the order of the MMAs" $fa4 $roles $order
row "  FlashAttention-4 (192, 192, 72, 56): roles" $fa4 $split $roles
row "  FlashAttention-4: roles and the order of the MMAs" $fa4 $split $roles $order
