"""A stand-in for Triton's Gluon on the CPU, under which an emitted kernel's own text is executed.

Slots are threads of which one runs at a time. Asynchronous work (bulk copies, products) happens late or early, in
an order that a seed chooses; what it will write is NaN from its issue on. Barriers have one bit of parity, as the
hardware's, so that a wait that is a phase early or late passes or hangs as there. Registers of a wgmma are not there
until warpgroup_mma_wait has covered it. Ordinary writes to shared memory are seen by products and bulk copies only
after fence_async_shared() of the slot that wrote; what cp.async wrote is seen by a product after one of the slot that
issues it, once the copy was there.

Not modelled: layouts (they only say which thread has what), spills, time.
"""
import inspect
import math
import random
import sys
import threading
import types

import carried_names
import numpy as np


class Fault(Exception):
    """What is wrong in this run: a hang, a result read too early, too many arrivals."""


class Stop(Exception):
    """Ends the thread of a slot when the run has failed elsewhere."""


class World:
    """One run of one block: its slots, what is in flight, and the next choice."""

    def __init__(self, seed, late):
        """late: "late" (work in flight only where nothing else goes on), "eager", "random", or what is kept back until
        nothing else goes on: a tensor's name (its bulk loads) or a slot function's (itself and its products)."""
        self.random, self.late = random.Random(seed), late
        self.lock = threading.Condition()
        self.current, self.failed = None, None
        self.alive, self.waiting = [], {}
        self.copies, self.queues, self.vectors, self.vector_barriers = [], {}, {}, set()
        self.landed, self.clock, self.fenced = [], 0, {}  # by cp.async: (first byte, last, when); when a slot fenced last
        self.unfenced = {}  # slot -> bytes (from, to) with ordinary writes that the asynchronous proxy does not see yet
        self.tmem = np.full((128, 512, 4), 0xff, np.uint8)
        self.program_ids, self.programs = (0, 0, 0), (1, 1, 1)
        self.weights = {}
        self.unended = []  # loops whose slots the next loop's stand beside
        self.trace, self.warps, self.first_warps, self.barriers = {}, {}, 4, 0

    def note(self, *event):
        """What the running slot does that is seen from outside (ptx_trace.py), in its order; before the slots begin the first one's."""
        self.trace.setdefault(threading.current_thread().name if self.warps else "", []).append(event)

    def choices(self):
        ready = [("slot", t) for t in self.alive if t not in self.waiting or self.waiting[t]()]
        work = [("copy", k) for k in range(len(self.copies))] + [("queue", q) for q, w in self.queues.items() if w]
        if self.late == "late" and ready:
            return ready
        if self.late == "eager" and work:
            return work
        free = [(kind, x) for kind, x in work if self.late not in (self.copies[x][::2] if kind == "copy" else (x,))]
        free += [(kind, t) for kind, t in ready if t.name != self.late]
        return free or ready + work

    def pick(self):
        """Gives the processor on: to a slot, or does work in flight until a slot has it."""
        while True:
            all_ = self.choices()
            if not all_:
                if self.alive and self.failed is None:
                    self.failed = "hang: " + ", ".join(t.name for t in self.alive) + " wait"
                self.current = None
                return
            keys = [(k, x if k != "copy" else 0) for k, x in all_]
            weights = [self.weights.setdefault(key, self.random.choice([1, 1, 10, 100])) for key in keys]
            kind, what = self.random.choices(all_, weights)[0]
            if kind == "slot":
                self.waiting.pop(what, None)
                self.current = what
                return
            work = self.copies.pop(what)[1] if kind == "copy" else self.queues[what].pop(0)
            try:
                work()
            except Fault as fault:
                self.failed = self.failed or str(fault)
                self.current = None
                return

    def point(self, condition=None):
        """A place at which other slots, or work in flight, may go on first."""
        thread = threading.current_thread()
        if thread not in self.alive:
            if condition is not None:
                while not condition():
                    if not self.copies and not any(self.queues.values()):
                        raise Fault("hang: the first slot alone")
                    self.drain_one()
            return
        with self.lock:
            if condition is not None:
                self.waiting[thread] = condition
            self.pick()
            self.lock.notify_all()
            while self.current is not thread and self.failed is None:
                self.lock.wait()
            if self.failed is not None:
                raise Stop()

    def drain_one(self):
        if self.copies:
            self.copies.pop(0)[1]()
        else:
            next(q for q in self.queues.values() if q).pop(0)()

    def queue(self):
        return self.queues.setdefault(threading.current_thread().name, [])

    def specialise(self, functions, warps):
        self.warps = {}
        for some, its in self.unended + [(functions, warps)]:
            self.warps |= {function[0].__name__: count for function, count in zip(some, [self.first_warps] + its)}
        functions, self.unended = [one for some, _ in self.unended for one in some] + functions, []

        def body(function, arguments):
            thread = threading.current_thread()
            try:
                with self.lock:
                    while self.current is not thread and self.failed is None:
                        self.lock.wait()
                if self.failed is None:
                    function(*arguments)
                    if self.queues.get(thread.name + " stores"):
                        raise Fault("ends with bulk stores in flight, which read its shared memory")
            except Stop:
                pass
            except Exception as error:  # what a slot runs into is the run's fault
                self.failed = self.failed or f"{type(error).__name__} in {function.__name__}: {error}"
            finally:
                with self.lock:
                    self.alive.remove(thread)
                    if self.failed is None:
                        self.pick()
                    self.lock.notify_all()

        threads = [threading.Thread(target=body, args=f, name=f[0].__name__, daemon=True) for f in functions]
        self.alive = list(threads)
        self.pick()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.failed is None:
            while self.copies or any(self.queues.values()):
                self.drain_one()
        if self.failed is not None:
            raise Fault(self.failed)


