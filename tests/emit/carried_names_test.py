"""carried_names.py beside Triton's frontend: loops made at random.

usage: carried_names_test.py [LOOPS]
Exit code 77 without Triton. Each loop moves, adds and replaces numbers; Triton's unoptimised IR of it is executed here, beside the Python.
Where they differ something must be said to be lost, and where nothing is said they must not.
"""
import os
import random
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
try:
    import triton
    from triton.compiler import ASTSource
except ImportError as missing:
    print(f"skipped: Triton is not installed ({missing})")
    sys.exit(77)

import carried_names  # noqa: E402

NAMES = ("a", "b", "c", "d")
TRIPS = 5


def body(choose, depth, lines, deepest=2):
    """Statements, at least one."""
    indent = "    " * depth
    for _ in range(choose.randint(1, 3)):
        kind, one, other = choose.random(), choose.choice(NAMES), choose.choice(NAMES)
        if kind < 0.5:
            lines.append(f"{indent}{one} = {other}")
        elif kind < 0.8 or depth > deepest:
            lines.append(f"{indent}{one} = {other} + {choose.choice(NAMES)}")
        elif kind < 0.9:
            lines.append(f"{indent}if {other} > 40:")
            body(choose, depth + 1, lines)
        else:
            lines.append(f"{indent}for k{depth} in range(n):")
            body(choose, depth + 1, lines)
    return lines


def made(seed):
    """A kernel: four numbers, some of which are one value, before a loop."""
    choose = random.Random(seed)
    lines = ["@triton.jit", "def kernel(out, n, x, y):"]
    lines += [f"    {name} = {choose.choice(('x', 'y', 'x + y', *NAMES[:k]))}" for k, name in enumerate(NAMES)]
    lines += ["    for i in range(n):"]
    body(choose, 2, lines)
    lines += [f"    tl.store(out + {k}, {name})" for k, name in enumerate(NAMES)]
    return "\n".join(lines) + "\n"


class Out:
    """Where a kernel stores."""

    def __init__(self):
        self.numbers = {}

    def __add__(self, place):
        return place


def as_python(text, arguments):
    stored = {}
    fake = type("tl", (), {"store": staticmethod(lambda place, number: stored.__setitem__(place, number))})
    names = {"tl": fake, "triton": type("triton", (), {"jit": staticmethod(lambda f: f)})}
    exec(text, names)
    names["kernel"](Out(), *arguments)
    return stored


VALUE = r"%[\w#]+"


