"""Writes tests/data/bank-conflicts.csv: what Triton's gl.bank_conflicts says of a tile's layout in
registers and its layout in shared memory, the second opinion of tests/graph/emit/bank_conflicts_test.cpp.

    python tests/emit/bank_conflicts.py OUT.csv

Needs triton (PyPI) alone, no GPU. `excess` is what its documentation calls N: accesses more than one
that a wavefront needs.
"""

import contextlib
import io
import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource


@gluon.jit
def ask(registers: gl.constexpr, shared: gl.constexpr):
    gl.static_print(gl.bank_conflicts(registers, shared))


def linear(n, across):
    """Triton's layout of 64 rows in tensor memory, half a row a thread."""
    half = n // across // 2
    columns = [1 << k for k in range(half.bit_length() - 1)]
    return gl.DistributedLinearLayout(
        reg_bases=[[0, c] for c in columns],
        lane_bases=[[1, 0], [2, 0], [4, 0], [8, 0], [0, half]],
        warp_bases=[[16, 0], [32, 0]] + ([[0, n // 2]] if across == 2 else []),
        block_bases=[], shape=[64, n])


def layout(target, m, n, warps):
    if target == "hopper":
        across = 1
        while m < 16 * warps // across:
            across *= 2
        return gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[warps // across, across],
                                         instr_shape=[16, min(n // across, 256), 16])
    across = warps // 4
    if m == 128:
        return gl.BlockedLayout([1, n // across], [32, 1], [4, across], [0, 1])
    return linear(n, across)


def excess(target, kind, registers, shape, shared, warps):
    """What Triton prints while it compiles ask()."""
    arguments = {"registers": gl.distributed_type(kind, shape, registers),
                 "shared": gl.shared_memory_descriptor_type(kind, shape, shared, shape)}
    source = GluonASTSource(fn=ask, signature=dict.fromkeys(arguments, "constexpr"), constexprs=arguments)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        triton.compile(source, target=GPUTarget("cuda", 90 if target == "hopper" else 100, 32),
                       options={"num_warps": warps})
    return int(printed.getvalue().split()[-1])


def main():
    with open(sys.argv[1], "w") as out:
        out.write(f"target,rows,columns,warps,bytes,excess,Triton {triton.__version__}\n")
        for target in ("hopper", "blackwell"):
            for m in (64, 128, 256) if target == "hopper" else (64, 128):
                for n in (16, 32, 64, 128, 256):
                    for warps in (4, 8):
                        for kind in (gl.float32, gl.float16, gl.float8e4nv):
                            shared = gl.NVMMASharedLayout.get_default_for([m, n], kind)
                            found = excess(target, kind, layout(target, m, n, warps), [m, n], shared, warps)
                            out.write(f"{target},{m},{n},{warps},{kind.primitive_bitwidth // 8},{found}\n")


if __name__ == "__main__":
    main()
