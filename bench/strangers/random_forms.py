"""More forms for kernels made at random: random_kernel.py's, and what users write besides. A class of its own, so that a seed of the other
stays the same kernel.

As there, what is cut to an integer or compared is exact, and every bit that a bitcast sees is determined."""
from random_kernel import Kernel, Value

PARTS = 16  # of a row that is looked at as rows and columns


class Wide(Kernel):
    def grow(self, times):
        own = [self.bits, self.folded, self.halves, self.parts, self.half_floats, self.small_integers, self.places_of, self.dropped, self.more_functions, self.signs, self.gathered_in, self.several]
        for _ in range(times):
            if self.chance(0.3):
                self.random.choices(own, [2, 2, 2, 2, 1, 1, 1, 1, 2, 1, 0.5, 1])[0]()
            else:
                super().grow(1)

    def shape(self, axes):
        return "[" + ", ".join(axes) + "]"

    # ---- bits
    def bits(self):
        """Of a number its exponent or its sign, and a number of its bits."""
        a = self.pick("fp32", exact=True)
        if not a:
            return
        if self.chance(0.5):
            made = self.new(f"({a.name}.to(tl.int32, bitcast=True) >> {self.random.choice([13, 20, 23, 31])}) & 255", a.axes, "i32", 255, True)
        else:
            b = self.pick("i32", a.axes, exact=True)
            if b:
                self.new(f"((({b.name} << 12) & 0x7fffff) | 0x3f800000).to(tl.float32, bitcast=True)", a.axes, "fp32", 2.0, True)
            return
        self.new(f"({made.name} & 127).to(tl.float32) * 0.03125", a.axes, "fp32", 4.0, True)

    def folded(self):
        """Reductions that are no sum and no maximum of floats."""
        a, axis, rest = self.axis_of("i32")
        if not a:
            return
        how = self.random.choice(["tl.xor_sum({}, {})", "tl.max({}, {})", "tl.min({}, {})", "tl.max({}.to(tl.uint32, bitcast=True), {}).to(tl.int32, bitcast=True)",
                                  "tl.min(({}).to(tl.uint32), {}).to(tl.int32)", "tl.sum({} & 7, {})", "tl.argmax({}, {})", "tl.argmin({}, {})"])
        made = self.new(how.format(a.name, axis), rest, "i32", max(4096.0, a.bound), True)
        self.new(f"({made.name} & 127).to(tl.float32) * 0.03125", rest, "fp32", 4.0, True)

    # ---- shapes
    def halves(self):
        """Even and odd columns apart, and together again."""
        a = self.pick("fp32", self.random.choice([x for x in self.axes if x] or [""]))
        if not a or not a.axes:
            return
        last, front = a.axes[-1], "".join(f"{axis}, " for axis in a.axes[:-1])
        self.count += 1
        x, y = f"even{self.count}", f"odd{self.count}"
        self.line(f"{x}, {y} = tl.split(tl.reshape({a.name}, [{front}{last} // 2, 2]))")
        text, bound = self.random.choice([(f"tl.interleave({y}, -{x})", a.bound), (f"tl.reshape(tl.join({x} + {y}, {x} - {y}), {self.shape(a.axes)})", 2 * a.bound),
                                          (f"tl.interleave({x} * 0.5, {y} * 0.25)", a.bound)])
        self.new(text, a.axes, "fp32", bound)

    def parts(self):
        """A tile of three dimensions."""
        a = self.pick("fp32")
        if not a or not a.axes:
            return
        last = a.axes[-1]
        front = "".join(f"{axis}, " for axis in a.axes[:-1])
        cut = f"tl.reshape({a.name}, [{front}{last} // {PARTS}, {PARTS}])"
        size = self.sizes[last]
        k = len(a.axes) - 1
        spread = ", ".join([":"] * k)
        comma = ", " if k else ""
        forms = [(f"tl.reshape({cut} - tl.max({cut}, {k + 1})[{spread}{comma}:, None], {self.shape(a.axes)})", a.axes, 2 * a.bound),
                 (f"tl.reshape({cut} * tl.sum({cut}, {k})[{spread}{comma}None, :] * {1 / size!r}, {self.shape(a.axes)})", a.axes, a.bound ** 2),
                 (f"tl.reshape(tl.permute({cut}, [{', '.join(str(x) for x in range(k))}{comma}{k + 1}, {k}]), {self.shape(a.axes)})", a.axes, a.bound)]
        rest = a.axes[:-1]
        if rest in self.axes:
            forms.append((f"tl.max(tl.sum({cut}, {k + 1}), {k}) * {1 / PARTS!r}", rest, a.bound))
        text, axes, bound = self.random.choice(forms)
        self.new(text, axes, "fp32", bound)

    # ---- types
    def half_floats(self):
        """Arithmetic in 16 bits. (Not in bf16, which the interpreter takes for integers.)"""
        a = self.pick("fp16")
        b = self.pick("fp16", within=a.axes) if a else None
        if b and a.bound * b.bound < 1000:
            x, y = a.name, b.on(a.axes)
            text, bound = self.random.choice([(f"{x} + {y}", a.bound + b.bound), (f"{x} * {y}", a.bound * b.bound), (f"tl.maximum({x}, {y})", max(a.bound, b.bound)), (f"-{x}", a.bound)])
            made = self.new(text, a.axes, "fp16", bound)
            self.new(f"{made.name}.to(tl.float32)", a.axes, "fp32", bound)

    def small_integers(self):
        a = self.pick("i32", exact=True)
        if a:
            x = a.name
            kind, text = self.random.choice([("int8", f"{x}.to(tl.int8).to(tl.int32)"), ("uint8", f"{x}.to(tl.uint8).to(tl.int32)"), ("int16", f"({x} * 77).to(tl.int16).to(tl.int32)"),
                                             ("int64", f"(({x}.to(tl.int64) * 40503) >> 7).to(tl.int32) & 4095"), ("division", f"({x} & 1023) // 7"), ("rest", f"({x} & 1023) % 13"),
                                             ("negative", f"(0 - ({x} & 1023)) // 7"), ("shifted", f"(0 - ({x} & 1023)) >> 2"), ("not", f"~({x} & 255)")])
            made = self.new(text, a.axes, "i32", 4096.0, True)
            self.new(f"({made.name} & 127).to(tl.float32) * 0.03125", a.axes, "fp32", 4.0, True)

    def signs(self):
        """Conditions of conditions."""
        a = self.pick()
        one, two = (self.condition(a.axes), self.condition(a.axes)) if a else (None, None)
        if one and two:
            text = self.random.choice(["({} & {})", "({} | {})", "({} ^ {})", "({} & (~{}))", "({} == {})"]).format(one, two)
            self.new(f"tl.where({text}, {a.name}, 0.25)", a.axes, "fp32", max(a.bound, 0.25), a.exact)

    def places_of(self):
        """Numbers of places."""
        axes = self.random.choice([x for x in self.axes if len(x) == 1] or [""])
        if axes and (axes != "N" or any(line.lstrip().startswith("c = ") for line in self.lines)):
            self.new(self.random.choice(["({} % 7).to(tl.float32) * 0.25", "tl.sqrt(({} + 1).to(tl.float32)) * 0.0625", "(({} & 3) - 1).to(tl.float32)"]).format(self.index(axes)), axes, "fp32", 4.0)

    def dropped(self):
        """Dropout: by a number of a counter."""
        a = self.pick()
        if a and len(a.axes) == 2:
            rows, columns = self.index(a.axes[0]), self.index(a.axes[1])
            wide = self.random.choice(["", ".to(tl.int64)"])
            seed = self.random.choice(["steps", "1234"])
            self.new(f"tl.where(tl.rand({seed}, {rows}[:, None]{wide} * 4096 + {columns}[None, :]) > 0.25, {a.name} * 1.25, 0.0)", a.axes, "fp32", a.bound * 1.25)

    def more_functions(self):
        a = self.pick()
        if not a:
            return
        x = a.name
        text, bound = self.random.choice([(f"tl.math.erf({x})", 1.0), (f"tl.sin({x})", 1.0), (f"tl.cos({x})", 1.0), (f"tl.rsqrt(tl.abs({x}) + 1.0)", 1.0), (f"tl.clamp({x}, -1.0, 0.75)", 1.0),
                                          (f"tl.fma({x}, 0.5, {x})", a.bound * 1.5), (f"tl.math.div_rn({x}, 3.0)", a.bound), (f"tl.sqrt_rn(tl.abs({x}))", a.bound + 1),
                                          (f"tl.log(tl.abs({x}) + 0.5)", 4.0), (f"({x} - tl.minimum({x}, 0.5)) / 1.25", 2 * a.bound)])
        self.new(text, a.axes, "fp32", bound)

    def gathered_in(self):
        """Columns of a tile in the order that an index says."""
        a = self.pick("fp32", self.random.choice([x for x in self.axes if len(x) == 1] or [""]))
        b = self.pick("i32", a.axes, exact=True) if a and a.axes else None
        if b:
            self.new(f"tl.gather({a.name}, {b.name} & {self.sizes[a.axes] - 1}, 0)", a.axes, "fp32", a.bound, a.exact)

    def several(self):
        """Two results of one branch."""
        a, b = self.pick(), self.pick()
        if not a or not b or a is b:
            return
        condition = "t % 3 == 1" if self.margin != self.outside() else "steps > 2"
        self.count += 2
        x, y = f"x{self.count - 1}", f"x{self.count}"
        self.line(f"{x} = {a.name} * 0.5")
        self.line(f"{y} = {b.name} + 0.25")
        self.line(f"if {condition}:")
        self.line(f"    {x} = {a.name} + 1.0")
        self.line(f"    {y} = {b.name} * 0.75")
        if self.chance(0.4):
            self.line(f"    {y} = {y} - 0.5")
        self.pool += [Value(x, a.axes, "fp32", a.bound + 1), Value(y, b.axes, "fp32", b.bound + 1)]

    def outside(self):
        return "        " if self.form == "outer" else "    "

    # ---- around
    def store(self, value, where):
        if value.kind == "fp32" and value.axes and self.chance(0.12):
            flag = self.pick("fp32", value.axes, exact=True)
            if flag:
                name = f"out{sum(p.startswith('out') for p in self.pointers)}"
                self.pointers[name] = "fp32"
                self.line(f"tl.store({name} + {self.place(value.axes, where, True)}, {value.name}, mask={flag.name} > 0.25)")
                return
        if value.kind == "i32" and self.chance(0.3):
            name = f"out{sum(p.startswith('out') for p in self.pointers)}"
            self.pointers[name] = "i8"
            self.line(f"tl.store({name} + {self.place(value.axes, where, True)}, {value.name}.to(tl.int8))")
            return
        super().store(value, where)

    def loop(self, prefix):
        """Now and then the same loop as `while`, by pointers that go on, or from and to places that are loaded."""
        begin = len(self.lines)
        super().loop(prefix)
        said = [k for k in range(begin, len(self.lines)) if self.lines[k].lstrip().startswith("for t in range(0, steps)")]
        if not said:
            return
        k = said[0]
        margin = self.lines[k][:len(self.lines[k]) - len(self.lines[k].lstrip())]
        inside = margin + "    "
        end = k + 1
        while end < len(self.lines) and self.lines[end].startswith(inside):
            end += 1
        chance = self.random.random()
        if chance < 0.15:
            self.lines[k:end] = [margin + "t = 0", margin + "while t < steps:"] + self.lines[k + 1:end] + [inside + "t += 1"]
        elif chance < 0.3:
            name = f"in{len(self.pointers)}"
            self.pointers[name] = "i32"
            self.lines[k] = margin + f"last = tl.minimum(steps, tl.load({name} + pid))\n" + margin + "for t in range(0, last):"
        elif chance < 0.45 and "D" in self.axes:
            name = f"in{len(self.pointers)}"
            self.pointers[name] = "fp32"
            use = f"tl.store(out_b + (pid * steps + t) * D + d, tl.load(at) * 0.5)"
            self.pointers["out_b"] = "fp32"
            self.lines[k:end] = [margin + f"at = {name} + d", self.lines[k]] + self.lines[k + 1:end] + [inside + use, inside + "at += D"]
        elif chance < 0.6 and "ND" in self.axes and self.form != "outer":
            name = f"in{len(self.pointers)}"
            self.pointers[name] = "fp16"
            self.pointers["out_c"] = "fp32"
            made = f"tile_at = {name} + tl.arange(0, N)[:, None] * D + d[None, :]"
            use = [inside + "tl.store(out_c + (pid * steps + t) * D + d, tl.sum(tl.load(tile_at, mask=(t * N + tl.arange(0, N))[:, None] < length, other=0.0).to(tl.float32), 0))",
                   inside + "tile_at += N * D"]
            self.lines[k:end] = [margin + made, self.lines[k]] + self.lines[k + 1:end] + use
        elif chance < 0.7 and "D" in self.axes:
            self.pointers["out_d"] = "fp32"
            self.lines[k:end] = [self.lines[k]] + self.lines[k + 1:end] + [inside + "tl.store(out_d + pid * D + d, (d + t).to(tl.float32))"]
            self.lines.append(margin + "tl.store(out_e + pid * D + d, tl.load(out_d + pid * D + d) * 0.5)")
            self.pointers["out_e"] = "fp32"
        elif chance < 0.78 and self.form == "one":
            self.lines[k:k] = [margin + "if pid > length // 8:", margin + "    return"]
