"""What device.sh brought back, as tables of gpu/RESULTS.md and as measurements for `twill machines --fit`.

usage: results.py DEVICE.tar.gz|RESULTS.jsonl... [--into gpu/RESULTS.md] [--machine MEASUREMENTS.json]

Prints the tables. --into puts them between the lines `<!-- measured: begin -->` and `<!-- measured: end -->` of a file;
it refuses lines that are marked as test data, lines of no device, and lines of two devices. --machine writes the
costs that were measured, those of all steps in one file. Ends with 2 where the input is refused."""
import argparse
import json
import os
import statistics
import sys
import tarfile

sys.dont_write_bytecode = True
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
ORDER = ("CUDA-Default", "Twill-SWP", "Twill", "Twill-Overlap", "Twill-80", "emitted fmha-forward", "emitted hopper-fwd-plain", "Triton",
         "FlashAttention-2", "FlashAttention-3", "cuDNN", "cuBLAS GEMM")


class Refused(Exception):
    pass


def read(path):
    """(result lines, costs files by name) of an archive or of its results.jsonl."""
    try:
        if not path.endswith(".gz"):
            with open(path) as file:
                return [json.loads(line) for line in file if line.strip()], {}
        with tarfile.open(path) as archive:
            members = {m.name.split("/", 1)[-1]: archive.extractfile(m).read().decode(errors="replace")
                       for m in archive.getmembers() if m.isfile()}
        lines = [json.loads(line) for line in members["results.jsonl"].splitlines() if line.strip()]
        return lines, {n: t for n, t in members.items() if n.startswith("costs-")}
    except (OSError, KeyError, ValueError, tarfile.TarError) as error:
        raise Refused(f"{path}: {type(error).__name__}: {error}") from None


def device_of(lines, test_data=False):
    """The one device of the lines. Refuses what must not be reported as measured."""
    if not test_data and any(line.get("test_data") for line in lines):
        raise Refused("these lines are test data, nothing was measured")
    devices = {line.get("device", "none") for line in lines if "measured" in line} - {"none"}
    if len(devices) > 1:
        raise Refused(f"results of several devices: {', '.join(sorted(devices))}")
    if not devices and not test_data:
        raise Refused("no result of a device")
    return next(iter(devices), "none")


def measured(lines, key):
    return [(line["step"], line["measured"]) for line in lines
            if isinstance(line.get("measured"), dict) and key in line["measured"]]


def rank(name):
    return (ORDER.index(name) if name in ORDER else len(ORDER), name)


def speed(lines):
    """TFLOPS of attention, a table for a pass, head dimension, mask and type."""
    found = {}
    for step, m in measured(lines, "tflops"):
        if "program" not in m:
            continue
        which = "backward" if "backward" in step else "forward"
        kind = "BF16" if step.startswith("bf16") else "FP16"
        found.setdefault((which, m["head_dim"], m["causal"], kind), {})[m["program"], m["length"]] = m
    text = []
    for (which, dim, causal, kind), cells in sorted(found.items(), key=lambda i: (i[0][0] == "backward", i[0][1:])):
        lengths = sorted({length for _, length in cells})
        text += [f"**Attention {which}**, head dimension {dim}, {'causal' if causal else 'not causal'}, {kind}, TFLOPS: "
                 "median [quartiles]", "", "| | " + " | ".join(map(str, lengths)) + " |", "|---" * (len(lengths) + 1) + "|"]
        for name in sorted({name for name, _ in cells}, key=rank):
            row = [f"{m['tflops']:.0f} [{m['q25']:.0f}, {m['q75']:.0f}]" if (m := cells.get((name, n))) else "not measured"
                   for n in lengths]
            text.append(f"| {name} | " + " | ".join(row) + " |")
        text.append("")
    return text


def runs(lines):
    """How many of the small runs ended how, and those that did not end well."""
    counts, bad = {}, []
    for step, m in measured(lines, "state"):
        counts.setdefault(step, {}).setdefault(m["state"], []).append(m)
        if m["state"] not in ("ok", "skipped"):
            bad.append(f"- {step}, {m['what']}: {m['state']} (exit {m['exit']}) " + "; ".join(m.get("said", [])))
    if not counts:
        return []
    text = ["| runs of | ended how |", "|---|---|"]
    text += [f"| {step} | " + ", ".join(f"{len(v)} {k}" for k, v in sorted(states.items())) + " |"
             for step, states in counts.items()]
    return text + [""] + bad[:60] + ([""] if bad else [])


