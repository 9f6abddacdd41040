#!/usr/bin/env python3
"""Kernels of many kinds (modules/*.py), compiled here to the modules that Twill reads, through everything:

    VENV/bin/python bench/generated.py build/release/engine/twill [-o rows.jsonl] [--keep FOLDER] [NAME ...]

Every kernel is compiled by the installed Triton for each of its targets (cuda:80, 90, 100) up to where Triton
would set stages and partitions. Every loop of the module is solved, its schedule put before `twill verify`, the
module with the schedule read again (bench/corpus.py), and taken through the rest of Triton to PTX, as the
module without a schedule is. A loop is "lost" where only the latter gets there. What Triton's own passes make of the
module is read, too (--after): undone, or refused and why. Exit code 1 where something is wrong or lost, 77
without Triton. No GPU is needed. Nothing is kept but with --keep FOLDER, where a later run also finds what
this Triton made of the modules without a schedule.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "modules"), os.path.join(HERE, "..", "graph", "kernels", "triton")]
sys.dont_write_bytecode = True

import corpus  # noqa: E402
import twill_triton  # noqa: E402


def facts(text):
    """What Triton made of a module: partitions beside the default group, asynchronous copies, waits; and in loops
    what is waited for where it is issued: loads into registers, and copies and products with a barrier of
    their own for the moment."""
    at_once, depth, loops = 0, 0, []
    for line in text.splitlines():
        if line.startswith(("#", "{-#")):
            continue
        if loops and re.search(r"ttng\.init_barrier|= tt\.load .*tensor<", line):
            at_once += 1
        if re.search(r"\bscf\.(for|while)\b", line):
            loops.append(depth)
        depth += line.count("{") - line.count("}")
        while loops and depth <= loops[-1] and not re.search(r"\bscf\.(for|while)\b", line):
            loops.pop()
    return {"partitions": len(re.findall(r"^\s*partition\d+\(", text, re.M)),
            "copies": len(re.findall(r"async_tma_copy_global_to_local|async_copy_global_to_local|async_tma_gather", text)),
            "waits": len(re.findall(r"wait_barrier|async_wait", text)), "at once": at_once}


# Shared memory of a block, bytes (CUDA C++ Programming Guide, compute capabilities).
SHARED = {"80": 166912, "90": 232448, "100": 232448}


def finished(path, stages):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    done = twill_triton.finish_apart(text, num_stages=stages)
    shared = done.metadata.get("shared", 0)
    limit = SHARED.get(re.search(r"cuda:(\d+)", text)[1], 0)
    return {"reached": done.reached, "reason": done.reason, "shared": shared, "fits": shared <= limit,
            **(facts(done.ttgir) if done.ttgir else {})}, done.ttgir


def as_it_came(name, path, stages):
    """How far Triton gets with a module of its own, and what its passes make of it. Kept beside the module."""
    stem = path.removesuffix(".ttgir")
    if not os.path.exists(stem + ".plain.json"):
        plain, lowered = finished(path, stages)
        for end, text in ((".after.mlir", lowered), (".plain.json", json.dumps(plain))):
            with open(stem + end, "w", encoding="utf-8") as file:
                file.write(text)
    with open(stem + ".plain.json", encoding="utf-8") as file:
        return json.load(file), stem + ".after.mlir"


def module_rows(program, name, path, stages, after):
    """The module as it came, a row; and a row a loop of it."""
    folder = os.path.dirname(path)
    plain, lowered = as_it_came(name, path, stages)
    row = {"module": name, "as it came": plain}
    if after and os.path.getsize(lowered) > 0:
        row["after"] = [{key: loop.get(key) for key in ("loop", "line", "status", "initiation_interval", "length",
                                                         "why", "wrong")}
                        for loop in corpus.loops(program, lowered)]
    yield row
    for loop in corpus.loops(program, path, folder):
        loop["module"] = name
        emitted = os.path.join(folder, f"{name}.loop{loop.get('loop')}.ttgir")
        if "wrong" in loop and os.path.exists(emitted):
            loop["emitted"], lowered = finished(emitted, stages)
            loop["lost"] = plain["reached"] == "ptx" and (
                loop["emitted"]["reached"] != "ptx" or plain["fits"] and not loop["emitted"]["fits"])
            if after and lowered:  # does what Triton made of the schedule still compute the same loop?
                loop["again"] = read_again(program, emitted + ".after.mlir", lowered, loop)
        yield loop


def read_again(program, path, lowered, loop):
    """The module with a schedule, behind all of Triton's passes: its loops as Twill reads them, and whether one has
    the interval that it should have."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(lowered)
    found = list(corpus.loops(program, path))
    return {"same": any(one.get("initiation_interval") == loop["initiation_interval"] for one in found),
            "loops": [{key: one.get(key) for key in ("line", "status", "initiation_interval", "why", "wrong")}
                      for one in found]}


