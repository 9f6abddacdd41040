"""Clocks of a round of the hand-lowered kernels' main loops, counted by the device: what a power limit does to the clock's
frequency is not in them.

usage: clocks.py BUILT [--length N] [--only forward|backward]

A round is that of gpu/check/predict.py: a key block (forward) or a query tile (backward) of all warpgroups. Counted by ncu
(sm__cycles_elapsed) on gpu_bench_forward and gpu_bench_backward, divided by the rounds of the multiprocessor that has most
tiles; so what a tile costs beside its rounds is in it. Prints a result a kernel. Ends with 77 without ncu."""
import argparse
import csv
import itertools
import os
import re
import shutil
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import device_steps  # noqa: E402
from common import measured  # noqa: E402

PROGRAMS = {"forward": ("CUDA-Default", "Twill-SWP", "Twill", "Twill-Overlap"), "backward": ("CUDA-Default", "Twill", "Twill-80")}
DIMS = {"forward": (64, 128, 256), "backward": (64, 128)}
HEADS = 4 * 32


def rounds(which, program, dim, length, multiprocessors):
    """Of the multiprocessor that has most tiles, without a mask."""
    if which == "forward":
        rows, along = (192 if program == "CUDA-Default" and dim == 64 else 128), 64 if dim == 256 else 128
    else:
        rows, along = 128, 80 if program == "Twill-80" else 64
    tiles = HEADS * -(-length // rows)
    return -(-tiles // multiprocessors) * -(-length // along)


def launches(program, which, dim, length):
    """(multiprocessors, clocks of each launch in order) of a benchmark program; none where ncu counted none."""
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--metrics", "sm__cycles_elapsed.max",
               "--kernel-name", f"regex:^fmha_{which}$", "--kernel-name-base", "function", program, "--length", str(length),
               "--head-dim", str(dim), "--runs", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    begin = next((k for k, line in enumerate(lines) if line.startswith('"ID"')), None)
    device = re.search(r", (\d+) SMs, ", done.stdout)
    if begin is None or not device:
        print(f"ncu said nothing of {which} {dim}: {(done.stdout + done.stderr)[-800:]}")
        return 0, []
    cells = [(row.get("sm__cycles_elapsed.max") or "").replace(",", "") for row in csv.DictReader(lines[begin:])]
    return int(device[1]), [float(cell) for cell in cells if re.fullmatch(r"[\d.]+", cell)]  # (the first row has units)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("built")
    parser.add_argument("--length", type=int, default=4096)
    parser.add_argument("--only", choices=PROGRAMS)
    options = parser.parse_args()
    if not shutil.which("ncu"):
        print("no ncu: skipped")
        return 77
    failed = False
    for which, programs in PROGRAMS.items():
        if options.only and which != options.only:
            continue
        for dim in DIMS[which]:
            multiprocessors, found = launches(device_steps.program(options.built, f"gpu_bench_{which}"), which, dim, options.length)
            # As many launches of each program; those without a mask come first.
            each, rest = divmod(len(found), 2 * len(programs))
            if not found or rest:
                print(f"{which} {dim}: {len(found)} launches counted")
                failed = True
                continue
            for k, (causal, program) in enumerate(itertools.product((False, True), programs)):
                clocks = statistics.median(found[k * each:(k + 1) * each])
                of_a_round = None if causal else clocks / rounds(which, program, dim, options.length, multiprocessors)
                measured(what="clocks", program=program, head_dim=dim, causal=causal, length=options.length, clocks=clocks,
                         of_a_round=of_a_round, **{"pass": which})
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