def emitted(lines):
    rows = {}
    for _, m in measured(lines, "right"):
        rows.setdefault(m["kernel"], []).append(m)
    times = {m["kernel"]: m for _, m in measured(lines, "ms") if "kernel" in m}
    if not rows and not times:
        return []
    text = ["| emitted kernel | checks right | largest error | ms | blocks | iterations | TFLOPS |", "|---|---|---|---|---|---|---|"]
    for kernel in sorted(rows.keys() | times.keys()):
        errors = [m["error"] for m in rows.get(kernel, [])]
        worst = "-" if not errors else "NaN" if "NaN" in errors else f"{max(errors):.1e}"
        right = f"{sum(m['right'] for m in rows[kernel])} of {len(errors)}" if errors else "-"
        time = times.get(kernel, {})
        ms = f"{time['ms']:.3f}" if time else "-"
        rate = f"{time['tflops']:.0f}" if time.get("tflops") else "-"
        text.append(f"| {kernel} | {right} | {worst} | {ms} | {time.get('blocks', '-')} | {time.get('n', '-')} | {rate} |")
    return text + [""]


def beside_triton(lines):
    """What Triton makes of a kernel, and what Twill emits of its module."""
    rows = [m for _, m in measured(lines, "case")]
    theirs = {}
    for m in rows:
        if m["program"].startswith("Triton"):
            theirs[m["case"]] = min(m["ms"], theirs.get(m["case"], m["ms"]))
    if not rows:
        return []
    text = ["| kernel | program | ms | TFLOPS | times as fast as Triton | differs by |", "|---|---|---|---|---|---|"]
    for m in rows:
        rate = f"{m['rate']:.0f}" if m["rate"] else "-"
        times = f"{theirs[m['case']] / m['ms']:.2f}" if m["case"] in theirs else "-"
        text.append(f"| {m['case']} | {m['program']} | {m['ms']:.3f} | {rate} | {times} | {m['error']:.1e} |")
    return text + [""]


def clocks(lines):
    """Clocks of a round of the hand-lowered kernels, without a mask."""
    rows = [m for _, m in measured(lines, "of_a_round") if m["of_a_round"]]
    if not rows:
        return []
    return ["| pass | D | schedule | length | clocks of a launch | of a round |", "|---|---|---|---|---|---|"] + \
        [f"| {m['pass']} | {m['head_dim']} | {m['program']} | {m['length']} | {m['clocks']:.0f} | {m['of_a_round']:.0f} |" for m in rows] + [""]


def costs(lines):
    rows = [(m["cost"], m["cycles"]) for _, m in measured(lines, "cost")]
    if not rows:
        return []
    return ["| cost | clocks, median of the repetitions |", "|---|---|"] + \
        [f"| {name} | {statistics.median(cycles):.1f} |" for name, cycles in rows] + [""]


def steps(lines):
    rows = [line for line in lines if "state" in line]
    return ["| step | ended | exit | seconds |", "|---|---|---|---|"] + \
        [f"| {r['step']} | {r['state']} | {'' if r.get('exit') is None else r['exit']} | {r['seconds']} |" for r in rows] + [""]


def tables(lines, test_data=False):
    text = speed(lines) + runs(lines) + emitted(lines) + beside_triton(lines) + clocks(lines) + costs(lines)
    if test_data:
        text = ["TEST DATA, nothing measured.", ""] + text
    return "\n".join(text)


def machine(files):
    """One file of measurements out of those of the steps."""
    whole = None
    for name, text in sorted(files.items()):
        try:
            part = json.loads(text)
        except ValueError:
            continue  # a step that ended before its file did
        if whole is None:
            whole = part
        elif part["device"] != whole["device"]:
            raise Refused(f"{name} is of another device")
        else:
            whole["samples"] += part["samples"]
    if whole is None:
        raise Refused("no costs were measured")
    return whole


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", nargs="+")
    parser.add_argument("--into")
    parser.add_argument("--machine")
    options = parser.parse_args()
    try:
        lines, files = [], {}
        for path in options.results:
            more, costs_files = read(path)
            lines += more
            files.update({f"{path}:{name}": text for name, text in costs_files.items()})
        device = device_of(lines)
        text = "\n".join([f"Device: {device}.", "", tables(lines), ""] + steps(lines))
        if options.into:
            with open(options.into) as file:
                before = file.read()
            if before.count(BEGIN) != 1 or before.count(END) != 1 or before.index(BEGIN) > before.index(END):
                raise Refused(f"{options.into} has not one {BEGIN} and one {END} after it")
            head, tail = before.split(BEGIN)[0], before.split(END)[1]
            with open(options.into + ".part", "w") as file:
                file.write(f"{head}{BEGIN}\n{text.strip()}\n{END}{tail}")
            os.replace(options.into + ".part", options.into)
        else:
            print(text)
        if options.machine:
            whole = machine(files)
            with open(options.machine, "w") as file:
                json.dump(whole, file, indent=1)
    except Refused as refused:
        print(f"results.py: {refused}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
