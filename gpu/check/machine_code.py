"""The main loops of the compiled kernels, read from their machine code (SASS): rules, and a table of instruction counts.

usage: machine_code.py OBJECT... [--nvcc VERSION] [--table FILE [--write]] [--statements FILE] [--tool CUOBJDUMP]

A main loop is an innermost loop with HGMMA (wgmma). Rules, for every kernel:
  - a main loop has no MEMBAR of the GPU's scope, no integer-to-float conversion (an integer division), no access to
    local memory (a spill);
  - a loop that loads by TMA (UTMALDG) has no MEMBAR of the GPU's scope and no CCTL.IVALL, which empties the L1 cache;
  - what runs behind a setmaxnreg names no register that the warp does not have.
--statements: gpu/STATEMENTS.md. A main loop must have as many exponentials with no product of its warpgroup in flight as its
schedule says: none that the schedule has between the issue of a product and its wait has been moved behind the wait, or the
other way. (Under which of its products an exponential lies is left to ptxas: column "order" of the table.)
--table: the counts must be those of FILE, which names the nvcc that they hold for; with another nvcc they are not
compared. --write writes the file. Ends with 1 where a rule is broken or the table differs, with 77 where there is no
cuobjdump (CUDA Toolkit, Triton's wheel, or nvidia-cuda-cuobjdump from PyPI), with 2 for bad usage."""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
from collections import Counter

# Class of an instruction by its first word; the first pattern that matches.
CLASSES = [
    ("HGMMA", r"HGMMA"),
    ("EX2", r"MUFU\.EX2"),
    ("FP32", r"FFMA|FADD|FMUL|MUFU"),
    ("max", r"FMNMX|FSETP"),
    ("convert", r"F2FP|F2F|I2F|F2I"),
    ("select", r"FSEL|SEL"),
    ("shared memory", r"LDS|STS|STSM|LDSM"),
    ("shuffle", r"SHFL"),
    ("barrier", r"SYNCS|BAR|WARPSYNC|ELECT"),
    ("wgmma fence, wait", r"WARPGROUP"),
    ("memory fence", r"MEMBAR|FENCE|CCTL|ERRBAR"),
    ("uniform", r"U[A-Z]|R2UR|S2UR"),
    ("branch", r"BRA|BSSY|BSYNC|NOP|EXIT|CALL|RET|WARPSYNC"),
    ("integer", r"I[A-Z]|LOP|SHF|LEA|VIADD|VIMNMX|PLOP|PRMT|P2R|R2P|VOTE"),
    ("move", r"MOV|CS2R|S2R|LDC"),
    ("local memory", r"LDL|STL"),
]


