"""BenchExec's own checks of bench/benchexec_twill, and how it scores answers.

    benchexec_test.py TWILL

BenchExec (PyPI) is looked for; without it the test is skipped (exit code 77). Its limits need control
groups, which not every machine has, so the commands are run here and BenchExec judges what they print.
"""

import glob
import importlib
import os
import subprocess
import sys
import tempfile

try:
    import benchexec.model
    import benchexec.result
    import benchexec.test_tool_info
    import benchexec.tooladapter
    import yaml
    from benchexec.tools.template import BaseTool2
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TWILL = os.path.abspath(sys.argv[1])
BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench")
sys.path.insert(0, BENCH)
tool = importlib.import_module("benchexec_twill.twill").Tool()
failed = []


def check(holds, what):
    if not holds:
        failed.append(what)
        print("FAILED:", what)


def category(task, property_file, output):
    """What BenchExec makes of the lines that a run printed."""
    run = BaseTool2.Run([], benchexec.util.ProcessExitCode.from_raw(0), BaseTool2.RunOutput(output), None)
    said = tool.determine_result(run)
    prop = benchexec.result.Property.create(property_file)
    expected = {}
    for named in task["properties"]:
        if "expected_verdict" in named:
            expected[prop.filename] = benchexec.result.ExpectedResult(named["expected_verdict"], None)
    return benchexec.result.get_result_category(expected, said, [prop]), said


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([TWILL, "bench", "instances", "--grid", "quick", "-o", folder], check=True, stdout=subprocess.DEVNULL)
    tasks = sorted(glob.glob(os.path.join(folder, "*.yml")))
    check(len(tasks) > 10, "tasks are written")
    verdicts = set()
    for file in tasks:
        with open(file, encoding="utf-8") as text:
            task = yaml.safe_load(text)
        named = task["properties"][0]
        property_file = os.path.join(folder, named["property_file"])
        verdicts.add(named["expected_verdict"])
        line = tool.cmdline(TWILL, ["--encoding", "start=order"],
                            BaseTool2.Task([os.path.join(folder, task["input_files"])], None, property_file, task["options"]),
                            BaseTool2.ResourceLimits(cputime=20))
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        output = done.stdout.splitlines(keepends=True)
        check(category(task, property_file, output)[0] == benchexec.result.CATEGORY_CORRECT, f"{file}: {output}")
        # A lie is scored as one, and so is a model that the judge did not accept.
        told = {"SAT": '{"status": "UNSAT", "verified": "none"}\n',
                "UNSAT": '{"status": "SAT", "verified": "model"}\n'}["SAT" if named["expected_verdict"] else "UNSAT"]
        check(category(task, property_file, [told])[0] == benchexec.result.CATEGORY_WRONG, f"{file}: a lie")
        refused = category(task, property_file, ['{"status": "SAT", "verified": "refused"}\n'])
        check(refused[0] == benchexec.result.CATEGORY_ERROR, f"{file}: a refused model is {refused}")
        late = category(task, property_file, ['{"status": "TIMEOUT"}\n'])
        check(late == (benchexec.result.CATEGORY_ERROR, "TIMEOUT"), f"{file}: {late}")
        del named["expected_verdict"]
        check(category(task, property_file, output)[0] == benchexec.result.CATEGORY_MISSING, f"{file}: unknown verdict")
    check(verdicts == {True, False}, "both verdicts")

    # BenchExec's own check of tool-info modules, as a user runs it.
    environment = dict(os.environ, PYTHONPATH=BENCH, PATH=os.path.dirname(TWILL) + os.pathsep + os.environ["PATH"])
    told = subprocess.run([sys.executable, "-m", "benchexec.test_tool_info", "benchexec_twill.twill", "--no-container"],
                          capture_output=True, text=True, env=environment, cwd=folder, check=False)
    check(told.returncode == 0, told.stderr[-500:])
    for word in ("Twill", "Version", "trial"):
        check(word in told.stdout + told.stderr, f"test_tool_info says nothing of {word}")
    # (It is found by an absolute path here, a question is of one file, and there is one property.)
    warnings = [line for line in (told.stdout + told.stderr).splitlines() if "WARNING" in line]
    expected = ("absolute", "more than one input file", "ignores property file")
    check(all(any(word in line for word in expected) for line in warnings), warnings)

print("BenchExec:", f"{len(failed)} failed" if failed else "all as expected")
sys.exit(1 if failed else 0)
