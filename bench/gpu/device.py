"""One command for a machine with a Hopper GPU: builds, runs everything under limits of its own, keeps what it learns.

    bench/gpu/device.sh OUT             the first ten minutes
    bench/gpu/device.sh OUT --second    what a second call is for: other head dimensions, repeats, races
    bench/gpu/device.sh OUT --third     all shapes, the sanitizer, costs of instructions, counted clocks
    bench/gpu/device.sh OUT --plan      the steps, their limits and the sum; runs nothing

A step is a process of its own with a limit. One that fails, hangs or fills the output costs no other its time: all
end within the sum of the limits, and time that steps leave over goes to later ones. OUT gets three files, each up to
date after every step: results.jsonl (a line for each step, and one for each result when it is printed), summary.md,
and device.tar.gz (both, and the steps' output, cut to size). bench/gpu/results.py turns them into tables.

--built DIR: programs that are built already (as build.py leaves them, or the CMake build's gpu folder). --only A,B:
these steps. --steps FILE: others, a JSON list of {"name", "limit", "command"} (for the test). --slow N: limits N times as
long, for a machine that has other work. Without a GPU the programs say so themselves (77: skipped). Ends with 0 however
the steps ended, unless OUT cannot be written."""
import argparse
import io
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import device_steps  # noqa: E402

LOG_HEAD, LOG_TAIL = 256 * 1024, 64 * 1024  # bytes kept of a step's output
ARCHIVE = 16 * 1024 * 1024
RESULTS_OF_A_STEP, LONGEST_LINE, RESULT_BYTES = 2000, 64 * 1024, 512 * 1024  # so all steps' fit the archive


class Output:
    """A step's output: the first and the last part of it, and the results among its lines."""

    def __init__(self, found):
        self.head, self.tail, self.line, self.size = bytearray(), bytearray(), bytearray(), 0
        self.found, self.results, self.result_bytes, self.long = found, 0, 0, False

    def add(self, data):
        self.size += len(data)
        room = max(0, LOG_HEAD - len(self.head))
        self.head += data[:room]
        self.tail = (self.tail + data[room:])[-LOG_TAIL:]
        lines = data.split(b"\n")
        for n, part in enumerate(lines):
            self.long = self.long or len(self.line) + len(part) > LONGEST_LINE
            if not self.long:
                self.line += part
            if n + 1 < len(lines):
                self.end_line()

    def end_line(self):
        if (self.line.startswith(b'{"measured"') and not self.long and self.results < RESULTS_OF_A_STEP
                and self.result_bytes + len(self.line) <= RESULT_BYTES):
            self.result_bytes += len(self.line)
            try:
                value = json.loads(self.line.decode())["measured"]
                self.results += 1
                self.found(value)
            except (ValueError, KeyError, TypeError):
                pass  # not a result after all
        self.line, self.long = bytearray(), False

    def text(self):
        between = self.size - len(self.head) - len(self.tail)
        cut = b"\n[... %d bytes left out ...]\n" % between if between > 0 else b""
        return bytes(self.head) + cut + bytes(self.tail)


def kill_group(process, how=signal.SIGKILL):
    try:
        os.killpg(process.pid, how)
    except OSError:
        pass


