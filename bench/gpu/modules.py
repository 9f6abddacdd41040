"""Kernels that `twill emit` wrote of TTGIR modules, on a GPU: beside the formulas of tests/emit.

usage: modules.py --emit TWILL FOLDER [--more MODULES]    here: FOLDER/NAME.py of every case of tests/emit that is of Hopper,
                                          and of modules in the folder MODULES for which there is a formula; cases.json
       modules.py FOLDER NAME...         there: runs them at n = 0, 1, 2, 3, 7 and at one more that fills the pipeline
       modules.py --compile FOLDER NAME...  compiles them alone, without a GPU

Inputs, grids, formulas and tolerances are those of tests/emit, but all programs of a grid run. Prints a result a run, as
device.py collects them. Ends with 1 where a result is wrong, with 77 without numpy, PyTorch, Triton or a Hopper GPU."""
import argparse
import glob
import importlib
import importlib.util
import itertools
import json
import os
import re
import subprocess
import sys
import types

try:
    import numpy as np
except ImportError:
    print("no numpy: skipped")
    sys.exit(77)

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "tests", "emit")]
import common  # noqa: E402
from common import measured  # noqa: E402

TESTS = ("ttgir", "pointers", "around", "loops", "gathered")
TYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2",
         "i8": "int8", "i32": "int32", "i64": "int64", "fp16": "float16", "fp32": "float32"}


# The formula is of fewer programs than the module has; two programs of the formula's grid write the same rows.
NOT_OF_A_GRID = ("gemm-persistent-swizzled", "attention-persistent", "attention-bias")


def test_module(name):
    """tests/emit/emit_NAME_test.py, its cases and how it finds formulas; those of pointers are set anew by others."""
    if name in ("around", "loops", "gathered"):  # each adds to the formulas of the first
        around, sys.argv = importlib.import_module("emit_around_test"), ["", ""]
        importlib.import_module("emit_loops_test"), importlib.import_module("emit_gathered_test")
        around.asked([])
    return importlib.import_module(f"emit_{name}_test")


def short(case):
    return os.path.basename(case).replace(".ttgir", "").replace(":", "-").replace("=", "").replace("+", "-")


def every_case(more):
    """(test, case) of Hopper: those of tests/emit, and modules of other folders."""
    for kind in TESTS:
        for case in test_module(kind).CASES:
            if "blackwell" not in case:
                yield kind, case
    for path in sorted(glob.glob(os.path.join(more, "*.ttgir"))) if more else ():
        name = os.path.basename(path).replace("_", "-")
        if name.startswith(NOT_OF_A_GRID):
            continue
        if any(name.startswith(known) for known in test_module("around").ORACLES):
            yield "around", path
        elif re.match("gemm-split|gemm-of-norm|gemm-masked|attention-(ragged|bias|pointers)|matrix-vector|convolution-depthwise|.*weight-gradient", name):
            yield "pointers", path


def emit(twill, folder, more):
    os.makedirs(folder, exist_ok=True)
    cases = {}
    import emit_pointers_test as pointers
    for kind, case in every_case(more):
        name = f"{kind}-{short(case)}"
        out = os.path.join(folder, name + ".py")
        if kind == "ttgir":
            command, path = test_module(kind).command_of(case), None
        else:
            path = pointers.path_of(case, folder)
            command = [path, "--time-limit", "60"]
        done = subprocess.run([twill, "emit", *command, "--to", "gluon", "-o", out, "--quiet"], capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{name}: {done.stderr.strip().splitlines()[-1]}")
            continue
        with open(out) as file:
            if "\nCAPABILITY = 9\n" not in file.read():  # of the machine that the module names
                os.remove(out)
                continue
        if path and not os.path.realpath(path).startswith(os.path.realpath(os.path.join(ROOT, "tests"))):
            kept = os.path.join(folder, name + ".ttgir")  # travels with the kernel
            with open(path) as file, open(kept, "w") as copy:
                copy.write(file.read())
            if os.path.dirname(path) == folder:
                os.remove(path)
            path = kept
        cases[name] = {"test": kind, "case": case if kind == "ttgir" else short(case), "change": case.partition(":")[2],
                       "path": path and os.path.relpath(path, ROOT)}
        print(name)
    with open(os.path.join(folder, "cases.json"), "w") as file:
        json.dump(cases, file, indent=1)
    return 0


def loaded(folder, name):
    spec = importlib.util.spec_from_file_location("emitted_kernel", os.path.join(folder, name + ".py"))
    kernel = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kernel)
    return kernel, next(one for one in vars(kernel).values() if type(one).__name__ == "UserKernel")


