"""From a Triton kernel to its module (TTGIR) as Twill reads it."""

import importlib.util
import os
import re
import sys

from . import pipeline
from .signature import Parameters, SignatureError, parse


def load_kernel(path, name):
    """The kernel `name` of a Python file, and the file's names. The file is executed. SignatureError where
    it has no such kernel."""
    path = os.path.abspath(path)
    stem = os.path.splitext(os.path.basename(path))[0]
    folder = os.path.dirname(path)
    sys.path.insert(0, folder)
    try:
        spec = importlib.util.spec_from_file_location(stem, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules.setdefault(stem, module)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    if not hasattr(module, name):
        kernels = sorted(key for key, value in vars(module).items() if _jitted(value) is not None)
        raise SignatureError(f"{path} has no {name!r}; its kernels are {', '.join(kernels) or 'none'}")
    return getattr(module, name), vars(module)


def _jitted(kernel):
    """The JITFunction under autotuners and heuristics, or None."""
    import triton
    seen = kernel
    while seen is not None and not isinstance(seen, triton.JITFunction):
        seen = getattr(seen, "fn", None) if not isinstance(seen, type) else None
    return seen


def capability_of(target):
    """90 of "cuda:90", "90" or 90; ValueError for another target."""
    found = re.fullmatch(r"(?:cuda:|sm_?)?(\d{2,3})a?", str(target))
    if not found:
        raise ValueError(f"{target!r} is no target: cuda:80, cuda:90 and cuda:100 are")
    return int(found.group(1))


def emit(kernel, signature, constants=None, target="cuda:90", num_warps=4, num_stages=3, num_ctas=1, names=None):
    """The module's text before Triton's scheduling passes.

    kernel: a function under @triton.jit (autotuners and heuristics around it are passed by; their
    constants must be given). signature: as signature.py has it. constants: name -> value of tl.constexpr
    parameters. target: "cuda:90". names: what a constant may name (the kernel's file). Errors:
    SignatureError, and what Triton raises of a kernel that it cannot compile.
    """
    from triton.compiler.compiler import ASTSource
    capability = capability_of(target)
    function = _jitted(kernel)
    if function is None:
        raise SignatureError(f"{kernel!r} is no Triton kernel (a function under @triton.jit)")
    types, values, attributes = parse(signature, Parameters(function), constants, names)
    gpu, backend, options = pipeline.backend_for(capability, num_warps=num_warps, num_stages=num_stages,
                                                 num_ctas=num_ctas)
    context = pipeline.new_context(backend)
    source = ASTSource(fn=function, signature=types, constexprs=values, attrs=attributes)
    module = source.make_ir(gpu, options, backend.get_codegen_implementation(options), backend.get_module_map(),
                            context)
    module = backend.make_ttir(module, {}, options, capability)
    module, _ = pipeline.run_part(backend, module, options, capability, (pipeline.BEFORE,))
    return without_paths(str(module))


def without_paths(text):
    """Locations name files alone: no paths of this machine."""
    return re.sub(r'"/[^"]*/([^"/]+\.py)"', r'"\1"', text)
