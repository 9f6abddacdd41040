#!/usr/bin/env python3
"""Triton kernels made at random (strangers/random_kernel.py), through everything that Twill does with a kernel:

    VENV/bin/python bench/random_kernels.py build/release/engine/twill FROM NUMBER [-o rows.jsonl] [--keep FOLDER]

Seeds FROM, FROM + 1, ...: each kernel is compiled for cuda:90 and cuda:100 up to where Triton would set stages, its program is run beside the
module, and its kernel is written and executed on the CPU beside Triton's interpreter of the Python, as bench/stranger_kernels.py does. Exit
code 1 where something is wrong, 77 without Triton. With --forms the kernels are those of strangers/random_forms.py, with --users those of
strangers/random_users.py. With --finished Triton pipelines the module first, as in its cache; with
--compile it compiles what is written, and what --to ttgir-ws writes, and says whether that is the same machine code. FOLDER keeps what is wrong,
or with --keep-all everything."""
import argparse
import collections
import json
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "strangers")]
sys.dont_write_bytecode = True
import stranger_kernels  # noqa: E402

COUNTS = (0, 1, 2, 5)


def made(seed, folder, forms=""):
    """The case of a seed, its text and description in the folder."""
    import cases
    import random_forms
    import random_kernel
    import random_users
    kind, name = {"": (random_kernel.Kernel, "random"), "forms": (random_forms.Wide, "wide"), "users": (random_users.Users, "users")}[forms]
    kernel, name = kind(seed), f"{name}-{seed}"
    described = kernel.case(name)
    os.makedirs(os.path.join(folder, "random"), exist_ok=True)
    with open(os.path.join(folder, "random", name + ".py"), "w", encoding="utf-8") as file:
        file.write(kernel.text)
    with open(os.path.join(folder, "random", name + ".json"), "w", encoding="utf-8") as file:
        json.dump(described, file)
    return cases.Case(**described, launch=kernel.launch, counts=COUNTS)


def finished(text):
    """What Triton makes of a module before LLVM."""
    import twill_triton
    from twill_triton import emitting
    done = twill_triton.finish_apart(text)
    if not done.ttgir:
        raise RuntimeError(f"Triton fails behind its passes: {done.reason}")
    return emitting.without_paths(done.ttgir)


def in_ttgir(twill, path):
    """(what --to ttgir-ws of a module is compiled to, for a person; whether that is Gluon's machine code, or it is refused by reason). Gluon's text
    passes Triton's folding, a text of partitions does not: where they differ it does, too. What a loop of Gluon's loses carried_names.py says."""
    import emit_pointers_test as pointers
    import emit_ws_test as ws
    with tempfile.TemporaryDirectory() as folder:
        try:
            facts, difference = ws.compare(twill, [path], lambda python, trips: pointers.compiled_one(python, path, trips), folder, fold=True)
        except ws.Refused as no:
            return f"no TTGIR: {str(no).split('no kernel: ')[-1][:150]}", True
        except Exception as error:  # whatever Triton raises of a text
            return f"TTGIR: {(str(error).strip().splitlines() or [type(error).__name__])[-1][:200]} WRONG", False
    if difference:
        return f"TTGIR: other code: {difference[:80]} WRONG", False
    return "TTGIR: the same code" + (" once Triton has folded it" if facts["folded"] else ""), True


def compiled(path):
    """(what ptxas says of a written kernel, for a person; whether Triton and ptxas take it)."""
    import emit_compile_test as compiler
    import emit_pointers_test as pointers
    try:
        module, made = pointers.compiled_one(path + ".py", path)
        for trips in range(getattr(module, "DEPTH", 0)):
            pointers.compiled_one(path + ".py", path, trips)
        with tempfile.TemporaryDirectory() as folder:
            registers, spills, serialised = compiler.ptxas_says(made, folder)
            in_loops = compiler.spilled_in_loops(folder)
    except Exception as error:  # whatever Triton raises of a text
        return (str(error).strip().splitlines() or [type(error).__name__])[-1][:200] + " WRONG", False
    return f"{registers} registers" + (f", {spills} bytes of spills, {in_loops} in loops" if spills else "") + (", serialised products" if serialised else ""), True


def main():
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("twill")
    asked.add_argument("first", type=int, metavar="FROM")
    asked.add_argument("number", type=int, metavar="NUMBER")
    asked.add_argument("-o", "--output", help="rows, a JSON object a line")
    asked.add_argument("--keep", help="folder for the kernels that are wrong")
    asked.add_argument("--keep-all", action="store_true", help="and for all others")
    asked.add_argument("--forms", action="store_true", help="with the forms of strangers/random_forms.py")
    asked.add_argument("--users", action="store_true", help="with those and the forms of strangers/random_users.py")
    asked.add_argument("--finished", action="store_true", help="modules behind all of Triton's TTGIR passes")
    asked.add_argument("--compile", action="store_true", help="what is written, to machine code")
    given = asked.parse_args()
    try:
        import triton  # noqa: F401
    except ImportError:
        print("skipped: the triton package is not installed")
        return 77
    import loading
    statuses, reasons, run, wrong = collections.Counter(), collections.Counter(), collections.Counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        loading.prepare(folder)
        for seed in range(given.first, given.first + given.number):
            case, modules = made(seed, folder, "users" if given.users else "forms" if given.forms else ""), os.path.join(folder, "modules")
            shutil.rmtree(modules, ignore_errors=True)
            os.makedirs(modules)
            bad = False
            for target in stranger_kernels.TARGETS:
                row = stranger_kernels.row_of(os.path.abspath(given.twill), case, folder, target, modules, finished if given.finished else None)
                statuses[row["status"]] += 1
                reasons[row.get("why", "")] += 1
                run[row.get("run", "none")] += 1
                bad = bad or stranger_kernels.is_wrong(row)
                line = stranger_kernels.line_of(row)
                if given.compile and row["status"] == "written":
                    row["compiled"], taken = compiled(os.path.join(modules, f"{case.name}.{target}.ttgir"))
                    row["in_ttgir"], equal = in_ttgir(os.path.abspath(given.twill), os.path.join(modules, f"{case.name}.{target}.ttgir"))
                    line, bad = f"{line}; compiled: {row['compiled']}; {row['in_ttgir']}", bad or not taken or not equal
                print(line, flush=True)
                if given.output:
                    with open(given.output, "a", encoding="utf-8") as file:
                        file.write(json.dumps(row) + "\n")
            wrong += bad
            if given.keep and (bad or given.keep_all):
                os.makedirs(given.keep, exist_ok=True)
                for path in [os.path.join(folder, "random", case.path)] + [os.path.join(modules, name) for name in os.listdir(modules)]:
                    shutil.copy(path, given.keep)
    print(", ".join(f"{number} {status}" for status, number in statuses.most_common()) + f"; run beside the module: {run['right']} right; {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
