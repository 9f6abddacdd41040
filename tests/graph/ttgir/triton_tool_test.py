"""The tool for users of Triton (graph/kernels/triton/twill_triton): signatures, and kernels that a stranger
wrote (tests/data/triton/stranger.py) from Python to PTX with a schedule. Run as

    python triton_tool_test.py TWILL [--quick]

Without the triton package only what needs none is tested, and the exit code is 77."""
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
TOOL = os.path.join(ROOT, "graph", "kernels", "triton")
STRANGER = os.path.join(ROOT, "tests", "data", "triton", "stranger.py")
sys.path.insert(0, TOOL)
sys.dont_write_bytecode = True
TWILL = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""
QUICK = "--quick" in sys.argv

import twill_triton  # noqa: E402
from twill_triton import finishing  # noqa: E402
from twill_triton.__main__ import main  # noqa: E402
from twill_triton.signature import SignatureError, parse, split  # noqa: E402

IMPORTED = sorted(name for name in sys.modules if name == "triton" or name == "torch")

try:
    import triton
except ImportError:
    triton = None
needs_triton = unittest.skipIf(triton is None, "the triton package is not installed")


class Given:
    """The parameters of some kernel, as signature.Parameters has them."""

    def __init__(self, names, constexpr=(), **defaults):
        self.names, self.constexpr, self.defaults = names.split(), set(constexpr), defaults


class Signatures(unittest.TestCase):
    def test_nothing_is_imported_with_the_package(self):
        self.assertEqual(IMPORTED, [])

    def test_commas_in_brackets_and_texts(self):
        self.assertEqual(split("a=tensordesc<fp16[128, 64]>, b=\"x, y\", c=(1, 2),"),
                         ["a=tensordesc<fp16[128, 64]>", "b=\"x, y\"", "c=(1, 2)"])
        self.assertEqual(split(""), [])

    def test_names_and_order_say_the_same(self):
        given = Given("x y n BLOCK", ["BLOCK"])
        wanted = ({"x": "*fp16", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 128},
                  {(0,): [["tt.divisibility", 16]], (1,): [["tt.divisibility", 16]]})
        named = parse("n=i32:1, y=*fp32, x=*fp16:16, BLOCK=128", given)
        self.assertEqual(named, wanted)
        self.assertEqual(parse("*fp16, *fp32, i32:1, 128", given), wanted)
        self.assertEqual(parse("*fp16, *fp32, i32:1", given, {"BLOCK": 128}), wanted)
        self.assertEqual(list(named[0]), ["x", "y", "n", "BLOCK"])

    def test_defaults_and_a_plain_parameter_made_constant(self):
        given = Given("x n B C", ["B", "C"], C=None)
        self.assertEqual(parse("x=*fp16", given, {"n": 7, "B": True})[1], {"n": 7, "B": True, "C": None})

    def test_what_is_wrong_is_named(self):
        given = Given("x n B", ["B"])
        for text, constants, said in (("x=*fp16, B=1", {}, "'n' has no type"),
                                      ("x=*fp16, n=i32", {}, "'B' is a tl.constexpr and has no value"),
                                      ("x=*fp16, n=i32, B=1, z=i32", {}, "no parameter 'z'"),
                                      ("x=*fp16, n=i32", {"z": 1}, "no parameter 'z'"),
                                      ("x=*fp16, x=i32, B=1", {}, "'x' is given twice"),
                                      ("x=*fp16, n=i32, B=1", {"B": 1}, "'B' is given twice"),
                                      ("x=*fp16:8, n=i32, B=1", {}, "'8' is no hint"),
                                      ("x=*fp99, n=i32, B=1", {}, "Triton has no type 'fp99'"),
                                      ("*fp16, n=i32, B=1", {}, "all of its parameters or none"),
                                      ("*fp16", {"B": 1}, "has 1 types, the kernel 2 parameters: x, n")):
            with self.subTest(text), self.assertRaisesRegex(SignatureError, re.escape(said)):
                parse(text, given, constants)


MATMUL = ("a_ptr=*fp16, b_ptr=*fp16, c_ptr=*fp16, M=i32, N=i32, K=i32, stride_am=i32, stride_bk=i32, "
          "stride_cm=i32")
TILES = ["BLOCK_M=128", "BLOCK_N=128", "BLOCK_K=64"]
DESCRIPTORS = "a_desc=tensordesc<fp16[128, 64]>, b_desc=tensordesc<fp16[128, 64]>, c_ptr=*fp16, N=i32, K=i32"


