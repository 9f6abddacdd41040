#!/usr/bin/env python3
"""Every Triton kernel with a loop that a checkout of a library has, with constants and types guessed from its text:

    VENV/bin/python bench/guessed_kernels.py build/release/engine/twill CHECKOUT [-o FOLDER] [PART OF A PATH ...]

Each is compiled for cuda:90 and cuda:100 up to where Triton would set stages, then solved, run as a program and written as a Gluon kernel. A guess may
be wrong, and then the kernel does not compile (or not in a minute): what is looked for is what fails behind that. Exit code 1 where Twill crashes, does not end in a
minute, or computes something wrong; 77 without Triton. FOLDER keeps the modules. Nothing of the library is kept elsewhere."""
import argparse
import collections
import inspect
import multiprocessing
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "strangers"), os.path.join(HERE, "..", "graph", "kernels", "triton")]
sys.dont_write_bytecode = True
from stranger_kernels import TARGETS, said_by  # noqa: E402

SECONDS = 60
INTEGERS = r"num_|table|ind(ex|ices|x)|lens|seqlen|ids?(_|$|x)|offs|loc|cu_|target|label"
FLOATS = r"lse|mean|rstd|delta|acc|scale|sum|max|loss"
NUMBERS = r"eps|scale|alpha|beta|rate|momentum|slope|smoothing|theta|threshold"


def constant(name, flag):
    """A constant, by its name: blocks and heads of 64, flags all true or all false."""
    import triton.language as tl
    upper = name.upper()
    if re.match(r"(IS|HAS|USE|EVEN|ENABLE|ALLOW|STORE|IF|WITH|SAVE|NEED|DIVISIBLE)_?", upper) or "CAUSAL" in upper or upper.endswith("MASK"):
        return flag
    for part, value in (("STAGE", 1), ("WARP", 4), ("SPLIT", 1), ("GROUP", 8), ("BLOCK", 64), ("TILE", 64), ("DIM", 64), ("HEAD", 64),
                        ("TYPE", tl.float16), ("ACT", ""), ("PRECISION", "tf32")):
        if part in upper:
            return value
    return 64 if re.fullmatch(r"B?[MNKHDTSCV]", upper) else 16


def signature_of(kernel, source, flag):
    """The types of a kernel's parameters and its constants, guessed from what its body does with them."""
    body, types, constants = source[source.find("):") + 2:], [], {}
    for parameter in kernel.params:
        name = parameter.name
        word, lower = re.escape(name), name.lower()
        pointer = re.search(rf"(?<![\w.*/%-])(?<![*/%-] ){word}\s*\+|tl\.(load|store|atomic_\w+)\(\s*{word}\b|\b{word}\.(to|dtype)", body)
        number = re.search(rf"[<>%*-]=?\s*{word}\b|\b{word}\s*(//|[%*<>-])|range\([^\n]*\b{word}\b|cdiv\(\s*{word}", body)
        if parameter.is_constexpr:
            constants[name] = constant(name, flag)
        elif re.search("ptr|tensor", lower) or (pointer and not number):
            kind = "i32" if re.search(INTEGERS, lower) else "fp32" if re.search(FLOATS, lower) else "fp16"
            types.append(f"{name}=*{kind}:16")
        elif "stride" in lower:  # of neighbours in a row: 1
            if re.search(rf"\[None, :\]\s*\*\s*{word}\b", body) or not re.search(rf"\*\s*{word}\b", body):
                constants[name] = 1
            else:
                types.append(name + "=i32:16")
        else:
            types.append(name + ("=fp32" if re.search(NUMBERS, lower) else "=i32"))
    return ", ".join(types), constants


def stand_in_for_imports(text, loading):
    """What a file imports beside Triton and Python's own is something of any name; decorators change nothing."""
    import triton
    from triton.language.extra import libdevice
    for name in re.findall(r"^\s*(?:from|import)\s+([\w.]+)", text, re.M):
        if name.startswith(".") or name.split(".")[0] in set(sys.stdlib_module_names) | {"triton", "numpy"}:
            continue
        for end in range(1, len(name.split(".")) + 1):
            part = ".".join(name.split(".")[:end])
            if part not in sys.modules:
                loading.Absent(part, libentry=loading.same, libtuner=loading.same, tl_extra_shim=libdevice)
    triton.heuristics = lambda *_, **__: lambda function: function


