"""What a kernel computes, in double precision, by the "meaning" of its program file; numpy alone."""
import math

import numpy as np


def load_number(x):
    return {"inf": np.inf, "-inf": -np.inf}[x] if isinstance(x, str) else float(x)


def inside(bounds, i, shape):
    """Of bounds of four numbers each: rows r + columns c + per_iteration i + first >= 0, all of them."""
    r, c = np.arange(shape[0]), np.arange(shape[1]) if len(shape) == 2 else 0
    r = r[:, None] if len(shape) == 2 else r
    kept = np.ones(shape, bool)
    for k in range(0, len(bounds), 4):
        rows, columns, per_iteration, first = bounds[k:k + 4]
        kept &= rows * r + columns * c + per_iteration * i + first >= 0
    return kept


class Oracle:
    def __init__(self, meaning):
        self.meaning = meaning
        # A product's shape is [M, N, K], a reduction's the one before reducing.
        rank = {"product": 2, "row_max": 1, "row_min": 1, "row_sum": 1, "row_product": 1}
        self.shapes = {v["id"]: v["shape"][:rank.get(v["computes"][0], 3)]
                       for part in ("before", "ops", "after") for v in meaning.get(part, [])}
        self.tensors = {t["name"]: t for t in meaning["tensors"]}

    def run(self, n, tile):
        """tile(tensor, i) gives input tiles; returns {(tensor, i): tile} of the outputs."""
        self.tile, self.outputs = tile, {}
        self.fixed, self.now = {}, {}
        for value in self.meaning.get("before", []):
            self.fixed[value["id"]] = self.compute(value, 0, 0)
        for i in range(n):
            self.i = i
            for value in self.ordered():
                self.now[value["id"], i] = self.compute(value, i, i)
        for value in self.meaning.get("after", []):
            self.fixed[value["id"]] = self.compute(value, n - 1, 0)
        return self.outputs

    def ordered(self):
        """Values of the loop, each after what it uses of its own iteration."""
        ids, left, done = {v["id"] for v in self.meaning["ops"]}, list(self.meaning["ops"]), set()
        while left:
            ready = [v for v in left if all(self.name(o) not in ids or self.name(o) in done or self.distance(o) > 0
                                            for o in v["computes"][1:])]
            assert ready, "a circle"
            yield from ready
            done.update(v["id"] for v in ready)
            left = [v for v in left if v["id"] not in done]

    @staticmethod
    def name(operand):
        return operand["of"] if isinstance(operand, dict) else operand

    @staticmethod
    def distance(operand):
        return operand.get("distance", 0) if isinstance(operand, dict) else 0

    def operand(self, operand, i, shape, elementwise):
        name = self.name(operand)
        if not isinstance(name, str) or name in ("inf", "-inf"):
            return load_number(name)
        if name in self.meaning.get("constants", {}):
            return self.meaning.get("constants", {})[name]
        if name in self.fixed:
            x = self.fixed[name]
        else:
            made = i - self.distance(operand)
            if made >= 0:
                x = self.now[name, made]
            else:
                first = self.meaning.get("initial", {})[name]
                x = self.fixed[first] if isinstance(first, str) and first in self.fixed else np.full(
                    self.shapes[name], load_number(first))
        extra = operand if isinstance(operand, dict) else {}
        assert set(extra) <= {"of", "distance", "along", "transposed", "columns", "first_column", "rows", "row"}, extra
        if "columns" in extra:
            columns = extra["columns"]
            first, count = columns if isinstance(columns, list) else (extra.get("first_column", 0), columns)
            x = x[:, first:first + count]
        if "rows" in extra:
            x = x[extra["rows"][0]:extra["rows"][1]]
        if extra.get("transposed"):
            x = x.T
        if "row" in extra:
            x = x[extra["row"]]
        if elementwise and np.ndim(x) == 1 and len(shape) == 2:
            x = x[None, :] if extra.get("along") == "columns" else x[:, None]
        return x

    def compute(self, value, i, tile_number):
        function, *rest = value["computes"]
        shape = self.shapes[value["id"]]
        if function == "load":
            return np.asarray(self.tile(rest[0], tile_number), np.float64)
        tensor = rest.pop(0) if function == "store" else None
        elementwise = function not in ("transpose", "product", "row_max", "row_min", "row_sum", "row_product", "lower", "causal")
        x = [self.operand(o, i, shape, elementwise) for o in rest]
        with np.errstate(all="ignore"):
            result = {
                "store": lambda: x[0], "copy": lambda: x[0], "transpose": lambda: x[0].T,
                "product": lambda: x[0] @ x[1] + (x[2] if len(x) == 3 else 0),
                "add": lambda: x[0] + x[1], "sub": lambda: x[0] - x[1], "mul": lambda: x[0] * x[1], "div": lambda: x[0] / x[1],
                "mul_add": lambda: x[0] * x[1] + x[2], "mul_sub": lambda: x[0] * x[1] - x[2],
                "max": lambda: np.maximum(x[0], x[1]), "exp2": lambda: np.exp2(x[0] * x[1] if len(x) == 2 else x[0]),
                "log2": lambda: np.log2(x[0]), "reciprocal": lambda: 1 / np.asarray(x[0]),
                "min": lambda: np.minimum(x[0], x[1]), "abs": lambda: np.abs(x[0]), "sqrt": lambda: np.sqrt(x[0]),
                "rsqrt": lambda: 1 / np.sqrt(x[0]), "log": lambda: np.log(x[0]), "sin": lambda: np.sin(x[0]),
                "cos": lambda: np.cos(x[0]), "erf": lambda: np.vectorize(math.erf, otypes=[float])(x[0]),
                "floor": lambda: np.floor(x[0]), "ceil": lambda: np.ceil(x[0]), "toward_zero": lambda: np.trunc(x[0]),
                "select": lambda: np.where(x[0] > 0, x[1], x[2]),
                "row_max": lambda: x[0].max(axis=1), "row_min": lambda: x[0].min(axis=1), "row_sum": lambda: x[0].sum(axis=1),
                "row_product": lambda: x[0].prod(axis=1),
                "lower": lambda: np.tril(x[0]),
                "causal": lambda: np.where(
                    i * shape[1] + np.arange(shape[1])[None, :] <= x[1] + np.arange(shape[0])[:, None] // x[2], x[0], -np.inf),
                "within": lambda: np.where(inside(x[2:], i, shape), x[0], x[1]),
            }[function]()
        if function == "store":
            self.outputs[tensor, tile_number] = result
        return result
