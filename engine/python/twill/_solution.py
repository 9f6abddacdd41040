"""Solutions: the main job."""
import ctypes
import os
import threading

from ._library import Callback, Handle, Options, Report, encoded, lib
from ._problem import Problem
from ._workload import workload

_STATUS = ("optimal", "feasible", "infeasible", "unknown")


class Solution(Handle):
    """An answer. `data` is the schedule file as plain data.

    status                  "optimal", "feasible" (stopped early), "infeasible" (proved) or "unknown"
    ii, length              initiation interval and length in cycles, None without a schedule
    ii_lower_bound, length_lower_bound   proved
    ops                     a dict an op: id, start (cycle), stage, row, slot
    problem                 what it is a solution of: with a kernel, that of the layout chosen
    """

    _free, _error, _json = "twill_solution_free", "twill_solution_error", "twill_solution_json"

    def __init__(self, problem):
        super().__init__()
        self.problem = problem
        self._workload = None  # what solve() was given

    @classmethod
    def parse(cls, problem, text):
        """A schedule file's text, for the problem given."""
        data = text if isinstance(text, bytes) else text.encode()
        solution = cls(problem)
        solution._checked(lib.twill_solution_parse(problem._handle, data, len(data),
                                                   ctypes.byref(solution._handle)))
        return solution

    @property
    def status(self):
        return _STATUS[lib.twill_solution_status(self._handle)]

    @property
    def ii(self):
        return self.data.get("initiation_interval")

    @property
    def length(self):
        return self.data.get("length")

    @property
    def ii_lower_bound(self):
        return self.data.get("lower_bound", {}).get("initiation_interval", 0)

    @property
    def length_lower_bound(self):
        return self.data.get("lower_bound", {}).get("length", 0)

    @property
    def ops(self):
        data = self.data
        ii = data.get("initiation_interval")
        return [] if ii is None else [
            {"id": op["id"], "start": op["start"], "stage": op["start"] // ii,
             "row": op["start"] % ii, "slot": op["warp"]} for op in data["ops"]]

    def certify(self, directory):
        """Writes its certificate, for check(). It must come from solve(..., evidence=True)."""
        self._checked(lib.twill_certificate_write(self.problem._handle, self._handle,
                                                  os.fsencode(directory)))

    def evaluate(self):
        """What every unit, slot, memory and channel has left, what holds I up, rules broken."""
        return self._reported("twill_evaluate")

    def sensitivity(self, **options):
        """Of every op, the range of its cycles in which I stays the smallest."""
        asked = options_of(**options)
        return stoppable(asked, lambda: self._reported("twill_sensitivity", ctypes.byref(asked)))

    def diff(self, other):
        """What another schedule of the same problem does differently."""
        return self._reported("twill_diff", other._handle)

    def diff_page(self, other, name="this", other_name="other"):
        """The same as a page (HTML), with both timelines to one scale."""
        return self._report("twill_diff_page", other._handle, encoded(name), encoded(other_name)).text

    def annotated(self):
        """Of a Triton module solved with for_triton=True: its text with this schedule."""
        return self._emitted("ttgir")

    def pipelined(self):
        """Of a Triton module: the software-pipelined loop, to be read."""
        return self._emitted("pipelined")

    def _report(self, function, *more):
        report = Report()
        return report._checked(getattr(lib, function)(self.problem._handle, self._handle, *more,
                                                      ctypes.byref(report._handle)))

    def _reported(self, function, *more):
        return self._report(function, *more).data

    def _emitted(self, kind):
        if self._workload is None:
            raise TypeError("only solve() of a Triton module has a module to write")
        report = Report()
        report._checked(lib.twill_ttgir_emit(
            ctypes.byref(self._workload), self.problem._handle, self._handle, encoded(kind),
            ctypes.byref(report._handle)))
        return report.text

    @property
    def made_by(self):
        """Machine, layout, settings, options and version that it was made of; None where only a
        problem was solved."""
        return self.data.get("made_by")

    def picture(self, format="text"):
        """What `twill solve --format` prints: text, html, svg, dot or trace."""
        text = ctypes.c_char_p()
        self._checked(lib.twill_solution_picture(self.problem._handle, self._handle,
                                                 encoded(format), ctypes.byref(text)))
        return text.value.decode()

    def text(self):
        return self.picture("text")

    def html(self):
        """A page of its own."""
        return self.picture("html")

    def _repr_html_(self):
        # A frame of its own: the page has styles and a script.
        page = self.html().replace("&", "&amp;").replace('"', "&quot;")
        return f'<iframe srcdoc="{page}" style="width:100%;height:640px;border:0"></iframe>'

    def __repr__(self):
        found = "" if self.ii is None else f", I = {self.ii}, L = {self.length}"
        return f"<twill.Solution {self.status}{found}>"


