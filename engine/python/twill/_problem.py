"""Problems: loops on a machine."""
import ctypes
import json
import os

from ._library import Handle, encoded, lib
from ._workload import workload


class Problem(Handle):
    """A loop on a machine, as a problem file has it. `data` is that file as plain data."""

    _free, _error, _json = "twill_problem_free", "twill_problem_error", "twill_problem_json"

    @classmethod
    def read(cls, path):
        """A problem file."""
        problem = cls()
        problem._checked(lib.twill_problem_read(os.fsencode(path), ctypes.byref(problem._handle)))
        return problem

    @classmethod
    def parse(cls, text):
        """The text of a problem file, or what json.loads makes of it."""
        if not isinstance(text, (str, bytes)):
            text = json.dumps(text)
        data = text if isinstance(text, bytes) else text.encode()
        problem = cls()
        problem._checked(lib.twill_problem_parse(data, len(data), ctypes.byref(problem._handle)))
        return problem

    @classmethod
    def lower(cls, kernel, machine, layout=None, normalize=0, reading=None):
        """A kernel on a machine, on one layout of its slots: by default the first that fits."""
        problem = cls()
        problem._checked(lib.twill_problem_lower_as(
            encoded(kernel), encoded(machine), encoded(layout), normalize, encoded(reading),
            ctypes.byref(problem._handle)))
        return problem

    @classmethod
    def of(cls, kernel, machine=None, **given):
        """A kernel or a TTGIR module (its text) with what-ifs; see twill.solve for the options."""
        problem, made = cls(), workload(kernel, machine, **given)
        problem._checked(lib.twill_workload_lower(ctypes.byref(made),
                                                  ctypes.byref(problem._handle)))
        return problem

    def pin(self, kind, op=None, value=None):
        """This problem with one more decision: kind is "slot", "not_slot", "cycle", "stage",
        "same_slot", "other_slot" (of an op), "least_ii" or "most_ii"."""
        pinned = Problem()
        return pinned._checked(lib.twill_problem_pin(
            self._handle, encoded(kind), encoded(op), encoded(value), ctypes.byref(pinned._handle)))

    def with_slack(self, cycles):
        """The problem whose schedules have that many cycles to spare at every edge."""
        slack = Problem()
        return slack._checked(lib.twill_problem_slack(self._handle, cycles,
                                                      ctypes.byref(slack._handle)))

    def __repr__(self):
        data = self.data
        return f"<twill.Problem {data['name']}: {len(data['ops'])} ops, {len(data['warps'])} slots>"
