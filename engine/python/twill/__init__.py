"""Provably best software pipelines and warp specialisations for GPU loops.

    solution = twill.solve("hopper-fwd-sub2", machine="hopper")
    solution.status, solution.ii, solution.length, solution.ops

Kernels and machines are built-in names, or texts of files; so are Triton modules. What is wrong
with an input is an InputError, with file, place, value and rule. See twill.h for every option.
"""
from ._catalogue import encodings, fit_machine, kernel_text, kernels, machine_text, machines
from ._library import InputError, InternalError, Refused, version
from ._problem import Problem
from ._program import Kernel, Program, emit, program
from ._solution import Solution, check, explain, nest, ranges, solve, verify
from ._workload import costs, loops

__all__ = ["InputError", "InternalError", "Kernel", "Problem", "Program", "Refused", "Solution",
           "check", "costs", "emit", "encodings", "explain", "fit_machine", "kernel_text", "kernels",
           "loops", "machine_text", "machines", "nest", "program", "ranges", "solve", "verify",
           "version"]
__version__ = version()
