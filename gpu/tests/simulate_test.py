"""gpu/check/control_codes.py and simulate.py on hand-made sequences whose clocks are known."""
import os
import random
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "check"))
import control_codes  # noqa: E402
import machine_code  # noqa: E402
import simulate  # noqa: E402
from control_codes import Control  # noqa: E402

# Codes: every field comes back, whatever the bits around it; one real instruction of a listing, nvcc 13.0.88:
# "@!P0 BRA" that waits for scoreboards 1, 3, 4 and 5 and stalls for 5 clocks.
generator = random.Random(1)
for _ in range(2000):
    control = Control(generator.randrange(16), generator.random() < .5, generator.choice([None, 0, 1, 2, 3, 4, 5]),
                      generator.choice([None, 0, 1, 2, 3, 4, 5]), frozenset(b for b in range(6) if generator.random() < .5),
                      generator.randrange(16))
    noise = generator.randrange(1 << 41) | generator.randrange(4) << 62
    assert control_codes.decode(generator.randrange(1 << 64), control_codes.encode(control) | noise) == control
assert control_codes.text(Control(5, False, None, None, frozenset({1, 3, 4, 5}))) == "B-1-345:R-:W-:-:S05"
assert control_codes.decode(0, 0x000fea0003800000) == Control(5, False, None, None), control_codes.decode(0, 0x000fea0003800000)
assert control_codes.decode(0, 0x000e620000000800) == Control(1, False, 1, None), control_codes.decode(0, 0x000e620000000800)


def op(text, stall=1, wait=(), write=None, read=None, yields=False):
    return simulate.Instruction(text, Control(stall, yields, write, read, frozenset(wait)))


def clocks(*loops, rounds=8, **more):
    """Clocks a round of each warp in the steady state."""
    done = simulate.Simulation(list(loops), **more).run(rounds)
    return [(warp.rounds[rounds - 1] - warp.rounds[rounds - 3]) / 2 for warp in done.warps]


def same(got, wanted):
    assert got == wanted, (got, wanted)


branch = op("BRA 0x0", stall=5)
# Stall counts alone: their sum.
same(clocks([op("FADD R0, R0, R1", stall=4), op("FADD R0, R0, R1", stall=2), branch]), [11])
# A scoreboard: the shuffle's latency instead of its stall count; a second on the same board waits for both.
shuffle = dict((pattern, latency) for pattern, _, _, latency in simulate.UNITS)["SHFL"]
same(clocks([op("SHFL.BFLY PT, R1, R0, 0x1, 0x1f", stall=1, write=2), op("FADD R1, R1, R1", wait=[2]), branch]), [shuffle + 6])
same(clocks([op("SHFL.BFLY PT, R1, R0, 0x1, 0x1f", write=2), op("SHFL.BFLY PT, R2, R0, 0x1, 0x1f", write=2),
               op("FADD R1, R1, R1", wait=[2]), branch]), [4 + shuffle + 6])
# ... and one that nobody waits for costs nothing.
same(clocks([op("SHFL.BFLY PT, R1, R0, 0x1, 0x1f", stall=1, write=2), op("FADD R1, R1, R1"), branch]), [7])
# MUFU: 16 lanes a clock and multiprocessor, so one warp's in 8 clocks of a quadrant, whatever the stall count says.
exponentials = [op("MUFU.EX2 R0, R0", write=1) for _ in range(20)]
same(clocks(exponentials), [160])
# Between them other units' instructions are free.
same(clocks([x for e in exponentials for x in (e, op("FMUL R1, R1, R2"), op("F2FP.F16.F32.PACK_AB R3, R4, R5", stall=2))]), [160])
# Comparisons: half a warp a clock.
same(clocks([op("FMNMX R0, R0, R1, !PT") for _ in range(10)]), [20])
# Two warps compete: for issue slots (2 * 30 instructions), for MUFU (2 * 160 clocks), and not, where each stalls.
adds = [op("FADD R0, R0, R1")] * 29 + [op("FADD R0, R0, R1", yields=True)]
same(clocks(adds, adds), [60, 60])
try:
    clocks(adds[:29], adds[:29])
    raise AssertionError("a warp that never yields lets another one issue")
except RuntimeError:
    pass
