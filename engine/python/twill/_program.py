"""Programs: what the slots of a schedule execute."""
import ctypes

from typing import NamedTuple

from ._library import Handle, Report, Time, encoded, lib
from ._problem import Problem
from ._solution import Solution, options_of, stoppable
from ._workload import workload


class Program(Handle):
    """Ordered ops, storages, events and waits of every slot, judged for every trip count.

    `text` is what a person reads, `data` the program file as plain data.
    """

    _free, _error, _json = "twill_program_free", "twill_program_error", "twill_program_json"

    def __init__(self):
        super().__init__()
        self.solution = None  # whose program it is, where that is known

    @classmethod
    def parse(cls, text):
        """The text of a program file. It is not judged."""
        data = text if isinstance(text, bytes) else text.encode()
        program = cls()
        return program._checked(lib.twill_program_parse(data, len(data),
                                                        ctypes.byref(program._handle)))

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

    def compare(self, solution):
        """Throws Refused where it is not a program of this schedule."""
        self._checked(lib.twill_program_compare(self._handle, solution.problem._handle,
                                                solution._handle))

    def time(self, **given):
        """What it takes in time beside I, as `twill run --time`. given: iterations, wait_cost,
        arrive_cost, runs, spread, load_spread, vary_ops, seed, no_contention."""
        return self._timed("twill_program_time", given).data

    def trace(self, order="arrival", **given):
        """What happens when, as text for chrome://tracing and Perfetto; its units are in the order
        of "arrival" or of the "schedule"."""
        return self._timed("twill_program_trace", given, encoded(order)).text

    def _timed(self, function, given, *more):
        if self.solution is None:
            raise TypeError("a program file has no costs: only what program() made can be timed")
        time = Time()
        lib.twill_time_init(ctypes.byref(time))
        for name, value in given.items():
            if name == "size" or name not in dict(Time._fields_):
                raise TypeError(f"unknown option {name!r}")
            setattr(time, name, value)
        report = Report()
        return report._checked(getattr(lib, function)(
            self._handle, self.solution.problem._handle, self.solution._handle, ctypes.byref(time),
            *more, ctypes.byref(report._handle)))

    def emit(self, to="gluon", for_trips=None, persistent=False):
        """The text of the kernel that the program is: "gluon", "cuda" (C++), "tilelang" or
        "ttgir-ws" (TTGIR with partitions; `for_trips`: for this number of iterations alone). persistent: of gluon
        and ttgir-ws, one program a multiprocessor, which does block after block. Throws Refused where there is none,
        with why."""
        report = Report()
        return report._checked(lib.twill_program_emit(
            self._handle, encoded(to + persistent * "-persistent"), -1 if for_trips is None else for_trips,
            ctypes.byref(report._handle))).text

    def __repr__(self):
        return f"<twill.Program of I = {self.ii}>"


def program(of, machine=None, *, turns=None, merge=False, set=None, more=None, pins=None,
            layout=None, tiles=None, store=None, module=None, loop=None, subtile=None,
            unroll=None, **options):
    """The judged program of a Solution, or of the best schedule of a kernel or a Triton module, as
    `twill program`; its `solution` is that schedule's. turns: "needed" or "all"; merge: several ops
    may arrive on one barrier. Throws Refused where there is none."""
    made = Program()
    if isinstance(of, Solution):
        made.solution = of
        return made._checked(lib.twill_program_derive(of.problem._handle, of._handle,
                                                      ctypes.byref(made._handle)))
    if machine is None and "\n" not in of:  # no module's text
        raise TypeError("a kernel needs a machine")
    asked = options_of(**options)
    asks = workload(of, machine, set=set, more=more, pins=pins, layout=layout, tiles=tiles,
                    store=store, module=module, loop=loop, subtile=subtile, unroll=unroll,
                    reading=options.get("reading"))
    problem = Problem()
    made.solution = Solution(problem)
    return made._checked(stoppable(asked, lambda: lib.twill_workload_program(
        ctypes.byref(asks), ctypes.byref(asked), encoded(turns), int(merge),
        ctypes.byref(problem._handle), ctypes.byref(made.solution._handle),
        ctypes.byref(made._handle))))


class Kernel(NamedTuple):
    """The text of a kernel, and the program that it is."""

    text: str
    program: Program


def emit(loop, machine=None, to="gluon", *, for_trips=None, persistent=False, set=None, layout=None, tiles=None,
         store=None, module=None, subtile=None, more=None, pins=None, unroll=None, **options):
    """The kernel of a loop's best schedule, as `twill emit`: others are tried where its program
    cannot be emitted. `loop` is a kernel or a Triton module's text; `to`, `for_trips` and
    `persistent` (not of a module) are those of Program.emit(), the rest is as in solve(). Throws Refused where there is none, with why."""
    asked = options_of(**options)
    made = workload(loop, machine, set=set, layout=layout, tiles=tiles, store=store, module=module,
                    subtile=subtile, more=more, pins=pins, unroll=unroll,
                    reading=options.get("reading"))
    program, report = Program(), Report()
    program._checked(stoppable(asked, lambda: lib.twill_workload_emit(
        ctypes.byref(made), ctypes.byref(asked), encoded(to + persistent * "-persistent"),
        -1 if for_trips is None else for_trips, ctypes.byref(program._handle),
        ctypes.byref(report._handle))))
    return Kernel(report.text, program)
