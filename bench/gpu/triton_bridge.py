"""What emitted kernels use of Triton 3.9's Gluon and Triton 3.6 has under another name or not at all.

`import triton_bridge` before the kernel adds it; where the installed Triton has it, nothing changes. The machine with a
GPU may have an older Triton than the kernels name. (Tried: kernels for Hopper compile with 3.6.0 to as many products,
copies and waits as with 3.9.0. What 3.6.0 compiles has not run on a device.)"""
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma

if not hasattr(mbarrier, "allocate_mbarrier"):
    @gluon.jit
    def allocate_mbarrier(batch: gl.constexpr = None):
        shape: gl.constexpr = [1] if batch is None else [batch, 1]
        return gl.allocate_shared_memory(gl.int64, shape, mbarrier.MBarrierLayout())

    mbarrier.allocate_mbarrier = allocate_mbarrier
if not hasattr(tma, "async_load"):
    tma.async_load = tma.async_copy_global_to_shared
if not hasattr(tma, "async_store"):
    tma.async_store = tma.async_copy_shared_to_global
if not hasattr(tma.tensor_descriptor, "nbytes_per_cta"):
    tma.tensor_descriptor.nbytes_per_cta = property(lambda self: self.block_type.nbytes)
