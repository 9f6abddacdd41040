#!/usr/bin/env python3
"""Every loop of every module under a folder, as `twill solve` meets it: solved, without a schedule, or
refused and why. For modules that nobody here wrote, as the tests of Triton's repositories:

    bench/corpus.py build/release/engine/twill FOLDER [-o rows.jsonl] [-j JOBS] [--ptx]

A module goes on the machine of its target (cuda:80, cuda:90, cuda:100 and what is of their kind); one
for another vendor is left out. Every schedule is put before `twill verify`, and the module with the
schedule's attributes (`--emit ttgir`) is read again: it must give the same problem. Exit code 1 when
one of these fails, or when the program ends in another way than it says. Standard library only, but for
--ptx: with Triton installed each module for cuda:90 goes to PTX as it came and with each loop's schedule.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

MACHINES = {"80": "ampere", "86": "ampere", "89": "ampere", "90": "hopper",
            "100": "blackwell", "103": "blackwell"}


def run(program, *arguments, seconds=60):
    try:
        done = subprocess.run([program, *arguments], capture_output=True, text=True,
                              errors="replace", timeout=seconds)
    except subprocess.TimeoutExpired:
        return "timeout", "", "no answer"
    return done.returncode, done.stdout, done.stderr


def last_line(text):
    return (text.strip().splitlines() or ["nothing was said"])[-1]


def check(program, row, arguments, keep=None):
    """The judge's word on the schedule, and the emitted module read again; "" = both are fine. The emitted
    module is kept under the name `keep`."""
    with tempfile.TemporaryDirectory() as folder:
        schedule, problem, module = (os.path.join(folder, name) for name in
                                     ("s.schedule.json", "s.problem.json", "out.ttgir"))
        code, _, said = run(program, "solve", *arguments, "--emit", "ttgir", "-o", module,
                            "--schedule", schedule)
        if code == 2:  # Triton would not take it, and why is said
            row["not emitted"] = last_line(said)
            code, _, said = run(program, "solve", *arguments, "-o", schedule)
        if code not in (0, 3) or not os.path.exists(schedule):
            return "" if code in (1, 3) else f"solve ends with {code}: {last_line(said)}"
        code, _, said = run(program, "verify", problem, schedule)
        if code != 0:
            return "verify refuses the schedule: " + last_line(said)
        if not os.path.exists(module):
            return ""
        again = keep or os.path.join(folder, "again.ttgir")
        shutil.copyfile(module, again)
        parts = dict(zip(arguments[1::2], arguments[2::2]))
        code, out, said = run(program, "solve", again, "--machine", parts["--machine"], "--loop",
                              parts["--loop"], "--quiet", "--json", "--threads", "1",
                              "--time-limit", "10")
        if code not in (0, 3):
            return f"the emitted module ends with {code}: {last_line(said)}"
        if code == 0 and row["status"] == "optimal":
            interval = json.loads(out)["initiation_interval"]
            if interval != row["initiation_interval"]:
                return f"the emitted module has I = {interval}"
    return ""


def loops(program, path, keep=None):
    """A row a loop of a file. Emitted modules are kept in the folder `keep`, under the file's name and the
    loop's number."""
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    if not any("cuda:" in line for line in lines) and (
            "/amd/" in path or any("hip:" in line for line in lines)):
        return
    code, out, said = run(program, "solve", path, "--list-loops")
    if code != 0:
        yield {"file": path, "status": "unread", "why": last_line(said)}
        return
    module = None
    for line in out.splitlines():
        if found := re.match(r"module (\d+) ", line):
            module = found[1]
        elif found := re.match(r"[* ] (\d+)  (.*)  line (\d+)(.*)", line):
            targets = re.findall(r'"(cuda:\d+|hip:\w+)"', "\n".join(lines[:int(found[3])]))
            target = targets[-1] if targets else "cuda:80"
            machine = MACHINES.get(target.removeprefix("cuda:"))
            if machine is None:
                continue
            arguments = [path, "--machine", machine, "--loop", found[1], "--time-limit", "10",
                         "--threads", "1"]
            if module is not None:
                arguments += ["--module", module]
            row = {"file": path, "module": module, "loop": int(found[1]), "function": found[2],
                   "line": int(found[3]), "machine": machine}
            code, out, said = run(program, "solve", *arguments, "--quiet", "--json")
            if code in (0, 1, 3):
                answer = json.loads(out)
                row["status"] = answer["status"]
                row["initiation_interval"] = answer.get("initiation_interval")
                row["why"] = "; ".join(answer.get("conflict", [])[:2])
                if "ops" in answer:
                    suffix = "" if module is None else f".module{module}"
                    stem = os.path.splitext(os.path.basename(path))[0]
                    row["wrong"] = check(program, row, arguments,
                                         keep and os.path.join(keep, f"{stem}.loop{found[1]}{suffix}.ttgir"))
            else:
                row["status"] = "refused" if code == 2 else "failed"
                row["why"] = last_line(said)
                row["wrong"] = "" if code == 2 else f"ends with {code}"
            yield row


