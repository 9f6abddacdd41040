"""device.sh without a GPU: steps that hang, crash, fill the output or leave processes behind cost no other step its
time; the plan fits; the tables are made, and test data never reaches them.

usage: device_test.py [BUILT]    BUILT: the gpu folder of a CMake build, whose programs are run as far as they go

All results here are made up and marked as test data. Nothing depends on how fast the machine is: what ends by itself has
limits that it never needs, what must be stopped never ends by itself (a run that does not stop it meets ctest's limit),
and where a limit has to pass, too short a one for this machine is tried again, longer."""
import importlib.util
import json
import os
import signal
import stat
import subprocess
import sys
import tarfile
import tempfile
import time

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
import device_steps  # noqa: E402
import results  # noqa: E402

SCRIPT = os.path.join(here, "device.sh")


def script(path, text):
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return path


def lines_of(out):
    with open(os.path.join(out, "results.jsonl")) as file:
        return [json.loads(line) for line in file]


def alive(pid):
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{int(pid)}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"


def environment(folder, **more):
    """Test data, the stand-ins of `folder` first on the path, no GPU."""
    return {**os.environ, "TWILL_TEST_DATA": "1", "CUDA_VISIBLE_DEVICES": "",
            "PATH": folder + os.pathsep + os.environ["PATH"], **more}


# --- the steps of a call --------------------------------------------------------------------------
class Options:
    out, work, built, emitted = "/out", "/work-folder", None, "/emitted"


for plan in (device_steps.first, device_steps.second, device_steps.third):
    steps = plan(Options)
    total = sum(step.limit for step in steps)
    assert total <= 9 * 60, f"{plan.__name__}: limits of {total} s"
    assert len({step.name for step in steps}) == len(steps)
    for step in steps:
        assert step.limit >= 5 and step.command, step
        # A pool stops by itself before it is stopped.
        if "--within" in step.command:
            assert float(step.command[step.command.index("--within") + 1]) < step.limit
names = [step.name for plan in (device_steps.first, device_steps.second, device_steps.third) for step in plan(Options)]
order = ["device", "build", "smoke", "emitted CUDA", "emitted check", "emitted modules", "forward 128", "forward 128 peers",
         "backward 128", "backward 128 peers", "emitted time", "emitted CUDA time", "device", "build", "repeats", "beside Triton",
         "device", "build", "costs gemm", "costs together", "clocks", "correct", "memcheck"]
assert [n for n in names if n in order] == order, names

slower = device_steps.slower([device_steps.pool("x", 50, "smoke", "/built", 12)], 3)[0]
assert slower.limit == 150 and slower.command[-4:] == ["--limit", "36.0", "--within", "144.0"], slower

AMPLE, NEVER = 200, "while :; do sleep 1; done"  # a limit that nothing needs; what never ends
RESULT = 'echo \'{"measured": {"cost": "%s", "cycles": [1, 2, 9]}}\'; '


def in_time(check):
    """check(seconds) with limits of so many seconds; again with longer ones where this machine needs them."""
    for seconds in (3, 20, 120):
        try:
            return check(seconds)
        except AssertionError:
            if seconds == 120:
                raise


