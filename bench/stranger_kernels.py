#!/usr/bin/env python3
"""Kernels of other people's libraries through everything that Twill does with a kernel:

    VENV/bin/python bench/stranger_kernels.py build/release/engine/twill FOLDER [-o rows.jsonl] [--keep MODULES] [NAME ...]

FOLDER has checkouts of flash-linear-attention, mamba, lightllm, Liger-Kernel, tritonbench (strangers/loading.py); those that are absent
are left out. (bench/strangers as FOLDER has kernels of this project that were not made for Twill.) Each kernel of strangers/cases.py is compiled for cuda:90 and cuda:100 up to where Triton would set stages, its
program is run beside the module (`twill run`), and its kernel is written (`twill emit`). Where the case has a launch, the written text is executed
on the CPU beside Triton's interpreter of the kernel's Python: all memory is compared. Exit code 1 where something is wrong, 77
without Triton. Nothing of the libraries is kept but with --keep."""
import argparse
import collections
import inspect
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "strangers"), os.path.join(HERE, "..", "graph", "kernels", "triton"), os.path.join(HERE, "..", "tests", "emit")]
sys.dont_write_bytecode = True
TARGETS = (90, 100)
TOLERANCE = 2e-2  # of the largest number that a run changes: two units in the last place of bf16


def module_text(case, folder, target):
    import loading
    import triton
    import twill_triton
    module = loading.load(folder, case.library, case.path)
    kernel = loading.kernel_of(module, case.kernel, triton.JITFunction)
    signature, constants = [], dict(case.constants)
    if "dot_dtype" in constants:
        constants["dot_dtype"] = triton.language.float16
    for parameter in kernel.params:
        name = parameter.name
        if name in case.absent.split():
            constants[name] = None
        elif name in case.unit.split():
            constants[name] = 1
        elif any(name.startswith(begin) for begin in case.zero.split()):
            constants[name] = 0
        elif name in constants or parameter.is_constexpr:
            continue
        elif name in case.floats.split():
            signature.append(name + "=fp32")
        elif name in case.descriptors:
            signature.append(f"{name}=tensordesc<{case.number}[{case.descriptors[name][0]}, {case.descriptors[name][1]}]>")
        elif name in case.integers.split():
            signature.append(name + "=i32")
        elif name.startswith("stride") or name.endswith("_stride"):
            signature.append(name + "=i32:16")
        else:
            signature.append(f"{name}=*{case.types.get(name, case.number)}:16")
    known = {parameter.name for parameter in kernel.params}
    constants = {name: value for name, value in constants.items() if name in known}
    return twill_triton.emit(kernel, ", ".join(signature), constants, target, case.warps, 3, names=vars(module))


def said_by(twill, *arguments, seconds=120):
    """The exit code (None: it did not end) and the lines."""
    try:
        done = subprocess.run([twill, *arguments], capture_output=True, text=True, errors="replace", timeout=seconds)
    except subprocess.TimeoutExpired:
        return None, [f"not at its end in {seconds} s"]
    return done.returncode, (done.stderr + done.stdout).strip().splitlines() or [""]


def memory_of(case, types, n, random):
    """What lies behind each pointer before a launch, as numbers of its type."""
    import numpy as np
    numbers = {}
    for name, (kind, _) in types.items():
        if not kind.startswith("*"):
            continue
        if name in case.tables:
            numbers[name] = np.asarray(case.tables[name], np.int32)
            continue
        numbers[name] = (random.standard_normal(case.elements) * case.scale.get(name, 0.5)).astype(np.float32)
        if name in case.negative:
            numbers[name] = -np.abs(numbers[name])
        if kind == "*i8":
            numbers[name] = np.clip(np.round(numbers[name]), -127, 127).astype(np.int8)
        if kind == "*i32":
            numbers[name] = np.round(numbers[name] * 1000).astype(np.int32)
    return numbers


