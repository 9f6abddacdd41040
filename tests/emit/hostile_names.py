"""Hostile names of ops, slots, tensors, constants and kernels: one list for all languages, and what puts them into a program."""

import re

HOSTILE = ['"""\nimport os\n"""', "'); raise SystemExit(9) #", "def", "gl", "n", "i", "kernel", "mbarrier", "\\", "a\\nb", "a\nraise SystemExit(9)\n",
           "\u202e\u0430dd", "\u00e9t\u00e9", "{x}", "%s", "a b", "", "9lives", "x" * 300, "__import__('os').system('false')", "TILE_128x128", "DEPTH",
           "K_row", "K_desc", "lambda", "slot_load", "None", "pass", "TRIPS", "zero", "torch", "print", "x_prev", "x", "\x7f", "#", "\"", "'",
           "VECTOR", "OUTPUTS", "CAPABILITY", "random_inputs", "itertools", "isinstance", "hasattr", "getattr", "slice", "argument", "sizes", "name", "want", "SMEM_128x64_F16",
           # C++ and its host code
           "int", "new", "template", "operator", "assert", "errno", "threadIdx", "NULL", "INFINITY", "uint32_t", "std", "place", "shared",
           "start_product", "kThreads", "K_map", "*/", "//", "/*", "??/", "\\\n", "main", "emitted", "TWILL_GPU_BOTH", "__global__", "a\\", "#define x",
           # MLIR
           "left", "right", "joined", "true", "c0", "c1", "after", "smem", "vector", "all", "after_0", "// x\nttg.warp_return", "}", "{", "%0", "^bb0",
           "loc(unknown)", "-->", "tt.func", "scf.for", "i32", "module",
           # what collides once it is cleaned, and what steers a terminal or an editor
           "a-b", "a.b", "a_b", "A B", "a\tb", "x_0", "x_1", "\x00", "\x1b[2J", "\r", "\u2028", "\ufeff", "y" * 5000, "'''", "\\N{BULLET}", "${x}", "`id`"]


def renamed(thing, names):
    """The file with every string, and every key, that is one of the names replaced."""
    if isinstance(thing, dict):
        return {names.get(k, k): renamed(v, names) for k, v in thing.items()}
    if isinstance(thing, list):
        return [renamed(x, names) for x in thing]
    return names.get(thing, thing) if isinstance(thing, str) else thing


def functions(computes):
    """What is called, in an expression of a program file."""
    if isinstance(computes, list) and computes:
        yield computes[0]
        for argument in computes[1:]:
            yield from functions(argument)


def victims(program):
    """The names of a program's parts, by kind. A function of an expression is none, nor is what is a sub-tile of a tensor:
    its name says of which."""
    meaning = program["meaning"]
    called = {name for op in meaning["ops"] + meaning["after"] for name in functions(op["computes"]) if isinstance(name, str)} | {"load", "store"}
    tensors = [t["name"] for t in meaning["tensors"]]
    kinds = {"ops": sorted({op["id"] for slot in program["slots"] for op in slot["ops"]}), "slots": [slot["name"] for slot in program["slots"]],
             "constants": sorted(meaning.get("constants", {})), "problem": [program["problem"]], "after": [v["id"] for v in meaning["after"]],
             "tensors": [] if any(re.match(r"s\d+_", name) for name in tensors) else tensors}
    return {kind: [name for name in names if name not in called] for kind, names in kinds.items()}
