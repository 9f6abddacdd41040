"""The list of kernels and how each is compiled. A kernel file says @case(...) above its @triton.jit."""

import dataclasses
import importlib

# Families in the order in which they are run; each is a file beside this one.
FAMILIES = ("attention", "attention_backward", "decoding", "recurrent", "products", "quantised", "experts",
            "convolution", "rows")

AMPERE, HOPPER, BLACKWELL = 80, 90, 100
ALL = (AMPERE, HOPPER, BLACKWELL)
WITH_DESCRIPTORS = (HOPPER, BLACKWELL)  # tensor descriptors are bulk copies from cuda:90 on


@dataclasses.dataclass
class Case:
    """One kernel with its constants for some targets. `signature` is as twill_triton.signature has it."""
    name: str
    kernel: object
    signature: str
    constants: dict
    targets: tuple
    warps: int
    stages: int
    family: str


CASES = []


def case(signature, targets=ALL, warps=4, stages=3, suffix="", **constants):
    """Adds the kernel below it to the list; more than one may stand above a kernel, with suffixes."""
    def add(kernel):
        name = kernel.fn.__name__
        CASES.append(Case(name + (f"-{suffix}" if suffix else ""), kernel, signature, constants, targets, warps,
                          stages, kernel.fn.__module__.rsplit(".", 1)[-1]))
        return kernel
    return add


def every_case():
    """All cases, family by family, in the order of the text."""
    found = []
    for family in FAMILIES:
        CASES.clear()
        importlib.import_module(family)
        # Decorators of one kernel are applied from the lowest up; kernels in the order of the file.
        found += CASES
    return found
