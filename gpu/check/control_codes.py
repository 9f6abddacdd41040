"""The control codes of sm_90 machine code: what the compiler tells the scheduler, in the upper bits of every 128-bit instruction.

Layout (bits of the 128): 105-108 stall, 109 yield, 110-112 write scoreboard, 113-115 read scoreboard, 116-121 scoreboards to
wait for, 122-125 register reuse. Sources: Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking"
(2018), Section 2.1 and Table 2.1; Huerta et al., "Analyzing Modern NVIDIA GPU cores" (2025), Section 4: the same since Volta.

    control_codes.py LISTING [FUNCTION]      prints the instructions of a cuobjdump --dump-sass listing with their codes
"""
import re
import sys
from dataclasses import dataclass

NONE = 7  # the number of no scoreboard


@dataclass(frozen=True)
class Control:
    """stall: clocks until this warp's next instruction may be issued, 0 to 15. yields: the warp asks the scheduler for another
    one's turn. write, read: scoreboard 0 to 5 (None: none) that is raised at issue and lowered when the result has been written,
    or the operands read. wait: the set of scoreboards that must be down before issue. reuse: operands kept, four bits."""
    stall: int = 1
    yields: bool = False
    write: int | None = None
    read: int | None = None
    wait: frozenset = frozenset()
    reuse: int = 0


def decode(low, high):
    """Control of an instruction given as its two 64-bit words."""
    if not (0 <= low < 1 << 64 and 0 <= high < 1 << 64):
        raise ValueError("an instruction is two words of 64 bits")
    code = high >> 41

    def scoreboard(bits):
        return None if bits == NONE else bits

    # The yield bit is stored inverted: 0 asks for the yield.
    return Control(code & 15, not code >> 4 & 1, scoreboard(code >> 5 & 7), scoreboard(code >> 8 & 7),
                   frozenset(b for b in range(6) if code >> 11 + b & 1), code >> 17 & 15)


def encode(control):
    """The upper word with nothing but the control code: decode's inverse, for tests."""
    def scoreboard(number):
        return NONE if number is None else number

    code = (control.stall | (not control.yields) << 4 | scoreboard(control.write) << 5 | scoreboard(control.read) << 8
            | sum(1 << 11 + b for b in control.wait) | control.reuse << 17)
    return code << 41


def text(control):
    """As the field writes it: waits, read scoreboard, write scoreboard, yield, stall."""
    waits = "".join(str(b) if b in control.wait else "-" for b in range(6))
    return (f"B{waits}:R{'-' if control.read is None else control.read}:W{'-' if control.write is None else control.write}"
            f":{'Y' if control.yields else '-'}:S{control.stall:02}")


def listing(lines):
    """Per function of a listing: [(address, predicate or "", text, Control)]."""
    functions, name = {}, None
    first = re.compile(r"\s+/\*([0-9a-f]{4,})\*/\s+(?:\{\s*)?(?:@(!?U?P\w+)\s+)?(\S.*?)\s*;\s*/\*\s*0x([0-9a-f]{16})\s*\*/")
    second = re.compile(r"\s+/\*\s*0x([0-9a-f]{16})\s*\*/\s*$")
    pending = None
    for line in lines:
        found = re.search(r"Function : (\S+)", line)
        if found:
            name, pending = found[1], None
            functions[name] = []
            continue
        found = first.match(line)
        if found and name:
            pending = (int(found[1], 16), found[2] or "", found[3], int(found[4], 16))
            continue
        found = second.match(line)
        if found and pending:
            at, predicate, words, low = pending
            functions[name].append((at, predicate, words, decode(low, int(found[1], 16))))
            pending = None
    return functions


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        for function, code in listing(file).items():
            if len(sys.argv) < 3 or sys.argv[2] in function:
                print(function)
                for at, predicate, words, control in code:
                    print(f"{at:06x} {text(control)} {'@' + predicate + ' ' if predicate else ''}{words}")
