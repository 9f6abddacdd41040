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
print("loops, rules and the table hold")
