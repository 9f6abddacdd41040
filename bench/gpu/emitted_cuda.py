"""Runs the check of one program that `twill emit ... --to cuda` wrote and build.py compiled: small trip counts against
double precision.

usage: emitted_cuda.py PROGRAM

Prints a result a line, as device.py collects them. Ends as the program does: 1 where a result is wrong, 77 without a GPU
that fits; 1, too, if it ends well and has checked nothing. Its time counts in a folder `timed` alone: elsewhere build.py lets
waits count their tries."""
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import operations  # noqa: E402

TIME = re.compile(r"n = (\d+), (\d+) x (\d+) blocks, batch (\d+): ([\d.]+) ms$")
LINE = re.compile(r"(n = \d+, \d+ x \d+ blocks, batch \d+): largest error (\S+), (right|WRONG)$")


def results(name, text, timed):
    """What the program says of each of its runs."""
    for line in text.splitlines():
        if (found := TIME.match(line)) and timed:
            n, x, y, batch = map(int, found.groups()[:4])
            ms = float(found[5])
            yield {"what": "emitted time", "kernel": f"{name}, CUDA", "ms": ms, "blocks": x * y * batch, "n": n,
                   "tflops": operations.tflops(name, x * y * batch, n, ms)}
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
    checks = list(results(os.path.basename(sys.argv[1]), done.stdout, os.path.basename(os.path.dirname(sys.argv[1])) == "timed"))
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
