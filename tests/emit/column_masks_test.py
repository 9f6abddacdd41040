"""The functions by which an emitted text compares columns with a row's limit, beside the comparison itself: all columns, all
bits that a thread may have for itself, limits up to the ends of 32 bits.

    python tests/emit/column_masks_test.py TWILL

The text is executed on the stand-in. Exit code 1 = a function compares otherwise, 77 without numpy.
"""
import operator
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import stand_in  # noqa: E402

MODULE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "ttgir", "window-hopper.ttgir")
COLUMNS = 256
OWN = [6, 6 + 64, 32, 128]  # graph/emit/register_tile.hpp, column_bits_of_threads()
LIMITS = sorted({end + k for end in (-2**31, 0, COLUMNS, 2**31 - 1) for k in range(-300, 301) if -2**31 <= end + k < 2**31})


def differing(function, compare):
    """(bits, limit) at which the function differs from the comparison for some column."""
    columns = stand_in.tile(np.arange(COLUMNS, dtype=np.int32))[None, :]
    limits = stand_in.tile(np.array(LIMITS, np.int32))[:, None]
    right = compare(np.arange(COLUMNS)[None, :], np.array(LIMITS, np.int64)[:, None])
    for own in OWN:
        got = np.asarray(function(columns, limits, own))
        yield from ((own, LIMITS[row]) for row in np.flatnonzero((got != right).any(axis=1)))


def main():
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "kernel.py")
        subprocess.run([sys.argv[1], "emit", MODULE, "--machine", "hopper", "-o", out, "--quiet"], check=True)
        with open(out) as file:
            text = file.read()
    failed = False
    for name, compare in (("at_most", operator.le), ("at_least", operator.ge)):
        wrong = list(differing(getattr(stand_in.load(text, "window"), name), compare))
        # Without the clamp the ends of 32 bits show.
        clamp = "gl.maximum(limit, -1)" if name == "at_most" else "gl.maximum(limit, 0)"
        assert text.count(clamp) == 1
        noticed = list(differing(getattr(stand_in.load(text.replace(clamp, "limit"), "window"), name), compare))
        print(f"{name}: {len(LIMITS)} limits, {len(wrong)} wrong; without its clamp {len(noticed)}")
        failed = failed or bool(wrong) or not noticed
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
