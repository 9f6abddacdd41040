"""Kernels of other people's libraries, from checkouts of them: their files are executed with stand-ins for what they import beside
Triton (PyTorch and the rest of the library), so that nothing but Triton and numpy has to be installed. No code of theirs is kept."""
import collections
import importlib
import importlib.machinery
import importlib.util
import os
import re
import sys
import types
from unittest.mock import MagicMock

# What the folder of a checkout is called, as its repository is, and where it is from.
LIBRARIES = {"flash-linear-attention": "fla-org", "mamba": "state-spaces", "lightllm": "ModelTC", "Liger-Kernel": "linkedin",
             "tritonbench": "meta-pytorch", "own": "bench/strangers"}
# Imported by their files and not needed by their kernels.
ABSENT = """torch torch.nn torch.nn.functional torch.distributed torch.autograd torch.utils torch.utils.checkpoint torch.cuda torch.amp
    torch.distributed.tensor torch.distributed.tensor.parallel torch.distributed.device_mesh torch.distributed.tensor.placement_types
    einops transformers frozendict typing_extensions lightllm lightllm.utils lightllm.utils.device_utils lightllm.utils.log_utils
    lightllm.utils.envs_utils lightllm.utils.vllm_utils lightllm.utils.sgl_utils lightllm.common lightllm.common.kernel_config
    lightllm.common.triton_utils lightllm.common.triton_utils.autotuner mamba_ssm.utils.torch liger_kernel liger_kernel.utils
    liger_kernel.ops liger_kernel.ops.utils liger_kernel.ops.softmax nowhere""".split()


class Absent(types.ModuleType):
    """A module of which every name is something."""

    def __init__(self, name, folder=None, **names):
        super().__init__(name)
        self.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        self.__path__ = [folder] if folder else []
        self.__dict__.update(names)
        sys.modules[name] = self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = MagicMock(name=name)
        setattr(self, name, made)
        return made


class Nothing:
    """A base class: whatever it is given."""

    def __init_subclass__(cls, **_):
        cls.apply = staticmethod(lambda *_: None)


class Configuration:
    """Of an autotuner: whatever it is given, each constant is 64."""

    def __init__(self, *_, **__):
        self.kwargs, self.num_warps, self.num_stages = collections.defaultdict(lambda: 64), 4, 3


def same(*given, **_):
    """A decorator that changes nothing, with arguments or without."""
    return given[0] if given and callable(given[0]) else lambda function: function


def prepare(folder):
    """Once, before kernels are loaded."""
    import triton
    for name in ABSENT:
        Absent(name)
    sys.modules["torch.nn"].Module = sys.modules["torch"].nn.Module = Nothing
    sys.modules["torch"].autograd = types.SimpleNamespace(Function=Nothing)
    Absent("packaging", version=types.SimpleNamespace(parse=lambda text: tuple(int(x) for x in text.split(".")[:2])))
    triton.autotune = lambda *_, **__: lambda function: function
    from triton.runtime.interpreter import InterpretedFunction
    triton.Config, triton.JITFunction.configs, InterpretedFunction.configs = Configuration, [Configuration()], [Configuration()]
    fla = os.path.join(folder, "flash-linear-attention")
    if os.path.isdir(fla):
        for name in ("fla", "fla.ops", "fla.modules"):
            Absent(name, os.path.join(fla, *name.split(".")))
        for part in os.listdir(os.path.join(fla, "fla", "ops")):
            if os.path.isdir(os.path.join(fla, "fla", "ops", part)):
                Absent("fla.ops." + part, os.path.join(fla, "fla", "ops", part))
        flags = {name: False for name in ("IS_NVIDIA_BLACKWELL", "IS_AMD", "IS_INTEL", "IS_NPU", "IS_TMA_SUPPORTED", "USE_CUDA_GRAPH")}
        Absent("fla.utils", **flags, IS_NVIDIA=True, IS_NVIDIA_HOPPER=True, IS_GATHER_SUPPORTED=True, autotune_cache_kwargs={},
               check_shared_mem=lambda *_, **__: True, input_guard=same, contiguous=same, autocast_custom_fwd=same, autocast_custom_bwd=same)
        Absent("fla.ops.backends", dispatch=same)
        Absent("fla.ops.utils.index")
        Absent("fla.ops.utils.cache", fla_cache_autotune=lambda **_: lambda function: function)
    mamba = os.path.join(folder, "mamba")
    for name in ("mamba_ssm", "mamba_ssm.utils", "mamba_ssm.ops", "mamba_ssm.ops.triton"):
        Absent(name, os.path.join(mamba, *name.split(".")))
    Absent("mamba_ssm.utils.determinism", autotune_configs=lambda configs: configs)


def load(folder, library, path):
    """The module of a file of a library. What it imports of its own package, and what stands behind its kernels, is left out."""
    if library == "flash-linear-attention":
        return importlib.import_module(path.removesuffix(".py").replace("/", "."))
    with open(os.path.join(folder, library, path), encoding="utf-8") as file:
        text = file.read()
    text = re.sub(r"^(\s*)from (?:\.[\w.]*|torch\._inductor[\w.]*) import", r"\1from nowhere import", text, flags=re.M)
    text = text.split("\nclass _attention_opt")[0]
    name = "stranger_" + re.sub(r"\W", "_", path)
    module = types.ModuleType(name)
    module.__file__ = os.path.join(folder, library, path)
    sys.modules[name] = module
    # (Triton reads the source of a kernel again.)
    import linecache
    linecache.cache[name + ".py"] = (len(text), None, text.splitlines(True), name + ".py")
    exec(compile(text, name + ".py", "exec"), module.__dict__)
    return module


def kernel_of(module, name, kind):
    """The function under autotuners and heuristics."""
    found = getattr(module, name)
    while not isinstance(found, kind):
        found = found.fn
    return found
