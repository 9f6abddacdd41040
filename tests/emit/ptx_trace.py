"""Executes the PTX of an emitted kernel for one thread of each partition, as far as its control flow goes.

Whole numbers are computed, what comes from tensors is unknown; where a branch depends on it, both ways must do the same (the slow paths
of a logarithm do). Waits pass at once.
What is recorded, in the order of execution, is what is seen from outside: waits, arrivals, bulk copies, products, accesses of tensor
memory. An event is a tuple: what, and the number of its barrier (barriers are counted in the order of their initialisation).
"""
import re

FILE = re.compile(r"^\s*(//|\.loc|\.file|\.reg|\.branchtargets)")


class Unknown(Exception):
    """A branch, or an address of a barrier, that depends on what is not computed."""


def bits(x):
    return None if x is None else x & 0xffffffff


def signed(x, width=32):
    if x is None:
        return None
    x &= (1 << width) - 1
    return x - (1 << width) if x >> (width - 1) else x


def parse(ptx):
    """(instructions, label -> place, jump table -> labels) of the kernel."""
    body = ptx[ptx.index(".entry"):]
    body = body[body.index("{") + 1:]
    code, labels, tables, table = [], {}, {}, None
    for line in body.split("\n"):
        line = line.split("//")[0].strip()
        if line == "}" and not code:
            break
        if match := re.match(r"(JTI\w+):$", line):
            table = tables.setdefault(match[1], [])
        elif table is not None and (match := re.match(r"(\$L\w+)[,;]$", line)):
            table.append(match[1])
            table = None if line.endswith(";") else table
        elif match := re.match(r"(\$L\w+|\w+):$", line):
            # (A label of inline assembly is its block's own: the latest one before, or the next one after.)
            labels.setdefault(match[1], []).append(len(code))
        elif line in ("{", "}") or not line or FILE.match(line):
            continue
        else:
            code.extend(one.strip() for one in line.split(";") if one.strip() and not FILE.match(one))
    return code, labels, tables


