"""twill_gpu.py against the library, without PyTorch and without a GPU: every field of the structure
arrives where the C API reads it. Usage: ctypes_test.py libtwill_gpu.so"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import twill_gpu  # noqa: E402

library = twill_gpu.Library(sys.argv[1])


def right():
    q = twill_gpu.Tensor(4096, 100 * 4 * 128, 4 * 128, 128)
    k = twill_gpu.Tensor(4096, 77 * 2 * 128, 128, 77 * 128)
    return twill_gpu.ForwardArguments(0, 2, 4, 2, 100, 77, 128, 0, 0.1, q, k, k, q, None, 2, 0)


def expect(text, **changes):
    arguments = right()
    for path, value in changes.items():
        target = arguments
        *parents, field = path.split("__")
        for parent in parents:
            target = getattr(target, parent)
        setattr(target, field, value)
    try:
        library.launch_forward(arguments)
    except twill_gpu.Error as error:
        if text in str(error):
            return
        sys.exit(f"expected {text!r}, got {error}")
    sys.exit(f"expected {text!r}, was not refused")


expect("BAD_TYPE: type = 5", type=5)
expect("batch = -1", batch=-1)
expect("query_heads = 5 is not a multiple", query_heads=5)
expect("key_heads = -2", key_heads=-2)
expect("query_length = 0", query_length=0)
expect("key_length = -7", key_length=-7)
expect("head_dim = 72", head_dim=72)
expect("mask = 9", mask=9)
expect("softmax_scale = -3", softmax_scale=-3.0)
for name in "qkvo":
    expect(f"{name}.data", **{f"{name}__data": 4096 + 4})
    expect(f"{name}.batch_stride = 12", **{f"{name}__batch_stride": 12})
    expect(f"{name}.sequence_stride = 20", **{f"{name}__sequence_stride": 20})
    expect(f"{name}.head_stride = 28", **{f"{name}__head_stride": 28})
expect("lse", lse=4097)
expect("schedule = 4", schedule=4)
expect("NO_DEVICE")


def right_backward():
    q = twill_gpu.Tensor(4096, 100 * 4 * 128, 4 * 128, 128)
    k = twill_gpu.Tensor(4096, 77 * 2 * 128, 128, 77 * 128)
    return twill_gpu.BackwardArguments(0, 2, 4, 2, 100, 77, 128, 0, 0.1, q, k, k, q, q, 4096, q, k, k,
                                       2, 0)


def expect_backward(text, workspace=4096, workspace_bytes=1 << 40, **changes):
    arguments = right_backward()
    for path, value in changes.items():
        target = arguments
        *parents, field = path.split("__")
        for parent in parents:
            target = getattr(target, parent)
        setattr(target, field, value)
    try:
        library.launch_backward(arguments, workspace, workspace_bytes)
    except twill_gpu.Error as error:
        if text in str(error):
            return
        sys.exit(f"expected {text!r}, got {error}")
    sys.exit(f"expected {text!r}, was not refused")


for field, value in (("batch", -1), ("key_heads", -2), ("query_length", 0), ("key_length", -7),
                     ("head_dim", 72), ("mask", 9), ("schedule", 4)):
    expect_backward(f"{field} = {value}", **{field: value})
expect_backward("BAD_TYPE: type = 5", type=5)
expect_backward("query_heads = 5 is not a multiple", query_heads=5)
expect_backward("softmax_scale = -3", softmax_scale=-3.0)
for name in ("q", "k", "v", "o", "d_o", "dq", "dk", "dv"):
    expect_backward(f"ALIGNMENT: {name}.data", **{f"{name}__data": 4096 + 4})
    expect_backward(f": {name}.batch_stride = 12", **{f"{name}__batch_stride": 12})
    expect_backward(f": {name}.sequence_stride = 20", **{f"{name}__sequence_stride": 20})
    expect_backward(f": {name}.head_stride = 28", **{f"{name}__head_stride": 28})
expect_backward("lse", lse=4097)
expect_backward("workspace is null", workspace=None)
expect_backward("workspace_bytes = 7", workspace_bytes=7)
expect_backward("NO_DEVICE")
rows = 2 * 4 * 2 * 80
if library.backward_workspace(right_backward()) != rows * (2 + 128) * 4:
    sys.exit("the workspace's size")
ordered = right_backward()
ordered.deterministic = 1
if library.backward_workspace(ordered) <= rows * (2 + 128) * 4:
    sys.exit("deterministic does not arrive")


class FakeTensor:
    """As much of a PyTorch tensor as twill_gpu.py asks for; no memory behind it."""

    def __init__(self, shape, dtype="torch.float16"):
        self.shape, self.dtype = shape, dtype

    def dim(self):
        return len(self.shape)

    def stride(self, i):
        size = 1
        for n in self.shape[i + 1:]:
            size *= n
        return size

    def numel(self):
        return self.stride(-1) if not self.shape else self.shape[0] * self.stride(0)

    def is_contiguous(self):
        return True

    def data_ptr(self):
        return 4096

    def new_empty(self, shape):
        return FakeTensor(tuple(shape), self.dtype)

    def float(self):
        return FakeTensor(self.shape, "torch.float32")


def refuses(call, text):
    try:
        call()
    except (ValueError, twill_gpu.Error) as error:
        if text in str(error):
            return
        sys.exit(f"expected {text!r}, got {error}")
    sys.exit(f"expected {text!r}, was not refused")


# Tensors that are right get as far as the missing device; wrong ones do not.
for layout in ("BSHD", "BHSD"):
    q, k = FakeTensor((2, 6, 6, 128)), FakeTensor((2, 6, 6, 128))
    lse = FakeTensor((2, 6, 6), "torch.float32")
    refuses(lambda: library.fmha_forward(q, k, k, layout=layout), "NO_DEVICE")
    refuses(lambda: library.fmha_backward(q, k, k, q, lse, q, layout=layout, causal=True),
            "NO_DEVICE")
q, k = FakeTensor((2, 10, 4, 128)), FakeTensor((2, 20, 2, 128))
refuses(lambda: library.fmha_forward(q, k, k), "NO_DEVICE")
refuses(lambda: library.fmha_forward(q, k, q), "do not go together")
refuses(lambda: library.fmha_forward(q, k, k, layout="SBHD"), "neither")
refuses(lambda: library.fmha_forward(q, k, FakeTensor(k.shape, "torch.float32")), "v is of")
refuses(lambda: library.fmha_backward(q, k, k, k, FakeTensor((2, 4, 10), "torch.float32"), q),
        "do not go together")
refuses(lambda: library.fmha_backward(q, k, k, q, FakeTensor((2, 4, 9), "torch.float32"), q), "lse")
print("the structures arrive as they are")
