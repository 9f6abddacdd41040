"""Operations of the products of a built-in kernel's tile, an iteration: for TFLOPS of what is emitted."""


def product(rows, columns, depth):
    return 2 * rows * columns * depth


ATTENTION = 2 * product(128, 128, 128)
OF_AN_ITERATION = {
    "fmha-forward": ATTENTION, "fmha-forward-turns": ATTENTION, "fmha-forward-crossings": ATTENTION, "fmha-forward-persistent": ATTENTION,
    "hopper-fwd-plain": ATTENTION, "hopper-fwd-sub2-causal": ATTENTION, "hopper-fwd-sub2-bf16": ATTENTION,
    "hopper-fwd-sub2-d64": 2 * product(128, 128, 64), "hopper-fwd-sub2-m128": 2 * product(256, 128, 128),
    "gemm": product(128, 128, 64), "gemm-persistent": product(128, 128, 64), "hopper-bwd-persistent": 5 * product(128, 64, 128), "hopper-gqa": 2 * product(64, 128, 128), "hopper-gqa-crossings": 2 * product(64, 128, 128),
    "hopper-mla": product(64, 64, 576) + product(64, 512, 64), "hopper-mlp": 3 * product(128, 64, 128),
    "hopper-bwd": 5 * product(128, 64, 128), "hopper-bwd-q64": 5 * product(128, 64, 128),
    "hopper-grouped-gemm": product(128, 128, 128),
}


def tflops(kernel, blocks, iterations, ms):
    """Of so many blocks (all there are); None where the kernel's operations are not listed."""
    one = OF_AN_ITERATION.get(kernel)
    return None if one is None else one * blocks * iterations / (ms * 1e9)
