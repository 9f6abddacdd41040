"""Twill's attention kernels from Python, on PyTorch tensors, through the C API (twill_gpu.h).

    import twill_gpu
    library = twill_gpu.Library("build-gpu/libtwill_gpu.so")
    o, lse = library.fmha_forward(q, k, v, causal=True)

Only ctypes; PyTorch is the caller's and is not imported here.
"""
import ctypes

F16, BF16 = 0, 1
MASK_NONE, MASK_CAUSAL_TOP_LEFT, MASK_CAUSAL_BOTTOM_RIGHT = 0, 1, 2
SCHEDULES = {"CUDA-Default": 0, "Twill-SWP": 1, "Twill": 2}


class Tensor(ctypes.Structure):
    """twill_gpu_tensor: strides in elements."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("batch_stride", ctypes.c_int64),
        ("sequence_stride", ctypes.c_int64),
        ("head_stride", ctypes.c_int64),
    ]


class ForwardArguments(ctypes.Structure):
    """twill_fmha_forward_arguments."""

    _fields_ = [
        ("type", ctypes.c_int),
        ("batch", ctypes.c_int32),
        ("query_heads", ctypes.c_int32),
        ("key_heads", ctypes.c_int32),
        ("query_length", ctypes.c_int32),
        ("key_length", ctypes.c_int32),
        ("head_dim", ctypes.c_int32),
        ("mask", ctypes.c_int),
        ("softmax_scale", ctypes.c_float),
        ("q", Tensor),
        ("k", Tensor),
        ("v", Tensor),
        ("o", Tensor),
        ("lse", ctypes.c_void_p),
        ("schedule", ctypes.c_int),
        ("no_multicast", ctypes.c_int32),
    ]


class Error(RuntimeError):
    """A call that the library refused: its status by name, and its text."""


class Library:
    """libtwill_gpu.so."""

    def __init__(self, path):
        self._c = ctypes.CDLL(path)
        self._c.twill_gpu_status_name.restype = ctypes.c_char_p
        self._c.twill_gpu_error_text.restype = ctypes.c_char_p
        self._c.twill_fmha_forward.argtypes = [
            ctypes.POINTER(ForwardArguments),
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_void_p,
        ]

    def launch_forward(self, arguments, stream=None):
        """twill_fmha_forward on ready arguments; raises Error."""
        status = self._c.twill_fmha_forward(ctypes.byref(arguments), None, 0, stream)
        if status != 0:
            name = self._c.twill_gpu_status_name(status).decode()
            raise Error(f"{name}: {self._c.twill_gpu_error_text().decode()}")

    def forward_arguments(self, q, k, v, o, lse, layout, mask, scale, schedule, multicast):
        """Arguments for PyTorch tensors; layout "BSHD" or "BHSD" names their dimensions."""
        if layout not in ("BSHD", "BHSD"):
            raise ValueError(f'layout {layout!r} is neither "BSHD" nor "BHSD"')
        types = {"torch.float16": F16, "torch.bfloat16": BF16}
        s, h = layout.index("S"), layout.index("H")
        for name, t in (("q", q), ("k", k), ("v", v), ("o", o)):
            if str(t.dtype) not in types or t.dtype != q.dtype:
                raise ValueError(f"{name} is of {t.dtype}: all are float16 or all bfloat16")
            if t.dim() != 4 or t.stride(3) != 1:
                raise ValueError(f"{name} has no four dimensions with the last contiguous")
        if not (k.shape == v.shape and o.shape == q.shape and k.shape[0] == q.shape[0]
                and k.shape[3] == q.shape[3]):
            raise ValueError("the shapes of q, k, v and o do not go together")
        if lse is not None and (str(lse.dtype) != "torch.float32" or not lse.is_contiguous()
                                or lse.numel() != q.shape[0] * q.shape[1] * q.shape[2]):
            raise ValueError("lse is not a contiguous float32 tensor of batch, heads, rows")

        def tensor(t):
            return Tensor(t.data_ptr(), t.stride(0), t.stride(s), t.stride(h))

        return ForwardArguments(
            types[str(q.dtype)], q.shape[0], q.shape[h], k.shape[h], q.shape[s], k.shape[s],
            q.shape[3], mask, scale or 0.0, tensor(q), tensor(k), tensor(v), tensor(o),
            None if lse is None else lse.data_ptr(), SCHEDULES[schedule], 0 if multicast else 1)

    def fmha_forward(self, q, k, v, *, layout="BSHD", causal=False, scale=None, schedule="Twill",
                     multicast=True, stream=None):
        """softmax(scale q k^T) v and its log-sum-exp, new tensors; stream: cudaStream_t as int."""
        o = q.new_empty(q.shape)
        rows = (q.shape[0], q.shape[layout.index("H")], q.shape[layout.index("S")])
        lse = q.new_empty(rows).float()
        mask = MASK_CAUSAL_TOP_LEFT if causal else MASK_NONE
        self.launch_forward(
            self.forward_arguments(q, k, v, o, lse, layout, mask, scale, schedule, multicast),
            stream)
        return o, lse