def emitted_modules(names, folder):
    """Writes the module of every case and target; a row for each that this Triton does not compile."""
    import cases
    paths, rows = [], []
    for case in cases.every_case():
        if names and not any(case.name == name or case.family == name for name in names):
            continue
        for target in case.targets:
            name = f"{case.name}.{target}"
            try:
                text = twill_triton.emit(case.kernel, case.signature, case.constants, target, case.warps, case.stages)
            except Exception as error:  # whatever Triton raises of a kernel that it does not compile
                lines = str(error).strip().splitlines() or [type(error).__name__]
                rows.append({"module": name, "family": case.family, "status": "not compiled", "why": lines[-1][:200]})
                continue
            path = os.path.join(folder, name + ".ttgir")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            paths.append((name, path, case.stages))
    return paths, rows


def summary(rows):
    modules = [row for row in rows if "as it came" in row]
    loops = [row for row in rows if "loop" in row]
    print(f"{len(modules)} modules, {len(loops)} loops")
    print("modules as they came:", dict(collections.Counter(row["as it came"]["reached"] for row in modules)))
    for status, number in collections.Counter(row["status"] for row in loops).most_common():
        print(f"{number:6} {status}")
    for status in ("refused", "infeasible", "unread", "not compiled"):
        whys = collections.Counter(corpus.kind(row["why"]) for row in rows if row.get("status") == status)
        for why, number in whys.most_common():
            print(f"{status}: {number:4} {why}")
    for why, number in collections.Counter(corpus.kind(row["not emitted"]) for row in loops
                                           if "not emitted" in row).most_common():
        print(f"not emitted: {number:4} {why}")
    emitted = [row for row in loops if "emitted" in row]
    print("emitted modules:", dict(collections.Counter(row["emitted"]["reached"] for row in emitted)))
    plain = {row["module"]: row["as it came"] for row in modules}
    slower = [row for row in emitted if row["emitted"].get("at once", 0) > plain[row["module"]].get("at once", 0)]
    print(f"{len(slower)} emitted modules wait at once for more than the module as it came")
    for row in slower:
        print(f"  {row['module']} loop {row['loop']}: {row['emitted']['at once']}, "
              f"as it came {plain[row['module']]['at once']}")
    again = [row["again"] for row in emitted if "again" in row]
    if again:
        print(f"emitted modules behind all passes: {sum(one['same'] for one in again)} of {len(again)} are undone to a "
              "loop of the same interval")
    after = [loop for row in modules for loop in row.get("after", ())]
    if after:
        print("after Triton:", dict(collections.Counter(loop["status"] for loop in after)))
        for why, number in collections.Counter(corpus.kind(loop["why"]) for loop in after
                                               if loop["status"] == "refused").most_common():
            print(f"after Triton, refused: {number:4} {why}")
    bad = 0
    for row in rows:
        after = list(row.get("after", ())) + row.get("again", {}).get("loops", [])
        if row.get("wrong") or any(loop["wrong"] for loop in after):
            bad += 1
            print(f"WRONG: {row['module']} loop {row.get('loop', 'after Triton')}: {row.get('wrong')}")
        if row.get("lost"):
            bad += 1
            print(f"LOST: {row['module']} loop {row['loop']}: {row['emitted']['reached']}, {row['emitted']['reason']}")
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("names", nargs="*", help="of kernels or families (default: all)")
    parser.add_argument("-o", "--output", help="a JSON object a module and a loop, a line each")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--after", action="store_true", help="read what Triton's own passes make of each module, too")
    parser.add_argument("--keep", help="leave the modules in this folder")
    flags = parser.parse_args()
    try:
        import triton
    except ImportError:
        print("skipped: the triton package is not installed")
        return 77
    print(f"Triton {triton.__version__}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = flags.keep or scratch
        os.makedirs(folder, exist_ok=True)
        paths, rows = emitted_modules(flags.names, folder)
        with concurrent.futures.ThreadPoolExecutor(flags.jobs) as pool, \
                open(flags.output or os.devnull, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
            for found in pool.map(lambda at: list(module_rows(flags.program, *at, flags.after)), paths):
                file.writelines(json.dumps(row) + "\n" for row in found)
                file.flush()
                rows += found
    return 1 if summary(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