def options_of(progress=None, goals=None, handover=True, **given):
    """twill_options; unknown names are refused."""
    options = Options()
    lib.twill_options_init(ctypes.byref(options))
    names = {name: kind for name, kind in Options._fields_}
    for name, value in given.items():
        if name not in names or name in ("size", "cancel", "user", "no_handover"):
            raise TypeError(f"unknown option {name!r}")
        if value is not None:
            setattr(options, name, encoded(value) if names[name] is ctypes.c_char_p else value)
    if goals:
        options.goals = encoded(goals if isinstance(goals, str) else ",".join(goals))
    options.no_handover = 0 if handover else 1
    if progress is not None:
        def told(snapshot, _):
            values = {name: getattr(snapshot.contents, name)
                      for name, _ in type(snapshot.contents)._fields_ if name != "size"}
            values["phase"] = values["phase"].decode() if values["phase"] else ""
            progress(values)
        options.progress = Callback(told)
    return options


def stoppable(options, call):
    """Runs `call` on a thread, so that Ctrl-C stops the search: its best so far is the answer."""
    stop = ctypes.c_int(0)
    options.cancel = ctypes.pointer(stop)
    results, done = [], threading.Event()

    def work():
        try:
            results.append((call(), None))
        except BaseException as error:
            results.append((None, error))
        finally:
            done.set()

    threading.Thread(target=work, daemon=True).start()
    # (An interrupted Thread.join() may take the thread for ended: Python issue 90882.)
    while not done.is_set():
        try:
            done.wait(0.1)
        except KeyboardInterrupt:
            stop.value = 1
    result, error = results[0]
    if error is not None:
        raise error
    return result


# Names that solve() takes and a workload too; what else it is given is of the search.
_OF_WORKLOADS = ("layout", "set", "more", "pins", "holds", "rings", "profile", "normalize_relative",
                 "store", "module", "loop", "subtile", "chunk_columns", "trips",
                 "resident_registers", "for_triton", "unroll")


def solve(loop, machine=None, *, normalize=0, choose_registers=False, tiles=None, progress=None,
          goals=None, handover=True, **options):
    """The provably best schedule of a Problem, or of a kernel or a Triton module on a machine over
    all its layouts.

    machine            a built-in name or a machine file's text, with a kernel; a module (its TTGIR
                       text) names its own
    normalize          the budget of the paper's cost normalisation, 0 = raw cycles (kernels)
    choose_registers   also the best register split (kernels, modules)
    set                what-ifs about the machine: {"units.SFU": 2}
    more               one more slot like each of these, on top of the layout: ["wg0"]
    pins               decisions, as Problem.pin takes them: [("slot", "s0_qk", "wg0")]
    holds, rings       "on" or "off", "charged" or "live": parts of the reading
    layout             only this one
    tiles              "" or "rows=128": also the best values of the kernel's parameters
    store              results that an op of its own stores to shared memory (kernels), as
                       "s0_trunc_p,s1_trunc_p"
    unroll             so many iterations of the loop in one: op "qk" is "i0_qk", "i1_qk"
    module, loop, subtile, chunk_columns, trips, resident_registers, profile
                       of a Triton module, as in twill.h; subtile=0: the best of 1, 2 and 4
    for_triton         True: only schedules that Triton's passes take, for Solution.annotated()
    goals              after I and L, as ["handovers", "registers"]
    handover           False: register results may not cross slots
    progress           called with a dict now and then
    evidence           True: keep what Solution.certify() needs
    stages, ii, encoding, threads, seed, time_limit, conflict_limit, memory_limit, engine, reading,
    iterations, length_slack
                       as in twill.h

    Ctrl-C stops the search; the best so far is returned, as "feasible" or "unknown".
    """
    given = {name: options.pop(name) for name in _OF_WORKLOADS if name in options}
    asked = options_of(progress, goals, handover, **options)
    if isinstance(loop, Problem):
        if machine is not None or given:
            raise TypeError("a problem is on its machine already")
        solution = Solution(loop)
        return solution._checked(stoppable(asked, lambda: lib.twill_solve(
            loop._handle, ctypes.byref(asked), ctypes.byref(solution._handle))))
    problem = Problem()
    solution = Solution(problem)
    if tiles is not None:
        if given:
            raise TypeError(f"not with tiles: {', '.join(given)}")
        if machine is None:
            raise TypeError("a kernel needs a machine")

        def call():
            return lib.twill_solve_tiles(
                encoded(loop), encoded(machine), encoded(tiles), int(choose_registers),
                ctypes.byref(asked), ctypes.byref(problem._handle), ctypes.byref(solution._handle))
    else:
        made, asked = _workload_and_options(loop, machine, {
            "normalize": normalize, "choose_registers": choose_registers, "progress": progress,
            "goals": goals, "handover": handover, **given, **options})
        solution._workload = made

        def call():
            return lib.twill_workload_solve(
                ctypes.byref(made), ctypes.byref(asked), ctypes.byref(problem._handle),
                ctypes.byref(solution._handle))
    return _both(problem, solution, stoppable(asked, call))