class Interpreter:
    """Of the few ops of integers that Triton makes of these kernels."""

    def __init__(self, text):
        self.lines = [re.sub(r" loc\(.*?\)+$", "", line.strip()) for line in text.split("\n")]
        self.values, self.stored = {}, {}

    def get(self, name):
        return self.values[name]

    def run(self, arguments):
        begin = next(k for k, line in enumerate(self.lines) if line.startswith("tt.func"))
        parameters = re.findall(r"(%\w+): (?:!tt\.ptr<i32>|i32)", self.lines[begin])
        self.values = dict(zip(parameters, (0, *arguments)))
        self.block(begin + 1)
        return self.stored

    def end(self, k):
        """The line with the bracket that closes what line k opens."""
        depth = 0
        for j in range(k, len(self.lines)):
            line = self.lines[j]
            if j > k and line.startswith("}"):
                depth -= 1
                if depth == 0:
                    return j
            if line.endswith("{"):
                depth += 1
        raise ValueError("brackets")

    def results(self, line, numbers):
        head = re.match(r"(%\w+)(?::(\d+))? = ", line)
        if head:
            for k, number in enumerate(numbers):
                self.values[head.group(1) + (f"#{k}" if head.group(2) else "")] = number

    def block(self, k):
        """Runs a block from line k; what it yields."""
        while True:
            line = self.lines[k]
            if line.startswith(("tt.return", "}")):
                return []
            if line.startswith("scf.yield"):
                return [self.get(name) for name in re.findall(VALUE, line.split(" : ")[0])]
            if "scf.for" in line:
                last = self.end(k)
                low, high, step = (self.get(name) for name in re.search(rf"= ({VALUE}) to ({VALUE}) step ({VALUE})", line).groups())
                inside = re.search(r"iter_args\((.*?)\)", line)
                pairs = re.findall(rf"({VALUE}) = ({VALUE})", inside.group(1)) if inside else []
                carried = [self.get(begin) for _, begin in pairs]
                variable = re.search(rf"scf\.for ({VALUE})", line).group(1)
                for i in range(low, high, step):
                    self.values[variable] = i
                    self.values.update(zip((name for name, _ in pairs), carried))
                    carried = self.block(k + 1)
                self.results(line, carried)
                k = last
            elif "scf.if" in line:
                last = self.end(k)
                other = None
                if self.lines[last].startswith("} else"):
                    other, last = last, self.end(last)
                if self.get(re.search(rf"scf\.if ({VALUE})", line).group(1)):
                    self.results(line, self.block(k + 1))
                elif other is not None:
                    self.results(line, self.block(other + 1))
                k = last
            elif line.startswith("tt.store"):
                place, number = (self.get(name) for name in re.findall(VALUE, line.split(" : ")[0]))
                self.stored[place] = number
            elif line:
                self.plain(line)
            k += 1

    def plain(self, line):
        inside = line.split(" = ", 1)[1].split(" : ")[0]
        of = [self.get(name) for name in re.findall(VALUE, inside)]
        if "constant" in inside:
            text = inside.split()[-1]
            number = {"true": 1, "false": 0}.get(text) if text in ("true", "false") else int(text)
        elif inside.startswith(("arith.addi", "tt.addptr")):
            number = of[0] + of[1]
        elif inside.startswith("arith.cmpi sgt"):
            number = int(of[0] > of[1])
        elif inside.startswith("arith.cmpi"):
            number = 1  # (of an overflow that is asked for beside the sum)
        elif inside.startswith(("arith.bitcast", "arith.index_cast", "arith.extsi", "arith.trunci", "arith.andi")):
            number = of[0]
        elif inside.startswith("ub.poison"):
            number = 0
        else:
            raise ValueError(line)
        self.results(line, [number])


def compiled(text, folder, name):
    """Triton's IR of a kernel, before any pass."""
    path = os.path.join(folder, f"{name}.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write("import triton\nimport triton.language as tl\n\n\n" + text)
    names = {}
    sys.path.insert(0, folder)
    try:
        names = __import__(name).__dict__
    finally:
        sys.path.remove(folder)
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import make_backend
    target = GPUTarget("cuda", 90, 32)
    backend = make_backend(target)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    source = ASTSource(names["kernel"], {"out": "*i32", "n": "i32", "x": "i32", "y": "i32"})
    options = backend.parse_options({})
    module = source.make_ir(target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
    return str(module)


def main():
    loops = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    right = told = strict = silent = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(loops):
            text = made(seed)
            same = True
            for arguments in ((TRIPS, 3, 8), (1, 2, 5), (0, 1, 1)):
                ours, theirs = as_python(text, arguments), Interpreter(compiled(text, folder, f"kernel_{seed}")).run(arguments)
                same = same and ours == theirs
            said = carried_names.lost(text)
            right += same and not said
            told += bool(said) and not same
            strict += bool(said) and same
            silent += not said and not same
            if not said and not same:
                print(f"seed {seed}: Triton's loop is another one, and nothing is said:\n{text}")
    print(f"{loops} loops: {right} as written and nothing said, {told} others and said so, {strict} said that these runs do not show, {silent} not said")
    return 1 if silent or not told or right < loops // 4 or strict > loops // 5 else 0


if __name__ == "__main__":
    sys.exit(main())
