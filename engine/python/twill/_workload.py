"""Workloads: a kernel or a Triton module on a machine, with what-ifs."""
import ctypes
import json

from ._library import Report, Workload, encoded, lib

_TEXTS = ("layout", "reading", "tiles", "store", "holds", "rings", "profile")
_NUMBERS = ("normalize", "choose_registers", "module", "loop", "subtile", "chunk_columns", "trips",
            "resident_registers", "for_triton", "normalize_relative", "unroll")
# Names of which each is an argument of workload().
NAMES = ("set", "more", "pins", *_TEXTS, *_NUMBERS)


def workload(input, machine=None, set=None, more=None, pins=None, **given):
    """twill_workload; unknown names are refused.

    set   what-ifs: {"units.SFU": 2, "layouts.2x4.slots.wg0.registers": 200}
    more  one more slot like each of these: ["wg0"]
    pins  decisions, as Problem.pin takes them: [("slot", "s0_qk", "wg0"), ("most_ii", None, 2100)]
    """
    made = Workload()
    lib.twill_workload_init(ctypes.byref(made))
    made.input, made.machine = encoded(input), encoded(machine)
    lines = [f"{path}={value if isinstance(value, str) else json.dumps(value)}"
             for path, value in (set or {}).items()]
    if any("\n" in line for line in lines):
        raise TypeError("a what-if has no line breaks")
    made.set = encoded("\n".join(lines)) if lines else None
    made.more = encoded(",".join([more] if isinstance(more, str) else more)) if more else None
    decisions = [" ".join(str(part) for part in pin if part is not None) for pin in pins or ()]
    if any("\n" in line for line in decisions):
        raise TypeError("a pin has no line breaks")
    made.pins = encoded("\n".join(decisions)) if decisions else None
    for name, value in given.items():
        if name not in _TEXTS + _NUMBERS:
            raise TypeError(f"unknown option {name!r}")
        if value is not None:
            setattr(made, name, encoded(value) if name in _TEXTS else int(value))
    return made


def costs(input, machine=None, **given):
    """How each cost of a kernel or module came about: a line an op."""
    report, made = Report(), workload(input, machine, **given)
    report._checked(lib.twill_workload_costs(ctypes.byref(made), ctypes.byref(report._handle)))
    return report.text


def loops(module):
    """The loops of a TTGIR module's text, a line each; the one that solve() takes is marked."""
    report, data = Report(), encoded(module)
    report._checked(lib.twill_ttgir_loops(data, len(data), ctypes.byref(report._handle)))
    return report.text
