"""What machine code keeps in local memory: registers that ptxas spilled, in loops and outside of them.

A value that is written once before the slots begin and read back once by each costs nothing; one in the loop of a slot costs
its time in each iteration.
"""
import os
import re
import shutil
import subprocess

FEWEST = 30  # instructions of a loop that does more than wait for a barrier


def disassembled(cubin):
    """Lines of SASS, by the nvdisasm that Triton brings or one on the PATH; None = there is none that reads it."""
    import triton
    tools = [os.path.join(os.path.dirname(triton.__file__), "backends", "nvidia", "bin", "nvdisasm"), shutil.which("nvdisasm")]
    for tool in tools:
        if tool and os.path.exists(tool):
            done = subprocess.run([tool, "-c", cubin], capture_output=True, text=True)
            if done.returncode == 0:
                return done.stdout.splitlines()
    return None


def loops_of(lines):
    """(first, last) line of each innermost loop of a slot: from a label to a branch back to it. The loop in which workers wait
    for their slot (it changes their registers) is none."""
    labels = {match.group(1): k for k, line in enumerate(lines) if (match := re.match(r"\s*(\.L_x_\d+):", line))}
    changes = [k for k, line in enumerate(lines) if "USETMAXREG" in line]
    loops = set()
    for k, line in enumerate(lines):
        target = re.search(r"\bBRA\b.*`\((\.L_x_\d+)\)", line)
        begin = labels.get(target.group(1), k) if target else k
        if k - begin > FEWEST and not any(begin <= at <= k for at in changes):
            loops.add((begin, k))
    return sorted(one for one in loops if not any(other != one and one[0] <= other[0] and other[1] <= one[1] for other in loops))


def spilled(lines):
    """(bytes a thread that one round of all loops moves to and from local memory, those of everything else)."""
    loops, inside, outside = loops_of(lines), 0, 0
    for k, line in enumerate(lines):
        access = re.search(r"\b(?:STL|LDL)((?:\.\w+)*)\s", line)
        if not access:
            continue
        size = next((int(x) // 8 for x in access.group(1).split(".") if x in ("64", "128")), 4)
        if any(begin <= k <= end for begin, end in loops):
            inside += size
        else:
            outside += size
    return inside, outside