def module_texts(path):
    """The modules of a file, as `// -----` parts them."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return re.split(r"^// -----.*$", file.read(), flags=re.M)


def to_ptx(path, rows, keep):
    """How far the rest of Triton gets with the module of each row as it came, and with the loop's schedule. A part
    of a file is found by the line of the loop."""
    import twill_triton
    seen = {}
    parts, end = [], 0
    for text in module_texts(path):
        end += text.count("\n")
        parts.append((end, text))
    for row in rows:
        if row.get("machine") != "hopper":
            continue
        text = next(text for end, text in parts if row["line"] <= end)

        def reached(module, name):
            if module not in seen:
                try:
                    done = twill_triton.finish_apart(module, seconds=120)
                    seen[module] = {"reached": done.reached, "reason": done.reason}
                except ValueError as error:
                    seen[module] = {"reached": "nothing", "reason": f"{name}: {error}"}
            return seen[module]
        row["as it came"] = reached(text, "as it came")
        stem = os.path.splitext(os.path.basename(path))[0]
        suffix = "" if row["module"] is None else f".module{row['module']}"
        module = os.path.join(keep, f"{stem}.loop{row['loop']}{suffix}.ttgir")
        if os.path.exists(module):
            with open(module, encoding="utf-8") as file:
                row["emitted"] = reached(file.read(), "emitted")
            row["lost"] = row["as it came"]["reached"] == "ptx" != row["emitted"]["reached"]


def kind(why):
    """A refusal without its names and numbers."""
    why = re.sub(r"^twill: ", "", why)
    why = re.sub(r"^\S+\.(mlir|ttgir)\S*", "FILE", why)
    why = re.sub(r'(op|kernel) "[^"]*"', r"\1 X", why)
    why = re.sub(r"%[\w#]+", "%x", re.sub(r"\d+", "N", why))
    return why[:110]


def one_file(program, path, ptx):
    if not ptx:
        return list(loops(program, path))
    with tempfile.TemporaryDirectory() as keep:
        rows = list(loops(program, path, keep))
        to_ptx(path, rows, keep)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("-o", "--output", help="a JSON object a loop, a line each")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--ptx", action="store_true", help="on to PTX with the installed Triton (cuda:90)")
    flags = parser.parse_args()
    if flags.ptx:
        sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "graph", "kernels", "triton"))
    files = sorted(os.path.join(root, name) for root, _, names in os.walk(flags.folder)
                   for name in names if name.endswith((".mlir", ".ttgir")))
    rows = []
    with concurrent.futures.ThreadPoolExecutor(flags.jobs) as pool:
        for found in pool.map(lambda path: one_file(flags.program, path, flags.ptx), files):
            rows += found
    if flags.output:
        with open(flags.output, "w", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(row) + "\n")
    print(f"{len(files)} files, {sum('loop' in row for row in rows)} loops")
    for status, number in collections.Counter(row["status"] for row in rows).most_common():
        print(f"{number:6} {status}")
    for status in ("refused", "infeasible", "unread"):
        whys = collections.Counter(kind(row["why"]) for row in rows if row["status"] == status)
        print(f"{status}:")
        for why, number in whys.most_common(12):
            print(f"{number:6} {why}")
    print(f"{sum('not emitted' in row for row in rows)} schedules are not emitted as attributes")
    if flags.ptx:
        tried = [row for row in rows if "as it came" in row]
        print(f"{len(tried)} loops tried on their way to PTX: "
              f"{sum(row['as it came']['reached'] == 'ptx' for row in tried)} get there as they came, "
              f"{sum(row.get('emitted', {}).get('reached') == 'ptx' for row in tried)} with a schedule")
        for row in tried:
            if row.get("lost"):
                print(f"LOST: {row['file']} {row['function']} line {row['line']}: {row['emitted']}")
    wrong = [row for row in rows if row.get("wrong")]
    for row in wrong:
        print(f"WRONG: {row['file']} module {row['module']} loop {row['loop']}: {row['wrong']}")
    return 1 if wrong or any(row.get("lost") for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
