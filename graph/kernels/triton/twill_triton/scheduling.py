"""Lets the program `twill` write its schedule into a module."""

import dataclasses
import json
import os
import shutil
import subprocess
import tempfile

# Of equally fast schedules those that Triton takes best: all twenty modules of graph/kernels/triton.
GOALS = "registers,slots,handovers,issuers,crossings"


class TwillError(RuntimeError):
    """`twill` gave no schedule: `code` is its exit code (1 = there is none, 2 = the module cannot be read),
    the text what it said."""

    def __init__(self, code, text):
        super().__init__(text.strip() or f"twill ends with {code}")
        self.code = code


@dataclasses.dataclass
class Scheduled:
    """A module with a schedule. `schedule` and `problem` are the JSON files' content, `remarks` what twill
    said on standard error, `proved` whether the schedule is the best one (a limit may have ended the search)."""
    module: str
    schedule: dict
    problem: dict
    remarks: str
    proved: bool


def find_twill(twill=None):
    """The program: what is given, TWILL of the environment, that of the package, or `twill` of the PATH."""
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bin", "twill")
    program = twill or os.environ.get("TWILL") or (own if os.path.exists(own) else shutil.which("twill"))
    if not program or not (os.path.exists(program) or shutil.which(program)):
        raise TwillError(2, f"no program twill: {program or 'name it with twill= or --twill, or put it on the PATH'}")
    return program


def schedule(module, twill=None, machine=None, arguments=()):
    """Schedules the text of a module. machine: of twill's, else by the module's target. arguments: more of
    `twill solve`'s options (["--time-limit", "60"]). TwillError where there is no schedule."""
    program = find_twill(twill)
    arguments = list(arguments)
    if "--goals" not in arguments:
        arguments += ["--goals", GOALS]
    if machine:
        arguments += ["--machine", machine]
    with tempfile.TemporaryDirectory() as folder:
        source, out, record = (os.path.join(folder, name) for name in ("in.ttgir", "out.ttgir", "s.schedule.json"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(module)
        run = subprocess.run([program, "solve", source, "--emit", "ttgir", "-o", out, "--schedule", record,
                              *arguments], capture_output=True, text=True, check=False)
        remarks = run.stderr.replace(source, "the module")
        if run.returncode not in (0, 3) or not os.path.exists(out):
            raise TwillError(run.returncode, remarks + ("" if run.returncode == 2 else run.stdout))
        texts = []
        for path in (out, record, os.path.join(folder, "s.problem.json")):
            with open(path, encoding="utf-8") as file:
                texts.append(file.read())
    return Scheduled(texts[0], json.loads(texts[1]), json.loads(texts[2]), remarks, run.returncode == 0)
