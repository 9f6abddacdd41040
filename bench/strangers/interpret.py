"""One kernel, executed by Triton's own interpreter of its Python, on numpy arrays.

    python interpret.py FOLDER NAME GIVEN.npz MADE.npz

GIVEN.npz has the arrays of a launch by parameter, as memory has them, and its numbers ("numbers", JSON: scalars, grid, types); MADE.npz
gets the arrays as they are afterwards. Needs a process of its own: the interpreter is chosen before Triton is imported."""
import json
import os
import sys

os.environ["TRITON_INTERPRET"] = "1"
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "tests", "emit")]
sys.dont_write_bytecode = True

import inspect  # noqa: E402

import numpy as np  # noqa: E402
import cases  # noqa: E402
import loading  # noqa: E402

NUMBERS = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "i32": "int32", "fp8e4nv": "float8_e4m3fn", "i8": "int8"}


class Memory:
    """Of an array, what the interpreter asks of a tensor and of its storage."""

    def __init__(self, array, dtype):
        self.array, self.dtype, self.device = array, dtype, "cpu"

    def data_ptr(self):
        return self.array.ctypes.data

    def untyped_storage(self):
        return self

    def cpu(self):
        return self

    def copy_(self, _):
        pass

    def new_empty(self, *_, **__):
        return Memory(self.array, self.dtype)

    def set_(self, *_):
        pass

    def storage_offset(self):
        return 0

    def size(self):
        return self.array.shape

    def stride(self):
        return (1,)

    def element_size(self):
        return self.array.itemsize


class Step(int):
    """Of a loop: kernels ask it to become another type."""

    def to(self, _):
        return self


def product(builder, a, b, d, *how):
    """tl.dot. (Triton 3.9.0's own takes the bits of bf16 for integers.)"""
    import triton.language as tl
    from triton.runtime.interpreter import InterpreterBuilder, TensorHandle
    wide = [TensorHandle((x.data.astype(np.uint32) << 16).view(np.float32), tl.float32) if x.dtype.scalar == tl.bfloat16 else x for x in (a, b)]
    return InterpreterBuilder.own_dot(builder, *wide, d, *how)


def converted(number, from_type, to_type, rounding):
    """(Where Triton 3.9.0's own rounds a number of f32 up to the next power of two it loses that.)"""
    import triton.language as tl
    if from_type != tl.float32 or to_type not in (tl.float8e4nv, tl.float8e5):
        return OWN_CONVERSION(number, from_type, to_type, rounding)
    import stand_in
    kind = stand_in.Type("float8e4nv" if to_type == tl.float8e4nv else "float8e5")
    x = np.frombuffer(number.tobytes(), np.float32).reshape(number.shape)
    return kind.stored(np.clip(x, -448, 448) if to_type == tl.float8e4nv else x)


def steps(*bounds):
    return map(Step, range(*bounds))


def main(folder, name, given, made):
    import triton
    from triton.runtime import interpreter
    from triton.runtime.interpreter import InterpretedFunction, InterpreterBuilder
    global OWN_CONVERSION
    OWN_CONVERSION, interpreter._convert_float = interpreter._convert_float, converted
    InterpreterBuilder.own_dot, InterpreterBuilder.create_dot = InterpreterBuilder.create_dot, product
    loading.prepare(folder)
    case = cases.find(folder, name)
    arrays = dict(np.load(given))
    launch = json.loads(str(arrays.pop("numbers")))
    kernel = loading.kernel_of(loading.load(folder, case.library, case.path), case.kernel, InterpretedFunction)
    kernel.fn.__globals__["range"] = steps
    arguments = {}
    for parameter in inspect.signature(kernel.fn).parameters:
        if parameter in case.absent.split():
            arguments[parameter] = None
        elif parameter in case.constants:
            value = case.constants[parameter]
            arguments[parameter] = triton.language.float16 if parameter == "dot_dtype" else value
        elif parameter in case.unit.split():
            arguments[parameter] = 1
        elif any(parameter.startswith(begin) for begin in case.zero.split()):
            arguments[parameter] = 0
        elif parameter in arrays:
            arguments[parameter] = Memory(arrays[parameter], NUMBERS[case.types.get(parameter, case.number)])
        else:
            arguments[parameter] = launch["numbers"][parameter]
    kernel[tuple(launch["grid"])](**arguments)
    np.savez(made, **arrays)


if __name__ == "__main__":
    main(*sys.argv[1:])