def misbehaving(folder, seconds):
    """Steps that misbehave, among good ones. Those that never end are stopped after `seconds`."""
    out, pids = os.path.join(folder, "out"), os.path.join(folder, "pids")
    open(pids, "w").close()

    def written(count):  # so many have said who they are
        return f"while [ $(wc -l < {pids}) -lt {count} ]; do sleep 0.05; done; "
    large = os.path.join(folder, "large.py")  # 60 results of 30,000 bytes that cannot be compressed
    with open(large, "w") as file:
        file.write("import json, os\nfor _ in range(60):\n"
                   "    print(json.dumps({'measured': {'cost': 'large', 'cycles': [1], 'more': os.urandom(15000).hex()}}))\n")
    bad = [
        ("device", seconds, "echo 'GPU: stand-in'"),
        ("hang", seconds, RESULT % "before the hang" + "trap '' TERM; echo $$ >> " + pids + f"; {NEVER}"),
        ("fills the output", seconds, "trap '' TERM; while :; do head -c 1000000 /dev/zero | tr '\\0' x; done"),
        ("closes its output", seconds, "exec >&- 2>&-; " + NEVER),
        ("good first", AMPLE, RESULT % "one"),
        ("crash", AMPLE, RESULT % "before the crash" + "kill -SEGV $$"),
        ("one endless line", AMPLE, "head -c 3000000 /dev/zero | tr '\\0' y; echo; " + RESULT % "behind the line"),
        ("many results", AMPLE, "for i in $(seq 3000); do " + RESULT % "again" + "done"),
        ("large results", AMPLE, f"{sys.executable} {large}"),
        ("orphan", AMPLE, f"(trap '' TERM; echo $BASHPID >> {pids}; {NEVER}) & " + written(2) + RESULT % "beside an orphan"),
        ("orphan out of reach", AMPLE, f"setsid bash -c 'echo $$ >> {pids}; {NEVER}' & " + written(3)),
        ("not JSON", AMPLE, "echo '{\"measured\": oh'; echo '{\"measured\"'; printf '\\377\\376{\"measured\": 1}\\n'; exit 3"),
        ("skipped", AMPLE, "exit 77"),
        ("good last", AMPLE, RESULT % "last"),
    ]
    steps_file = os.path.join(folder, "steps.json")
    with open(steps_file, "w") as file:
        json.dump([{"name": n, "limit": s, "command": ["bash", "-c", c]} for n, s, c in bad]
                  + [{"name": "no such program", "limit": AMPLE, "command": ["/no/such/program"]}], file)
    done = subprocess.run([SCRIPT, out, "--steps", steps_file], capture_output=True, text=True, env=environment(folder))
    with open(pids) as file:
        started = file.read().split()
    try:
        assert done.returncode == 0, done.stdout + done.stderr
        lines = lines_of(out)
        ends = {line["step"]: line for line in lines if "state" in line}
        want = {"device": "ok", "hang": "timeout", "fills the output": "timeout", "closes its output": "timeout",
                "good first": "ok", "crash": "failed", "one endless line": "ok", "many results": "ok", "large results": "ok", "orphan": "ok",
                "orphan out of reach": "ok", "not JSON": "failed", "skipped": "skipped", "good last": "ok",
                "no such program": "failed"}
        assert {name: end["state"] for name, end in ends.items()} == want, ends
        # A step has its limit, and up to as much again of what earlier ones left over; then it is stopped.
        limits = {name: limit for name, limit, _ in bad}
        for name, end in ends.items():
            limit = limits.get(name, AMPLE)
            assert limit <= end["limit"] <= limit * device_steps.STRETCH, end
            assert end["seconds"] <= end["limit"] + seconds + 2, end
        assert ends["crash"]["exit"] == -signal.SIGSEGV and ends["not JSON"]["exit"] == 3
        found = [line["measured"]["cost"] for line in lines if "measured" in line]
        assert found.count("again") == 2000 and len(found) - found.count("large") == 2006, len(found)
        assert found.count("large") == 512 * 1024 // 30060, found.count("large")  # those of one step fit the archive
        assert {"one", "before the hang", "before the crash", "behind the line", "beside an orphan", "last"} <= set(found)
        assert all(line["test_data"] for line in lines)
        assert all(line["device"] == "stand-in" for line in lines)
        assert len(started) == 3, started
        while any(alive(pid) for pid in started[:2]):  # they have been killed, and may take a while to end
            time.sleep(0.05)
        assert alive(started[2])
        assert sorted(os.listdir(out)) == ["device.tar.gz", "results.jsonl", "summary.md"]
        archive = os.path.join(out, "device.tar.gz")
        assert os.path.getsize(archive) < 16 * 1024 * 1024
        with tarfile.open(archive) as tar:
            sizes = {m.name: m.size for m in tar.getmembers()}
            kept = tar.extractfile("device/results.jsonl").read().decode().splitlines()
        assert [json.loads(line) for line in kept] == lines
        assert sizes["device/log/fills-the-output.txt"] < 400 * 1024, sizes
        assert {n for n in sizes if "/log/" in n} == {f"device/log/{n}.txt".replace(" ", "-") for n in ends}, sizes
        with open(os.path.join(out, "summary.md")) as file:
            text = file.read()
        assert "TEST DATA" in text and "| before the hang | 2.0 |" in text and "| hang | timeout |" in text, text
    finally:
        for pid in started:
            if alive(pid):
                os.kill(int(pid), signal.SIGKILL)