same(clocks(exponentials, exponentials), [320, 320])
same(clocks([op("FADD R0, R0, R1", stall=4)] * 10, [op("FADD R0, R0, R1", stall=4)] * 10), [40, 40])
# A warp that can issue goes on; one that yields alternates.
both = simulate.Simulation([[op("FADD R0, R0, R1")] * 10, [op("FADD R0, R0, R1")] * 10])
assert len({both.step() for _ in range(10)}) == 1
both = simulate.Simulation([[op("FADD R0, R0, R1", yields=True)] * 10] * 2)
same([both.step() for _ in range(10)], [1, 0] * 5)

# Products: 64 clocks for 64x128x16; a wait for all ends after the last, one for all but one group before.
product, last = "HGMMA.64x128x16.F32 R24, gdesc[UR4], R24", "HGMMA.64x128x16.F32 R24, gdesc[UR4], R24, gsb0"
wait = "WARPGROUP.DEPBAR.LE gsb0, 0x"
around = simulate.PRODUCT_START + simulate.PRODUCT_TAIL
same(clocks([op(product), op(product), op(last), op(wait + "0")]), [3 * 64 + around + 1])
same(clocks([op(product), op(last), op(wait + "1")]), [128])
# Under it exponentials are free; behind the wait they are not.
same(clocks([op(product), op(last), *exponentials, op(wait + "0")]), [max(160 + 2, 128 + around + 1)])
same(clocks([op(product), op(last), op(wait + "0"), *exponentials]), [128 + around + 1 + 19 * 8 + 1])
# One tensor core for both warps.
same(clocks(*[[op(product), op(last), op(wait + "1")]] * 2), [256, 256])
# Smaller products take less.
same(clocks([op("HGMMA.64x80x16.F32 R24, gdesc[UR4], R24, gsb0"), op(wait + "3")], rounds=20), [40])

# Turns: two warps that hand a barrier to each other take their products one after the other, with the hand-over's cost.
last = last.replace("128x", "8x")
turn = [[op(f"BAR.SYNC.DEFER_BLOCKING 0x{1 + w}, 0x100"), op(last), op(f"BAR.ARV 0x{2 - w}, 0x100")] for w in (0, 1)]
same(clocks(*turn, tokens={"0x1": 1}), [2 * (simulate.BARRIER + 1)] * 2)
try:
    clocks(*turn)
    raise AssertionError("a deadlock was not found")
except RuntimeError:
    pass
# dQ's staging buffer: free when the reduction has read it, 16 bytes a clock.
staging = [op("BAR.SYNC.DEFER_BLOCKING R7, 0xa0"), op("STS.128 [R2], R4"), op("BAR.ARV R4, 0xa0")]
assert clocks(staging, reduced=16384)[0] >= 1024 and clocks(staging, reduced=160)[0] < 200

try:
    op("HGMMA.SP.64x128x32.F32 R24, gdesc[UR4], R24")
    raise AssertionError("a product of unknown shape was accepted")
except ValueError:
    pass


def listing(code):
    lines = ["\t\tFunction : made_up"]
    for n, text in enumerate(code):
        lines.append(f"        /*{16 * n:04x}*/                   {text} ;        /* 0x0000000000000000 */")
        lines.append(f"                                                            /* 0x{control_codes.encode(Control(2)):016x} */")
    return "\n".join(lines)


# The way round: a wait that spins out of line is not taken, lane 0's part is, the mask is jumped over.
CODE = ["HGMMA.64x128x16.F32 R24, gdesc[UR8], RZ, !UPT, gsb0", "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR8], R7",
        "@!P0 BRA 0x130", "@P1 BRA 0x50", "SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR14], RZ",
        "WARPGROUP.DEPBAR.LE gsb0, 0x0", "@!P2 BRA 0x110"] + ["FSEL R26, R26, -INF , P5"] * 10 + [
            "@!P0 BRA 0x0", "EXIT", "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR8], R7", "@!P0 BRA 0x130", "BRA 0x30"]
function, loops = next(simulate.main_loops(listing(CODE)))
assert [i.text.split()[0] for i in loops[0]] == ["HGMMA.64x128x16.F32", "SYNCS.PHASECHK.TRANS64.TRYWAIT", "BRA", "BRA",
                                                 "SYNCS.ARRIVE.TRANS64.A1T0", "WARPGROUP.DEPBAR.LE", "BRA", "BRA"], loops
assert all(i.control.stall == 2 for i in loops[0])
print("codes, clocks and the way round a loop hold")
