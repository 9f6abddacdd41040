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
print("the structure arrives as it is")
