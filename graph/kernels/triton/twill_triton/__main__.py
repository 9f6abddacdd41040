"""twill_triton on the command line: see main()'s parser, or `--help`."""

import argparse
import json
import sys

from . import emitting
from . import finishing
from . import versions
from .scheduling import TwillError, schedule
from .signature import SignatureError, value_of


def _read(path):
    if path == "-":
        return sys.stdin.read()
    with open(path, encoding="utf-8") as file:
        return file.read()


def _write(path, text):
    if path in (None, "-"):
        sys.stdout.write(text)
        return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _say(text):
    if text:
        print(f"twill_triton: {text}", file=sys.stderr)


def _triton():
    """0 where Triton is there (with a warning of versions that were not tried), else 77."""
    try:
        _say(versions.untested() and "warning: " + versions.untested())
        return 0
    except ImportError:
        _say("the triton package is not installed (pip install triton)")
        return 77


def run_emit(flags):
    code = _triton()
    if code:
        return code
    kernel, names = emitting.load_kernel(flags.file, flags.kernel)
    constants = {}
    for item in flags.constexpr:
        name, sign, text = item.partition("=")
        if not sign:
            raise SignatureError(f"--constexpr {item}: must be NAME=VALUE")
        constants[name.strip()] = value_of(text.strip(), names)
    _write(flags.output, emitting.emit(kernel, flags.signature, constants, flags.target, flags.num_warps,
                                       flags.num_stages, flags.num_ctas, names))
    return 0


def run_schedule(flags):
    done = schedule(_read(flags.module), flags.twill, flags.machine, flags.arguments)
    sys.stderr.write(done.remarks)
    found = done.schedule
    _say(f"I = {found['initiation_interval']}, L = {found['length']}"
         + ("" if done.proved else " (not proved within the limits)"))
    _write(flags.output, done.module)
    if flags.schedule:
        _write(flags.schedule, json.dumps(found, indent=2) + "\n")
    return 0 if done.proved else 3


def run_finish(flags):
    code = _triton()
    if code:
        return code
    options = {"keep_stages": False if flags.anew else None, "num_stages": flags.num_stages, "seconds": flags.seconds}
    if flags.fall_back:
        done = finishing.finish_kept(_read(flags.module), _read(flags.fall_back), **options)
    else:
        done = finishing.finish_apart(_read(flags.module), **options)
    if flags.save_ttgir and done.ttgir:
        _write(flags.save_ttgir, done.ttgir)
    if done.reached != "ptx":
        _say(f"error: Triton gets to {done.reached}: {done.reason}")
        return 1
    if done.without:
        _say(f"warning: the PTX is without {done.without}: this Triton does not take the schedule as it is: {done.reason}")
    _write(flags.output, done.ptx)
    if flags.metadata:
        _write(flags.metadata, json.dumps(done.metadata, indent=2) + "\n")
    return 0


def parser():
    """The command line."""
    top = argparse.ArgumentParser(prog="twill_triton", description="The module of a Triton kernel, its schedule by "
                                  "twill, and PTX from it; tried with Triton " + ", ".join(versions.TESTED) + ".")
    commands = top.add_subparsers(dest="command", required=True)
    add = commands.add_parser("emit", help="a kernel's module (TTGIR), from before Triton's scheduling passes")
    add.add_argument("file", metavar="FILE.py", help="Python file; it is executed")
    add.add_argument("kernel", metavar="KERNEL", help="name of a function in it under @triton.jit")
    add.add_argument("--signature", "-s", required=True,
                     help="\"x_ptr=*fp16, n=i32\" or in order \"*fp16, i32\"; :1 after a type = no multiple of 16")
    add.add_argument("--constexpr", "-c", action="append", default=[], metavar="NAME=VALUE")
    add.add_argument("--target", "-t", default="cuda:90", help="cuda:80, cuda:90 (default), cuda:100")
    add.add_argument("--num-warps", "-w", type=int, default=4)
    add.add_argument("--num-stages", type=int, default=3)
    add.add_argument("--num-ctas", type=int, default=1)
    add.add_argument("--output", "-o", metavar="OUT.ttgir")
    add.set_defaults(run=run_emit)
    add = commands.add_parser("schedule", help="the module with the schedule that twill finds",
                              epilog="What comes after -- goes to twill solve: -- --time-limit 60")
    add.add_argument("module", metavar="MODULE.ttgir")
    add.add_argument("--twill", help="the program (default: TWILL of the environment, twill of the PATH)")
    add.add_argument("--machine", help="of twill's (default: by the module's target)")
    add.add_argument("--schedule", metavar="FILE.json", help="write the schedule here, too")
    add.add_argument("--output", "-o", metavar="OUT.ttgir")
    add.set_defaults(run=run_schedule)
    for name in ("finish", "ptx"):
        add = commands.add_parser(name, help="PTX of a module, by the rest of the installed Triton")
        add.add_argument("module", metavar="MODULE.ttgir")
        add.add_argument("--anew", action="store_true", help="let Triton set the stages anew")
        add.add_argument("--num-stages", type=int, default=3,
                         help="of loops without tt.num_stages, as in the launch (default: 3)")
        add.add_argument("--fall-back", metavar="ORIGINAL.ttgir", help="the module as it came: where Triton fails on the "
                         "schedule, PTX without its partitions or of this, with a warning (default: an error)")
        add.add_argument("--save-ttgir", metavar="FILE", help="what Triton's passes made of the module")
        add.add_argument("--metadata", metavar="FILE.json", help="what a launch needs: name, shared memory, warps")
        add.add_argument("--seconds", type=int, default=300, help="then it hangs (default 300)")
        add.add_argument("--output", "-o", metavar="OUT.ptx")
        add.set_defaults(run=run_finish)
    return top


def main(arguments=None):
    """Exit code: 0 done, 1 no schedule or no PTX, 2 bad input, 3 a schedule that is not proved the best, 77
    without Triton where it is needed."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    rest = []
    if "--" in arguments:
        rest = arguments[arguments.index("--") + 1:]
        arguments = arguments[:arguments.index("--")]
    flags = parser().parse_args(arguments)
    if rest and flags.command != "schedule":
        parser().error("only schedule hands arguments to twill")
    flags.arguments = rest
    try:
        return flags.run(flags)
    except TwillError as error:
        _say(f"error: {error}")
        return error.code if error.code in (1, 2) else 1
    except (SignatureError, OSError, ValueError) as error:
        _say(f"error: {error}")
        return 2


if __name__ == "__main__":
    sys.exit(main())
