"""TTGIR text with partitions, beside the Gluon text of the same kernel: both compiled by Triton, compared byte by byte.

usage: emit_ws_test.py TWILL [--mutants] [--hostile] [--modules] [KERNEL:MACHINE | FILE.ttgir...]
Exit code 77 without Triton 3.9.0, the version that the text is for. The Gluon text goes through Triton's frontend and
its passes; the TTGIR text goes straight to LLVM, with those passes replaced by errors. PTX and cubin must be equal,
for each number of iterations that has a text of its own. --mutants: every statement that does something is left out
once, every number in one is changed once, and what comes out must be another kernel, or none. --hostile: names in
files are data. --modules: TTGIR modules of the tree. --pointers: those of them with tiles by pointers.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

os.environ["TRITON_DISABLE_LINE_INFO"] = "1"  # where a statement stands in a file is no code
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
CACHE = tempfile.TemporaryDirectory()  # what was compiled before shows nothing
os.environ["TRITON_CACHE_DIR"] = CACHE.name
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

try:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.backends.nvidia.compiler import CUDABackend
except ImportError as missing:
    print(f"skipped: Triton is not installed ({missing})")
    sys.exit(77)
if triton.__version__ != "3.9.0":
    print(f"skipped: the text is for Triton 3.9.0, this is {triton.__version__}")
    sys.exit(77)

import emit_around_test  # noqa: E402
import emit_compile_test  # noqa: E402
import emit_gathered_test  # noqa: E402
import emit_library_test  # noqa: E402
import emit_loops_test  # noqa: E402
import emit_pointers_test  # noqa: E402
import emit_products_test  # noqa: E402
import emit_ttgir_test  # noqa: E402
import emit_whole_test  # noqa: E402
import variants  # noqa: E402
from hostile_names import HOSTILE, renamed  # noqa: E402

KERNELS = emit_compile_test.KERNELS
MODULES = emit_ttgir_test.CASES
POINTERS = emit_pointers_test.CASES  # tiles by pointers
AROUND = emit_around_test.CASES  # numbers in the loop, vectors around it
LOOPS = [case.split(":")[0] for case in emit_loops_test.CASES]  # several loops, running sums
OTHERS = emit_whole_test.CASES + emit_gathered_test.CASES + emit_products_test.CASES + emit_library_test.CASES
PASSES = ("make_ttir", "make_ttgir", "gluon_to_ttgir")


NO_HOST = "of which a host has to ask"  # why a function that is right for some arguments has no TTGIR


class Refused(Exception):
    """Twill wrote nothing, with exit code 2."""


def emit(twill, source, to, path, *more):
    """The text of a kernel; source: its arguments on the command line."""
    if os.path.exists(path):
        os.remove(path)
    done = subprocess.run([twill, "emit", *source, "--to", to, "-o", path, "--quiet", *more], capture_output=True, text=True)
    if done.returncode == 2 and not os.path.exists(path):
        raise Refused(done.stderr.strip().removeprefix("twill: "))
    if done.returncode != 0:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr[-400:]}")
    with open(path) as file:
        return file.read()


def compile_ttgir(path, capability):
    """To PTX and cubin, with no pass on TTGIR."""
    def never(*_):
        raise AssertionError("a pass on TTGIR ran")
    kept = {name: CUDABackend.__dict__[name] for name in PASSES}  # (as they are there: some are static)
    try:
        for name in PASSES:
            setattr(CUDABackend, name, never)
        return triton.compile(path, target=GPUTarget("cuda", 10 * int(capability), 32))
    finally:
        for name, function in kept.items():
            setattr(CUDABackend, name, function)


def folded(path):
    """The text behind those of Triton's passes on Gluon that fold: a variable that is one constant in every iteration, two that are always equal."""
    from triton._C.libtriton import ir, nvidia, passes
    context = ir.context()
    ir.load_dialects(context)
    nvidia.load_dialects(context)
    module = ir.parse_mlir_module(path, context)
    module.context = context
    manager = ir.pass_manager(context)
    passes.gluon.add_canonicalizer(manager)
    passes.common.add_sccp(manager)
    passes.ttir.add_loop_aware_cse(manager)
    passes.gluon.add_canonicalizer(manager)
    manager.run(module, "folded")
    with open(path + ".folded.ttgir", "w") as file:
        file.write(str(module))
    return path + ".folded.ttgir"


def code_of(kernel):
    """PTX without its comments, in which LLVM's names of blocks stand."""
    return re.sub(r"[ \t]*//.*", "", kernel.asm["ptx"])


def difference(ours, theirs):
    """What differs between two compiled kernels, or ""."""
    for what in ("num_warps", "shared", "tmem_size"):
        if getattr(ours.metadata, what, 0) != getattr(theirs.metadata, what, 0):
            return f"{what} {getattr(ours.metadata, what, 0)}, Gluon's {getattr(theirs.metadata, what, 0)}"
    if code_of(ours) != code_of(theirs):
        lines = [(a, b) for a, b in zip(code_of(ours).split("\n"), code_of(theirs).split("\n")) if a != b]
        return f"PTX: {len(lines)} lines differ, the first: {lines[0] if lines else 'one is longer'}"
    return "" if ours.asm["cubin"] == theirs.asm["cubin"] else "the cubins differ"