def nest(loop, machine=None, *, inner=None, set=None, trips=None, layout=None, module=None,
         flat=False, more=None, pins=None, **options):
    """A loop with a loop inside it, as `twill nest`: the outer solution and the inner one.
    flat: the inner loop is unrolled instead; then there is one solution, for both.

    inner   the ops of the inner loop, ["a", "b"]; a Triton module says itself which they are
    trips   iterations of a run of it; a module's constant count comes first
    """
    asked = options_of(**options)
    made = workload(loop, machine, set=set, more=more, pins=pins, trips=trips, layout=layout,
                    module=module, reading=options.get("reading"))
    names = None if inner is None else encoded(",".join(inner))
    problem = Problem()
    outer, within = Solution(problem), Solution(None)
    if flat:
        return _both(problem, outer, stoppable(asked, lambda: lib.twill_workload_nest_flat(
            ctypes.byref(made), names, ctypes.byref(asked), ctypes.byref(problem._handle),
            ctypes.byref(outer._handle))))

    def call():
        return lib.twill_workload_nest(
            ctypes.byref(made), names, ctypes.byref(asked), ctypes.byref(problem._handle),
            ctypes.byref(outer._handle), ctypes.byref(within._handle))
    return _both(problem, outer, stoppable(asked, call)), within


def _both(problem, solution, result):
    """What went wrong is told by the first handle that knows."""
    if result != 0 and not solution._handle.value:
        problem._checked(result)
    return solution._checked(result)


def explain(loop, ii=0, certificate=None, *, machine=None, **options):
    """Why no schedule has the interval `ii` (0 = the one below the best), and what would help.
    Of a Problem: one explanation; Refused where there is nothing to explain. Of a kernel or a
    Triton module, as solve() takes them: a list, one a layout; with choose_registers of the best
    register split. certificate: a new folder for proofs, each for check()."""
    folder, report = None if certificate is None else os.fsencode(certificate), Report()
    if isinstance(loop, Problem):
        if machine is not None:
            raise TypeError("a problem is on its machine already")
        asked = options_of(**options)
        if folder is None:
            def call():
                return lib.twill_explain(loop._handle, ii, ctypes.byref(asked),
                                         ctypes.byref(report._handle))
        else:
            def call():
                return lib.twill_explain_certify(loop._handle, ii, ctypes.byref(asked), folder,
                                                 ctypes.byref(report._handle))
        return report._checked(stoppable(asked, call)).data
    made, asked = _workload_and_options(loop, machine, options)
    return report._checked(stoppable(asked, lambda: lib.twill_workload_explain(
        ctypes.byref(made), ii, ctypes.byref(asked), folder, ctypes.byref(report._handle)))).data


def ranges(loop, machine=None, **options):
    """On a machine that gives costs as ranges (fit_machine()): the best schedule at their worst
    ends, and what other costs mean for it: is its I the best worst case ("worst_case"), what do
    nominal and best costs give, which range matters most ("ranges"). Arguments as solve()."""
    made, asked = _workload_and_options(loop, machine, options)
    problem, report = Problem(), Report()
    solution = Solution(problem)
    solution._workload = made
    report._checked(stoppable(asked, lambda: lib.twill_workload_ranges(
        ctypes.byref(made), ctypes.byref(asked), ctypes.byref(problem._handle),
        ctypes.byref(solution._handle), ctypes.byref(report._handle))))
    return solution, report.data


def _workload_and_options(loop, machine, options):
    """What solve() makes of them."""
    if machine is None and "\n" not in loop:  # no module's text
        raise TypeError("a kernel needs a machine")
    given = {name: options.pop(name) for name in ("normalize", "choose_registers", "tiles",
                                                  *_OF_WORKLOADS) if name in options}
    made = workload(loop, machine, reading=options.get("reading"), **given)
    return made, options_of(**options)


def verify(problem, solution):
    """Replays the schedule; throws Refused with the broken rule and its arithmetic."""
    solution._checked(lib.twill_verify(problem._handle, solution._handle))


def check(directory):
    """Checks a certificate without a solver. What is proved and what was checked, a line each;
    throws Refused with the file, the place and the rule."""
    report = Report()
    report._checked(lib.twill_certificate_check(os.fsencode(directory),
                                                ctypes.byref(report._handle)))
    return report.text.splitlines()