def run(command, limit, output, environment, folder):
    """(state, exit status) of a command within `limit` seconds; its whole process group is gone afterwards."""
    end = time.monotonic() + limit - 1  # one second to die in
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   start_new_session=True, env=environment, cwd=folder)
    except OSError as error:
        output.add(f"{command[0]}: {error}\n".encode())
        return "failed", 127
    pipe, ended = process.stdout.fileno(), None
    os.set_blocking(pipe, False)
    open_, late = True, False
    while True:
        now = time.monotonic()
        if process.poll() is not None and ended is None:
            ended = now
            kill_group(process)  # what it left behind
        # Output that is still in the pipe is read; a process that escaped the group and holds it is not waited for.
        if ended is not None and (not open_ or now > ended + 1):
            break
        if ended is None and now >= end:
            if not late:  # asked first: pool.py ends what it has started
                kill_group(process, signal.SIGTERM)
            late = True
            if now >= end + 1:
                kill_group(process)
            if now >= end + 4:  # cannot be killed: stuck in the driver
                break
        if open_:
            ready, _, _ = select.select([pipe], [], [], 0.1)
            if ready:
                try:
                    data = os.read(pipe, 65536)
                except OSError:
                    data = b""
                open_ = bool(data)
                output.add(data)
        else:
            time.sleep(0.02)
    process.stdout.close()
    output.add(b"\n")
    if late:
        return ("timeout" if process.returncode is not None else "stuck"), process.returncode
    code = process.returncode
    return {0: "ok", 77: "skipped"}.get(code, "failed"), code