def kernels_of(checkout, path, loading):
    """(name, kernel, source) of the kernels with loops of a file."""
    import triton
    library, inside = os.path.split(checkout)[1], os.path.relpath(path, checkout)
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    if "triton.jit" not in text:
        return []
    stand_in_for_imports(text, loading)
    module = loading.load(os.path.dirname(checkout), library, inside)
    found = []
    for name, value in list(vars(module).items()):
        for _ in range(8):
            if isinstance(value, triton.JITFunction):
                break
            value = getattr(value, "fn", None)
        if isinstance(value, triton.JITFunction) and value.fn.__module__ == module.__name__:
            source = inspect.getsource(value.fn)
            if re.search(r"^\s+(for|while) ", source, re.M):
                found.append((name, value, source, vars(module)))
    return found


def module_text(kernel, source, names, target):
    import twill_triton
    error = None
    for flag in (False, True):
        types, constants = signature_of(kernel, source, flag)
        try:
            return twill_triton.emit(kernel, types, constants, target, 4, 3, names=names), ""
        except Exception as raised:  # whatever Triton raises of a wrong guess
            error = raised
    return None, (str(error).strip().splitlines() or [type(error).__name__])[-1][:120]


def within_limit(make, *given):
    """What a function returns, in a process of its own, which is ended after a minute: some of Triton's passes do not end."""
    context = multiprocessing.get_context("fork")  # (Kernels are not sent: the process has them.)
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=lambda: theirs.send(make(*given)), daemon=True)
    process.start()
    theirs.close()
    try:
        made = ours.recv() if ours.poll(SECONDS) else (None, f"not compiled in {SECONDS} s")
    except EOFError:
        made = None, "Triton ended its process"
    process.kill()
    process.join()
    return made


def main():
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("twill")
    asked.add_argument("checkout")
    asked.add_argument("parts", nargs="*", metavar="PART OF A PATH")
    asked.add_argument("-o", "--output", help="folder for the modules")
    given = asked.parse_intermixed_args()
    try:
        import triton  # noqa: F401
    except ImportError:
        print("skipped: the triton package is not installed")
        return 77
    import loading
    checkout = os.path.abspath(given.checkout)
    loading.LIBRARIES.setdefault(os.path.basename(checkout), "")
    loading.prepare(os.path.dirname(checkout))
    statuses, wrong = collections.Counter(), 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.output or scratch
        os.makedirs(folder, exist_ok=True)
        paths = sorted(os.path.join(at, file) for at, _, files in os.walk(checkout) for file in files if file.endswith(".py"))
        for path in (path for path in paths if not given.parts or any(part in path for part in given.parts)):
            inside = os.path.relpath(path, checkout)
            try:
                kernels = kernels_of(checkout, path, loading)
            except Exception as error:  # whatever a file does when it is executed
                print(f"{inside}: not loaded ({type(error).__name__}: {str(error)[:100]})")
                statuses["files not loaded"] += 1
                continue
            for name, kernel, source, names in kernels:
                for target in TARGETS:
                    text, why = within_limit(module_text, kernel, source, names, target)
                    if text is None or not re.search(r"scf\.(for|while)", text):
                        statuses["without a loop" if text else "not compiled"] += 1
                        print(f"{inside} {name}.{target}: " + ("no loop" if text else f"not compiled ({why})"), flush=True)
                        continue
                    module = os.path.join(folder, re.sub(r"\W", "_", inside.removesuffix(".py")) + f"-{name}.{target}.ttgir")
                    with open(module, "w", encoding="utf-8") as file:
                        file.write(text)
                    solved, run, emitted = ((code, lines[-1]) for code, lines in (
                        said_by(given.twill, *words, "--conflict-limit", "20000", seconds=SECONDS) for words in (
                            ("solve", module), ("run", module), ("emit", module, "--to", "gluon", "-o", module + ".py"))))
                    # (1: run has found other numbers, or cannot tell; 2: refused; 3: a limit, or no schedule.)
                    bad = [one for one in (solved, run, emitted) if one[0] not in (0, 1, 2, 3)] + ([run] if run[1] == "wrong" else [])
                    wrong += bool(bad)
                    statuses["written" if emitted[0] == 0 else "refused"] += 1
                    print(f"{inside} {name}.{target}: " + ("written" if emitted[0] == 0 else "refused: " + emitted[1].split(".ttgir: ")[-1][:160]) +
                          f"; run: {run[1].split('.ttgir: ')[-1][:60]}" + "".join(f" WRONG: {code}, {line[:120]}" for code, line in bad), flush=True)
    print(", ".join(f"{number} {status}" for status, number in statuses.most_common()) + f"; {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
