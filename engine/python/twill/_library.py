"""The shared library: its functions, its options, its results as exceptions."""
import ctypes
import json
import os

_FOLDER = os.path.dirname(os.path.abspath(__file__))


class InputError(ValueError):
    """Malformed input or options: file, place, value and rule."""


class Refused(Exception):
    """There is no program, or a schedule or program breaks a rule; the text says which."""


class InternalError(RuntimeError):
    """A defect of the library."""


class Progress(ctypes.Structure):
    """twill_progress: a snapshot of a search; 0 = not known yet."""

    _fields_ = [("size", ctypes.c_size_t), ("phase", ctypes.c_char_p)] + [
        (name, ctypes.c_int64)
        for name in ("ii_low", "ii_high", "length_low", "length_high", "variables", "clauses",
                     "conflicts")
    ] + [("seconds", ctypes.c_double)]


Callback = ctypes.CFUNCTYPE(None, ctypes.POINTER(Progress), ctypes.c_void_p)


class Options(ctypes.Structure):
    """twill_options, in the order of twill.h."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("stages", ctypes.c_char_p),
        ("ii", ctypes.c_int64),
        ("encoding", ctypes.c_char_p),
        ("threads", ctypes.c_int32),
        ("seed", ctypes.c_uint64),
        ("time_limit", ctypes.c_double),
        ("conflict_limit", ctypes.c_int64),
        ("memory_limit", ctypes.c_int64),
        ("cancel", ctypes.POINTER(ctypes.c_int)),
        ("progress", Callback),
        ("user", ctypes.c_void_p),
        ("engine", ctypes.c_char_p),
        ("goals", ctypes.c_char_p),
        ("no_handover", ctypes.c_int32),
        ("reading", ctypes.c_char_p),
        ("iterations", ctypes.c_int64),
        ("evidence", ctypes.c_int32),
        ("length_slack", ctypes.c_int64),
    ]


class Workload(ctypes.Structure):
    """twill_workload, in the order of twill.h."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("input", ctypes.c_char_p),
        ("machine", ctypes.c_char_p),
        ("layout", ctypes.c_char_p),
        ("normalize", ctypes.c_int32),
        ("choose_registers", ctypes.c_int32),
        ("reading", ctypes.c_char_p),
        ("set", ctypes.c_char_p),
        ("tiles", ctypes.c_char_p),
    ] + [(name, ctypes.c_int32)
         for name in ("module", "loop", "subtile", "chunk_columns", "trips", "resident_registers",
                      "for_triton")
    ] + [(name, ctypes.c_char_p) for name in ("more", "pins", "holds", "rings", "profile")
    ] + [("normalize_relative", ctypes.c_int32), ("store", ctypes.c_char_p), ("unroll", ctypes.c_int32)]


class Time(ctypes.Structure):
    """twill_time, in the order of twill.h."""

    _fields_ = [("size", ctypes.c_size_t), ("iterations", ctypes.c_int32),
                ("wait_cost", ctypes.c_int64), ("arrive_cost", ctypes.c_int64),
                ("runs", ctypes.c_int32), ("spread", ctypes.c_int32),
                ("load_spread", ctypes.c_int32), ("vary_ops", ctypes.c_int32),
                ("seed", ctypes.c_uint64), ("no_contention", ctypes.c_int32)]


def _load():
    place = os.environ.get("TWILL_LIBRARY") or os.path.join(_FOLDER, "libtwill.so")
    return ctypes.CDLL(place)


lib = _load()

