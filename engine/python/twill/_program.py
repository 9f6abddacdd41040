"""Programs: what the slots of a schedule execute."""
import ctypes

from typing import NamedTuple

from ._library import Handle, Report, encoded, lib
from ._solution import Solution, options_of, stoppable
from ._workload import workload


class Program(Handle):
    """Ordered ops, storages, events and waits of every slot, judged for every trip count.

    `text` is what a person reads, `data` the program file as plain data.
    """

    _free, _error, _json = "twill_program_free", "twill_program_error", "twill_program_json"

    @property
    def text(self):
        return lib.twill_program_text(self._handle).decode()

    @property
    def ii(self):
        return lib.twill_program_ii(self._handle)

    @property
    def executable(self):
        """Does it say what its ops compute?"""
        return bool(lib.twill_program_executable(self._handle))

    def judge(self):
        """Throws Refused where some trip count goes wrong."""
        self._checked(lib.twill_program_judge(self._handle))

    def run(self, iterations, seed=0):
        """Executes it with numbers beside double precision; the largest share of the types' error
        bound. Throws Refused where it is wrong, or hangs."""
        share = ctypes.c_double()
        self._checked(lib.twill_program_run(self._handle, iterations, seed, ctypes.byref(share)))
        return share.value

    def emit(self, to="gluon", for_trips=None):
        """The text of the kernel that the program is: "gluon", "cuda" (C++), "tilelang" or
        "ttgir-ws" (TTGIR with partitions; `for_trips`: for this number of iterations alone). Throws Refused where
        there is none, with why."""
        report = Report()
        return report._checked(lib.twill_program_emit(
            self._handle, encoded(to), -1 if for_trips is None else for_trips,
            ctypes.byref(report._handle))).text

    def __repr__(self):
        return f"<twill.Program of I = {self.ii}>"


def program(of, machine=None, **options):
    """The judged program of a Solution, or of a kernel on a machine. Throws Refused where there is
    none."""
    made = Program()
    if isinstance(of, Solution):
        return made._checked(lib.twill_program_derive(of.problem._handle, of._handle,
                                                      ctypes.byref(made._handle)))
    if machine is None:
        raise TypeError("a kernel needs a machine")
    asked = options_of(**options)
    return made._checked(stoppable(asked, lambda: lib.twill_program_kernel(
        encoded(of), encoded(machine), ctypes.byref(asked), ctypes.byref(made._handle))))


class Kernel(NamedTuple):
    """The text of a kernel, and the program that it is."""

    text: str
    program: Program


def emit(loop, machine=None, to="gluon", *, for_trips=None, set=None, layout=None, tiles=None,
         module=None, subtile=None, **options):
    """The kernel of a loop's best schedule, as `twill emit`: others are tried where its program
    cannot be emitted. `loop` is a kernel or a Triton module's text; `to` and `for_trips` are those
    of Program.emit(), the rest is as in solve(). Throws Refused where there is none, with why."""
    asked = options_of(**options)
    made = workload(loop, machine, set=set, layout=layout, tiles=tiles, module=module,
                    subtile=subtile, reading=options.get("reading"))
    program, report = Program(), Report()
    program._checked(stoppable(asked, lambda: lib.twill_workload_emit(
        ctypes.byref(made), ctypes.byref(asked), encoded(to),
        -1 if for_trips is None else for_trips, ctypes.byref(program._handle),
        ctypes.byref(report._handle))))
    return Kernel(report.text, program)
