"""Runs the check of one program that `twill emit ... --to cuda` wrote and build.py compiled: small trip counts against
double precision.

usage: emitted_cuda.py PROGRAM

Prints a result a line, as device.py collects them. Ends as the program does: 1 where a result is wrong, 77 without a GPU
that fits; 1, too, if it ends well and has checked nothing. Its time is left out: waits count their tries in this build."""
import json
import os
import re
import subprocess
import sys

LINE = re.compile(r"(n = \d+, \d+ x \d+ blocks, batch \d+): largest error (\S+), (right|WRONG)$")


def results(name, text):
    """What the program says of each of its runs."""
    for line in text.splitlines():
        if found := LINE.match(line):
            error = float(found[2])
            yield {"what": "emitted", "kernel": f"{name}, CUDA", "n": found[1], "output": "all",
                   "error": error if abs(error) < float("inf") else "NaN", "allowed": 8e-3, "right": found[3] == "right"}


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    done = subprocess.run([sys.argv[1]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    print(done.stdout, end="")
    checks = list(results(os.path.basename(sys.argv[1]), done.stdout))
    for one in checks:
        print(json.dumps({"measured": one}), flush=True)
    if done.returncode < 0:
        print(f"FAILED: ended by signal {-done.returncode}")
        return 1
    if done.returncode == 0 and not checks:
        print("FAILED: nothing was checked")
        return 1
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
