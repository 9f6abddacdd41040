"""Which ordinary writes the asynchronous proxy may read, by the stand-in.

usage: stand_in_test.py
Exit code 77 without numpy. Two slots write a buffer, whole or in part, and fence, in every order of up to five such steps; beside
them a model that keeps who wrote each byte last and whether that slot has fenced since.
"""
import itertools
import os
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import stand_in  # noqa: E402

STEPS = [(slot, what) for slot in "ab" for what in ("whole", "first half", "fence")]


def refused(steps, fence):
    """Does the stand-in refuse a read by the asynchronous proxy behind these steps?"""
    stand_in.WORLD = stand_in.World(0, "late")
    kind = stand_in.Type("float32")
    buffer = stand_in.Shared(kind, np.zeros((2, 4), np.float32))
    name = threading.current_thread().name
    try:
        for slot, what in steps:
            threading.current_thread().name = slot
            if what == "fence":
                fence()
            else:
                part = buffer if what == "whole" else buffer.slice(0, 1)
                part.store(stand_in.tile(np.ones(part.array.shape, np.float32)))
    finally:
        threading.current_thread().name = name
    try:
        buffer.seen_by_async()
        return False
    except stand_in.Fault:
        return True


def unseen(steps):
    """The model: is there a half whose last writer has not fenced since?"""
    last = {}  # half -> the slot that wrote it last and whether that has fenced since
    for slot, what in steps:
        if what == "fence":
            last = {half: (by, seen or by == slot) for half, (by, seen) in last.items()}
        else:
            last.update({half: (slot, False) for half in ((0, 1) if what == "whole" else (0,))})
    return any(not seen for _, seen in last.values())


def main():
    modules = stand_in.gluon_modules()
    fence = next(module.fence_async_shared for module in modules.values() if hasattr(module, "fence_async_shared"))
    orders = [steps for length in range(6) for steps in itertools.product(STEPS, repeat=length)]
    missed = [steps for steps in orders if unseen(steps) and not refused(steps, fence)]
    strict = sum(refused(steps, fence) and not unseen(steps) for steps in orders)
    allowed = sum(not refused(steps, fence) for steps in orders)
    print(f"{len(orders)} orders: {allowed} allowed, {strict} refused that the model allows, {len(missed)} missed")
    over = (("a", "whole"), ("b", "whole"), ("b", "fence"))
    if missed or refused(over, fence):
        print("WRONG:", missed[:3] or "what is written over whole is refused")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
