"""Clocks of a round of the hand-lowered kernels' main loops, counted by the device: what a power limit does to the clock's
frequency is not in them.

usage: clocks.py BUILT [--length N] [--only forward|backward]

A round is that of gpu/check/predict.py: a key block (forward) or a query tile (backward) of all warpgroups. Counted by ncu
(sm__cycles_elapsed) on gpu_bench_forward and gpu_bench_backward, divided by the rounds of the multiprocessor that has most
tiles; so what a tile costs beside its rounds is in it. Prints a result a kernel. Ends with 77 without ncu."""
import argparse
import csv
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys

PROGRAMS = {"forward": ("CUDA-Default", "Twill-SWP", "Twill", "Twill-Overlap"), "backward": ("CUDA-Default", "Twill", "Twill-80")}
DIMS = {"forward": (64, 128, 256), "backward": (64, 128)}
HEADS = 4 * 32
MULTIPROCESSORS = 132


def rounds(which, program, dim, length):
    """Of the multiprocessor that has most tiles, without a mask."""
    if which == "forward":
        rows, along = (192 if program == "CUDA-Default" and dim == 64 else 128), 64 if dim == 256 else 128
    else:
        rows, along = 128, 80 if program == "Twill-80" else 64
    tiles = HEADS * -(-length // rows)
    return -(-tiles // MULTIPROCESSORS) * -(-length // along)


def launches(path, which, dim, length):
    """(name, clocks) of each launch in order."""
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--metrics", "sm__cycles_elapsed.max",
               "--kernel-name", f"regex:^fmha_{which}$", "--kernel-name-base", "function", path, "--length", str(length),
               "--head-dim", str(dim), "--runs", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    begin = next((k for k, line in enumerate(lines) if line.startswith('"ID"')), None)
    if begin is None:
        print(f"ncu said nothing of {which} {dim}: {(done.stdout + done.stderr)[-800:]}")
        return
    for row in csv.DictReader(lines[begin:]):
        if (row.get("sm__cycles_elapsed.max") or "").replace(",", "").replace(".", "").isdigit():
            # (The name says no template arguments; blocks and registers tell most schedules apart, order all.)
            yield row["Kernel Name"], float(row["sm__cycles_elapsed.max"].replace(",", ""))


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
        path = next(p for p in (os.path.join(options.built, folder, f"gpu_bench_{which}") for folder in ("", "bench"))
                    if os.path.exists(p) or "bench" in p)
        for dim in DIMS[which]:
            found = list(launches(path, which, dim, options.length))
            # As many launches of each program; those without a mask come first.
            each, rest = divmod(len(found), 2 * len(programs))
            if not found or rest:
                print(f"{which} {dim}: {len(found)} launches counted")
                failed = True
                continue
            for k, (causal, program) in enumerate(itertools.product((False, True), programs)):
                clocks = statistics.median(c for _, c in found[k * each:(k + 1) * each])
                count = None if causal else rounds(which, program, dim, options.length)
                print(json.dumps({"measured": {"what": "clocks", "pass": which, "program": program, "head_dim": dim, "causal": causal,
                                               "length": options.length, "clocks": clocks,
                                               "of_a_round": clocks / count if count else None}}), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
