"""Still more forms for kernels made at random: those of random_forms.py, and words without a sign, branches of several results (of tiles and
numbers, in each other, behind the loop, too), places with bits taken apart, loads and stores under masks that are data, while loops, more loops over
blocks. A class of its own, so that a seed of the others stays the same kernel."""
from random_forms import Wide
from random_kernel import Value


class Users(Wide):
    @property
    def form(self):
        return self.chosen_form

    @form.setter
    def form(self, form):
        self.chosen_form = "outer" if form == "one" and self.chance(0.2) else form

    def grow(self, times):
        own = [self.words, self.branch, self.parts_of_places, self.masked_by_data, self.least_place]
        for _ in range(times):
            if self.chance(0.35):
                self.random.choices(own, [3, 3, 2, 2, 1])[0]()
            else:
                super().grow(1)

    def in_loop(self):
        return self.margin != self.outside()

    # ---- words without a sign
    def words(self):
        a = self.pick("i32", exact=True)
        b = self.pick("i32", within=a.axes, exact=True) if a else None
        if not b:
            return
        x, y = f"{a.name}.to(tl.uint32, bitcast=True)", f"{b.on(a.axes)}.to(tl.uint32, bitcast=True)"
        number = self.random.choice([3, 7, 10, 16, 64, 1000, 65537])
        text = self.random.choice([f"({x} // {number})", f"({x} % {number})", f"({x} * 2654435761 % {number})", f"({x} * 40503 // {number})", f"tl.maximum({x}, {y})",
                                   f"tl.minimum({x}, 2863311530)", f"({x} < {y})", f"({x} >= 2147483653)", f"({x} >> 5)", f"({x} ^ ({y} << 7))"])
        made = self.new(f"({text}.to(tl.int32) & 4095)" if "<" in text[:-1] or ">=" in text else f"({text}.to(tl.int32, bitcast=True) & 4095)", a.axes, "i32", 4095.0, True)
        self.new(f"({made.name} & 127).to(tl.float32) * 0.03125", a.axes, "fp32", 4.0, True)

    def least_place(self):
        """Reductions of words, and where an integer is the smallest."""
        a, axis, rest = self.axis_of("i32")
        if not a:
            return
        how = self.random.choice(["tl.max({}.to(tl.uint32, bitcast=True) * 77, {})", "tl.min({}.to(tl.uint32, bitcast=True), {})", "tl.argmin({} & 15, {})", "tl.argmax({} ^ 9, {})"])
        text = how.format(a.name, axis)
        made = self.new(f"({text}{'' if 'arg' in text else '.to(tl.int32, bitcast=True)'} & 4095)", rest, "i32", 4095.0, True)
        self.new(f"({made.name} & 127).to(tl.float32) * 0.03125", rest, "fp32", 4.0, True)

    # ---- branches
    def branch(self):
        """Two or three results of one branch, of any axes, perhaps with another branch in it."""
        found = []
        for _ in range(self.random.randint(2, 3)):
            a = self.pick(axes="") if self.chance(0.25) else self.pick()
            if a and a.name not in [x.name for x in found]:
                found.append(a)
        if not found:
            return
        flag = self.pick("i32", "", exact=True)
        conditions = ["steps > 2", "length > 40"] + (["t % 3 == 1", "t > 1", "(t & 1) == 0"] * 2 if self.in_loop() else ["pid == 0"]) + ([f"{flag.name} > 3"] if flag else [])
        names = []
        for a in found:
            self.count += 1
            names.append(f"y{self.count}")
            self.line(f"{names[-1]} = {a.name} * 0.5")
        self.line(f"if {self.random.choice(conditions)}:")
        for name, a in zip(names, found):
            self.line(f"    {name} = {a.name} + {self.random.choice(['1.0', '-0.25'])}")
        if self.chance(0.3):
            self.line(f"    if {self.random.choice(conditions)}:")
            for name in names[:2]:
                self.line(f"        {name} = {name} * 0.75")
        if self.chance(0.5):
            self.line("else:")
            for name, a in zip(names, found):
                self.line(f"    {name} = {a.name} - {self.random.choice(['0.5', a.name + ' * 0.25'])}")
        self.pool += [Value(name, a.axes, "fp32", a.bound * 1.25 + 1) for name, a in zip(names, found)]

    # ---- memory
    def parts_of_places(self):
        """Loads at places with bits taken apart."""
        axes = self.random.choice([x for x in self.axes if x in ("D", "M")] or [""])
        if not axes:
            return
        axis, size = self.index(axes), self.sizes[axes]
        step = [f"(t & 1) * {size} + ", f"(t >> 1) * {size} + ", "t * 8 + ", f"(t // 3) * {size} + "] if self.in_loop() else [""]
        step += ["(pid & 1) * 64 + ", ""]
        name, kind = f"in{len(self.pointers)}", self.random.choice(["fp32", "fp16", "i32"])
        self.pointers[name] = kind
        local = axis if axes == "D" else "tl.arange(0, M)"
        of = self.random.choice([f"({local} ^ 1)", f"({local} >> 1)", f"({local} & 15)", f"({local} >> 3) * 8 + ({local} & 7)", f"{local}", f"({size} - 1 - {local})"])
        value = self.new(f"tl.load({name} + {self.random.choice(step)}{of})", axes, kind, 3000.0 if kind == "i32" else 3.0, True, "loaded")
        if kind == "i32":
            self.new(f"({value.name} & 255).to(tl.float32) * 0.015625", axes, "fp32", 4.0, True)
        elif kind == "fp16":
            self.new(f"{value.name}.to(tl.float32)", axes, "fp32", 3.0, True)

    def masked_by_data(self):
        """A load under a mask that is data."""
        axes = self.random.choice([x for x in self.axes if x])
        flag = self.pick("i32", axes, exact=True) or self.pick("fp32", axes, exact=True)
        if not flag or ("N" in axes and not self.in_loop()):
            return
        name = f"in{len(self.pointers)}"
        self.pointers[name] = "fp32"
        where = "in" if self.in_loop() else "before"
        self.new(f"tl.load({name} + {self.place(axes, where, False)}, mask={flag.name} > {3 if flag.kind == 'i32' else 0.25}, other={self.random.choice(['0.0', '1.5'])})", axes, "fp32", 3.0, True,
                 "loaded")

    def store(self, value, where):
        if value.kind in ("fp32", "i32") and value.axes and self.chance(0.15):
            flag = self.pick("i32", value.axes, exact=True)
            if flag:
                name = f"out{sum(p.startswith('out') for p in self.pointers)}"
                self.pointers[name] = value.kind
                mask = self.random.choice([f"{flag.name} > 3", f"({flag.name} & 3) == 1", f"({flag.name} > 3) | ({flag.name} == 0)"])
                self.line(f"tl.store({name} + {self.place(value.axes, where, True)}, {value.name}, mask={mask})")
                return
        super().store(value, where)

    def loop(self, prefix):
        """Now and then as while, from another number or compared the other way round."""
        begin = len(self.lines)
        super().loop(prefix)
        said = [k for k in range(begin, len(self.lines)) if self.lines[k].lstrip().startswith("for t in range(0, steps)")]
        if not said or not self.chance(0.2):
            return
        k = said[0]
        margin = self.lines[k][:len(self.lines[k]) - len(self.lines[k].lstrip())]
        end = k + 1
        while end < len(self.lines) and self.lines[end].startswith(margin + "    "):
            end += 1
        self.lines[k:end] = [margin + "t = 0", margin + self.random.choice(["while t < steps:", "while steps > t:"])] + self.lines[k + 1:end] + [margin + "    t += 1"]
