"""What is built in."""
import ctypes

from ._library import Report, encoded, lib


def _report(function, *given):
    report = Report()
    return report._checked(getattr(lib, function)(*map(encoded, given),
                                                  ctypes.byref(report._handle)))


def kernels():
    """The built-in kernels: {name: what it is}."""
    return {entry["name"]: entry["doc"] for entry in _report("twill_list", "kernels").data}


def machines():
    """The built-in machines: {name: what it is}."""
    return {entry["name"]: entry["doc"] for entry in _report("twill_list", "machines").data}


def encodings():
    """What the option `encoding` takes: a dict an encoding, with its source and what is claimed."""
    return _report("twill_list", "encodings").data


def kernel_text(name, machine=None):
    """The file of a built-in kernel; of a name as fmha-forward that of the graph for a machine."""
    return _report("twill_builtin", "kernel", name, machine).text


def machine_text(name):
    """The file of a built-in machine."""
    return _report("twill_builtin", "machine", name, None).text


def fit_machine(measurements, base):
    """A measurements file's text on a machine (a name or a text): a machine with ranges."""
    return _report("twill_machine_fit", measurements, base).text