class Function:
    """A kernel's instructions, as (address, predicate or "", text), and its loops."""

    def __init__(self, name):
        self.name, self.code = name, []

    def successors(self):
        """Per instruction, the indices of those that may run next."""
        index = {at: i for i, (at, _, _) in enumerate(self.code)}
        result = []
        for i, (_, predicate, text) in enumerate(self.code):
            word, after = text.split()[0], []
            target = re.search(r"\b0x([0-9a-f]+)\s*$", text)
            if word.split(".")[0] == "BRA" and target:  # "BRA P1, 0x10" is conditional too
                conditional = predicate or re.match(r"BRA\S*\s+!?U?P", text)
                after = [index[int(target[1], 16)]] + ([i + 1] if conditional else [])
            elif word.split(".")[0] in ("EXIT", "RET") and not predicate:
                after = []
            else:
                after = [i + 1]
            result.append([a for a in after if a < len(self.code)])
        return result

    def loops(self):
        """Natural loops, header -> set of instruction indices (loops of one header are one)."""
        follows = self.successors()
        starts = {0} | {a for i, f in enumerate(follows) for a in f if f != [i + 1]}
        starts |= {i + 1 for i, f in enumerate(follows) if f != [i + 1] and i + 1 < len(follows)}
        order = sorted(starts)
        block_of, ends = {}, {}
        for n, start in enumerate(order):
            end = order[n + 1] if n + 1 < len(order) else len(follows)
            ends[start] = end
            block_of.update((i, start) for i in range(start, end))
        out = {b: [block_of[a] for a in follows[ends[b] - 1]] for b in order}
        into = {b: [] for b in order}
        for b in order:
            for a in out[b]:
                into[a].append(b)
        reached, todo = set(), [0]
        while todo:
            b = todo.pop()
            if b not in reached:
                reached.add(b)
                todo += out[b]
        dominators = {b: set(reached) for b in reached}
        dominators[0] = {0}
        changed = True
        while changed:
            changed = False
            for b in sorted(reached - {0}):
                new = set.intersection(*(dominators[p] for p in into[b] if p in reached)) | {b}
                if new != dominators[b]:
                    dominators[b], changed = new, True
        loops = {}
        for b in reached:
            for header in out[b]:
                if header in dominators[b]:
                    body, todo = {header}, [b]
                    while todo:
                        x = todo.pop()
                        if x not in body:
                            body.add(x)
                            todo += [p for p in into[x] if p in reached]
                    loops.setdefault(header, set()).update(body)
        return {h: sorted(i for b in body for i in range(b, ends[b])) for h, body in loops.items()}

    def texts(self, body):
        return [self.code[i][2] for i in body]

    def main_loops(self):
        """The innermost loops with HGMMA, in the order of their addresses."""
        with_products = [set(body) for body in self.loops().values()
                         if any(t.startswith("HGMMA") for t in self.texts(body))]
        return sorted(sorted(a) for a in with_products if not any(b < a for b in with_products))


def parse(text):
    """Functions of `cuobjdump --dump-sass`."""
    functions = []
    for line in text.splitlines():
        name = re.search(r"Function : (\S+)", line)
        if name:
            functions.append(Function(name[1]))
            continue
        found = re.match(r"\s+/\*([0-9a-f]{4,})\*/\s+(?:\{\s*)?(?:@(!?U?P\w+)\s+)?(\S.*?)\s*;", line)
        if found and functions:
            functions[-1].code.append((int(found[1], 16), found[2] or "", found[3]))
    return functions


def counts(texts):
    result = Counter()
    for text in texts:
        word = text.split()[0]
        result[next((name for name, pattern in CLASSES if re.match(f"(?:{pattern})", word)), "other")] += 1
    return result


def order(texts):
    """Products (G), waits for all but so many groups of them (W) and exponentials (e) in their order in the code."""
    runs = []
    for text in texts:
        wait = re.match(r"WARPGROUP\.DEPBAR\S*\s+\S+,\s*0x([0-9a-f]+)", text)
        kind = "G" if text.startswith("HGMMA") else "e" if text.startswith("MUFU.EX2") else None
        if wait:
            runs.append(["W" + str(int(wait[1], 16)), 0])
        elif kind:
            if not runs or runs[-1][0] != kind:
                runs.append([kind, 0])
            runs[-1][1] += 1
    return " ".join(kind + (str(n) if n else "") for kind, n in runs)


def exposed(texts):
    """Exponentials with no product in flight, from a point where none is. A product's issue begins with its fence: ptxas fills the
    clocks until its addresses are there."""
    groups, open_group, count = 0, False, 0
    for text in texts:
        wait = re.match(r"WARPGROUP\.DEPBAR\S*\s+\S+,\s*0x([0-9a-f]+)", text)
        if wait:
            groups = min(groups, int(wait[1], 16))
        elif text.startswith("WARPGROUP.ARRIVE"):
            open_group = True
        elif text.startswith("HGMMA"):
            open_group = "gsb" not in text
            groups += not open_group
        elif text.startswith("MUFU.EX2"):
            count += groups == 0 and not open_group
    return count