def compare(twill, source, gluon_compile, folder, fold=False):
    """(facts, None) of all texts of one kernel, or (None, what is wrong). fold: also equal where Triton's passes make it so; facts["folded"] says for
    how many texts they had to."""
    python, text = os.path.join(folder, "kernel.py"), os.path.join(folder, "kernel.ttgir")
    emit(twill, source, "gluon", python)
    module, theirs = gluon_compile(python, -1)
    depth = getattr(module, "DEPTH", 0)
    facts, folds = {}, 0
    for trips in range(-1, depth):
        if trips >= 0:
            theirs = gluon_compile(python, trips)[1]
        written = emit(twill, source, "ttgir-ws", text, *(["--for-trips", str(trips)] if trips >= 0 else []))
        ours = compile_ttgir(text, module.CAPABILITY)
        wrong = difference(ours, theirs)
        if wrong and fold and not difference(compile_ttgir(folded(text), module.CAPABILITY), theirs):
            wrong, folds = "", folds + 1
        if wrong:
            return None, f"{f'for {trips} iterations: ' if trips >= 0 else ''}{wrong}"
        if trips < 0:
            facts = {"lines of TTGIR": written.count("\n"), "PTX bytes": len(ours.asm["ptx"]), "cubin bytes": len(ours.asm["cubin"]),
                     "shared": ours.metadata.shared, "texts": depth + 1}
    # One more than there are texts for, and a version that it is not for.
    for more in (["--for-trips", str(depth)], ["--triton", "3.8.0"]):
        try:
            emit(twill, source, "ttgir-ws", text, *more)
        except Refused:
            continue
        return None, f"{more} was not refused"
    return {**facts, **({"folded": folds} if fold else {})}, None


# ---- planted errors

def mutants(text):
    """(what was changed, the text with it): statements left out, numbers and operands changed. (Triton's way to LLVM puts in a fence where it
    sees that one is missing, so that none is left out here; emit_run_test.py leaves each out.)"""
    lines = text.split("\n")
    acts = re.compile(r"^\s*(%\S+ = )?(ttng|ttg|tt)\.(wait_barrier|arrive_barrier|init_barrier|barrier_expect|async\w*|local_store|tmem_store|"
                      r"store|tc_gen5\w*|warp_group_dot\w*)\b")
    for k, line in enumerate(lines):
        if line.lstrip().startswith("//"):
            continue
        if acts.match(line) and "=" not in line.split(" : ")[0].split("{")[0]:
            yield f"left out: {line.strip()[:60]}", "\n".join(lines[:k] + lines[k + 1:])
        if match := re.search(r"arith\.constant (dense<)?(\d+)", line):
            changed = line[:match.start(2)] + str(int(match.group(2)) + 1) + line[match.end(2):]
            yield f"another number: {line.strip()[:60]}", "\n".join(lines[:k] + [changed] + lines[k + 1:])
        if match := re.search(r"(pendings = |_barrier %\w+, |num_warps\(|array<i32: )(\d+)", line):
            number = int(match.group(2))
            changed = line[:match.start(2)] + str(number + 1 if "warps" not in match.group(1) else 2 * number) + line[match.end(2):]
            yield f"another number: {line.strip()[:60]}", "\n".join(lines[:k] + [changed] + lines[k + 1:])
        for ours, other in (("arith.addi", "arith.subi"), ("arith.addf", "arith.subf"), ("arith.mulf", "arith.addf"), ("%true", "%false")):
            if ours in line and " = arith.constant" not in line and (other != "%false" or "%false = " in text):
                yield f"{other} for {ours}: {line.strip()[:50]}", "\n".join(lines[:k] + [line.replace(ours, other, 1)] + lines[k + 1:])


def plant(twill, name, folder):
    """Mutants of one kernel: (planted, survived)."""
    kernel, machine = name.split(":")
    path = os.path.join(folder, "mutant.ttgir")
    text = emit(twill, [kernel, "--machine", machine], "ttgir-ws", path)
    capability = "10" if machine == "blackwell" else "9"
    right = compile_ttgir(path, capability).asm["ptx"]
    planted, survived = 0, []
    for what, wrong in mutants(text):
        with open(path, "w") as file:
            file.write(wrong)
        planted += 1
        # A process of its own: LLVM and ptxas may end it. Its errors are not ours to read.
        code = (f"import sys; sys.path.insert(0, {HERE!r}); import emit_ws_test as t; "
                f"sys.stdout.write(t.compile_ttgir({path!r}, {capability!r}).asm['ptx'])")
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
        if done.returncode == 0 and done.stdout == right:
            survived.append(what)
    return planted, survived


