"""Names in files are data: programs with hostile names are emitted, and the text still runs and is right.

usage: emit_hostile_test.py TWILL
Exit code 77 without numpy.
"""
import ast
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import emit_run_test  # noqa: E402  (skips without numpy)
from hostile_names import HOSTILE, renamed  # noqa: E402

def main():
    twill, failed = sys.argv[1], 0
    accepted = 0
    with tempfile.TemporaryDirectory() as folder:
        path, text = os.path.join(folder, "p.json"), os.path.join(folder, "k.py")
        subprocess.run([twill, "program", "hopper-fwd-sub2", "--machine", "hopper", "-o", path, "--quiet"], check=True)
        with open(path) as file:
            program = json.load(file)
        ids = sorted({op["id"] for slot in program["slots"] for op in slot["ops"]})
        slots = [slot["name"] for slot in program["slots"]]
        constants = sorted(program["meaning"]["constants"])
        victims = ids + slots + constants + [program["problem"]] + [v["id"] for v in program["meaning"]["after"]]
        for shift in range(0, len(HOSTILE), 3):
            for target in (ids, slots, constants, [program["problem"]], victims):
                names = {}
                for k, victim in enumerate(target):
                    hostile = HOSTILE[(k + shift) % len(HOSTILE)] + ("" if k < len(HOSTILE) else str(k))
                    if hostile not in names.values():
                        names[victim] = hostile
                changed = os.path.join(folder, "h.json")
                with open(changed, "w") as file:
                    json.dump(renamed(program, names), file)
                if os.path.exists(text):
                    os.remove(text)
                done = subprocess.run([twill, "emit", changed, "-o", text], capture_output=True)
                if done.returncode == 2 and not os.path.exists(text):
                    continue  # the reader refuses some names, and says so
                if done.returncode != 0:
                    print(f"exit code {done.returncode}: {done.stderr[:300]}")
                    failed += 1
                    continue
                accepted += 1
                with open(text, "rb") as file:
                    source = file.read()
                if any(byte > 126 or (byte < 32 and byte != 10) for byte in source):
                    print("the text is not printable ASCII")
                    failed += 1
                tree = ast.parse(source)
                imported = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
                if imported != {"itertools", "math", "sys", "torch", "triton"} or any(
                        isinstance(node, ast.Raise) and "SystemExit" in ast.dump(node) for node in ast.walk(tree)):
                    print(f"text of the file became code: {imported}")
                    failed += 1
                verdict = emit_run_test.run_all(source.decode(), "hostile", renamed(program, names), (2,), 1)
                if isinstance(verdict, str):
                    print(f"{list(names.items())[:3]}: {verdict}")
                    failed += 1
    print(f"{accepted} files with hostile names emitted, {failed} failed")
    return 1 if failed or accepted < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