_HANDLE = ctypes.c_void_p
_OUT = ctypes.POINTER(ctypes.c_void_p)
_TEXT = ctypes.c_char_p
_WORKLOAD = ctypes.POINTER(Workload)
_RESULTS = {  # functions whose result is a twill_result, with what they take
    "twill_problem_parse": [_TEXT, ctypes.c_size_t, _OUT],
    "twill_problem_read": [_TEXT, _OUT],
    "twill_problem_lower_as": [_TEXT, _TEXT, _TEXT, ctypes.c_int, _TEXT, _OUT],
    "twill_solve": [_HANDLE, ctypes.POINTER(Options), _OUT],
    "twill_solve_kernel": [_TEXT, _TEXT, ctypes.c_int, ctypes.c_int, ctypes.POINTER(Options), _OUT,
                           _OUT],
    "twill_solve_tiles": [_TEXT, _TEXT, _TEXT, ctypes.c_int, ctypes.POINTER(Options), _OUT, _OUT],
    "twill_workload_lower": [_WORKLOAD, _OUT],
    "twill_workload_solve": [_WORKLOAD, ctypes.POINTER(Options), _OUT, _OUT],
    "twill_workload_costs": [_WORKLOAD, _OUT],
    "twill_workload_nest": [_WORKLOAD, _TEXT, ctypes.POINTER(Options), _OUT, _OUT, _OUT],
    "twill_workload_nest_flat": [_WORKLOAD, _TEXT, ctypes.POINTER(Options), _OUT, _OUT],
    "twill_workload_program": [_WORKLOAD, ctypes.POINTER(Options), _TEXT, ctypes.c_int, _OUT, _OUT,
                               _OUT],
    "twill_list": [_TEXT, _OUT],
    "twill_builtin": [_TEXT, _TEXT, _TEXT, _OUT],
    "twill_machine_fit": [_TEXT, _TEXT, _OUT],
    "twill_problem_slack": [_HANDLE, ctypes.c_int64, _OUT],
    "twill_explain_certify": [_HANDLE, ctypes.c_int64, ctypes.POINTER(Options), _TEXT, _OUT],
    "twill_workload_explain": [_WORKLOAD, ctypes.c_int64, ctypes.POINTER(Options), _TEXT, _OUT],
    "twill_workload_ranges": [_WORKLOAD, ctypes.POINTER(Options), _OUT, _OUT, _OUT],
    "twill_diff_page": [_HANDLE, _HANDLE, _HANDLE, _TEXT, _TEXT, _OUT],
    "twill_program_parse": [_TEXT, ctypes.c_size_t, _OUT],
    "twill_program_compare": [_HANDLE, _HANDLE, _HANDLE],
    "twill_program_time": [_HANDLE, _HANDLE, _HANDLE, ctypes.POINTER(Time), _OUT],
    "twill_program_trace": [_HANDLE, _HANDLE, _HANDLE, ctypes.POINTER(Time), _TEXT, _OUT],
    "twill_ttgir_loops": [_TEXT, ctypes.c_size_t, _OUT],
    "twill_ttgir_emit": [_WORKLOAD, _HANDLE, _HANDLE, _TEXT, _OUT],
    "twill_problem_pin": [_HANDLE, _TEXT, _TEXT, _TEXT, _OUT],
    "twill_explain": [_HANDLE, ctypes.c_int64, ctypes.POINTER(Options), _OUT],
    "twill_evaluate": [_HANDLE, _HANDLE, _OUT],
    "twill_sensitivity": [_HANDLE, _HANDLE, ctypes.POINTER(Options), _OUT],
    "twill_diff": [_HANDLE, _HANDLE, _HANDLE, _OUT],
    "twill_solution_parse": [_HANDLE, _TEXT, ctypes.c_size_t, _OUT],
    "twill_solution_picture": [_HANDLE, _HANDLE, _TEXT, ctypes.POINTER(_TEXT)],
    "twill_verify": [_HANDLE, _HANDLE],
    "twill_certificate_write": [_HANDLE, _HANDLE, _TEXT],
    "twill_certificate_check": [_TEXT, _OUT],
    "twill_program_derive": [_HANDLE, _HANDLE, _OUT],
    "twill_program_kernel": [_TEXT, _TEXT, ctypes.POINTER(Options), _OUT],
    "twill_program_judge": [_HANDLE],
    "twill_program_emit": [_HANDLE, _TEXT, ctypes.c_int, _OUT],
    "twill_workload_emit": [_WORKLOAD, ctypes.POINTER(Options), _TEXT, ctypes.c_int, _OUT, _OUT],
    "twill_program_run": [_HANDLE, ctypes.c_int, ctypes.c_uint64, ctypes.POINTER(ctypes.c_double)],
}
_VALUES = {  # the others
    "twill_version": (_TEXT, []),
    "twill_options_init": (None, [ctypes.POINTER(Options)]),
    "twill_workload_init": (None, [_WORKLOAD]),
    "twill_time_init": (None, [ctypes.POINTER(Time)]),
    "twill_problem_json": (_TEXT, [_HANDLE]),
    "twill_problem_error": (_TEXT, [_HANDLE]),
    "twill_problem_free": (None, [_HANDLE]),
    "twill_solution_status": (ctypes.c_int, [_HANDLE]),
    "twill_solution_json": (_TEXT, [_HANDLE]),
    "twill_solution_error": (_TEXT, [_HANDLE]),
    "twill_solution_free": (None, [_HANDLE]),
    "twill_report_text": (_TEXT, [_HANDLE]),
    "twill_report_error": (_TEXT, [_HANDLE]),
    "twill_report_free": (None, [_HANDLE]),
    "twill_program_ii": (ctypes.c_int64, [_HANDLE]),
    "twill_program_executable": (ctypes.c_int, [_HANDLE]),
    "twill_program_json": (_TEXT, [_HANDLE]),
    "twill_program_text": (_TEXT, [_HANDLE]),
    "twill_program_error": (_TEXT, [_HANDLE]),
    "twill_program_free": (None, [_HANDLE]),
}
for _name, _arguments in _RESULTS.items():
    getattr(lib, _name).argtypes = _arguments
    getattr(lib, _name).restype = ctypes.c_int
for _name, (_result, _arguments) in _VALUES.items():
    getattr(lib, _name).argtypes = _arguments
    getattr(lib, _name).restype = _result


def version():
    """The library's version, as "1.0.0"."""
    return lib.twill_version().decode()


def encoded(text):
    """What C takes: None stays None."""
    return None if text is None else str(text).encode()


class Handle:
    """A handle of the library, freed with the object. `json` is the text of its file, `data` that
    as plain data."""

    _free = None  # the names of the functions that free it,
    _error = None  # say what went wrong
    _json = None  # and give its file's text, where it has one

    def __init__(self):
        self._handle = ctypes.c_void_p()

    def __del__(self):
        if getattr(self, "_handle", None) and self._handle.value:
            getattr(lib, self._free)(self._handle)

    @property
    def json(self):
        return getattr(lib, self._json)(self._handle).decode()

    @property
    def data(self):
        return json.loads(self.json)

    def _checked(self, result):
        """Throws what a twill_result stands for."""
        if result == 0:
            return self
        text = getattr(lib, self._error)(self._handle) if self._handle.value else b""
        text = text.decode()
        if result == 1:
            raise Refused(text)
        if result == 2:
            raise InputError(text or "the call was malformed")
        if result == 3:
            raise MemoryError(text)
        raise InternalError(text)


class Report(Handle):
    """What a call has to say."""

    _free, _error = "twill_report_free", "twill_report_error"

    @property
    def text(self):
        return lib.twill_report_text(self._handle).decode()

    @property
    def data(self):
        return json.loads(self.text)
