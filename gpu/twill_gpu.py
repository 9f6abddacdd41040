"""Twill's attention kernels from Python, on PyTorch tensors, through the C API (twill_gpu.h).

    import twill_gpu
    library = twill_gpu.Library("build-gpu/libtwill_gpu.so")
    o, lse = library.fmha_forward(q, k, v, causal=True)
    dq, dk, dv = library.fmha_backward(q, k, v, o, lse, d_o, causal=True)

Only ctypes; PyTorch is the caller's and is not imported here.
"""
import ctypes

F16, BF16 = 0, 1
MASK_NONE, MASK_CAUSAL_TOP_LEFT, MASK_CAUSAL_BOTTOM_RIGHT = 0, 1, 2
SCHEDULES = {"CUDA-Default": 0, "Twill-SWP": 1, "Twill": 2, "Twill-Overlap": 3}
BACKWARD_SCHEDULES = {"CUDA-Default": 0, "Twill": 1, "Twill-80": 2}


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


class BackwardArguments(ctypes.Structure):
    """twill_fmha_backward_arguments."""

    _fields_ = [
        ("type", ctypes.c_int32),
        ("batch", ctypes.c_int32),
        ("query_heads", ctypes.c_int32),
        ("key_heads", ctypes.c_int32),
        ("query_length", ctypes.c_int32),
        ("key_length", ctypes.c_int32),
        ("head_dim", ctypes.c_int32),
        ("mask", ctypes.c_int32),
        ("softmax_scale", ctypes.c_float),
        ("q", Tensor),
        ("k", Tensor),
        ("v", Tensor),
        ("o", Tensor),
        ("d_o", Tensor),
        ("lse", ctypes.c_void_p),
        ("dq", Tensor),
        ("dk", Tensor),
        ("dv", Tensor),
        ("schedule", ctypes.c_int32),
        ("deterministic", ctypes.c_int32),
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

        self._c.twill_fmha_backward.argtypes = [
            ctypes.POINTER(BackwardArguments),
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_void_p,
        ]
        self._c.twill_fmha_backward_workspace.argtypes = [
            ctypes.POINTER(BackwardArguments),
            ctypes.POINTER(ctypes.c_size_t),
        ]

    def _check(self, status):
        if status != 0:
            name = self._c.twill_gpu_status_name(status).decode()
            raise Error(f"{name}: {self._c.twill_gpu_error_text().decode()}")

    def launch_forward(self, arguments, stream=None):
        """twill_fmha_forward on ready arguments; raises Error."""
        self._check(self._c.twill_fmha_forward(ctypes.byref(arguments), None, 0, stream))

    def launch_backward(self, arguments, workspace, workspace_bytes, stream=None):
        """twill_fmha_backward on ready arguments; workspace: an address. Raises Error."""
        self._check(self._c.twill_fmha_backward(ctypes.byref(arguments), workspace,
                                                workspace_bytes, stream))

    def backward_workspace(self, arguments):
        """Bytes of workspace that launch_backward needs; raises Error."""
        size = ctypes.c_size_t()
        self._check(self._c.twill_fmha_backward_workspace(ctypes.byref(arguments),
                                                          ctypes.byref(size)))
        return size.value

    @staticmethod
    def _shapes(q, k, like_q, like_k, lse, layout):
        """Checks PyTorch tensors; returns their type, and Tensor of one of them."""
        if layout not in ("BSHD", "BHSD"):
            raise ValueError(f'layout {layout!r} is neither "BSHD" nor "BHSD"')
        types = {"torch.float16": F16, "torch.bfloat16": BF16}
        s, h = layout.index("S"), layout.index("H")
        for name, t in {"q": q, "k": k, **like_q, **like_k}.items():
            if str(t.dtype) not in types or t.dtype != q.dtype:
                raise ValueError(f"{name} is of {t.dtype}: all are float16 or all bfloat16")
            if t.dim() != 4 or t.stride(3) != 1:
                raise ValueError(f"{name} has no four dimensions with the last contiguous")
        if not (all(t.shape == q.shape for t in like_q.values())
                and all(t.shape == k.shape for t in like_k.values())
                and k.shape[0] == q.shape[0] and k.shape[3] == q.shape[3]):
            names = ", ".join(["q", "k", *like_q, *like_k])
            raise ValueError(f"the shapes of {names} do not go together")
        if lse is not None and (str(lse.dtype) != "torch.float32" or not lse.is_contiguous()
                                or lse.numel() != q.shape[0] * q.shape[1] * q.shape[2]):
            raise ValueError("lse is not a contiguous float32 tensor of batch, heads, rows")

        def tensor(t):
            return Tensor(t.data_ptr(), t.stride(0), t.stride(s), t.stride(h))

        sizes = (q.shape[0], q.shape[h], k.shape[h], q.shape[s], k.shape[s], q.shape[3])
        return types[str(q.dtype)], sizes, tensor

    def forward_arguments(self, q, k, v, o, lse, layout, mask, scale, schedule, multicast):
        """Arguments for PyTorch tensors; layout "BSHD" or "BHSD" names their dimensions."""
        kind, sizes, tensor = self._shapes(q, k, {"o": o}, {"v": v}, lse, layout)
        return ForwardArguments(
            kind, *sizes, mask, scale or 0.0, tensor(q), tensor(k), tensor(v), tensor(o),
            None if lse is None else lse.data_ptr(), SCHEDULES[schedule], 0 if multicast else 1)

    def backward_arguments(self, q, k, v, o, lse, d_o, dq, dk, dv, layout, mask, scale, schedule,
                           deterministic):
        """The same for the backward pass."""
        kind, sizes, tensor = self._shapes(q, k, {"o": o, "d_o": d_o, "dq": dq},
                                           {"v": v, "dk": dk, "dv": dv}, lse, layout)
        return BackwardArguments(
            kind, *sizes, mask, scale or 0.0, tensor(q), tensor(k), tensor(v), tensor(o),
            tensor(d_o), lse.data_ptr(), tensor(dq), tensor(dk), tensor(dv),
            BACKWARD_SCHEDULES[schedule], 1 if deterministic else 0)

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

    def fmha_backward(self, q, k, v, o, lse, d_o, *, layout="BSHD", causal=False, scale=None,
                      schedule="Twill-80", deterministic=False, stream=None):
        """The gradients of q, k and v, new tensors, given that of o; o and lse are fmha_forward's."""
        dq, dk, dv = (t.new_empty(t.shape) for t in (q, k, v))
        mask = MASK_CAUSAL_TOP_LEFT if causal else MASK_NONE
        arguments = self.backward_arguments(q, k, v, o, lse, d_o, dq, dk, dv, layout, mask, scale,
                                            schedule, deterministic)
        # 16-bit elements of q's device and allocator.
        workspace = q.new_empty(((self.backward_workspace(arguments) + 1) // 2,))
        self.launch_backward(arguments, workspace.data_ptr(), 2 * workspace.numel(), stream)
        return dq, dk, dv
