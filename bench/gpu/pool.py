"""Many small runs side by side, each a process of its own with a limit: one that hangs or crashes says so alone.

usage: pool.py smoke|correct BUILT [--limit S] [--within S] [--workers N] [--skip TEXT] [--match TEXT] [--tool COMMAND]
       pool.py emitted|cuda|modules FOLDER [--limit S] [--within S] [--workers N]

smoke: every schedule, head dimension, mask, and with or without multicast or a fixed order, on small shapes. correct:
all cases of the tests against double precision. --match, --skip: cases with all of these in their names, and none
of those. --tool runs each under a compute-sanitizer tool. emitted: each file of
FOLDER is checked by emitted.py. cuda: each program of FOLDER, emitted as CUDA C++, by emitted_cuda.py. modules: each kernel
of a TTGIR module in FOLDER, by modules.py. Prints a result a run; ends with 1 if one was not right, with 77 if all were skipped."""
import argparse
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))


alive = set()  # process groups


def kill(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass


def stopped(*_):
    """Told to end: what it started has groups of its own and would stay."""
    for group in list(alive):
        kill(group)
    os._exit(143)


def run(label, command, limit):
    begun = time.monotonic()
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   start_new_session=True)
    except OSError as error:
        return {"what": label, "state": "failed", "exit": 127, "seconds": 0}, str(error)
    alive.add(process.pid)
    try:
        text, state = process.communicate(timeout=limit)[0], None
    except subprocess.TimeoutExpired:
        state = "timeout"
        kill(process.pid)
        try:
            text = process.communicate(timeout=5)[0]
        except subprocess.TimeoutExpired:  # stuck in the driver
            text = b""
    kill(process.pid)  # what it left behind
    alive.discard(process.pid)
    code = process.returncode
    return {"what": label, "state": state or {0: "ok", 77: "skipped"}.get(code, "failed"), "exit": code,
            "seconds": round(time.monotonic() - begun, 2)}, text.decode(errors="replace")


def groups(names, part):
    """Cases that differ only in lengths and inputs, in one run; `part` cuts a group of many into several."""
    found = {}
    for number, name in enumerate(names):
        words = name.split()
        schedule = words[0]
        shape = re.search(r"D(\d+) (full|causal top left|causal bottom right)", name)
        multicast = "" if shape[2] != "full" or "S512" not in name else " no multicast" if "no multicast" in name else " multicast"
        label = f"{schedule} {words[1]} D{shape[1]} {shape[2]}{multicast}{' deterministic' if 'deterministic' in name else ''}"
        found.setdefault(label, []).append(number)
    for label, numbers in sorted(found.items()):
        for n in range(0, len(numbers), part):
            yield label, numbers[n:n + part]


def tests(options):
    for program in ("gpu_forward", "gpu_backward"):
        path = os.path.join(options.what, program)
        if not os.path.exists(path):
            path = os.path.join(options.what, "tests", program)
        small = ["--small"] if options.kind == "smoke" else []
        done = subprocess.run([path, *small, "--list"], capture_output=True, text=True, timeout=30, check=True)
        names = done.stdout.splitlines()
        for label, numbers in groups(names, 100 if options.kind == "smoke" else 4):
            kept = [n for n in numbers if not any(text in names[n] for text in options.skip)
                    and all(text in names[n] for text in options.match)]
            if kept:
                yield (f"{program[4:]} {label} x{len(kept)}",
                       [*options.tool.split(), path, *small, "--cases", ",".join(map(str, kept))])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=("smoke", "correct", "emitted", "cuda", "modules"))
    parser.add_argument("what")
    parser.add_argument("--limit", type=float, default=15)
    parser.add_argument("--within", type=float, default=0, help="seconds for all; what has not ended by then is stopped")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--skip", action="append", default=[])
    parser.add_argument("--match", action="append", default=[])
    parser.add_argument("--tool", default="")
    options = parser.parse_args()
    if options.tool and not shutil.which(options.tool.split()[0]):
        print(f"no {options.tool.split()[0]}: skipped")
        return 77
    if options.kind in ("emitted", "cuda", "modules"):
        if options.kind == "modules":
            jobs = [(f"module {os.path.basename(path)[:-3]}",
                     [sys.executable, "-B", os.path.join(HERE, "modules.py"), options.what, os.path.basename(path)[:-3]])
                    for path in sorted(glob.glob(os.path.join(options.what, "*.py")))]
        elif options.kind == "emitted":
            jobs = [(os.path.basename(path)[:-3], [sys.executable, "-B", os.path.join(HERE, "emitted.py"), path, "--check"])
                    for path in sorted(glob.glob(os.path.join(options.what, "*.py")))]
        else:
            jobs = [(os.path.basename(path), [sys.executable, "-B", os.path.join(HERE, "emitted_cuda.py"), path])
                    for path in sorted(glob.glob(os.path.join(options.what, "*")))]
        if not jobs:
            print(f"no emitted kernels in {options.what}: run bench/gpu/emit.sh first")
            return 1
    else:
        # Head dimension 128 first: what time runs out for is what matters least.
        jobs = sorted(tests(options), key=lambda job: "D128" not in job[0])
    states, lock, begun = [], threading.Lock(), time.monotonic()

    def execute(job):
        left = options.within - (time.monotonic() - begun) if options.within else options.limit
        if left < 1:
            result, text = {"what": job[0], "state": "no time left", "exit": None, "seconds": 0}, ""
        else:
            result, text = run(*job, min(left, options.limit))
            if result["state"] == "timeout" and left < options.limit:
                result["state"] = "no time left"
        with lock:
            states.append(result["state"])
            said = text.splitlines()
            result["said"] = [line[:300] for line in said if "FAILED" in line or "ERROR SUMMARY" in line][:5]
            print(json.dumps({"measured": result}), flush=True)
            for line in said:  # a run's own results
                if line.startswith('{"measured"'):
                    print(line, flush=True)
            if result["state"] not in ("ok", "skipped"):
                rest = [line for line in said if not line.startswith('{"measured"')]  # those are counted
                print("\n".join(rest[-6:]), flush=True)

    signal.signal(signal.SIGTERM, stopped)
    with ThreadPoolExecutor(options.workers) as pool:
        list(pool.map(execute, jobs))
    print(f"{len(states)} runs: " + ", ".join(f"{states.count(s)} {s}" for s in sorted(set(states))))
    return 77 if set(states) == {"skipped"} else 0 if set(states) <= {"ok", "skipped"} else 1


if __name__ == "__main__":
    sys.exit(main())