class Thread:
    """One thread's registers and place."""

    def __init__(self, program, parameters, thread, shared, states, way):
        self.way = way  # of branches that depend on what is not computed
        self.code, self.labels, self.tables = program
        self.parameters, self.thread, self.shared, self.states = parameters, thread, shared, states
        self.registers, self.events, self.barriers = {}, [], []
        self.reads, self.state = 0, {}

    def value(self, text):
        text = text.strip()
        if text.startswith("%"):
            return {"%tid.x": self.thread, "%tid.y": 0, "%tid.z": 0, "%ctaid.x": 0, "%ctaid.y": 0, "%ctaid.z": 0,
                    "%nctaid.x": 1, "%nctaid.y": 1, "%nctaid.z": 1}.get(text, self.registers.get(text))
        if text == "global_smem":
            return 0
        if text.startswith("kernel_param"):
            return None
        if re.fullmatch(r"-?\d+", text):
            return int(text)
        return None  # a number of fp32

    def address(self, text):
        """Of "[%r1 + 4]"."""
        total = 0
        for part in re.split(r"\+", text.strip().strip("[]")):
            x = self.value(part)
            if x is None:
                return None
            total += x
        return total

    def barrier(self, text):
        at = self.address(text)
        if at is None or at not in self.barriers:
            raise Unknown(f"the barrier at {text} ({at}) is none that was initialised")
        return self.barriers.index(at)

    def run(self, limit=2_000_000):
        at = 0
        for _ in range(limit):
            if at >= len(self.code):
                return self.events
            text, here = self.code[at], at
            at += 1
            if text.startswith("@"):
                predicate, text = text[1:].split(None, 1)
                wanted = not predicate.startswith("!")
                x = True if predicate.strip("!") == "complete" else self.registers.get(predicate.strip("!"))
                if x is None:
                    if not self.harmless(text):
                        raise Unknown(f"{self.code[here]} depends on what is not computed")
                    x = self.way == wanted
                if bool(x) != wanted:
                    continue
            word, _, rest = text.partition(" ") if " " in text else text.partition("\t")
            operands = split(rest)
            kind = word.split(".")[0]
            if kind == "bra":
                at = self.label(operands[0], here)
            elif kind == "brx":
                x = self.value(operands[0])
                if x is None:
                    raise Unknown("a jump that is not computed")
                at = self.labels[self.tables[operands[1]][x]][0]
            elif kind in ("ret", "exit"):
                return self.events
            else:
                self.execute(word, operands, text)
        raise Unknown("it does not end")

    @staticmethod
    def harmless(text):
        """What only moves data that is not computed, or may be tried both ways."""
        return re.match(r"(st|ld|mov|selp|red|atom)\.|bra\b", text) is not None

    def label(self, name, here):
        places = self.labels[name]
        return places[0] if len(places) == 1 else min((p for p in places if p > here), default=places[-1])

    def note(self, *event):
        self.events.append(event)

    def execute(self, word, o, text):
        parts = word.split(".")
        kind = parts[0]
        if word.startswith("mbarrier.init"):
            at = self.address(o[0])
            if at is None:
                raise Unknown("a barrier's address is not computed")
            self.barriers.append(at)
        elif word.startswith("mbarrier.try_wait"):
            self.note("wait", self.barrier(o[1]), self.value(o[2]) & 1)
        elif word.startswith("mbarrier.arrive.expect_tx"):
            self.note("expect", self.barrier(o[1]))
        elif word.startswith("mbarrier.arrive"):
            self.note("arrive", self.barrier(o[-1] if len(o) == 2 else o[1]))
        elif word.startswith("cp.async.mbarrier.arrive"):
            self.note("vectors", self.barrier(o[0]))
        elif word.startswith("cp.async.bulk.tensor") and "mbarrier" in word:
            self.note("load", self.barrier(o[2]), 1)
        elif word.startswith(("cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor")):
            self.note("add" if "reduce" in word else "store")
        elif word.startswith("cp.async.bulk.wait_group"):
            self.note("store wait", int(o[0]))
        elif word.startswith("wgmma.mma_async"):
            self.note("product", 1)
        elif word.startswith("wgmma.commit_group"):
            self.note("group")
        elif word.startswith("wgmma.wait_group"):
            self.note("product wait", int(o[0]))
        elif word.startswith("tcgen05.mma"):
            self.note("product", 1)
        elif word.startswith("tcgen05.commit"):
            self.note("commit", self.barrier(o[0]))
        elif word.startswith("tcgen05.ld"):
            self.note("tensor load")
        elif word.startswith("tcgen05.st"):
            self.note("tensor store")
        elif word.startswith(("barrier.sync", "bar.sync")):
            if self.state and (not self.states or self.states[-1] != self.state):
                self.states.append(dict(self.state))
        elif word.startswith("elect.sync"):
            self.registers[o[0].split("|")[1]] = True
        elif word.startswith("shfl.sync.idx"):
            self.registers[o[0]] = self.value(o[1])
        elif kind == "ld" and parts[1] == "param":
            name = re.match(r"\[(\w+)", o[1])[1]
            self.registers[o[0]] = self.parameters.get(name)
        elif kind == "ld" and parts[1] == "shared":
            at = self.address(o[1])
            state = self.states[min(self.reads, len(self.states) - 1)] if self.states else {}
            self.registers[o[0]] = state.get(at) if word.endswith("b8") else self.shared.get(at)
            self.reads += word.endswith("b8") and at in state
        elif kind == "st" and parts[1] == "shared":
            self.store(parts, o)
        elif kind in ("setp", "selp", "and", "or", "xor", "not", "add", "sub", "mul", "mad", "shl", "shr", "mov", "cvt", "cvta", "bfe", "rem",
                      "div", "min", "max", "neg", "abs", "prmt", "lop3"):
            self.arithmetic(kind, parts, o)
        elif o and o[0].startswith("%"):
            self.registers[o[0]] = None

    def store(self, parts, o):
        at = self.address(o[0])
        if at is None:
            return
        values = [self.value(x) for x in o[1].strip("{} ").split(",")]
        for k, x in enumerate(values):
            self.shared[at + 4 * k] = x
        if o[0].startswith("[global_smem") and all(re.fullmatch(r"-?\d+", x.strip()) for x in o[1].strip("{} ").split(",")):  # which partition each warp takes
            for k, x in enumerate(values):
                for byte in range(4):
                    self.state[at + 4 * k + byte] = x >> 8 * byte & 255

    def arithmetic(self, kind, parts, o):
        x = [self.value(one) for one in o[1:]]
        target = o[0]
        if target.startswith("{") or parts[-1].startswith("f") and kind != "cvt" or parts[-1] in ("bf16", "f16x2", "f32x2"):
            if not target.startswith("{"):
                self.registers[target] = None
            return
        width = int(re.search(r"\d+$", parts[-1])[0]) if re.search(r"\d+$", parts[-1]) else 1
        number = (lambda v: signed(v, width)) if parts[-1].startswith("s") else (lambda v: v if v is None or width == 1 else v & ((1 << width) - 1))
        if kind == "selp":
            self.registers[target] = None if x[2] is None else x[0] if x[2] else x[1]
            return
        if any(v is None for v in x[:4]):
            known = [v for v in x if v is not None]
            result = None
            if parts[-1] == "pred" and kind == "and" and any(not v for v in known):
                result = False
            if parts[-1] == "pred" and kind == "or" and any(known):
                result = True
            self.registers[target] = result
            return
        a = [number(v) for v in x]
        if kind == "setp":
            compare = {"eq": a[0] == a[1], "ne": a[0] != a[1], "lt": a[0] < a[1], "le": a[0] <= a[1], "gt": a[0] > a[1], "ge": a[0] >= a[1]}
            result = compare[parts[1]]
        elif parts[-1] == "pred":
            result = {"and": lambda: bool(a[0]) and bool(a[1]), "or": lambda: bool(a[0]) or bool(a[1]), "xor": lambda: bool(a[0]) != bool(a[1]),
                      "not": lambda: not a[0], "mov": lambda: bool(a[0])}[kind]()
        elif kind in ("mul", "mad"):
            result = a[0] * a[1]
            result = result >> width if parts[1] == "hi" else result
            result += a[2] if kind == "mad" else 0
        elif kind == "cvt":
            source = parts[-1]
            result = signed(x[0], width) if source.startswith("s") else x[0] & ((1 << width) - 1)
        elif kind == "bfe":
            result = a[0] >> a[1] & ((1 << a[2]) - 1)
        else:
            result = {"and": lambda: a[0] & a[1], "or": lambda: a[0] | a[1], "xor": lambda: a[0] ^ a[1], "not": lambda: ~a[0],
                      "add": lambda: a[0] + a[1], "sub": lambda: a[0] - a[1], "shl": lambda: a[0] << a[1], "shr": lambda: a[0] >> a[1],
                      "mov": lambda: a[0], "cvta": lambda: a[0], "min": lambda: min(a), "max": lambda: max(a), "neg": lambda: -a[0],
                      "abs": lambda: abs(a[0]), "div": lambda: abs(a[0]) // abs(a[1]) * (1 if (a[0] < 0) == (a[1] < 0) else -1),
                      "rem": lambda: abs(a[0]) % abs(a[1]) * (1 if a[0] >= 0 else -1)}.get(kind, lambda: None)()
        self.registers[target] = result if isinstance(result, bool) or result is None or kind == "mul" and parts[1] == "wide" else \
            result & ((1 << (64 if parts[-1].endswith("64") or len(parts) > 1 and parts[1] == "wide" else width)) - 1)


def split(text):
    """Operands: at commas outside of brackets."""
    result, depth, now = [], 0, ""
    for c in text:
        depth += (c in "[{(") - (c in "]})")
        if c == "," and depth == 0:
            result.append(now.strip())
            now = ""
        else:
            now += c
    return result + [now.strip()] if now.strip() else result


def traces(ptx, parameters, warps):
    """Events of the first thread of the default partition, and of each other one, by its number."""
    one, other = (run_partitions(ptx, parameters, warps, way) for way in (False, True))
    if one != other:
        raise Unknown("what happens depends on what is not computed")
    return one


def run_partitions(ptx, parameters, warps, way):
    program = parse(ptx)
    shared, states = {}, []
    first = Thread(program, parameters, 0, shared, states, way)
    result = {-1: first.run()}
    threads = int(re.search(r"\.reqntid (\d+)", ptx)[1])
    base = min(states[0]) if states else 0
    seen = set()
    for warp in range(warps, threads // 32):
        partition = states[0].get(base + warp - warps)
        if partition is None or partition in seen:
            continue
        thread = Thread(program, parameters, 32 * warp, shared, states, way)
        thread.barriers = first.barriers
        seen.add(partition)
        result[partition] = thread.run()
    return result
