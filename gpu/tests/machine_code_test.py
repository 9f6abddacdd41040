"""gpu/check/machine_code.py on made-up listings: loops are found, and each rule's planted breach is."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "check"))
import machine_code  # noqa: E402

NAME = "_ZN5twill3gpu12fmha_forwardINS0_7ForwardILi2ELNS0_7ElementE0ELi128EEEEEvNS0_16ForwardArgumentsE"


def listing(code, name=NAME):
    lines = [f"\t\tFunction : {name}"]
    for n, text in enumerate(code):
        lines.append(f"        /*{16 * n:04x}*/                   {text} ;        /* 0x0 */")
    return machine_code.parse("\n".join(lines))[0]


# An outer loop (a tile, with a division) around a main loop whose wait spins out of line behind EXIT, and a loader.
CODE = [
    "I2F.RP R0, R1",                     # 00  outer
    "FFMA R2, R2, R2, R2",               # 10  main
    "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR8], R7",
    "@!P0 BRA 0xf0",                     # 30
    "HGMMA.64x128x16.F32 R24, gdesc[UR8], RZ, !UPT, gsb0",
    "MUFU.EX2 R3, R4",
    "WARPGROUP.DEPBAR.LE gsb0, 0x1",
    "MUFU.RCP R5, R5",
    "@P1 BRA 0x10",                      # 80
    "MEMBAR.ALL.GPU",                    # 90: once a tile
    "@P2 BRA 0x0",                       # a0
    "UTMALDG.5D [UR4], [UR6]",           # b0  loader
    "FENCE.VIEW.ASYNC.S",
    "@P3 BRA 0xb0",                      # d0
    "EXIT",                              # e0
    "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR8], R7",  # f0  the wait again
    "@P0 BRA 0x40",                      # 100
    "BRA 0xf0",                          # 110
]
kernel = listing(CODE)
assert machine_code.label(NAME) == ("forward", 128, "FP16", "Twill")
main, = kernel.main_loops()
assert main == list(range(1, 9)) + [15, 16, 17], main
assert len(kernel.loops()) == 4, kernel.loops()  # outer, main, its spinning wait, loader
assert machine_code.order(kernel.texts(main)) == "G1 e1 W1"
got = machine_code.counts(kernel.texts(main))
assert (got["HGMMA"], got["EX2"], got["FP32"], got["branch"], got["barrier"]) == (1, 1, 2, 4, 2), got
assert machine_code.broken(kernel) == [], machine_code.broken(kernel)

for at, text, says in [(7, "I2F.RP R5, R5", "in a main loop"), (7, "MEMBAR.ALL.GPU", "in a main loop"),
                       (7, "MEMBAR.SC.SYS", "in a main loop"), (7, "STL [R1], R5", "in a main loop"),
                       (15, "MEMBAR.ALL.GPU", "in a main loop"), (12, "MEMBAR.ALL.GPU", "loads by TMA"),
                       (12, "CCTL.IVALL", "loads by TMA")]:
    wrong = machine_code.broken(listing(CODE[:at] + [text] + CODE[at + 1:]))
    assert len(wrong) == 1 and text in wrong[0] and says in wrong[0], (text, wrong)
for at, text in [(7, "MEMBAR.ALL.CTA"), (9, "I2F.RP R0, R1"), (9, "CCTL.IVALL"), (12, "MEMBAR.ALL.CTA")]:
    assert machine_code.broken(listing(CODE[:at] + [text] + CODE[at + 1:])) == [], text
assert "| forward | 128 | FP16 | Twill | 11 |" in machine_code.table([kernel], "1.2"), machine_code.table([kernel], "1.2")
# Registers behind setmaxnreg: the loader's 24, a consumer's 240, each on its own way.
ROLES = ["@P0 BRA 0x40", "USETMAXREG.DEALLOC.CTAPOOL 0x18", "MOV R23, R2", "BRA 0x60",
         "USETMAXREG.TRY_ALLOC.CTAPOOL UP0, 0xf0", "MOV R239, R24", "EXIT"]
assert machine_code.broken(listing(ROLES)) == [], machine_code.broken(listing(ROLES))
for at, text in [(2, "MOV R2, R24"), (5, "MOV R240, R2"), (6, "STS [R24], R2")]:
    wrong = machine_code.broken(listing(ROLES[:at] + [text] + ROLES[at + 1:]))
    assert len(wrong) == 1 and f"{text} behind USETMAXREG" in wrong[0], (text, wrong)
# Exponentials: as many with no product in flight as the statements say, here 64 of head dimension 128 and 32 of 256 in one slot,
# none of the other's but alpha's two.
STATEMENTS = """# The statements

## Forward, Twill, wg0

```
prologue
  ISSUE QK[t]
steady state
  ISSUE QK[t]
  wait for all products; mask[t]
  --- the loop's back edge ---
  exp_p[t]
  ISSUE PV[t]; exp_a[t]
epilogue
  exp_p[t]
```

## Forward, Twill, wg1

```
prologue
steady state
  ISSUE QK[t]; exp_p[t]
  wait until 1 group is in flight; exp_p[t]
  wait for all products; exp_a[t]
  --- the loop's back edge ---
  exp_a[t]
  ISSUE PV[t]
epilogue
```

## Backward, Twill-80, both warpgroups

```
prologue
steady state
  --- the loop's back edge ---
  exp_p[t]
  ISSUE dv[t]
epilogue
```
"""
slots = machine_code.scheduled(STATEMENTS)
assert [slot(128) for slot in slots["forward", "Twill"]] == [64, 4], slots
assert [slot(256) for slot in slots["forward", "Twill"]] == [32, 4], slots
assert [slot(64) for slot in slots["backward", "Twill-80"]] == [40], slots
E, G, C = "MUFU.EX2 R3, R4", "HGMMA.64x128x16.F32 R24, gdesc[UR8], R24", "HGMMA.64x128x16.F32 R24, gdesc[UR8], R24, gsb0"
WAIT = "WARPGROUP.DEPBAR.LE gsb0, 0x"
assert machine_code.exposed([E, E, G, E, C, E, WAIT + "1", E, WAIT + "0", E]) == 3  # one group: a wait for all but one ends none
assert machine_code.exposed([G, C, E, C, WAIT + "1", E, WAIT + "0", E, E, E]) == 3
assert machine_code.exposed([E, "WARPGROUP.ARRIVE", E, C, E, WAIT + "0"]) == 1
FIRST = [E] * 64 + [G, C, E, E, WAIT + "0", "@P1 BRA 0x0"]
SECOND = [E, E, G, E, C, C, WAIT + "1"] + [E] * 9 + [WAIT + "0", E, E, f"@P1 BRA 0x{16 * len(FIRST):x}", "EXIT"]
assert machine_code.moved(listing(FIRST + SECOND), slots) == [], machine_code.moved(listing(FIRST + SECOND), slots)
# Planted: one moved behind the wait for its product, one moved under a product.
for code in (FIRST[:66] + [E, WAIT + "0", E, "@P1 BRA 0x0"], FIRST[:63] + [G, C, E, E, E, WAIT + "0", "@P1 BRA 0x0"]):
    assert len(code) == len(FIRST)
    wrong = machine_code.moved(listing(code + SECOND), slots)
    assert len(wrong) == 1 and "no product in flight" in wrong[0], wrong
print("loops, rules and the table hold")