def run(*arguments):
    """Exit code, standard output, standard error of the tool."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(list(arguments))
        except SystemExit as error:
            code = error.code
    return code, out.getvalue(), err.getvalue()


class Versions(unittest.TestCase):
    def test_passes_that_fail_on_schedules_are_left_out_of_old_versions(self):
        from twill_triton import versions
        for version, left_out in (("3.7.0", True), ("3.6", True), ("2.9.1+git", True), ("3.8.0", False),
                                  ("3.10.0", False), ("4.0.0rc1", False)):
            self.assertEqual(bool(versions.failing_passes(version)), left_out, version)


@needs_triton
class Kernels(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def emitted(self, kernel, signature, constants, target, *more):
        flags = [flag for constant in constants for flag in ("--constexpr", constant)]
        code, _, err = run("emit", STRANGER, kernel, "--signature", signature, *flags, "--target", target,
                           "-o", self.path("in.ttgir"), *more)
        self.assertEqual(code, 0, err)
        with open(self.path("in.ttgir"), encoding="utf-8") as file:
            return file.read()

    def to_ptx(self, kernel, signature, constants, target, *more):
        text = self.emitted(kernel, signature, constants, target, *more)
        self.assertIn(f'ttg.target" = "{target}"' if '"ttg.target"' in text else f'ttg.target = "{target}"', text)
        for word in ("loop.stage", "ttg.partition", "wait_barrier", "async_wait", HERE):
            self.assertNotIn(word, text)
        code, _, err = run("schedule", self.path("in.ttgir"), "--twill", TWILL, "-o", self.path("out.ttgir"),
                           "--schedule", self.path("s.json"))
        self.assertEqual(code, 0, err)
        with open(self.path("out.ttgir"), encoding="utf-8") as file:
            annotated = file.read()
        self.assertIn("loop.stage", annotated)
        with open(self.path("s.json"), encoding="utf-8") as file:
            schedule = json.load(file)
        self.assertEqual(schedule["status"], "optimal")
        self.assertIn(f"I = {schedule['initiation_interval']}, L = {schedule['length']}", err)
        code, _, err = run("finish", self.path("out.ttgir"), "-o", self.path("k.ptx"), "--metadata",
                           self.path("k.json"), "--save-ttgir", self.path("after.ttgir"))
        self.assertEqual(code, 0, err)
        with open(self.path("k.ptx"), encoding="utf-8") as file:
            ptx = file.read()
        self.assertIn(f".entry {kernel}", ptx)
        self.assertRegex(ptx, rf"\.target sm_{target.split(':')[1]}")
        with open(self.path("k.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["name"], kernel)
        return ptx

    def test_pointers_on_ampere_with_a_function_as_constant(self):
        ptx = self.to_ptx("matmul", MATMUL, TILES + ["GROUP=8", "EVEN_K=True", "ACTIVATION=leaky_relu"], "cuda:80",
                          "--num-warps", "8")
        self.assertIn("mma.sync", ptx)
        self.assertIn("cp.async", ptx)

    @unittest.skipIf(QUICK, "quick")
    def test_masked_pointers_on_hopper(self):
        self.assertIn("wgmma", self.to_ptx("matmul", MATMUL, TILES + ["GROUP=8", "EVEN_K=False", "OUT=tl.float16"],
                                           "cuda:90", "--num-warps", "8"))

    def test_descriptors_on_hopper(self):
        ptx = self.to_ptx("matmul_descriptors", DESCRIPTORS, TILES, "cuda:90", "--num-warps", "8")
        self.assertIn("wgmma", ptx)
        self.assertIn("cp.async.bulk.tensor", ptx)

    def test_descriptors_on_blackwell_warp_specialised(self):
        ptx = self.to_ptx("matmul_descriptors", DESCRIPTORS, TILES + ["SPECIALIZE=True"], "cuda:100")
        self.assertIn("tcgen05.mma", ptx)
        with open(self.path("after.ttgir"), encoding="utf-8") as file:
            self.assertIn("ttg.warp_specialize(", file.read())

    @unittest.skipIf(QUICK, "quick")
    def test_no_product_at_all(self):
        self.to_ptx("row_softmax", "*fp32, *fp32, i32, i32", ["BLOCK=1024"], "cuda:90")

    def test_hints_reach_the_module(self):
        arguments = ("*fp32{0}, *fp32{0}, i32{0}, i32{0}", ["BLOCK=1024"], "cuda:90")
        aligned = self.emitted("row_softmax", arguments[0].format(""), *arguments[1:])
        unknown = self.emitted("row_softmax", arguments[0].format(":1"), *arguments[1:])
        self.assertEqual(aligned.count("tt.divisibility = 16"), 4)
        self.assertNotIn("tt.divisibility", unknown)

    def test_what_is_wrong_ends_with_2_and_says_so(self):
        for arguments, said in (
                (("emit", STRANGER, "nothing", "-s", "i32"), "its kernels are leaky_relu, matmul, matmul_descriptors, "
                                                             "row_softmax"),
                (("emit", STRANGER, "not_a_kernel", "-s", "i32"), "is no Triton kernel"),
                (("emit", STRANGER, "row_softmax", "-s", "*fp32, *fp32, i32, i32"), "--constexpr BLOCK=VALUE"),
                (("emit", STRANGER, "row_softmax", "-s", "*fp32, *fp32, i32, i32", "-c", "BLOCK=what"),
                 "'what' is no value"),
                (("emit", STRANGER, "row_softmax", "-s", "*fp32, *fp32, i32, i32, 64", "-t", "hip:gfx942"),
                 "is no target"),
                (("emit", "/nonexistent.py", "x", "-s", "i32"), "/nonexistent.py"),
                (("schedule", "/nonexistent.ttgir", "--twill", TWILL), "/nonexistent.ttgir"),
                (("schedule", STRANGER, "--twill", "/nonexistent/twill"), "no program twill"),
                (("schedule", STRANGER, "--twill", TWILL), "the module"),
                (("finish", STRANGER), "no TTGIR for NVIDIA"),
                (("finish", STRANGER, "--", "--goals", "slots"), "only schedule")):
            with self.subTest(arguments):
                code, _, err = run(*arguments)
                self.assertEqual(code, 2, err)
                self.assertIn(said, err)

    def test_what_triton_refuses_is_said(self):
        text = self.emitted("row_softmax", "*fp32, *fp32, i32, i32", ["BLOCK=1024"], "cuda:90")
        with open(self.path("broken.ttgir"), "w", encoding="utf-8") as file:
            file.write(text.replace("tt.store", "tt.shop", 1))
        code, _, err = run("finish", self.path("broken.ttgir"), "-o", self.path("k.ptx"))
        self.assertEqual(code, 1)
        self.assertIn("Triton gets to nothing", err)
        self.assertFalse(os.path.exists(self.path("k.ptx")))
        # Where a module without the schedule is at hand there is PTX all the same, and it is said of what.
        code, _, err = run("finish", self.path("broken.ttgir"), "--fall-back", self.path("in.ttgir"), "-o", self.path("k.ptx"))
        self.assertEqual(code, 0, err)
        self.assertIn("warning: the PTX is without schedule: this Triton does not take the schedule as it is: ", err)
        self.assertTrue(os.path.exists(self.path("k.ptx")))
        # What can be taken as it is, is; and of two that cannot the first one's error is said.
        code, _, err = run("finish", self.path("in.ttgir"), "--fall-back", self.path("broken.ttgir"), "-o", self.path("k.ptx"))
        self.assertEqual((code, "without" in err), (0, False))
        code, _, err = run("finish", self.path("broken.ttgir"), "--fall-back", self.path("broken.ttgir"), "-o", self.path("o"))
        self.assertEqual((code, "Triton gets to nothing" in err), (1, True))
        # Partitions alone are left out first.
        parted = (text.replace("tt.store", "tt.shop {ttg.partition = array<i32: 0>}", 1), text)
        kept = finishing.finish_apart
        try:
            finishing.finish_apart = lambda module, **_: finishing.Finished(
                "ptx" if "ttg.partition" not in module else "parse", "no partitions today")
            done = finishing.finish_kept(*parted)
        finally:
            finishing.finish_apart = kept
        self.assertEqual((done.reached, done.without, done.reason), ("ptx", "partitions", "no partitions today"))

    def test_a_version_that_was_not_tried_is_warned_of(self):
        self.assertEqual(twill_triton.untested() == "", triton.__version__ in twill_triton.TESTED)
        kept, triton.__version__ = triton.__version__, "0.0.1"
        try:
            self.assertIn("Triton 0.0.1 was not tried with Twill; these were: 3.", twill_triton.untested())
            code, _, err = run("emit", STRANGER, "row_softmax", "-s", "*fp32, *fp32, i32, i32, 64")
            self.assertEqual(code, 0)
            self.assertIn("warning: Triton 0.0.1", err)
        finally:
            triton.__version__ = kept

    def test_the_old_program_forwards(self):
        done = subprocess.run([sys.executable, "-W", "ignore", "-B", os.path.join(TOOL, "compile.py"), "emit", STRANGER,
                               "row_softmax", "-s", "*fp32, *fp32, i32, i32, 64"], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("tt.func public @row_softmax", done.stdout)


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    sys.exit(1 if not result.wasSuccessful() else 77 if triton is None else 0)
