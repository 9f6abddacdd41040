"""Runs the walk-through of engine/README.md: walk_through.py TWILL ROOT.

Each block of commands is run in an empty folder, where its kernel files lie and `twill` is on the PATH; all must end
with 0, and each line of the block after it must be (a part of) a line that they printed, in this order.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile


def main():
    twill, root = os.path.abspath(sys.argv[1]), sys.argv[2]
    with open(os.path.join(root, "engine", "README.md"), encoding="utf-8") as file:
        section = re.search(r"^## Your own loop in ten minutes$(.*?)^## ", file.read(), re.S | re.M).group(1)
    blocks = re.findall(r"^```sh\n(.*?)^```\n```\n(.*?)^```$", section, re.S | re.M)
    if len(blocks) != section.count("```sh\n") or len(blocks) < 6:
        sys.exit("a block of commands has no block of lines after it")
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "bin"))
        os.symlink(twill, os.path.join(folder, "bin", "twill"))
        work = os.path.join(folder, "work")
        os.mkdir(work)
        for name in ("exp-product.json", "exp-product-128.json"):
            shutil.copy(os.path.join(root, "engine", "examples", name), work)
        path = os.path.join(folder, "bin") + os.pathsep + os.environ["PATH"]
        for commands, expected in blocks:
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=work, env={**os.environ, "PATH": path},
                                  capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"ended with {done.returncode}:\n{commands}{done.stderr}")
            printed = iter(done.stdout.splitlines())
            for line in expected.splitlines():
                if not any(line.strip() in one for one in printed):
                    sys.exit(f"{commands}does not print, or not here:\n{line}\nbut\n{done.stdout[:4000]}")
    print(f"{len(blocks)} blocks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
