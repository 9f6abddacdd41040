"""Triton's TTGIR passes in parts: those before it assigns latencies, stages and partitions, those that do, and
those from there on. The list of passes stays Triton's own (CUDABackend.make_ttgir): its tables of passes are
stood in for while it runs, so that a pass is recorded or left out."""

import contextlib

FIRST_SCHEDULING_PASS = ("add_assign_latencies", "add_hopper_warpspec")
# These would set the stages anew that a schedule has set.
SETS_STAGES = ("add_assign_latencies", "add_schedule_loops")


class _Recorded:
    """Stands for one of Triton's tables of passes; asks `before` about each pass."""

    def __init__(self, real, before):
        self._real, self._before = real, before

    def __getattr__(self, name):
        value = getattr(self._real, name)
        if name.startswith("add_"):
            def add(*arguments):
                if self._before(name):
                    value(*arguments)
            return add
        return value if callable(value) or isinstance(value, (int, str)) else _Recorded(value, self._before)


@contextlib.contextmanager
def _asked(before):
    import triton.backends.nvidia.compiler as compiler
    kept = compiler.passes, compiler.nvidia
    compiler.passes, compiler.nvidia = _Recorded(kept[0], before), _Recorded(kept[1], before)
    try:
        yield
    finally:
        compiler.passes, compiler.nvidia = kept


# The parts of Triton's list of passes: before it schedules anything, from there to the passes that set stages,
# these, and all behind them.
BEFORE, FIRST, STAGES, REST = "before", "first", "stages", "rest"


def run_part(backend, module, options, capability, parts, left_out=()):
    """Triton's make_ttgir, but only the passes of these parts without those left out: module and metadata. RuntimeError where Triton has
    no pass by which the parts are told apart."""
    state = {"part": BEFORE}

    def before(name):
        if name in SETS_STAGES:
            state["part"] = STAGES
        elif name in FIRST_SCHEDULING_PASS:
            state["part"] = FIRST
        elif state["part"] == STAGES:
            state["part"] = REST
        return state["part"] in parts and name not in left_out
    metadata = {}
    with _asked(before):
        module = backend.make_ttgir(module, metadata, options, capability)
    if state["part"] == BEFORE and 80 <= capability:
        raise RuntimeError("this Triton has none of the passes " + ", ".join(FIRST_SCHEDULING_PASS) +
                           f" for cuda:{capability}: the module from before them cannot be told")
    return module, metadata


def backend_for(capability, **options):
    """Triton's backend for a capability (90) and its options."""
    from triton.backends.compiler import GPUTarget
    from triton.backends.nvidia.compiler import CUDABackend
    target = GPUTarget("cuda", capability, 32)
    backend = CUDABackend(target)
    return target, backend, backend.parse_options({"arch": f"sm{capability}", **options})


def new_context(backend):
    from triton._C.libtriton import ir
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    return context