# ---- names

def hostile(twill, folder):
    """Programs with hostile names are compiled to the same PTX: (accepted, faults)."""
    path, text = os.path.join(folder, "p.json"), os.path.join(folder, "k.ttgir")
    subprocess.run([twill, "program", "gemm", "--machine", "hopper", "-o", path, "--quiet"], check=True)
    with open(path) as file:
        program = json.load(file)
    emit(twill, [path], "ttgir-ws", text)
    right = compile_ttgir(text, "9").asm["ptx"]
    victims = sorted({op["id"] for slot in program["slots"] for op in slot["ops"]}) + [slot["name"] for slot in program["slots"]] + [
        program["problem"]] + [v["id"] for v in program["meaning"]["after"]] + [t["name"] for t in program["meaning"]["tensors"]]
    victims = [one for one in victims if one not in ("load", "store")]  # (that is what ops compute, too)
    accepted, faults = 0, []
    for shift in range(len(HOSTILE)):
        names = {victim: HOSTILE[(k + shift) % len(HOSTILE)] for k, victim in enumerate(victims)}
        changed = os.path.join(folder, "h.json")
        with open(changed, "w") as file:
            json.dump(renamed(program, names), file)
        try:
            written = emit(twill, [changed], "ttgir-ws", text)
        except Refused:
            continue  # the reader refuses some names, and says so
        accepted += 1
        if any(ord(c) > 126 or (ord(c) < 32 and c != "\n") for c in written):
            faults.append(f"{names}: the text is not printable ASCII")
        try:
            if compile_ttgir(text, "9").asm["ptx"] != right:
                faults.append(f"{names}: another kernel")
        except Exception as error:  # whatever the compiler says is a fault here
            faults.append(f"{names}: {type(error).__name__}: {str(error)[:200]}")
    return accepted, faults


def main():
    twill, arguments = sys.argv[1], sys.argv[2:]
    flags = {a for a in arguments if a.startswith("--")}
    names = [a for a in arguments if not a.startswith("--")]
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        cases = []
        around = AROUND + LOOPS + OTHERS if "--modules" in flags or "--pointers" in flags else []
        around += [name for name in names if name.endswith(".ttgir")]
        names = [name for name in names if not name.endswith(".ttgir")]
        for k, name in enumerate(names or ([] if flags or around else KERNELS)):
            os.mkdir(os.path.join(folder, str(k)))
            kernel, machine = variants.source(twill, name, os.path.join(folder, str(k)))
            cases.append((name, [kernel, "--machine", machine, *variants.emit_options(name)], emit_compile_test.compiled))
        if "--modules" in flags:
            for case in MODULES:
                path = emit_ttgir_test.command_of(case)[0]
                cases.append((case, emit_ttgir_test.command_of(case),
                              lambda python, trips, path=path: emit_around_test.compiled_one(python, path, trips)))
        if "--modules" in flags or "--pointers" in flags:
            for case in POINTERS:
                path = emit_pointers_test.path_of(case, folder)
                cases.append((case, [path, "--time-limit", "600"],
                              lambda python, trips, path=path: emit_pointers_test.compiled_one(python, path, trips)))
        for case in around:
            path = emit_pointers_test.path_of(case, folder)
            cases.append((os.path.basename(case), [path, "--time-limit", "600"],
                          lambda python, trips, path=path: emit_around_test.compiled_one(python, path, trips)))
        for name, source, gluon_compile in cases:
            begin = time.time()
            try:
                facts, wrong = compare(twill, source, gluon_compile, folder)
            except Refused as no:
                if NO_HOST in str(no):  # (emit_loops_test.py looks at what the host asks)
                    print(f"{name}: refused, as what its host would have to refuse is", flush=True)
                    continue
                facts, wrong = None, f"refused: {no}"
            except Exception as error:  # whatever the compiler says is what we want to see
                facts, wrong = None, f"{type(error).__name__}: {str(error)[:600]}"
            failed |= wrong is not None
            print(f"{name}: " + (f"WRONG: {wrong}" if wrong else "PTX and cubin equal to Gluon's: " + ", ".join(
                f"{k} {v}" for k, v in facts.items()) + f" ({time.time() - begin:.0f} s)"), flush=True)
        if "--mutants" in flags:
            for name in names or ["gemm:hopper", "gemm:blackwell"]:
                planted, survived = plant(twill, name, folder)
                print(f"{name}: {planted} errors planted, {len(survived)} not seen", flush=True)
                for one in survived:
                    print(f"  not seen: {one}")
                failed |= bool(survived) or planted < 20
        if "--hostile" in flags:
            accepted, faults = hostile(twill, folder)
            print(f"{accepted} programs with hostile names, {len(faults)} faults", flush=True)
            for one in faults[:5]:
                print(f"  {one}")
            failed |= bool(faults) or accepted < 20
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
