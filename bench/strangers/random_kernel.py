"""Kernels made at random: the text of a Triton kernel with a loop, and how it is launched. One seed, one kernel.

What is computed is bounded, and nothing is compared or cut to an integer but what is exact: rounding in another order makes no difference
that is seen. Each program of the grid writes to places of its own."""
import random

SIZES = {"M": (64, 128), "N": (32, 64, 128), "D": (32, 64, 128)}
PROGRAMS = 2
STEPS = 6  # at most
LARGE = 16.0  # what is larger is scaled
NUMBERS = {"fp16": 3.0, "bf16": 3.0, "fp32": 3.0, "i8": 4.0, "i32": 3000.0}  # of memory: no number is larger
TYPES = {"fp16": "tl.float16", "bf16": "tl.bfloat16", "fp32": "tl.float32", "i32": "tl.int32"}


class Value:
    """A name of the kernel: its axes ("", "M", "ND"), type, the largest magnitude, and whether every bit of it is determined."""

    def __init__(self, name, axes, kind, bound, exact=False):
        self.name, self.axes, self.kind, self.bound, self.exact, self.used = name, axes, kind, bound, exact, False

    def on(self, axes):
        """The text, with axes added."""
        if self.axes == axes or not self.axes:
            return self.name
        return self.name + "[" + ", ".join(":" if axis in self.axes else "None" for axis in axes) + "]"