class Session:
    def __init__(self, out, steps, options):
        self.out, self.steps, self.options = out, steps, options
        self.begun = time.monotonic()
        self.lines, self.ends, self.logs, self.files = [], [], {}, {}
        self.device = "none"
        self.test_data = bool(os.environ.get("TWILL_TEST_DATA"))
        os.makedirs(out, exist_ok=True)
        open(os.path.join(out, "results.jsonl"), "w").close()
        self.clocks = self.watch()

    def watch(self):
        """The GPU's clocks, power and temperature twice a second, into the archive; None where that cannot be asked."""
        try:
            with open(os.path.join(self.options.work, "clocks.csv"), "wb") as file:
                return subprocess.Popen(
                    ["nvidia-smi", "--query-gpu=timestamp,clocks.sm,clocks.mem,power.draw,temperature.gpu,utilization.gpu",
                     "--format=csv,noheader,nounits", "-lms", "500"], stdin=subprocess.DEVNULL, stdout=file,
                    stderr=subprocess.DEVNULL, start_new_session=True)
        except OSError:
            return None

    def end(self):
        if self.clocks:
            kill_group(self.clocks)
            self.clocks.wait()

    def line(self, **values):
        values["device"] = self.device
        if self.test_data:
            values["test_data"] = True
        text = json.dumps(values)
        self.lines.append(text)
        with open(os.path.join(self.out, "results.jsonl"), "a") as file:
            file.write(text + "\n")

    def step(self, step, extra):
        name, begun = step.name, time.monotonic()
        limit = min(step.limit + extra, step.limit * device_steps.STRETCH)
        output = Output(lambda value: self.line(step=name, measured=value))
        environment = {**os.environ, **step.environment, "PYTHONUNBUFFERED": "1"}
        state, code = run(step.command, limit, output, environment, device_steps.ROOT)
        seconds = time.monotonic() - begun
        self.logs[name] = output.text()
        if name == "device":
            for text in self.logs[name].decode(errors="replace").splitlines():
                if text.startswith("GPU: "):
                    self.device = text[5:].strip()
        self.ends.append((name, state, code, seconds, output.results))
        self.line(step=name, state=state, exit=code, seconds=round(seconds, 2), limit=round(limit, 1))
        print(f"{name:24} {state:8} {'' if code is None else code:4} {seconds:7.1f} s, {output.results} results",
              flush=True)
        if state not in ("ok", "skipped"):
            print("    " + "\n    ".join(self.logs[name].decode(errors="replace").splitlines()[-4:]), flush=True)
        return seconds

    def summary(self):
        import results
        rows = [f"# {'TEST DATA, nothing measured: ' if self.test_data else ''}{self.device}", "",
                "| step | state | exit | seconds | results |", "|---|---|---|---|---|"]
        rows += [f"| {n} | {s} | {'' if c is None else c} | {t:.1f} | {r} |" for n, s, c, t, r in self.ends]
        try:
            rows += ["", results.tables([json.loads(x) for x in self.lines], test_data=self.test_data)]
        except Exception as error:  # a table that cannot be made must not cost the rest
            rows += ["", f"tables: {type(error).__name__}: {error}"]
        return "\n".join(rows) + "\n"

    def write(self):
        """summary.md and the archive, replaced in one go."""
        text = self.summary()
        with open(os.path.join(self.out, "summary.md"), "w") as file:
            file.write(text)
        members = {"results.jsonl": "\n".join(self.lines).encode() + b"\n", "summary.md": text.encode()}
        members.update({f"log/{name}.txt".replace(" ", "-"): data for name, data in self.logs.items()})
        folder = self.options.work
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            path = os.path.join(folder, name)
            if name.endswith((".json", ".md", ".svg", ".csv")) and os.path.getsize(path) < 1024 * 1024:
                with open(path, "rb") as file:
                    members[name] = file.read()
        while True:
            data = io.BytesIO()
            with tarfile.open(fileobj=data, mode="w:gz") as archive:
                for name, content in members.items():
                    entry = tarfile.TarInfo("device/" + name)
                    entry.size, entry.mtime = len(content), int(time.time())
                    archive.addfile(entry, io.BytesIO(content))
            if data.tell() <= ARCHIVE:
                break
            largest = max((n for n in members if n not in ("results.jsonl", "summary.md")), key=lambda n: len(members[n]))
            members[largest] = members[largest][:len(members[largest]) // 8] + b"\n[cut]\n"
        part = os.path.join(self.out, ".device.tar.gz")
        with open(part, "wb") as file:
            file.write(data.getvalue())
        os.replace(part, os.path.join(self.out, "device.tar.gz"))

    def all(self):
        allowed = 0.0
        for step in self.steps:
            extra = max(0.0, allowed - (time.monotonic() - self.begun))
            allowed += step.limit
            try:
                self.step(step, extra)
            except Exception as error:
                self.line(step=step.name, state="failed", exit=None, seconds=0, limit=step.limit,
                          error=f"{type(error).__name__}: {error}")
            try:
                self.write()
            except Exception as error:
                print(f"writing {self.out}: {type(error).__name__}: {error}", flush=True)
        print(f"{time.monotonic() - self.begun:.1f} s of {allowed:.0f} s allowed", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--second", action="store_true")
    parser.add_argument("--third", action="store_true")
    parser.add_argument("--plan", action="store_true")
    parser.add_argument("--built")
    parser.add_argument("--emitted", default=os.path.join(device_steps.ROOT, ".emitted"))
    parser.add_argument("--only", default="")
    parser.add_argument("--steps")
    parser.add_argument("--slow", type=float, default=1)
    options = parser.parse_args()
    options.out, options.emitted = os.path.abspath(options.out), os.path.abspath(options.emitted)
    options.built = os.path.abspath(options.built) if options.built else None
    options.work = tempfile.mkdtemp(prefix="twill-device-")  # not in OUT, of which few files come back
    if options.steps:
        with open(options.steps) as file:
            steps = [device_steps.Step(**one) for one in json.load(file)]
    else:
        plan = device_steps.third if options.third else device_steps.second if options.second else device_steps.first
        steps = plan(options)
    device_steps.slower(steps, options.slow)
    wanted = [name for name in options.only.split(",") if name]
    steps = [s for s in steps if not wanted or s.name in wanted]
    if options.plan:
        for step in steps:
            print(f"{step.limit:5.0f} s  {step.name:24} {' '.join(' '.join(step.command).split())[:110]}")
        print(f"{sum(step.limit for step in steps):5.0f} s  in all")
        os.rmdir(options.work)
        return 0
    session = Session(options.out, steps, options)

    def stopped(*_):
        session.end()
        session.write()
        os._exit(143)

    signal.signal(signal.SIGTERM, stopped)
    try:
        session.all()
    finally:
        session.end()
    shutil.rmtree(options.work, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
