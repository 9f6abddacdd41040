"""The compiled code does what the emitted text says, in its order.

usage: emit_order_test.py TWILL [KERNEL:MACHINE...]
Exit code 77 without Triton or numpy. The text is executed on stand_in.py and its PTX by ptx_trace.py, at n = 0, 1, 2, 3 and 7: each
slot must wait, arrive, copy in bulk, issue products, wait for them and access tensor memory in the same order, with the same barriers
and parities, and as many instructions a product as its tile has. Accesses of tensor memory one after the other count as one. One word changed in the PTX must be noticed.
"""
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
try:
    import numpy  # noqa: F401
    import emit_compile_test as compiler
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import emit_run_test  # noqa: E402
import ptx_trace  # noqa: E402
import stand_in  # noqa: E402

COUNTS = (0, 1, 2, 3, 7)
ONE = ("store", "add", "tensor load", "tensor store")  # a tile is several instructions


def joined(events, warps):
    """Instructions of one tile as one event. The warps of a slot share out the copies of a tile."""
    result = []
    for event in events:
        if event[0] == "group":
            continue
        if event[0] == "load" and warps > 1:
            event = event[:-1] + (0,)
        if event[0] in ("product", "load") and result and result[-1][:-1] == event[:-1]:
            result[-1] = event[:-1] + (result[-1][-1] + event[-1],)
        elif not (event[0] in ONE and result and result[-1] == event):
            result.append(event)
    return result


def parameters(kernel_arguments, numbers):
    """kernel_param_K -> number: a descriptor is five parameters."""
    result, k = {}, 0
    for name, kind in kernel_arguments:
        if kind == "number":
            result[f"kernel_param_{k}"] = numbers.get(name, 128)
        k += 5 if kind == "descriptor" else 1
    return result


def arguments_of(module):
    for name in module.kernel.arg_names:
        if name != "TRIPS":
            yield name, "descriptor" if name.endswith("_desc") else "pointer" if name.endswith("_ptr") else "number"


def difference(want, got):
    """Where two traces part, as a text; "" = nowhere."""
    for k in range(max(len(want), len(got))):
        a, b = (x[k] if k < len(x) else "the end" for x in (want, got))
        if a != b:
            return f"event {k}: {b}, the text says {a} (after {want[max(0, k - 3):k]})"
    return ""


def slots_of(text):
    return re.findall(r"^        \((slot_\w+|\w+), \(", text[text.index("gl.warp_specialize(["):], re.M)


def compare(text, ptx_of, depth, program, name):
    """(number of events that agree, "" or what does not)."""
    module = stand_in.load(text, name)
    slots = slots_of(text)
    events = 0
    for n in COUNTS:
        ptx, kernel_arguments = ptx_of(n if n < depth else -1)
        inputs = emit_run_test.make_inputs(module, program, n, n)
        stand_in.run(module, inputs, n, 0, "eager")
        world = stand_in.WORLD
        try:
            got = ptx_trace.traces(ptx, parameters(kernel_arguments, {"n": n}), module.WARPS)
        except ptx_trace.Unknown as unknown:
            return events, f"n = {n}: {unknown}"
        for k, slot in enumerate(slots):
            want = (world.trace.get("", []) if k == 0 else []) + world.trace.get(slot, [])
            want, have = (joined(x, world.warps.get(slot, 4)) for x in (want, got.get(k - 1, [])))
            wrong = difference(want, have)
            if wrong:
                return events, f"n = {n}, {slot}: {wrong}"
            events += len(want)
    return events, ""


# What is changed once each, the first that stands behind the middle of the text.
MUTANTS = [(r"mbarrier\.try_wait", "mbarrier.test"), (r"wgmma\.wait_group\.sync\.aligned\s+\d", "wgmma.wait_group.sync.aligned 7"),
           (r"mbarrier\.arrive\.shared", "mbarrier.pending.shared"), (r"(wgmma\.mma_async|tcgen05\.mma)\.", "nothing."),
           (r"(tcgen05\.commit|cp\.async\.bulk\.tensor)\.", "nothing.")]


def mutants(ptx):
    for pattern, instead in MUTANTS:
        places = list(re.finditer(pattern, ptx))
        if places:
            at = places[len(places) // 2]
            yield pattern, ptx[:at.start()] + instead + ptx[at.end():]


def main():
    twill, names = sys.argv[1], sys.argv[2:] or emit_run_test.KERNELS
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            text, program = emit_run_test.emit(twill, name, folder)
            if text is None:
                print(f"{name}: refused: {program}")
                failed = True
                continue
            path = os.path.join(folder, "k.py")
            made = {}

            def ptx_of(trips):
                if trips not in made:
                    module, kernel = compiler.compiled(path, trips)
                    made[trips] = kernel.asm["ptx"], list(arguments_of(module))
                return made[trips]

            depth = int(re.search(r"^DEPTH = (\d+)", text, re.M)[1])
            events, wrong = compare(text, ptx_of, depth, program, name)
            print(f"{name}: " + (wrong or f"{events} events in the order of the text"), flush=True)
            failed |= bool(wrong)
            if wrong:
                continue
            ptx, arguments = ptx_of(-1)
            for pattern, changed in mutants(ptx):
                made[-1] = changed, arguments
                if not compare(text, ptx_of, depth, program, name)[1]:
                    print(f"  not noticed: {pattern}")
                    failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