class Kernel:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.sizes = {axis: self.random.choice(sizes) for axis, sizes in SIZES.items()}
        self.products = self.random.random() < 0.5
        self.axes = ["", "N", "D", "M", "ND", "MN", "MD"] if self.products else self.random.choice([["", "D"], ["", "N", "D", "ND"], ["", "M", "N", "MN"], ["", "D", "M", "MD"]])
        self.pointers, self.integers, self.lines, self.count, self.margin = {}, {}, [], 0, "    "
        self.pool, self.stride = [], None
        self.ragged = self.random.random() < 0.4
        self.text = self.make()

    # ---- text
    def new(self, text, axes, kind, bound, exact=False, prefix="x"):
        if kind == "fp32" and bound > LARGE:
            factor = 2.0 ** -int(bound / 4).bit_length()
            text, bound = f"({text}) * {factor!r}", bound * factor
        self.count += 1
        value = Value(f"{prefix}{self.count}", axes, kind, bound, exact)
        self.line(f"{value.name} = {text}")
        self.pool.append(value)
        return value

    def line(self, text):
        self.lines.append(self.margin + text)

    def pick(self, kind="fp32", axes=None, within=None, exact=None):
        """A value of the pool, later ones and those that nothing uses sooner; None where there is none."""
        found = [v for v in self.pool if v.kind == kind and (axes is None or v.axes == axes) and (within is None or set(v.axes) <= set(within)) and
                 (exact is None or v.exact == exact)]
        if not found:
            return None
        unused = [v for v in found if not v.used]
        if unused and self.chance(0.6):
            found = unused
        value = found[max(self.random.randrange(len(found)), self.random.randrange(len(found)))]
        value.used = True
        return value

    def chance(self, share):
        return self.random.random() < share

    # ---- memory
    def index(self, axis):
        return {"M": "rows", "N": "c", "D": "d"}[axis]

    def place(self, axes, where, written):
        """The index of a tile in its array; where: "in" the loop, or "before" and "behind" it (no step)."""
        spread = {axis: self.index(axis) + ("" if len(axes) == 1 else "[:, None]" if k == 0 else "[None, :]") for k, axis in enumerate(axes)}
        inside = where == "in"
        total = f"M * {self.places}"
        if axes == "MN":
            at = f"{spread['M']} * (steps * N) + {spread['N']}" if inside else f"{spread['M']} * N + {spread['N']}"
        elif axes == "MD":
            at = (f"t * ({total} * D) + " if inside else "") + f"{spread['M']} * D + {spread['D']}"
        elif axes == "ND":
            at = f"{spread['N']} * D + {spread['D']}"
            if written:
                at = ("pid * (steps * N * D) + " if inside else "pid * (N * D) + ") + at
        elif axes == "M":
            at = (f"t * ({total}) + " if inside else "") + spread["M"]
        elif axes == "N":
            at = (("pid * (steps * N) + " if inside else "pid * N + ") if written else "") + spread["N"]
        elif axes == "D":
            at = (("(pid * steps + t) * D + " if inside else "pid * D + ") if written else ("t * D + " if inside else "")) + spread["D"]
        else:
            at = ("pid * steps + t" if inside else "pid") if written else ("t" if inside else "0")
        return at

    def mask(self, axes, where):
        if self.ragged and "N" in axes and where == "in":
            return f"{self.index('N')}{'' if len(axes) == 1 else '[None, :]' if axes[1] == 'N' else '[:, None]'} < length"
        if axes and axes != "N" and self.chance(0.15):
            axis = self.random.choice([a for a in axes if a != "N"])
            limit = {"M": f"(M * {self.places} - 5)", "D": "(D - 3)"}[axis]
            return f"{self.index(axis)}{'' if len(axes) == 1 else '[:, None]' if axes[0] == axis else '[None, :]'} < {limit}"
        return None

    def load(self, where, axes=None, kind=None):
        axes = self.random.choice(self.axes) if axes is None else axes
        kind = kind or self.random.choice(["fp16", "fp16", "bf16", "fp32", "fp32", "i8", "i32"])
        name = f"in{len(self.pointers)}"
        self.pointers[name] = kind
        at = self.place(axes, where, False)
        mask = self.mask(axes, where)
        text = f"tl.load({name} + {at}" + (f", mask={mask}, other={'0' if kind[0] == 'i' else '0.0'}" if mask else "") + ")"
        value = self.new(text, axes, kind, NUMBERS[kind], True, "loaded")
        if kind in ("i8",):
            value = self.new(f"{value.name}.to(tl.int32)", axes, "i32", NUMBERS[kind], True)
            kind = "i32"
        if kind == "i32":
            self.new(f"({value.name} & 255).to(tl.float32) * 0.015625", axes, "fp32", 4.0, True)
        elif kind != "fp32":
            self.new(f"{value.name}.to(tl.float32)", axes, "fp32", value.bound, True)
        return value

    def gathered(self):
        """Rows of a table that a loaded vector names."""
        indices = f"in{len(self.pointers)}"
        self.pointers[indices] = "i32"
        mask = self.mask("N", "in")
        at = self.new(f"tl.load({indices} + c" + (f", mask={mask}, other=0" if mask else "") + ") & 63", "N", "i32", 63, True, "row")
        name = f"in{len(self.pointers)}"
        self.pointers[name] = "fp16"
        value = self.new(f"tl.load({name} + {at.name}[:, None] * D + d[None, :])", "ND", "fp16", 3.0, True, "loaded")
        self.new(f"{value.name}.to(tl.float32)", "ND", "fp32", 3.0, True)

    def store(self, value, where):
        kind = self.random.choice(["fp32", "fp16", "bf16"]) if value.kind == "fp32" else value.kind
        name = f"out{sum(p.startswith('out') for p in self.pointers)}"
        self.pointers[name] = kind
        given = value.name if kind == value.kind else f"{value.name}.to({TYPES[kind]})"
        mask = self.mask(value.axes, where)
        if not value.axes and self.chance(0.3):
            mask = self.random.choice(["t > 1", "t + pid < 4"] if where == "in" else ["pid == 0", "steps > 1"])
        how = "atomic_add" if kind == value.kind == "fp32" and self.chance(0.15) else "store"
        self.line(f"tl.{how}({name} + {self.place(value.axes, where, True)}, {given}" + (f", mask={mask}" if mask else "") + ")")

    # ---- what is computed
    def arithmetic(self):
        a = self.pick()
        b = self.pick(within=a.axes) if a else None
        if not b:
            return
        if self.chance(0.3):
            a, b = b, a
        axes = a.axes if len(a.axes) >= len(b.axes) else b.axes
        x, y = a.on(axes), b.on(axes)
        text, bound = self.random.choice([(f"{x} + {y}", a.bound + b.bound), (f"{x} - {y}", a.bound + b.bound), (f"{x} * {y}", a.bound * b.bound),
                                          (f"tl.maximum({x}, {y})", max(a.bound, b.bound)), (f"tl.minimum({x}, {y})", max(a.bound, b.bound)),
                                          (f"{x} / (1.0 + tl.abs({y}))", a.bound)])
        self.new(text, axes, "fp32", bound)

    def one(self):
        a = self.pick()
        if not a:
            return
        x = a.name
        factor = self.random.choice([0.5, -0.25, 1.5])
        text, bound = self.random.choice([(f"tl.exp2(tl.minimum({x}, 2.0))", 4.0), (f"tl.abs({x})", a.bound), (f"tl.sqrt(tl.abs({x}) + 0.25)", a.bound + 1),
                                          (f"-{x}", a.bound), (f"{x} * {factor}", a.bound * abs(factor)), (f"{x} + {factor}", a.bound + 2),
                                          (f"tl.sigmoid({x})", 1.0), (f"tl.log2(tl.abs({x}) + 1.0)", 6.0), (f"{x} * {x}", a.bound ** 2),
                                          (f"1.0 / (1.0 + tl.exp(-tl.abs({x})))", 1.0)])
        self.new(text, a.axes, "fp32", bound)

    def integers_of(self):
        a = self.pick("i32")
        b = self.pick("i32", within=a.axes) if a else None
        if not b:
            return
        x, y = a.name, b.on(a.axes)
        text, bound = self.random.choice([(f"({x} & 1023) + ({y} & 1023)", 2046), (f"({x} & 15) * ({y} & 15)", 225), (f"({x} ^ {y}) & 4095", 4095), (f"({x} & 255) << 2", 1020),
                                          (f"({x} & 4095) >> 3", 511), (f"tl.maximum({x}, {y})", max(a.bound, b.bound)), (f"({x} | {y}) & 511", 511), (f"tl.minimum({x}, {y})", max(a.bound, b.bound))])
        value = self.new(text, a.axes, "i32", bound, True)
        self.new(f"({value.name} & 127).to(tl.float32) * 0.03125", a.axes, "fp32", 4.0, True)

    def condition(self, axes):
        """Of exact numbers, or of places."""
        options = []
        for kind in ("fp32", "i32"):
            exact = self.pick(kind, within=axes, exact=True)
            if exact:
                options.append(f"({exact.on(axes)} > {self.random.choice(['0.5', '0.0', '-0.25']) if kind == 'fp32' else self.random.choice(['0', '3'])})")
        where = {axis: self.index(axis) + ("" if len(axes) == 1 else "[:, None]" if k == 0 else "[None, :]") for k, axis in enumerate(axes)}
        if axes:
            axis = self.random.choice(axes)
            options.append(f"({where[axis]} % 3 == 1)")
        if "M" in axes and "N" in axes:
            options.append(f"({where['N']} <= {where['M']})")
        if "N" in axes and self.ragged:
            options.append(f"({where['N']} < length)")
        return self.random.choice(options) if options else None

    def chosen(self):
        a = self.pick()
        condition = self.condition(a.axes) if a else None
        if not condition:
            return
        b = self.pick(within=a.axes)
        other, bound = (b.on(a.axes), b.bound) if self.chance(0.5) else (self.random.choice(["0.0", "-1.5"]), 1.5)
        self.new(f"tl.where({condition}, {a.name}, {other})", a.axes, "fp32", max(a.bound, bound), a.exact and other in ("0.0", "-1.5"))

    def rounded(self):
        a = self.pick()
        if a:
            kind = self.random.choice(["fp16", "bf16"])
            self.new(f"{a.name}.to({TYPES[kind]}).to(tl.float32)", a.axes, "fp32", a.bound + 0.1)

    def axis_of(self, kind):
        """A tile or vector of that kind, one of its axes, and the others; (None, 0, "") where there is none or nothing has those."""
        a = self.random.choice([v for v in self.pool if v.kind == kind and v.axes] or [None])
        axis = self.random.randrange(len(a.axes)) if a else 0
        rest = a.axes[:axis] + a.axes[axis + 1:] if a else ""
        return (a, axis, rest) if a and rest in self.axes else (None, 0, "")

    def reduced(self):
        a, axis, rest = self.axis_of("fp32")
        if not a:
            return
        what = self.random.choice(["sum", "max", "min"])
        size = self.sizes[a.axes[axis]]
        self.new(f"tl.{what}({a.name}, {axis})" + (f" * {1 / size!r}" if what == "sum" else ""), rest, "fp32", a.bound, what != "sum" and a.exact)

    def scanned(self):
        """Sums and maxima of what comes before, or behind."""
        a = self.pick("fp32") if self.chance(0.7) else self.pick("i32", exact=True)
        if not a or not a.axes:
            return
        axis, back = self.random.randrange(len(a.axes)), self.random.choice(["", ", reverse=True"])
        if a.kind == "i32":
            made = self.new(f"tl.cumsum({a.name} & 7, {axis}{back})", a.axes, "i32", 7.0 * self.sizes[a.axes[axis]], True)
            self.new(f"({made.name} & 127).to(tl.float32) * 0.03125", a.axes, "fp32", 4.0, True)
        else:
            self.new(f"tl.cumsum({a.name}, {axis}{back}) * {1 / self.sizes[a.axes[axis]]!r}", a.axes, "fp32", a.bound)

    def operand(self, axes, dtype):
        """A 16-bit tile: loaded, or made of numbers; transposed where only the other order is there. (Not computed in bf16, which Triton's
        interpreter takes for integers.)"""
        for order in (axes, axes[::-1]):
            value = self.pick(dtype, order) if self.chance(0.7) else None
            if not value:
                made = self.pick("fp32", order)
                if made and made.bound < 64:
                    value = self.new(f"{made.name}.to({TYPES[dtype]})", order, dtype, made.bound)
            if value:
                return (value.name if order == axes else f"tl.trans({value.name})"), value.bound
        return None

    def product(self, into=None):
        shapes = [(a, b, c) for a, b, c in (("MD", "DN", "MN"), ("MN", "ND", "MD"), ("ND", "DM", "NM"), ("NM", "MD", "ND"), ("DN", "ND", "DD")) if c in self.axes and (into is None or c == into.axes)]
        if not shapes:
            return None
        left, right, result = self.random.choice(shapes)
        dtype = self.random.choice(["fp16", "bf16"])
        a, b = self.operand(left, dtype), self.operand(right, dtype)
        if not a or not b:
            return None
        # (Signs are mixed: sums grow as the root.)
        bound = a[1] * b[1] * self.sizes[left[1]] ** 0.5 * 2
        if into:
            self.line(f"{into.name} = tl.dot({a[0]}, {b[0]}, {into.name})")
            into.bound = bound * STEPS
            return into
        return self.new(f"tl.dot({a[0]}, {b[0]})", result, "fp32", bound)

    def grow(self, times):
        for _ in range(times):
            step = self.random.choices([self.arithmetic, self.one, self.integers_of, self.chosen, self.rounded, self.reduced, self.scanned, self.product],
                                       [5, 4, 1, 2, 1, 3, 0.7, 3 if self.products else 0])[0]
            step()

    # ---- what goes from iteration to iteration
    def carried(self, prefix):
        found = []
        for k in range(self.random.randint(1, 3)):
            axes = self.random.choice(self.axes)
            form = self.random.choice(["sum", "decayed", "scaled", "maximum", "before", "count"] + (["product"] * 4 if self.products else []))
            if form == "product":
                axes = "MD" if self.chance(0.7) else "MN"
            kind = "i32" if form == "count" else "fp32"
            dims = ", ".join(axes)
            begin = self.pick(kind, axes) if self.chance(0.3) and form != "product" else None
            first = "-8.0" if form == "maximum" else "0.0"
            if begin:
                text = begin.name
            elif axes:
                text = f"tl.zeros([{dims}], {TYPES[kind]})" if first == "0.0" or kind == "i32" else f"tl.full([{dims}], {first}, tl.float32)"
            else:
                text = "0" if kind == "i32" else first
            name = f"{prefix}_{k}"
            self.line(f"{name} = {text}" + (" + 0.0" if begin and kind == "fp32" else " + 0" if begin else ""))
            found.append((form, Value(name, axes, kind, {"count": 1 << 20, "product": 2048.0}.get(form, 40.0))))
        return found

    def update(self, form, value):
        if form == "product":
            self.product(value)
            return
        if form == "count":
            a = self.pick("i32", value.axes)
            text = f"{value.name} + ({a.name} & 7)" if a else f"{value.name} + 1"
        else:
            a = self.pick("fp32", value.axes)
            a = a if a and a.name != value.name else None
            x, bound = (a.name, a.bound) if a else (repr(self.random.choice([0.25, 1.0])), 1.0)
            if bound > 4:
                x = f"{x} * 0.125"
            decay = self.pick("fp32", within=value.axes) if form == "scaled" else None
            text = {"sum": f"{value.name} + {x}", "decayed": f"{value.name} * 0.75 + {x}", "maximum": f"tl.maximum({value.name}, {x})",
                    "scaled": f"{value.name} * " + (f"tl.exp2(-tl.abs({decay.on(value.axes)}))" if decay else "0.5") + f" + {x}",
                    "before": x if a else f"{value.name} * 0.5"}[form]
        if self.chance(0.15):
            flag = self.pick("i32", "", exact=True)
            rest = self.random.choice(["t % 2 == 0", "t % 3 == 1", "t % 5 > 2", "(t & 1) != 0"])
            self.line(f"if {flag.name + ' > 0' if flag and self.chance(0.5) else rest}:")
            self.line(f"    {value.name} = {text}")
            if self.chance(0.4):
                self.line("else:")
                self.line(f"    {value.name} = {value.name}" + (" + 2" if form == "count" else " * 0.5"))
        else:
            self.line(f"{value.name} = {text}")

    def make(self):
        self.form = self.random.choices(["one", "from", "until", "two", "outer"], [12, 2, 2, 2, 2])[0]
        self.places = 3 if self.form == "outer" else PROGRAMS  # blocks of rows
        head = ["import triton", "import triton.language as tl", "", "", "@triton.jit"]
        first = "    pid = tl.program_id(0)"
        if self.form == "outer":
            first, self.margin = f"    for pid in range(tl.program_id(0), {self.places}, {PROGRAMS}):", "        "
        self.line("rows = pid * M + tl.arange(0, M)")
        self.line("d = tl.arange(0, D)")
        for _ in range(self.random.randint(0, 2)):
            self.load("before", self.random.choice([axes for axes in self.axes if "N" not in axes]))
        self.grow(self.random.randint(0, 2))
        if self.products and self.chance(0.6):
            self.load("before", "MD", self.random.choice(["fp16", "bf16"]))
        for k in range(2 if self.form == "two" else 1):
            self.loop(f"carried{k}")
        head += [f"def kernel({', '.join(self.pointers)}, steps, length, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):", first]
        return "\n".join(head + self.lines) + "\n"

    def loop(self, prefix):
        """A loop and what stands behind it."""
        carried, outside = self.carried(prefix), self.margin
        before = list(self.pool)
        self.pool += [value for _, value in carried]
        bounds = {"from": "pid, steps", "until": "0, tl.minimum(steps, pid * 2 + 1)"}.get(self.form, "0, steps")
        by_tile = bounds == "0, steps" and self.chance(0.5)
        self.line("for start in range(0, steps * N, N):" if by_tile else f"for t in range({bounds}):")
        self.margin += "    "
        if by_tile:
            self.line("t = start // N")
        self.line("c = t * N + tl.arange(0, N)")
        for _ in range(self.random.randint(1, 3)):
            self.load("in")
        if self.products:
            for _ in range(self.random.randint(1, 2)):
                self.load("in", self.random.choice(["ND", "MN", "ND"]), self.random.choice(["fp16", "fp16", "bf16"]))
        if "ND" in self.axes and self.chance(0.15):
            self.gathered()
        self.grow(self.random.randint(2, 9))
        for _ in range(self.random.randint(0, 2)):
            value = self.pick(self.random.choice(["fp32", "fp32", "i32"]))
            if value and value not in before:
                self.store(value, "in")
        for form, value in carried:
            self.update(form, value)
        self.margin = outside
        self.pool = before + [value for _, value in carried]
        if "N" in "".join(self.axes):
            self.line("c = tl.arange(0, N)")
        self.grow(self.random.randint(0, 3))
        for value in [value for _, value in carried if self.chance(0.8)] or [carried[0][1]]:
            if value.kind == "fp32" and value.bound > LARGE:
                value = self.new(value.name, value.axes, "fp32", value.bound)
            self.store(value, "behind")
        if self.chance(0.3):
            value = self.pick()
            if value and "N" not in value.axes:
                self.store(value, "behind")

    def case(self, name):
        """As cases.Case has it."""
        return dict(library="random", path=name + ".py", kernel="kernel", name=name, constants=dict(self.sizes), types=dict(self.pointers), integers="steps length",
                    warps=self.random.choice([4, 4, 8]), elements=1 << 18)

    def launch(self, n):
        return dict(steps=n, length=max(0, n * self.sizes["N"] - (9 if self.ragged else 0))), (PROGRAMS, 1, 1)