def scheduled(statements):
    """The same of the schedules, from the text of gpu/STATEMENTS.md: (pass, schedule) -> per slot a function of the head dimension.
    A pass may have sections of its own for one: ("backward 64", schedule)."""
    result = {}
    for section in statements.split("\n## ")[1:]:
        title, text = section.split("\n", 1)
        which, schedule, _ = title.split(", ")
        steady = text.split("steady state\n")[1].split("epilogue\n")[0].split("--- the loop's back edge ---")
        groups, operations = 0, []
        for statement in re.split(r"[;\n]", "\n".join(steady[::-1])):
            statement = statement.strip()
            left = re.match(r"wait until (\d+) group", statement)
            if statement.startswith("ISSUE "):
                groups += 1
            elif statement == "wait for all products":
                groups = 0
            elif left:
                groups = min(groups, int(left[1]))
            elif statement.startswith("exp_") and groups == 0:
                operations.append(statement.split("[")[0])
        rows = 80 if schedule.endswith("80") else 64 if which.startswith("Backward") else None
        result.setdefault((which.lower(), schedule), []).append(
            lambda dim, operations=operations, rows=rows:
                sum(2 if op == "exp_a" else (rows or (64 if dim == 256 else 128)) // 2 for op in operations))
    return result


def moved(function, slots):
    """What breaks the rule of the schedule's exponentials, in words."""
    who = label(function.name)
    found = sorted(exposed(function.texts(body)) for body in function.main_loops())
    wanted = sorted(slot(who[1]) for slot in slots.get((f"{who[0]} {who[1]}", who[3])) or slots[who[0], who[3]])
    return [] if found == wanted else [
        f"{' '.join(map(str, who))}: {found} exponentials of the main loops with no product in flight, the schedule has {wanted}"]


def label(name):
    """A kernel's name for a reader: pass, schedule, type and head dimension out of the mangled name."""
    found = re.search(r"fmha_(forward|backward)INS0_\d+\w+?ILi(\d+)ELNS0_7ElementE(\d)ELi(\d+)E", name)
    if not found:
        return None
    names = {"forward": ("CUDA-Default", "Twill-SWP", "Twill", "Twill-Overlap"), "backward": ("CUDA-Default", "Twill", "Twill-80")}
    return (found[1], int(found[4]), ("FP16", "BF16")[int(found[3])], names[found[1]][int(found[2])])


def beyond(function):
    """What names a register that setmaxnreg has not left or given, in words."""
    follows, wrong = function.successors(), []
    for at, (_, _, text) in enumerate(function.code):
        has = re.match(r"USETMAXREG\.\S+ .*0x([0-9a-f]+)$", text)
        reached, todo = set(), [at + 1] if has else []
        while todo:
            k = todo.pop()
            if k in reached or k >= len(function.code):
                continue
            reached.add(k)
            if not function.code[k][2].startswith("USETMAXREG"):
                todo += follows[k]
        for k in sorted(reached):
            named = max((int(r) for r in re.findall(r"\bR(\d+)\b", function.code[k][2])), default=0)
            if named >= int(has[1], 16):
                wrong.append(f"{function.code[k][2]} behind {text}")
                break
    return wrong


def broken(function):
    """What breaks the rules, in words."""
    wrong = []
    who = " ".join(map(str, label(function.name) or (function.name,)))
    for body in function.main_loops():
        for text in function.texts(body):
            word = text.split()[0]
            if re.match(r"MEMBAR\.\S*(GPU|SYS)", word) or re.match(r"I2F|I2FP|LDL|STL", word):
                wrong.append(f"{who}: {text} in a main loop")
    wrong += [f"{who}: {what}" for what in beyond(function)]
    for body in function.loops().values():
        texts = function.texts(body)
        if any(t.startswith("UTMALDG") for t in texts) and not any(t.startswith("HGMMA") for t in texts):
            wrong += [f"{who}: {t} in a loop that loads by TMA" for t in texts
                      if re.match(r"MEMBAR\.\S*(GPU|SYS)|CCTL\.IVALL", t)]
    return wrong


def table(functions, version):
    names = [name for name, _ in CLASSES] + ["other"]
    rows = []
    for function in functions:
        who = label(function.name)
        for n, body in enumerate(function.main_loops() if who else []):
            rows.append((who, n, counts(function.texts(body)), order(function.texts(body)), len(body)))
    rows.sort(key=lambda row: (row[0][0] != "forward", row[0][1:3], row[0][3], row[1]))
    used = [name for name in names if any(row[2][name] for row in rows)]
    lines = [
        "# Main loops in machine code", "",
        f"nvcc {version}, sm_90a, `-O3`. Written by `gpu/check/machine_code.py --write` (target `gpu_machine_code_table`), held by the",
        "test `gpu_machine_code`. An innermost loop with wgmma a row: instructions a warp executes each time round, with the way out",
        "of line of a wait that fails and the mask's code, both of which most rounds skip. Two rows of a kernel are its two warpgroups.",
        "Order: G products, W waits until so many groups are in flight, e exponentials, as they lie in the code.", "",
        "| pass | D | type | schedule | all | " + " | ".join(used) + " | order |",
        "|---" * (6 + len(used)) + "|",
    ]
    for (which, dim, kind, schedule), _, count, sequence, total in rows:
        lines.append(f"| {which} | {dim} | {kind} | {schedule} | {total} | "
                     + " | ".join(str(count[name]) for name in used) + f" | {sequence} |")
    return "\n".join(lines) + "\n"


def cuobjdump(given):
    places = [given] if given else [shutil.which("cuobjdump"), "/usr/local/cuda/bin/cuobjdump"]
    for folder in [] if given else sys.path + os.environ.get("TWILL_SITE_PACKAGES", "").split(":"):
        for tail in ("triton/backends/nvidia/bin/cuobjdump", "nvidia/cu*/bin/cuobjdump",
                     "nvidia/cuda_cuobjdump/bin/cuobjdump"):
            places += glob.glob(os.path.join(folder or ".", tail))
    return next((p for p in places if p and os.path.exists(p)), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("objects", nargs="+")
    parser.add_argument("--nvcc", default="unknown")
    parser.add_argument("--table")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--statements")
    parser.add_argument("--tool")
    options = parser.parse_args()
    tool = cuobjdump(options.tool)
    if not tool:
        print("no cuobjdump: skipped")
        return 77
    functions = []
    for path in options.objects:
        done = subprocess.run([tool, "--dump-sass", path], capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{path}: {tool} ended with {done.returncode}: {done.stderr.strip()}")
            return 1
        functions += parse(done.stdout)
    loops = sum(len(f.main_loops()) for f in functions)
    print(f"{len(functions)} kernels, {loops} main loops")
    wrong = [line for f in functions for line in broken(f)]
    without = [" ".join(map(str, label(f.name))) for f in functions if label(f.name) and not f.main_loops()]
    wrong += [f"{name}: no main loop was found" for name in without]
    if options.statements:
        with open(options.statements) as file:
            slots = scheduled(file.read())
        wrong += [line for f in functions if label(f.name) for line in moved(f, slots)]
    if options.table:
        text = table(functions, options.nvcc)
        if options.write:
            with open(options.table, "w") as out:
                out.write(text)
        else:
            with open(options.table) as file:
                held = file.read()
            if f"nvcc {options.nvcc}," not in held:
                print(f"{options.table} is of another nvcc than {options.nvcc}: not compared")
            elif held != text:
                differs = [b for a, b in zip(held.splitlines(), text.splitlines()) if a != b]
                wrong.append(f"{options.table} is not what the machine code says, for example\n  "
                             + "\n  ".join(differs[:3]) + "\nBuild the target gpu_machine_code_table and look at what changed.")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