def held_back(module):
    """What may be kept back until nothing else goes on (World), of an emitted file: slots, and what they have in flight."""
    slots = [name for name in vars(module) if name.startswith("slot_")]
    return slots + [name + " stores" for name in slots] + [name + " vectors" for name in slots]


WORLD = None
# What is unwritten is NaN, and has to show: so the larger of NaN and a number is NaN here. A device drops it, which
# tests of what a kernel makes of NaN turn on.
NAN_DROPPED = False
SHORT = {"float16": np.float16, "float32": np.float32, "bfloat16": np.float32, "float8e4nv": np.float32, "float8e5": np.float32,
         "int8": np.float32, "int32": np.int32, "uint32": np.uint32}
STORED = {"float16": np.float16, "float32": np.float32, "bfloat16": np.uint16, "float8e4nv": np.uint8, "float8e5": np.uint8,
          "int8": np.int8, "int32": np.int32}  # in memory
TORCH = {"float8_e4m3fn": "float8e4nv"}  # what PyTorch calls otherwise


class Type:
    """A number type; bfloat16, those of 8 bits are float32 with rounded values."""

    def __init__(self, name):
        self.name = TORCH.get(name, name)
        self.numpy = SHORT[self.name]

    def rounded(self, x):
        x = np.asarray(x)
        if self.name == "float8e4nv":  # 4 bits of exponent, 3 of mantissa, the least is 2 to the -9, the largest 448
            x = np.asarray(x, np.float32)
            step = np.exp2(np.maximum(np.floor(np.log2(np.maximum(np.abs(x), 2.0 ** -6))), -6) - 3)
            kept = np.round(x / step) * step
            return np.where(np.abs(kept) <= 448, kept, np.nan).astype(np.float32)
        if self.name == "float8e5":  # 5 bits of exponent, 2 of mantissa, the least is 2 to the -16, the largest 57344
            x = np.asarray(x, np.float32)
            step = np.exp2(np.maximum(np.floor(np.log2(np.maximum(np.abs(x), 2.0 ** -14))), -14) - 2)
            kept = np.round(x / step) * step
            return np.where(np.abs(kept) <= 57344, kept, np.sign(kept) * np.inf).astype(np.float32)
        if self.name == "int8":
            if np.asarray(x).dtype.kind in "iu":  # the lowest bits are left
                return (((np.asarray(x, np.int64) & 255) ^ 128) - 128).astype(np.float32)
            if not ((x == np.round(x)) & (x >= -128) & (x <= 127)).all():
                raise Fault("no whole number of 8 bits becomes one")
            return x.astype(np.float32)
        if self.name == "int32" and x.dtype.kind == "f":
            if not ((x == np.round(x)) & (np.abs(x) < 2.0 ** 31)).all():
                raise Fault("no whole number of 32 bits becomes one")
        if self.name != "bfloat16":
            return x.astype(self.numpy)
        bits = np.ascontiguousarray(x, np.float32).view(np.uint32).reshape(x.shape)  # (of no axes, too)
        kept = ((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000).astype(np.uint32).view(np.float32)
        return np.where(np.isfinite(x), kept, x).astype(np.float32)

    def stored(self, x):
        """As memory has it."""
        x = self.rounded(x)
        if self.name == "bfloat16":
            return (np.ascontiguousarray(x).view(np.uint32) >> 16).astype(np.uint16)
        if self.name == "float8e4nv":
            code = np.where(np.isnan(x), 127, np.searchsorted(FLOAT8, np.abs(np.where(np.isnan(x), 0, x))))
            return (code + 128 * np.signbit(x)).astype(np.uint8)
        if self.name == "float8e5":  # the upper half of a float16
            return (np.ascontiguousarray(x, np.float16).view(np.uint16) >> 8).astype(np.uint8)
        return x.astype(np.int8) if self.name == "int8" else x

    def values(self, stored):
        if self.name == "bfloat16":
            return (stored.astype(np.uint32) << 16).view(np.float32)
        if self.name == "float8e4nv":
            code = stored.astype(np.int64)
            return np.where(code & 127 == 127, np.nan, np.append(FLOAT8, 0)[code & 127] * np.where(code > 127, -1, 1)).astype(np.float32)
        if self.name == "float8e5":
            return (stored.astype(np.uint16) << 8).view(np.float16).astype(np.float32)
        return stored.astype(np.float32) if self.name == "int8" else stored.copy()

    def __str__(self):
        return self.name

    @property
    def bytes(self):
        return {"float32": 4, "int32": 4, "float8e4nv": 1, "float8e5": 1, "int8": 1}.get(self.name, 2)


# What the first 127 codes of float8e4nv mean: 4 bits of exponent, 3 of mantissa.
FLOAT8 = np.array([(k & 7) * 2.0 ** -9 if k < 8 else (8 + (k & 7)) * 2.0 ** ((k >> 3) - 10) for k in range(127)], np.float32)


class Tile(np.ndarray):
    """Values in registers."""

    def __array_ufunc__(self, function, method, *given, **more):
        """A number takes the type of the tile, as one of Python's does: numpy has 64 bits for it."""
        plain = lambda x: int(x) if isinstance(x, Number) else x.view(np.ndarray) if isinstance(x, Tile) else x  # noqa: E731
        if more.get("out"):
            more["out"] = tuple(plain(x) for x in more["out"])
        made = getattr(function, method)(*map(plain, given), **more)
        return tuple(map(tile, made)) if isinstance(made, tuple) else tile(made)

    def to(self, kind, bitcast=False):
        return self.view(kind.numpy) if bitcast else tile(kind.rounded(self))

    def __floordiv__(self, other):
        """Of integers towards 0, as Triton divides."""
        if self.dtype.kind != "i":
            return super().__floordiv__(other)
        return tile((np.sign(self) * np.sign(other) * (np.abs(self).view(np.ndarray) // np.abs(other))).astype(self.dtype))

    def __mod__(self, other):
        return super().__mod__(other) if self.dtype.kind != "i" else tile(self - self // other * other)


def tile(x):
    return np.asarray(x).view(Tile)


class Number(int):
    """A whole number that is a tensor (loaded, a program's place), and what is made of it: modulo 2^32, as i32."""

    def __new__(cls, value):
        return super().__new__(cls, (int(value) + 2**31) % 2**32 - 2**31)

    def to(self, kind, bitcast=False):
        return tile(np.asarray(self, np.int32)).to(kind, bitcast)

    def __floordiv__(self, other):
        """Towards 0."""
        if not isinstance(other, int):
            return tile(np.asarray(self, np.int32)) // other
        return Number(abs(self) // abs(other) * (1 if (self < 0) == (other < 0) else -1))

    def __mod__(self, other):
        return self - self // other * other


for _name in ("add", "sub", "mul", "and", "or", "xor", "lshift", "rshift"):
    for _side in ("", "r"):
        setattr(Number, f"__{_side}{_name}__", lambda self, other, of=getattr(int, f"__{_side}{_name}__"):
                Number(of(self, other)) if isinstance(other, int) else of(self, other))


for _name in ("eq", "ne", "gt", "ge", "lt", "le"):
    setattr(Number, f"__{_name}__", lambda self, other, of=getattr(int, f"__{_name}__"):
            Number(of(self, other)) if isinstance(other, int) else of(self, other))
Number.__hash__ = int.__hash__


class Whole:
    """Whole numbers in memory."""

    def __init__(self, name):
        self.name = name

    def rounded(self, x):
        return np.asarray(x, self.name)


def known(x, what):
    if isinstance(x, Pending):
        raise Fault(f"{what} reads a product that was not waited for")
    return x


class Pending:
    """The registers of a wgmma that may be in flight."""

    def __init__(self):
        self.value = None

    def __getattr__(self, name):
        raise Fault("a product is used that was not waited for")

    def _no(self, *_):
        raise Fault("a product is used that was not waited for")

    __mul__ = __add__ = __sub__ = __truediv__ = __rmul__ = __radd__ = __rsub__ = __gt__ = __getitem__ = _no


class Barrier:
    def __init__(self):
        self.count = self.pending = self.bytes = self.done = 0

    def arrive(self, count=1):
        self.pending -= count
        if self.pending < 0:
            raise Fault("more arrivals than the barrier counts")
        self.check()

    def check(self):
        if self.count and self.pending == 0 and self.bytes == 0:
            self.done += 1
            self.pending = self.count


class Barriers:
    def __init__(self, count):
        self.all = [Barrier() for _ in range(count)]

    def index(self, k):
        assert 0 <= int(k) < len(self.all), "no such barrier"
        return self.all[int(k)]


class Shared:
    """Shared memory: a view of an array as memory has it. `root` is the allocation."""

    def __init__(self, kind, array, root=None):
        self.kind, self.array, self.root = kind, array, array if root is None else root

    def index(self, k):
        assert 0 <= int(k) < self.array.shape[0], "no such copy"
        return Shared(self.kind, self.array[int(k)], self.root)

    def permute(self, order):
        return Shared(self.kind, self.array.transpose(order), self.root)

    def slice(self, start, length, dim=0):
        cut = [slice(None)] * self.array.ndim
        cut[dim] = slice(start, start + length)
        return Shared(self.kind, self.array[tuple(cut)], self.root)

    def reinterpret(self, kind, shape, layout):
        flat = self.array.reshape(-1).view(np.uint8)
        size = int(np.prod(shape)) * kind.bytes
        assert np.shares_memory(flat, self.array) and size <= flat.size, "sizes differ"
        return Shared(kind, flat[:size].view(STORED[kind.name]).reshape(shape), self.root)

    def put(self, x):
        assert x.shape == self.array.shape, "shapes differ"
        self.array[...] = self.kind.stored(x)

    def bytes(self):
        first = self.array.__array_interface__["data"][0]
        return first, first + sum((size - 1) * step for size, step in zip(self.array.shape, self.array.strides)) + self.array.itemsize

    def land(self):
        """Threads' copies are there."""
        WORLD.clock += 1
        WORLD.landed.append((*self.bytes(), WORLD.clock))

    def check_fenced(self):
        """A product of the running slot is about to read it."""
        first, last = self.bytes()
        fenced = WORLD.fenced.get(threading.current_thread().name, 0)
        if any(first < end and begin < last and when > fenced for begin, end, when in WORLD.landed):
            raise Fault("a product reads what cp.async wrote without a fence of its slot")

    def forget(self):
        """What will be written is on its way: nobody may read what is here (all bits set are no number)."""
        first, last = self.bytes()
        WORLD.landed = [one for one in WORLD.landed if not (first < one[1] and one[0] < last)]
        self.array[...] = np.full(1, 0xff, np.uint8).repeat(self.array.itemsize).view(self.array.dtype)[0]

    def load(self, layout):
        WORLD.point()
        return tile(self.kind.values(self.array))

    def store(self, x):
        known(x, "a store")
        WORLD.point()
        self.forget()
        self.put(x)
        first, last = self.bytes()
        # (What is written over is of the past: later writes stand behind earlier ones, and the fence behind these.)
        if last - first == self.array.nbytes:
            for slot, parts in WORLD.unfenced.items():
                WORLD.unfenced[slot] = [part for begin, end in parts for part in ((begin, min(end, first)), (max(begin, last), end)) if part[0] < part[1]]
        WORLD.unfenced.setdefault(threading.current_thread().name, []).append((first, last))

    def seen_by_async(self):
        """What the asynchronous proxy reads: not what was written without a fence."""
        first, last = self.bytes()
        if any(first < end and begin < last for parts in WORLD.unfenced.values() for begin, end in parts):
            raise Fault("the asynchronous proxy reads ordinary writes without a fence")
        return np.asarray(self.kind.values(self.array), np.float32)


class Tensor:
    """Tensor memory: columns of 128 lanes of 4 bytes."""

    def __init__(self, first, columns, kind, shape):
        self.first, self.columns, self.kind, self.shape = first, columns, kind, shape

    def slice(self, start, length):
        columns = length * self.kind.bytes // 4
        return Tensor(self.first + start * self.kind.bytes // 4, columns, self.kind, [self.shape[0], length])

    def reinterpret(self, kind, shape, layout):
        # 64 rows lie in half of the lanes; here in the first 64, so that nothing else may lie beside them.
        # (A ring of three copies is in a slice of four.)
        assert shape[-2] in (64, 128) and np.prod(shape) * kind.bytes <= self.columns * shape[-2] * 4, "sizes differ"
        return Tensor(self.first, int(np.prod(shape)) * kind.bytes // (4 * shape[-2]), kind, list(shape))

    def index(self, k):
        assert 0 <= int(k) < self.shape[0], "no such copy"
        columns = self.columns // self.shape[0]
        return Tensor(self.first + int(k) * columns, columns, self.kind, self.shape[1:])

    def raw(self):
        return WORLD.tmem[:self.shape[-2], self.first:self.first + self.columns]

    def get(self):
        flat = np.ascontiguousarray(self.raw()).reshape(self.shape[-2], -1)
        return self.kind.values(flat.view(STORED[self.kind.name]))

    def put(self, x):
        x = self.kind.stored(x)
        self.raw()[...] = np.ascontiguousarray(x).view(np.uint8).reshape(self.shape[-2], self.columns, 4)

    def load(self, layout=None):
        WORLD.note("tensor load")
        WORLD.point()
        return tile(self.get().copy())

    def store(self, x):
        known(x, "a store")
        WORLD.note("tensor store")
        WORLD.point()
        assert list(x.shape) == list(self.shape), "shapes differ"
        self.put(x)

    def seen_by_async(self):
        return np.asarray(self.get(), np.float32)


class Descriptor:
    """A tensor in global memory with the tile of its bulk copies."""

    def __init__(self, kind, array, block, name):
        self.kind, self.array, self.block, self.name = kind, array, block, name
        self.nbytes_per_cta = int(np.prod(block)) * kind.bytes

    def place(self, at):
        rows, columns = (slice(int(x), int(x) + size) for x, size in zip(at, self.block))
        assert rows.stop <= self.array.shape[0] and columns.stop <= self.array.shape[1], "outside the tensor"
        assert rows.start >= 0 and columns.start >= 0, "outside the tensor"
        return rows, columns


class Pointer:
    """Global memory from an element on, or, where `at` is an array, an element each."""

    def __init__(self, kind, array, at=0):
        self.kind, self.array, self.at = kind, array, at

    def __add__(self, at):
        return Pointer(self.kind, self.array, self.at + at)

    def places(self, mask):
        """(places, which of them are meant), of one shape; those that are not meant are 0."""
        places = np.asarray(self.at)
        shape = np.broadcast_shapes(places.shape, np.shape(mask)) if mask is not None else places.shape
        assert shape == places.shape, "a mask is wider than its pointers"
        meant = np.broadcast_to(True if mask is None else np.asarray(mask, bool), shape)
        assert np.all((places >= 0) & (places < len(self.array)) | ~meant), "outside the tensor"
        return np.where(meant, places, 0), meant

    def loaded(self, mask, other):
        places, meant = self.places(mask)
        if not len(self.array):
            return np.full(places.shape, other, self.array.dtype)
        return np.where(meant, self.array[places], np.asarray(other, self.array.dtype))


def cut(x, kind):
    """What a Tensor Core takes of 32-bit floats: the first 11 bits."""
    if kind.name != "float32":
        return x
    return (np.ascontiguousarray(x, np.float32).view(np.uint32) & np.uint32(0xffffe000)).view(np.float32)


def product(a, b, before, kind=np.float32):
    with np.errstate(all="ignore"):
        result = np.asarray(a, np.float32) @ np.asarray(b, np.float32)
        return result if before is None else result + before


def gluon_modules():
    """Modules to put into sys.modules, by name."""
    gl = types.ModuleType("gl")

    class Constexpr:
        def __new__(cls, x):
            return x

    gl.constexpr = Constexpr
    for name in SHORT:
        setattr(gl, name, Type(name))
    gl.full = lambda shape, x, kind, layout=None: tile(np.full(shape, x, kind.numpy))
    gl.to_tensor = lambda x: tile(np.asarray(Number(x), np.int32) if np.asarray(x).dtype.kind == "i" else np.float32(x))
    gl.zeros = lambda shape, kind, layout=None: tile(np.zeros(shape, kind.numpy))

    def elementwise(function):
        def run(*operands):
            for x in operands:
                known(x, function.__name__)
            with np.errstate(all="ignore"):
                return tile(np.asarray(function(*operands), np.float32))
        return run

    gl.max = lambda x, axis: tile(known(x, "max").max(axis=axis))
    gl.min = lambda x, axis: tile(known(x, "min").min(axis=axis))
    gl.sum = lambda x, axis: tile(known(x, "sum").sum(axis=axis, dtype=np.int32 if x.dtype.kind == "i" else np.float32))

    def associative_scan(x, axis, combine, reverse=False):
        kind = np.int32 if known(x, "associative_scan").dtype.kind == "i" else np.float32
        x = np.moveaxis(np.asarray(x, kind), axis, 0)[::-1 if reverse else 1]
        made = [x[0]]
        for one in x[1:]:
            made.append(np.asarray(combine(made[-1], one), kind))
        made = made[::-1 if reverse else 1]
        return tile(np.moveaxis(np.stack(made), 0, axis))

    gl.associative_scan = associative_scan
    gl.reduce = lambda x, axis, combine: tile(np.take(associative_scan(x, axis, combine), -1, axis=axis))

    def of_two(whole, kept, dropped):
        """The larger or smaller: of integers an integer."""
        def run(a, b):
            if all(isinstance(x, (int, np.integer)) for x in (a, b)):
                return whole(a, b)
            if all(np.asarray(x).dtype.kind in "iu" for x in (a, b)):
                return tile(kept(known(a, whole.__name__), known(b, whole.__name__)))
            return elementwise(dropped if NAN_DROPPED else kept)(a, b)
        return run

    gl.minimum, gl.maximum = of_two(min, np.minimum, np.fmin), of_two(max, np.maximum, np.fmax)
    gl.abs, gl.sqrt, gl.log = elementwise(np.abs), elementwise(np.sqrt), elementwise(np.log)
    gl.rsqrt = elementwise(lambda x: 1 / np.sqrt(x))
    gl.sin, gl.cos = elementwise(np.sin), elementwise(np.cos)
    gl.erf = elementwise(np.vectorize(math.erf, otypes=[float]))
    gl.floor, gl.ceil = elementwise(np.floor), elementwise(np.ceil)
    gl.num_programs = lambda axis: Number(WORLD.programs[axis])
    gl.exp2, gl.log2 = elementwise(np.exp2), elementwise(np.log2)

    def umulhi(a, b):
        """The upper half of the 64 bits of a product of two integers without sign."""
        whole = [np.asarray(known(x, "umulhi")).astype(np.int64).astype(np.uint32).astype(np.uint64) for x in (a, b)]
        return tile((whole[0] * whole[1] >> np.uint64(32)).astype(np.uint32).view(np.int32))

    gl.umulhi = umulhi

    def histogram(x, bins, layout=None):
        """How many are 0, 1, ...; what is none of these is not counted."""
        known(x, "histogram")
        return tile(np.array([(np.asarray(x) == k).sum() for k in range(bins)], np.int32))

    gl.histogram = histogram

    def where(which, a, b):
        for x in (which, a, b):
            known(x, "where")
        chosen = np.where(which, a, b)
        return tile(chosen if chosen.dtype.kind == "i" else np.asarray(chosen, np.float32))

    gl.where = where
    gl.fma = elementwise(lambda a, b, c: np.asarray(a, np.float64) * b + c)
    gl.inline_asm_elementwise = lambda asm, constraints, x, kind, is_pure, pack: x[0]  # (moves alone)
    gl.int32, gl.uint32 = Type("int32"), Type("uint32")
    gl.permute = lambda x, order: tile(known(x, "permute").transpose(order))
    gl.reshape = lambda x, shape: tile(np.ascontiguousarray(known(x, "reshape")).reshape(shape))
    gl.join = lambda a, b: tile(np.stack([known(a, "join"), known(b, "join")], axis=-1))

    def split(x):
        assert known(x, "split").shape[-1] == 2, "it has no two parts"
        return tile(x[..., 0]), tile(x[..., 1])

    gl.split = split
    gl.convert_layout = lambda x, layout: known(x, "convert_layout")
    gl.arange = lambda first, last, layout=None: tile(np.arange(first, last, dtype=np.int32))
    for name in ("SliceLayout", "DotOperandLayout", "NVMMADistributedLayout", "BlockedLayout", "SwizzledSharedLayout",
                 "DistributedLinearLayout"):
        setattr(gl, name, lambda *a, **k: None)
    gl.NVMMASharedLayout = types.SimpleNamespace(get_default_for=lambda *a, **k: None)
    gl.program_id = lambda axis: Number(WORLD.program_ids[axis])
    gl.static_range = range
    gl.shared_memory_descriptor = Shared

    def allocate_shared_memory(kind, shape, layout):
        made = Shared(kind, np.empty(shape, STORED[kind.name]))
        made.forget()
        return made

    gl.allocate_shared_memory = allocate_shared_memory
    gl.warp_specialize = lambda functions, warps, registers: WORLD.specialise(functions, warps)
    # (Of a text that is changed: nobody waits for its slots' end.)
    gl.warp_specialize_unended = lambda functions, warps, registers: WORLD.unended.append((functions, warps))

    def store(pointer, x, mask=None):
        known(x, "a store")
        WORLD.point()
        places, meant = pointer.places(mask)
        assert places.shape == np.shape(x), "shapes differ"
        assert len(set(places[meant].tolist())) == int(meant.sum()), "an element is stored twice"
        pointer.array[places[meant]] = pointer.kind.rounded(np.asarray(x)[meant])

    def load(pointer, mask=None, other=0.0):
        WORLD.point()
        got = pointer.loaded(mask, other)
        if got.ndim == 0 and got.dtype.kind != "f":
            return Number(got.item())
        return tile(np.asarray(got, np.float32)) if got.dtype.kind == "f" else tile(got)

    def atomic_add(pointer, x, mask=None):
        known(x, "an addition")
        WORLD.point()
        places, meant = pointer.places(mask)
        assert places.shape == np.shape(x), "shapes differ"
        np.add.at(pointer.array, places[meant], pointer.kind.rounded(np.asarray(x)[meant]))
        pointer.array[places[meant]] = pointer.kind.rounded(pointer.array[places[meant]])  # (numpy has no bf16)

    gl.atomic_add = atomic_add
    gl.int64 = np.int64
    gl.cast = lambda x, kind: (int(x) if kind is gl.int64 else Number(x)) if isinstance(x, (int, np.integer)) else tile(np.asarray(x).astype(kind))

    gl.store, gl.load = store, load

    gluon = types.ModuleType("gluon")
    gluon.jit = lambda function: function
    gluon.language = gl

    mbarrier = types.ModuleType("mbarrier")
    mbarrier.allocate_mbarrier = lambda batch=None: Barriers(batch) if batch else Barrier()

    def init(barrier, count):
        barrier.count = barrier.pending = count
        barrier.number = WORLD.barriers
        WORLD.barriers += 1

    def wait(barrier, phase, pred=True):
        if pred:
            WORLD.note("wait", barrier.number, int(phase) & 1)
            WORLD.point(lambda: (barrier.done & 1) != (int(phase) & 1))

    def arrive(barrier, count=1):
        WORLD.note("arrive", barrier.number)
        WORLD.point()
        barrier.arrive(count)

    def expect(barrier, count):
        WORLD.note("expect", barrier.number)
        WORLD.point()
        barrier.bytes += count
        barrier.arrive()

    def invalidate(barrier):
        assert barrier.count, "a barrier that is none is invalidated"
        barrier.count = barrier.pending = 0

    mbarrier.init, mbarrier.wait, mbarrier.arrive, mbarrier.expect, mbarrier.invalidate = init, wait, arrive, expect, invalidate

    tma = types.ModuleType("tma")

    def async_load(descriptor, at, barrier, to):
        # (A copy has 128 bytes of each row.)
        WORLD.note("load", barrier.number, max(1, descriptor.block[1] * descriptor.kind.bytes // 128))
        WORLD.point()
        to.forget()

        def work():
            to.put(descriptor.array[descriptor.place(at)])
            barrier.bytes -= descriptor.nbytes_per_cta
            barrier.check()

        WORLD.copies.append((descriptor.name, work))

    def async_store(descriptor, at, source):
        WORLD.note("store")
        WORLD.point()

        def work():
            descriptor.array[descriptor.place(at)] = source.seen_by_async()

        WORLD.queues.setdefault(threading.current_thread().name + " stores", []).append(work)

    def store_wait(count):
        stores = WORLD.queues.setdefault(threading.current_thread().name + " stores", [])
        WORLD.note("store wait", count)
        WORLD.point(lambda: len(stores) <= count)

    def async_atomic_add(descriptor, at, source):
        WORLD.note("add")
        WORLD.point()

        def work():
            place = descriptor.place(at)
            descriptor.array[place] = descriptor.kind.rounded(descriptor.array[place] + source.seen_by_async())

        WORLD.queues.setdefault(threading.current_thread().name + " stores", []).append(work)

    tma.async_load, tma.async_store, tma.store_wait = async_load, async_store, store_wait
    tma.async_atomic_add = async_atomic_add

    async_copy = types.ModuleType("async_copy")

    def copy_vector(to, pointer, mask=None):  # cp.async: its threads' copies are told to a barrier by mbarrier_arrive
        WORLD.point()
        pointer.places(mask)
        to.forget()

        def work():
            to.put(pointer.loaded(mask, 0))
            to.land()

        WORLD.vectors.setdefault(threading.current_thread().name, []).append(work)

    def vector_arrive(barrier, increment_count=True):
        """All threads of the slot, here at once: a multiple of 32 of them."""
        WORLD.note("vectors", barrier.number)
        WORLD.point()
        assert not increment_count, "not modelled"
        threads = 32 * WORLD.warps[threading.current_thread().name]
        mine = WORLD.vectors.pop(threading.current_thread().name, [])
        assert barrier.count % 32 == 0, "a barrier that does not count threads"

        def work():
            for one in mine:
                one()
            barrier.arrive(threads)

        # Kept back with all of its slot, or alone.
        WORLD.copies.append((threading.current_thread().name + " vectors", work, f"vectors of barrier {barrier.number}"))
        WORLD.vector_barriers.add(barrier.number)

    async_copy.async_load, async_copy.mbarrier_arrive = copy_vector, vector_arrive

    def fence_async_shared():
        WORLD.fenced[threading.current_thread().name] = WORLD.clock
        WORLD.unfenced.pop(threading.current_thread().name, None)

    def depth(a):
        return a.array.shape[1] if isinstance(a, Shared) else a.shape[1]

    def tcgen05_mma(a, b, accumulator, use_acc=True, mbarriers=()):
        for one in (a, b):
            if isinstance(one, Shared):
                one.check_fenced()
        WORLD.note("product", depth(a) * a.kind.bytes // 32)
        for barrier in mbarriers:
            WORLD.note("commit", barrier.number)
        WORLD.point()

        def work():
            before = accumulator.get().astype(np.float32) if use_acc else None
            accumulator.put(product(cut(a.seen_by_async(), a.kind), cut(b.seen_by_async(), b.kind), before))
            for barrier in mbarriers:
                barrier.arrive()

        if not use_acc and not WORLD.queue():
            accumulator.raw()[...] = 0xff  # from now on nobody may read what was there
        WORLD.queue().append(work)

    def tcgen05_commit(barrier):
        WORLD.note("commit", barrier.number)
        WORLD.point()
        WORLD.queue().append(barrier.arrive)

    def warpgroup_mma(a, b, accumulator, use_acc=True, is_async=False):
        for one in (a, b):
            if isinstance(one, Shared):
                one.check_fenced()
        rows = (a.array if isinstance(a, Shared) else a).shape[0]
        WORLD.note("product", max(1, rows // (16 * WORLD.warps[threading.current_thread().name])) * depth(a) * b.kind.bytes // 32 *
                   -(-b.array.shape[1] // 256))
        WORLD.point()
        out = Pending()
        left = a if isinstance(a, Shared) else tile(np.array(known(a, "a product")))

        def work():
            before = None
            if use_acc:
                before = accumulator.value if isinstance(accumulator, Pending) else accumulator
            a_now = left.seen_by_async() if isinstance(left, Shared) else left
            made = product(cut(a_now, b.kind), cut(b.seen_by_async(), b.kind), before)
            added_to = accumulator.value if isinstance(accumulator, Pending) else accumulator
            out.value = tile(made.astype(np.float16) if np.asarray(added_to).dtype == np.float16 else made)

        WORLD.queue().append(work)
        return out

    def warpgroup_mma_wait(count, deps):
        queue = WORLD.queue()
        WORLD.note("product wait", count)
        WORLD.point(lambda: len(queue) <= count)
        # What is still in flight stays so, whatever its registers are called.
        results = [d.value if isinstance(d, Pending) and d.value is not None else d for d in deps]
        return results[0] if len(results) == 1 else tuple(results)

    def allocate_tensor_memory(kind, shape, layout):
        columns = shape[1] * kind.bytes // 4
        assert columns in (32, 64, 128, 256, 512), "tensor memory comes in powers of two"
        return Tensor(0, columns, kind, list(shape))

    ampere = types.ModuleType("ampere")
    ampere.async_copy = async_copy

    def mma_v2(a, b, accumulator):
        """In registers alone, ended where it stands."""
        WORLD.point()
        return tile(product(known(a, "a product"), known(b, "a product"), known(accumulator, "a product")))

    ampere.mma_v2 = mma_v2
    hopper = types.ModuleType("hopper")
    blackwell = types.ModuleType("blackwell")
    for module in (hopper, blackwell):
        module.mbarrier, module.tma, module.fence_async_shared = mbarrier, tma, fence_async_shared
    hopper.warpgroup_mma, hopper.warpgroup_mma_wait = warpgroup_mma, warpgroup_mma_wait
    hopper.warpgroup_mma_init = lambda x: x
    blackwell.tcgen05_mma, blackwell.tcgen05_commit = tcgen05_mma, tcgen05_commit
    blackwell.allocate_tensor_memory = allocate_tensor_memory
    blackwell.tensor_memory_descriptor = Tensor
    blackwell.TensorMemoryLayout = lambda *a, **k: None

    triton = types.ModuleType("triton")
    triton.__version__ = "3.9.0"
    experimental = types.ModuleType("triton.experimental")
    experimental.gluon = gluon
    host = types.ModuleType("triton.experimental.gluon.nvidia.hopper")
    host.TensorDescriptor = Descriptor
    base = "triton.experimental.gluon"
    return {"triton": triton, "triton.experimental": experimental, base: gluon, base + ".language": gl,
            base + ".nvidia": types.ModuleType("nvidia"), base + ".nvidia.hopper": host,
            base + ".language.nvidia": types.ModuleType("nvidia"), base + ".language.nvidia.hopper": hopper,
            base + ".language.nvidia.ampere": ampere,
            base + ".language.nvidia.blackwell": blackwell}


def load(text, name):
    """The emitted file as a module, under the stand-in. Raises Fault for what Triton would not carry from iteration to iteration."""
    for wrong in carried_names.lost(text):
        raise Fault(wrong)
    modules = gluon_modules()
    saved = {key: sys.modules.get(key) for key in modules}
    sys.modules.update(modules)
    try:
        module = types.ModuleType("emitted")
        exec(compile(text, name, "exec"), module.__dict__)
        return module
    finally:
        for key, value in saved.items():
            if value is None:
                sys.modules.pop(key, None)
            else:
                sys.modules[key] = value


def run_grid(kernel, arguments, grid, seed, late, only=None):
    """Every program of a grid, or those at the places `only`, with these arguments. Raises Fault."""
    global WORLD
    x, y, z = (tuple(grid) + (1, 1, 1))[:3]
    known = [p.annotation is kernel.__globals__["gl"].constexpr for p in inspect.signature(kernel).parameters.values()]
    # (What the compiler does not know is i32, but where it has more bits.)
    arguments = [Number(a) if type(a) is int and not k and -2**31 <= a < 2**31 else a for a, k in zip(arguments, known)]
    for c in range(z):
        for b in range(y):
            for a in range(x):
                if only is not None and (a, b, c) not in only:
                    continue
                WORLD = World(seed, late)
                WORLD.first_warps = kernel.__globals__.get("WARPS", 4)
                WORLD.program_ids, WORLD.programs = (a, b, c), (x, y, z)
                kernel(*arguments)


def is_persistent(module):
    return "tile_count" in inspect.signature(module.kernel).parameters


def run(module, inputs, n, seed, late, blocks=(1, 1), batch=1, programs=1):
    """All blocks of the grid with these inputs (tensor -> array of [batch * rows, columns] or [batch * rows]);
    returns the outputs. Where a program does block after block there are so many `programs`. Raises Fault."""
    global WORLD
    sizes = {}
    for name, (axes, kind, is_output) in module.TENSORS.items():
        for axis in axes:
            what, covered = module.AXES[axis]
            cut = [a for a, (k, _) in module.AXES.items() if k == "block"]
            sizes[axis] = covered * (n if what == "loop" else blocks[cut.index(axis)] if what == "block" else 1)
    arguments, outputs = [], {}
    for name, (axes, kind, is_output) in module.TENSORS.items():
        number = Type(kind)
        if is_output:
            shape = [batch * sizes[axes[0]]] + [sizes[axis] for axis in axes[1:]]
            outputs[name] = np.full(shape, 0.0 if name in module.ADDED else np.nan, number.numpy)
        array = outputs.get(name, inputs.get(name))
        arguments.append(Pointer(number, array.reshape(-1)) if name not in module.BLOCKS else Descriptor(number, array, module.BLOCKS[name], name))
    arguments += [sizes[axes[0 if name in module.BLOCKS else -1]] for name, (axes, _, _) in module.TENSORS.items()]
    if is_persistent(module):
        tiles = batch * blocks[0] * blocks[1]
        for x in range(programs):
            WORLD = World(seed, late)
            WORLD.first_warps = module.WARPS
            WORLD.program_ids, WORLD.programs = (x, 0, 0), (programs, 1, 1)
            module.kernel(*arguments, n, blocks[0], blocks[1], tiles, n if n < module.DEPTH else -1)
        return outputs
    for b in range(batch):
        for y in range(blocks[1]):
            for x in range(blocks[0]):
                WORLD = World(seed, late)
                WORLD.first_warps = module.WARPS
                WORLD.program_ids = (x, y, b)
                module.kernel(*arguments, n, n if n < module.DEPTH else -1)
    return outputs