def formula(case, name):
    """(the formula, the types of the parameters or None, iterations of the module in one of the text)."""
    test = test_module(case["test"])
    if case["test"] == "ttgir":
        return test.oracle_of(case["case"].partition("+")[0].partition(":")[0]), None, test.copies_of(case["case"])
    import emit_pointers_test as pointers
    if case["test"] == "gathered":
        test.around.ORACLES.update(test.CHANGED.get(case["change"], {}))
    path = os.path.join(ROOT, case["path"])
    named = os.path.join(os.path.dirname(path), case["case"] + ".ttgir")  # formulas are found by the module's name
    oracle = pointers.oracle_of(path if case["test"] == "pointers" else named)
    return oracle, list(pointers.parameters(path).values()), 1


class Arguments:
    """Arrays of numpy as tensors on the GPU, and back."""

    def __init__(self, torch):
        self.torch, self.moved = torch, []

    def tensor(self, array, kind):
        made = self.torch.from_numpy(np.ascontiguousarray(array)).to(getattr(self.torch, TYPES[kind])).cuda()
        self.moved.append((array, made))
        return made

    def descriptor(self, array, kind, block):
        """A tile's bulk copies need memory to point to, also where a run has no iteration."""
        if array.size == 0:
            array = np.full((block[0], array.shape[1] or block[1]), np.nan, array.dtype)
        made = self.tensor(array, kind)
        return types.SimpleNamespace(base=made, shape=list(made.shape), strides=list(made.stride()))

    def back(self):
        for array, made in self.moved:
            array[...] = made.to(self.torch.float32).cpu().numpy() if made.is_floating_point() else made.cpu().numpy()


def run(torch, kernel, launcher, oracle, kinds, n):
    """The largest error of a run, in units in which `TOLERANCE` is allowed."""
    import emit_pointers_test as pointers
    oracle.make(n, np.random.default_rng(n))
    if hasattr(oracle, "only") and not oracle.only:
        return 0.0  # no program has anything to do: the formula has no case of it
    if hasattr(oracle, "only"):
        oracle.only = [*itertools.product(*(range(k) for k in (tuple(oracle.grid) + (1, 1, 1))[:3]))]
    moved, given = Arguments(torch), []
    if kinds is None:
        given = oracle.arguments(lambda array, name: moved.descriptor(array, str(kernel.BLOCKS[name][1]), kernel.BLOCKS[name][0]),
                                 lambda array: moved.tensor(array, "f32"))
    else:
        for (kind, block), value in zip(kinds, oracle.arguments()):
            if isinstance(block, list):
                given.append(moved.descriptor(value, kind, block))
            else:
                given.append(moved.tensor(value, kind[1:]) if isinstance(value, np.ndarray) else value)
    launcher[tuple(oracle.grid)](*given)
    torch.cuda.synchronize()
    moved.back()
    error = float(np.max([0.0, *oracle.errors()]))
    return error * pointers.TOLERANCE / getattr(oracle, "tolerance", pointers.TOLERANCE)


def check(torch, folder, name, case):
    import emit_pointers_test as pointers
    kernel, launcher = loaded(folder, name)
    oracle, kinds, copies = formula(case, name)
    with open(os.path.join(folder, name + ".py")) as file:
        guarded = [int(x) for x in re.findall(r"for i in range\(n \+ (\d+)\)", file.read())]
    wrong = False
    for n in (0, 1, 2, 3, 7) + ((max(guarded) + 4,) if guarded else ()):
        if hasattr(oracle, "trips") and callable(oracle.trips) and not oracle.trips(n):
            continue
        error = run(torch, kernel, launcher, oracle, kinds, n * copies)
        right = error <= pointers.TOLERANCE  # false for NaN
        wrong = wrong or not right
        measured(what="emitted", kernel=f"module {name}", n=n, output="all", error=error if error == error else "NaN",
                 allowed=pointers.TOLERANCE, right=right)
    return wrong


def compiled(folder, name, case):
    import emit_pointers_test as pointers
    import emit_ttgir_test as whole
    out = os.path.join(folder, name + ".py")
    test_module(case["test"])
    if case["test"] == "ttgir":
        _, made = whole.compiled(out)
    else:
        _, made = pointers.compiled_one(out, os.path.join(ROOT, case["path"]))
    print(f"{name}: {len(re.findall('wgmma.mma_async', made.asm['ptx']))} products")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--emit", metavar="TWILL")
    parser.add_argument("--more", metavar="MODULES", default="")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.emit:
        return emit(os.path.abspath(options.emit), os.path.abspath(options.folder), options.more)
    torch = None if options.compile else common.hopper("triton")
    if torch is None and not options.compile:
        return 77
    import triton
    import triton_bridge  # noqa: F401, what an older Triton lacks
    with open(os.path.join(options.folder, "cases.json")) as file:
        cases = json.load(file)
    print(f"Triton {triton.__version__}")
    wrong = False
    for name in options.names or cases:
        if options.compile:
            try:
                compiled(options.folder, name, cases[name])
            except Exception as problem:  # of one: the others are of interest, too
                print(f"{name}: {type(problem).__name__}: {str(problem)[:600]}")
                wrong = True
        else:
            wrong |= check(torch, options.folder, name, cases[name])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
