"""Every built-in kernel to every language: written, or refused with the reason that stands here.

usage: emit_every_test.py TWILL [--table]
Needs no compiler. A kernel that is new, one that is refused for another reason and one that is written though it is listed
here are errors. --table: rows for bench/results/emission.md.
"""
import re
import subprocess
import sys

LANGUAGES = ("gluon", "ttgir-ws", "cuda", "tilelang")
NO_MEANING = "it does not say what its ops compute"
IN_FLIGHT, ONE_PLACE = "is in flight while its slot goes on", "lies where another buffer does"
REFUSED = {  # kernel: what each language has no words for; "all" = the three that write whole kernels
    "figure-1": {"all": NO_MEANING},
    "hopper-mlstm": {"all": "has something else than 0 above the diagonal"},
    "hopper-bwd-q80": {"gluon": "and ptxas would end each product before the next is issued",
                       "ttgir-ws": "and ptxas would end each product before the next is issued",
                       "cuda": "has 80 rows on 2 warpgroups"},
    "hopper-bwd-sub2": {"all": "and ptxas would end each product before the next is issued"},
}
TILELANG = ("gemm:blackwell", "blackwell-gemm-tiles:blackwell")  # all others are refused
WHY_TILELANG = (NO_MEANING, IN_FLIGHT, ONE_PLACE, "is read in a later iteration", "loads of tiles and products are written",
                "has something else than 0 above the diagonal")
# Names that stand for one of these on each machine.
ALIASES = ("fmha-forward", "fmha-backward", "fmha-forward-tiles", "fmha-backward-tiles", "gemm-tiles")


def cases(twill):
    listed = subprocess.run([twill, "kernels"], capture_output=True, text=True, check=True).stdout
    for kernel in (line.split()[0] for line in listed.splitlines() if line and re.match(r"[a-z]", line)):
        if kernel not in ALIASES:
            for machine in ("hopper", "blackwell"):
                if kernel.split("-")[0] not in {"hopper", "blackwell"} - {machine}:
                    yield kernel, machine


def emit(twill, kernel, machine, language):
    """"" where it is written, else why not."""
    done = subprocess.run([twill, "emit", kernel, "--machine", machine, "--to", language, "--quiet"], capture_output=True, text=True)
    if done.returncode == 0 and done.stdout:
        return ""
    if done.returncode != 2 or done.stdout or "no kernel: " not in done.stderr:
        return f"exit code {done.returncode}: {done.stderr.strip()}"
    return re.sub(r"^.*no kernel: ", "", done.stderr.strip().split("\n")[0])


def main():
    twill, table = sys.argv[1], "--table" in sys.argv
    wrong, count, written = [], 0, dict.fromkeys(LANGUAGES, 0)
    for kernel, machine in cases(twill):
        row, reasons = [], {}
        for language in LANGUAGES:
            why = emit(twill, kernel, machine, language)
            known = REFUSED.get(kernel, {})
            want = known.get(language, known.get("all", ""))
            right = ((why == "") == (f"{kernel}:{machine}" in TILELANG) and (not why or any(one in why for one in WHY_TILELANG))
                     if language == "tilelang" else want in why and bool(want) == bool(why))
            if not right:
                wrong.append(f"{kernel} on {machine} to {language}: {why or 'written'}; wanted: {want or 'another answer'}")
            count += 1
            written[language] += not why
            row.append("no" if why else "yes")
            reasons.setdefault(why, []).append(language)
        reasons.pop("", None)
        if table:
            print(f"| {kernel}, {machine} | " + " | ".join(row) + " | " + "; ".join(f"{', '.join(all_)}: {why}" for why, all_ in reasons.items()) + " |")
    for one in wrong:
        print(f"WRONG: {one}")
    print(f"{count} questions, written: " + ", ".join(f"{language} {k}" for language, k in written.items()) + f"; {len(wrong)} wrong")
    return 1 if wrong or count < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