def beside_interpreter(case, folder, path, text):
    """The largest difference over all launches, in units of the largest number changed, or what went wrong."""
    import emit_around_test as around
    import numpy as np
    import stand_in
    types, module, worst, changed = around.parameters(path), stand_in.load(text, path), 0.0, 0
    for n in case.counts:
        numbers, grid = case.launch(n)
        kinds = {name: around.number_type(kind[1:]) for name, (kind, _) in types.items() if kind.startswith("*")}
        before = {name: kinds[name].stored(x) if hasattr(kinds[name], "stored") else x
                  for name, x in memory_of(case, types, n, np.random.default_rng(n)).items()}
        with tempfile.TemporaryDirectory() as scratch:
            given, made = os.path.join(scratch, "given.npz"), os.path.join(scratch, "made.npz")
            np.savez(given, numbers=json.dumps({"numbers": numbers, "grid": grid}), **before)
            done = subprocess.run([sys.executable, "-W", "ignore", os.path.join(HERE, "strangers", "interpret.py"), folder, case.name, given, made],
                                  capture_output=True, text=True)
            if done.returncode != 0:
                return "the interpreter: " + (done.stderr.strip().splitlines() or [""])[-1][:150]
            after = dict(np.load(made))
        value = lambda name, x: np.asarray(kinds[name].values(x) if hasattr(kinds[name], "values") else x, np.float64)  # noqa: E731
        for late in ("late", "eager", "random"):
            memory = {name: kinds[name].values(x) if hasattr(kinds[name], "values") else x.copy() for name, x in before.items()}
            arguments = []
            for _, key in zip(inspect.signature(module.kernel).parameters, types):
                arguments.append(stand_in.Pointer(kinds[key], memory[key]) if key in memory else numbers[key])
            if hasattr(module, "DEPTH"):
                arguments.append(n * case.rounds if n * case.rounds < module.DEPTH else -1)
            stand_in.run_grid(module.kernel, arguments, tuple(grid), 1, late, None)
            for name in memory:
                got, want, was = np.asarray(memory[name], np.float64), value(name, after[name]), value(name, before[name])
                where = (want != was) | (got != was)
                changed += int(where.sum())
                if where.any():
                    same = got[where] == want[where]  # (infinities, too)
                    off = np.abs(np.where(same, 0, got[where]) - np.where(same, 0, want[where])).max() / max(1e-9, np.abs(want[where & np.isfinite(want)]).max(initial=0))
                    worst = max(worst, float(np.nan_to_num(off, nan=np.inf)))
    return worst if changed > 0 else "no launch changes anything"


def row_of(twill, case, folder, target, modules, behind=None):
    """behind: what is done to the module first."""
    row = {"kernel": case.name, "library": case.library, "target": target}
    path = os.path.join(modules, f"{case.name}.{target}.ttgir")
    try:
        text = module_text(case, folder, target)
        text = behind(text) if behind else text
    except Exception as error:  # whatever Triton raises of a kernel that it does not compile
        return {**row, "status": "not compiled", "why": (str(error).strip().splitlines() or [type(error).__name__])[-1][:200]}
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    code, lines = said_by(twill, "run", path)
    row["run"] = lines[-1][-200:]
    code, lines = said_by(twill, "emit", path, "--to", "gluon", "-o", path + ".py")
    row["status"] = "written" if code == 0 else "refused"
    if code != 0:
        row["why"] = lines[-1].split(".ttgir: ")[-1][:200]
    elif case.launch is not None:
        with open(path + ".py", encoding="utf-8") as file:
            try:
                row["executed"] = beside_interpreter(case, folder, path, file.read())
            except Exception as error:  # a fault of the text, or outside a tensor
                row["executed"] = f"{type(error).__name__}: {str(error)[:200]}"
    return row


def is_wrong(row):
    executed = row.get("executed", 0.0)
    endless = any("not at its end" in row.get(said, "") for said in ("run", "why"))
    return endless or row.get("run") == "wrong" or not isinstance(executed, float) or executed > TOLERANCE


def line_of(row):
    """A row as a line for a person."""
    line = f"{row['kernel']}.{row['target']}: {row['status']}" + (f" ({row['why']})" if "why" in row else "")
    if row.get("run") not in ("right", None):
        line += f", run: {row['run']}"
    executed = row.get("executed")
    if executed is not None:
        line += f", beside the interpreter: {executed if isinstance(executed, str) else format(executed, '.1e')}"
    return line + (" WRONG" if is_wrong(row) else "")


def main():
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("twill")
    asked.add_argument("folder")
    asked.add_argument("names", nargs="*", metavar="NAME")
    asked.add_argument("-o", "--output", help="rows, a JSON object a line")
    asked.add_argument("--keep", help="folder for the modules and the written kernels")
    given = asked.parse_intermixed_args()
    try:
        import triton  # noqa: F401
    except ImportError:
        print("skipped: the triton package is not installed")
        return 77
    import cases
    import loading
    loading.prepare(given.folder)
    rows, absent = [], set()
    with tempfile.TemporaryDirectory() as scratch:
        modules = given.keep or scratch
        os.makedirs(modules, exist_ok=True)
        for case in cases.CASES:
            if given.names and case.name not in given.names:
                continue
            if not os.path.isdir(os.path.join(given.folder, case.library)):
                absent.add(f"{loading.LIBRARIES[case.library]}/{case.library}")
                continue
            for target in TARGETS:
                row = row_of(os.path.abspath(given.twill), case, given.folder, target, modules)
                rows.append(row)
                print(line_of(row), flush=True)
    for one in sorted(absent):
        print(f"left out: {given.folder} has no checkout of {one}")
    if given.output:
        with open(given.output, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    print(", ".join(f"{number} {status}" for status, number in collections.Counter(row["status"] for row in rows).most_common()) +
          f"; run beside the module: {sum(row.get('run') == 'right' for row in rows)} right")
    return 1 if any(map(is_wrong, rows)) else 0


if __name__ == "__main__":
    sys.exit(main())
