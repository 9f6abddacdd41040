"""Twill for Triton's users: the module of a kernel, its schedule, and the rest of Triton's compiler.

    from twill_triton import emit, schedule, finish

    module = emit(my_kernel, "x_ptr=*fp16, y_ptr=*fp16, n=i32, BLOCK=128", target="cuda:90")
    scheduled = schedule(module, twill="build/release/engine/twill")
    print(finish(scheduled.module).ptx)

`emit` gives the text of the module (TTGIR) as it stands before Triton assigns latencies, stages and
partitions; `schedule` lets the program `twill` write its schedule into it; `finish` takes the result
through the rest of the installed Triton to PTX. No GPU is needed. Importing this package imports neither
Triton nor anything of the user's; `emit` and `finish` need Triton (versions.py: which were tried).
The same on the command line: `python -m twill_triton --help`.
"""

from .emitting import emit, load_kernel
from .finishing import Finished, finish, finish_apart, finish_kept
from .scheduling import Scheduled, TwillError, schedule
from .signature import SignatureError
from .versions import TESTED, untested

__all__ = ["emit", "load_kernel", "Finished", "finish", "finish_apart", "finish_kept", "Scheduled", "TwillError", "schedule",
           "SignatureError", "TESTED", "untested"]