with tempfile.TemporaryDirectory() as folder:
    in_time(lambda seconds: misbehaving(folder, seconds))
    steps_file = os.path.join(folder, "steps.json")

    # --- stopped from outside: what was found is there ----------------------------------------------
    out = os.path.join(folder, "stopped")
    with open(steps_file, "w") as file:
        json.dump([{"name": "long", "limit": AMPLE, "command": ["bash", "-c", RESULT % "early" + NEVER]}], file)
    process = subprocess.Popen([SCRIPT, out, "--steps", steps_file], env=environment(folder), stdout=subprocess.DEVNULL)
    while not (os.path.exists(os.path.join(out, "results.jsonl")) and lines_of(out)):
        time.sleep(0.05)
    process.terminate()
    assert process.wait() == 143
    with tarfile.open(os.path.join(out, "device.tar.gz")) as tar:
        assert b'"early"' in tar.extractfile("device/results.jsonl").read()

    # --- the device's name: a driver's tool that hangs, and one that answers --------------------------
    fake = os.path.join(folder, "fake")
    os.mkdir(fake)
    script(os.path.join(fake, "python3"), f"#!/bin/bash\nexec {sys.executable} \"$@\"\n")
    for text, device in ((f"#!/bin/bash\ntrap '' TERM\n{NEVER}\n", None),
                         ("#!/bin/bash\necho 'NVIDIA-SMI has failed: no driver'\nexit 9\n", None),
                         ("#!/bin/bash\necho 'NVIDIA Stand-in'\n", "NVIDIA Stand-in")):
        script(os.path.join(fake, "nvidia-smi"), text)
        out = os.path.join(folder, "named")
        subprocess.run([SCRIPT, out, "--only", "device", "--built", folder, "--slow", "10"], check=True, env=environment(fake),
                       stdout=subprocess.DEVNULL)
        end = lines_of(out)[-1]
        assert (end["device"], end["state"]) == ((device, "ok") if device else ("none", "skipped")), end

    # --- many small runs: one that hangs, crashes or is wrong says so alone ----------------------------
    built = os.path.join(folder, "built")
    os.mkdir(built)
    listing = "\n".join(f"Twill f16 B1 H2/2 S{n}/128 D{d} {m} BSHD normal"
                        for d in (64, 128) for m in ("full", "causal top left") for n in (1, 257))
    program = f"""#!/bin/bash
if [[ "$*" == *--list* ]]; then echo "{listing}"; exit; fi
case "${{@: -1}}" in
  0,1) exit 77;; 2,3) {NEVER};; 4,5) echo "FAILED: wrong"; exit 1;; *) kill -SEGV $$;;
esac
"""
    for name in ("gpu_forward", "gpu_backward"):
        script(os.path.join(built, name), program)

    def smoke(*options):
        done = subprocess.run([sys.executable, os.path.join(here, "pool.py"), "smoke", built, *map(str, options)],
                              capture_output=True, text=True)
        states = [json.loads(line)["measured"] for line in done.stdout.splitlines() if line.startswith('{"measured"')]
        return done.returncode, states, done.stdout + done.stderr

    def small_runs(seconds):
        code, states, said = smoke("--limit", seconds)
        assert code == 1 and len(states) == 8, said
        assert sorted(s["state"] for s in states) == ["failed"] * 4 + ["skipped"] * 2 + ["timeout"] * 2, states
        assert "D128" in states[0]["what"] and ["FAILED: wrong"] in [s["said"] for s in states], states

    in_time(small_runs)
    _, states, said = smoke("--limit", AMPLE, "--match", "S257", "--skip", "causal", "--skip", "D64")
    assert len(states) == 2 and "D128 full x1" in said, said

    def within(seconds):
        """All the time that there is is used, whatever one run may take; then there is none."""
        _, states, said = smoke("--limit", AMPLE, "--workers", 1, "--within", seconds)
        assert len(states) == 8 and {s["state"] for s in states[:2]} == {"failed"}, said
        assert states[-1]["state"] == "no time left" and not any(s["state"] == "timeout" for s in states), said

    in_time(within)

    # --- emitted CUDA programs: what they say of their runs, and what they do not ---------------------------
    programs = os.path.join(folder, "programs")
    os.mkdir(programs)
    line = "n = %d, 1 x 1 blocks, batch 1: largest error %s, %s"
    for name, text in (("right", f"echo '{line % (3, '3.00e-04', 'right')}'; echo '{line % (7, '2.1e-04', 'right')}'"),
                       ("wrong", f"echo '{line % (3, 'inf', 'WRONG')}'; exit 1"), ("traps", "kill -ABRT $$"),
                       ("checks_nothing", "exit 0"), ("no_gpu", "echo 'no GPU'; exit 77")):
        script(os.path.join(programs, name), f"#!/bin/bash\n{text}\n")
    done = subprocess.run([sys.executable, os.path.join(here, "pool.py"), "cuda", programs, "--limit", str(AMPLE)],
                          capture_output=True, text=True)
    said = [json.loads(line)["measured"] for line in done.stdout.splitlines() if line.startswith('{"measured"')]
    states = {one["what"]: one["state"] for one in said if "state" in one}
    assert done.returncode == 1 and states == {"right": "ok", "wrong": "failed", "traps": "failed", "checks_nothing": "failed",
                                               "no_gpu": "skipped"}, done.stdout + done.stderr
    said = results.tables([{"step": "emitted CUDA", "device": "Device T", "measured": one} for one in said])
    assert "| right, CUDA | 2 of 2 | 3.0e-04 | - |" in said and "| wrong, CUDA | 0 of 1 | NaN | - |" in said, said
    assert "ended by signal 6" in said and "nothing was checked" in said, said

    # --- tables ------------------------------------------------------------------------------------------
    def speed(step, program, length, tflops, **more):
        return {"step": step, "device": "Device T", "measured": {
            "program": program, "length": length, "head_dim": 128, "causal": False, "tflops": tflops, "q25": tflops - 1,
            "q75": tflops + 1}, **more}
    made_up = [speed("forward 128", "Twill", 1024, 111.0), speed("forward 128", "cuDNN", 1024, 99.0),
               speed("forward 128", "cuDNN", 4096, 222.0), speed("backward 128", "Twill-80", 1024, 88.0),
               {"step": "smoke", "device": "Device T", "measured": {"what": "x", "state": "timeout", "exit": -9, "said": ["bad"]}},
               {"step": "emitted check", "device": "Device T", "measured": {
                   "what": "emitted", "kernel": "gemm", "n": 1, "output": "C", "error": 0.5, "allowed": 1.0, "right": True}},
               {"step": "emitted check", "device": "Device T", "measured": {
                   "what": "emitted", "kernel": "gemm", "n": 2, "output": "C", "error": "NaN", "allowed": 1.0, "right": False}},
               {"step": "smoke", "device": "Device T", "state": "failed", "exit": 1, "seconds": 3, "limit": 5}]
    text = results.tables(made_up)
    for part in ("| Twill | 111 [110, 112] | not measured |", "| cuDNN | 99 [98, 100] | 222 [221, 223] |",
                 "**Attention backward**", "| Twill-80 | 88 [87, 89] |", "- smoke, x: timeout (exit -9) bad",
                 "| gemm | 1 of 2 | NaN | - |"):
        assert part in text, (part, text)

    def into(lines, before, more=()):
        source, target = os.path.join(folder, "r.jsonl"), os.path.join(folder, "target.md")
        with open(source, "w") as file:
            file.write("\n".join(map(json.dumps, lines)))
        with open(target, "w") as file:
            file.write(before)
        done = subprocess.run([sys.executable, os.path.join(here, "results.py"), source, "--into", target, *more],
                              capture_output=True, text=True)
        with open(target) as file:
            return done.returncode, file.read(), done.stderr

    marked = f"before\n{results.BEGIN}\nold\n{results.END}\nbehind\n"
    code, after, said = into(made_up, marked)
    assert code == 0 and after.startswith("before\n") and after.endswith("behind\n") and "old" not in after, said
    assert "Device: Device T." in after and "| Twill | 111" in after
    for lines in (made_up + [{**made_up[0], "test_data": True}], [{**line, "device": "none"} for line in made_up],
                  made_up + [{**made_up[0], "device": "Device U"}], []):
        code, after, said = into(lines, marked)
        assert code == 2 and after == marked and said, (code, said)
    assert into(made_up, "no marks\n")[:2] == (2, "no marks\n")
    # What steps wrote here is marked, so it cannot get there.
    assert into(lines_of(os.path.join(folder, "out")), marked)[:2] == (2, marked)
    with open(os.path.join(here, "..", "..", "gpu", "RESULTS.md")) as file:
        text = file.read()
    assert text.count(results.BEGIN) == 1 and text.count(results.END) == 1 and "Device T" not in text

    part = {"format": "twill.measurements", "version": 1, "device": "Device T", "samples": [1]}
    whole = results.machine({"a": json.dumps(part), "b": json.dumps({**part, "samples": [2]}), "c": "{cut off"})
    assert whole["samples"] == [1, 2]
    for files in ({}, {"a": json.dumps(part), "b": json.dumps({**part, "device": "U"})}):
        try:
            results.machine(files)
            raise AssertionError("not refused")
        except results.Refused:
            pass

    # --- the first call as it is, as far as it goes without a GPU -----------------------------------------
    if len(sys.argv) > 1:
        out = os.path.join(folder, "real")
        subprocess.run([SCRIPT, out, "--built", sys.argv[1], "--emitted", os.path.join(folder, "none"), "--slow", "20"],
                       check=True, env=environment(folder), stdout=subprocess.DEVNULL)
        ends = {line["step"]: line for line in lines_of(out) if "state" in line}
        assert list(ends) == [step.name for step in device_steps.first(Options) if step.name != "build"], ends
        allowed = dict.fromkeys(("emitted check", "emitted CUDA", "emitted CUDA time", "emitted modules"), "failed")  # none were made
        if importlib.util.find_spec("torch") and importlib.util.find_spec("triton"):
            allowed = None
        for name, end in ends.items():
            assert not allowed or end["state"] == allowed.get(name, "skipped"), end
            assert end["state"] != "timeout", end
        assert sum("measured" in line and line["step"] == "smoke" for line in lines_of(out)) > 60
print("device.sh survives what its steps do, and its tables hold")
