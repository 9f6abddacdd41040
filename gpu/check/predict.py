"""The table of gpu/RESULTS.md that puts a schedule's interval, the clocks predicted from machine code (simulate.py) and those of a
device side by side.

usage: predict.py OBJECT... --nvcc VERSION --results FILE --schedules FOLDER [--write] [--tool CUOBJDUMP]

The table lies between two marks in FILE. --write writes it; without, it must be what the machine code says (with the nvcc that it
names; with another it is not compared). The device's column is kept as it stands: only a run on a device may fill it. Of the two
types FP16 stands for both. Ends like machine_code.py."""
import argparse
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
import machine_code  # noqa: E402
import simulate  # noqa: E402

BEGIN, END = "<!-- predicted: begin -->", "<!-- predicted: end -->"
FILES = {("forward", "CUDA-Default"): "fmha-forward-default", ("forward", "Twill-SWP"): "fmha-forward-swp",
         ("forward", "Twill"): "fmha-forward-twill", ("forward", "Twill-Overlap"): "fmha-forward-overlap",
         ("backward", "CUDA-Default"): "fmha-backward-default", ("backward", "Twill"): "fmha-backward-twill",
         ("backward", "Twill-80"): "fmha-backward-twill80"}
# Kernels with three consumer warpgroups (forward/schedule.hpp).
THREE = {("forward", 64, "CUDA-Default")}


def interval(folder, which, schedule):
    """The schedule's clocks a round of the loop; its problem is that of head dimension 128."""
    read = []
    for what in ("schedule", "problem"):
        with open(os.path.join(folder, f"{FILES[which, schedule]}.{what}.json")) as file:
            read.append(json.load(file))
    return read[0]["initiation_interval"] * read[1].get("cycle_unit", 1)


def row(name, loops, folder, device):
    which, dim, kind, schedule = name
    rows = 80 if schedule == "Twill-80" else 64
    got = simulate.predict(loops, reduced=rows * dim * 2, warpgroups=3 if (which, dim, schedule) in THREE else 2)
    clocks = max(got["clocks"])
    planned = f"{interval(folder, which, schedule):.0f}" if dim == 128 else ""
    chains = ", ".join(str(max(chain)) for chain in got["chains"][:len(loops)])
    return (f"| {which} | {dim} | {schedule} | {planned} | {clocks:.0f} | {100 * got['products'] / clocks:.0f} % | {got['products']} | "
            f"{chains} | {device.get((which, str(dim), schedule), '')} |")


def table(text, version, folder, device):
    rows = []
    for function, loops in simulate.main_loops(text):
        name = machine_code.label(function.name)
        if name and name[2] == "FP16":
            rows.append((name[0] != "forward", name[1], list(FILES).index((name[0], name[3])), row(name, loops, folder, device)))
    lines = [f"nvcc {version}, sm_90a. Written by `gpu/check/predict.py --write` (target `gpu_predictions_table`), held by the test",
             "`gpu_predictions`. In clocks a round of the main loop of all warpgroups (forward: a key block; backward: a query tile), of",
             "128 query rows or keys; forward CUDA-Default at head dimension 64 of 192.", "",
             "| pass | D | schedule | the schedule says (I) | predicted from machine code | tensor core busy, predicted | its products take"
             " | longest chain from a wait to the next product | measured on a device |",
             "|---" * 9 + "|"]
    return "\n".join(lines + [r[-1] for r in sorted(rows)]) + "\n"


def measured(held):
    """The device's column as it stands."""
    cells = [[c.strip() for c in line.split("|")[1:-1]] for line in held.splitlines() if re.match(r"\| (forward|backward) ", line)]
    return {tuple(c[:3]): c[8] for c in cells if len(c) == 9}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("objects", nargs="+")
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--results", required=True)
    parser.add_argument("--schedules", required=True)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--tool")
    options = parser.parse_args()
    tool = machine_code.cuobjdump(options.tool)
    if not tool:
        print("no cuobjdump: skipped")
        return 77
    with open(options.results) as file:
        before, held, after = re.split(f"{BEGIN}\n|{END}\n", file.read())
    text = "".join(subprocess.run([tool, "--dump-sass", path], capture_output=True, text=True, check=True).stdout
                   for path in options.objects)
    now = table(text, options.nvcc, options.schedules, measured(held))
    if options.write:
        with open(options.results, "w") as out:
            out.write(f"{before}{BEGIN}\n{now}{END}\n{after}")
    elif f"nvcc {options.nvcc}," not in held:
        print(f"{options.results} is of another nvcc than {options.nvcc}: not compared")
    elif held != now:
        differs = [b for a, b in zip(held.splitlines(), now.splitlines()) if a != b] or ["more or fewer kernels"]
        print(f"{options.results} is not what the machine code says, for example\n  " + "\n  ".join(differs[:3])
              + "\nBuild the target gpu_predictions_table and look at what changed.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
