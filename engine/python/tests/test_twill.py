"""The package against the command: the same answers, its errors, its pictures."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import twill

TWILL = os.environ.get("TWILL")  # the program, where the package does not bring it
KERNEL = "hopper-fwd-sub2"


def command(*arguments):
    program = TWILL or os.path.join(os.path.dirname(twill.__file__), "bin", "twill")
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)


def read_module():
    path = os.path.join(os.path.dirname(__file__), "../../../graph/kernels/triton/hopper-attention-forward.ttgir")
    with open(path, encoding="utf-8") as file:
        return file.read()


class Solving(unittest.TestCase):
    def test_kernel_as_the_command(self):
        solution = twill.solve(KERNEL, machine="hopper", seed=0)
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "s.json")
            self.assertEqual(command("solve", KERNEL, "--machine", "hopper", "-o", out).returncode, 0)
            with open(out, encoding="utf-8") as file:
                theirs = json.load(file)
        self.assertEqual(solution.status, "optimal")
        self.assertEqual(solution.ii, theirs["initiation_interval"])
        self.assertEqual(solution.length, theirs["length"])
        self.assertEqual(solution.data["ops"], theirs["ops"])
        self.assertEqual(solution.ii_lower_bound, solution.ii)
        self.assertEqual(solution.length_lower_bound, solution.length)
        first = solution.ops[0]
        self.assertEqual(first["start"], first["stage"] * solution.ii + first["row"])
        self.assertEqual(len(solution.ops), len(solution.problem.data["ops"]))
        twill.verify(solution.problem, solution)

    def test_problem_options_and_goals(self):
        problem = twill.Problem.lower("figure-1", "figure-1")
        again = twill.Problem.parse(problem.data)
        self.assertEqual(problem.json, again.json)
        told = []
        solution = twill.solve(problem, ii=3, goals=["lifetime"], progress=told.append)
        self.assertEqual(solution.ii, 3)
        self.assertIn("lifetime", solution.json)
        self.assertTrue(told and "phase" in told[0])
        self.assertEqual(twill.Solution.parse(problem, solution.json).ops, solution.ops)

    def test_made_by_and_length_slack(self):
        shortest = twill.solve("blackwell-bwd", machine="blackwell", goals=["slots"])
        fewest = twill.solve("blackwell-bwd", machine="blackwell", goals=["slots"], length_slack=3)
        self.assertEqual((fewest.ii, fewest.length), (shortest.ii, shortest.length + 3))
        self.assertEqual(fewest.data["length_slack"],
                         {"cycles": 3, "at_most": shortest.length + 3})
        self.assertEqual(fewest.made_by["machine"], "blackwell")
        self.assertEqual(fewest.made_by["layout"], "8+4-wide")
        self.assertIn("layout 8+4-wide", fewest.picture("svg"))
        self.assertIsNone(twill.solve(twill.Problem.parse(fewest.problem.data)).made_by)

    def test_no_schedule(self):
        data = twill.Problem.lower("figure-1", "figure-1").data
        data["version"], data["initiation_interval"] = 5, {"most": 1}
        none = twill.solve(twill.Problem.parse(data))
        self.assertEqual(none.status, "infeasible")
        self.assertIsNone(none.ii)
        self.assertEqual(none.ops, [])
        self.assertIn("infeasible", none.text())

    def test_pictures(self):
        solution = twill.solve("figure-1", machine="figure-1")
        self.assertIn("Steady state", solution.text())
        self.assertTrue(solution.html().startswith("<!doctype html>") or "<html" in solution.html())
        self.assertIn("digraph", solution.picture("dot"))
        json.loads(solution.picture("trace"))
        self.assertIn("<iframe", solution._repr_html_())
        with self.assertRaises(twill.InputError):
            solution.picture("png")

    def test_certificates(self):
        problem = twill.Problem.lower("figure-1", "figure-1")
        with tempfile.TemporaryDirectory() as folder:
            place = os.path.join(folder, "c")
            twill.solve(problem, evidence=True).certify(place)
            self.assertTrue(any("no schedule has I < 2" in line for line in twill.check(place)))
            self.assertEqual(command("check", place).returncode, 0)
            with open(os.path.join(place, "problem.json"), "a", encoding="utf-8") as file:
                file.write(" ")
            with self.assertRaises(twill.Refused):
                twill.check(place)
            with self.assertRaises(twill.InputError):
                twill.solve(problem).certify(os.path.join(folder, "none"))

    def test_errors(self):
        for wrong, place in (("{", "line 1"), ('{"format": "twill.problem", "version": 99}', "version")):
            with self.assertRaises(twill.InputError) as caught:
                twill.Problem.parse(wrong)
            self.assertIn(place, str(caught.exception))
        with self.assertRaises(twill.InputError):
            twill.solve("no-such-kernel", machine="hopper")
        with self.assertRaises(TypeError):
            twill.solve(KERNEL)
        with self.assertRaises(TypeError):
            twill.solve(KERNEL, machine="hopper", unknown=1)
        problem = twill.Problem.lower("figure-1", "figure-1")
        solution = twill.solve(problem)
        wrong = solution.data
        wrong["ops"][1]["start"] = 0
        with self.assertRaises(twill.Refused) as caught:
            twill.verify(problem, twill.Solution.parse(problem, json.dumps(wrong)))
        self.assertIn("dependence", str(caught.exception))

    def test_what_if_and_why(self):
        plain = twill.solve("fmha-forward", machine="blackwell", normalize=300)
        twice = twill.solve("fmha-forward", machine="blackwell", normalize=300, set={"units.SFU": 2})
        self.assertLess(twice.ii, plain.ii)
        with self.assertRaises(twill.InputError) as caught:
            twill.solve("fmha-forward", machine="blackwell", set={"units.SFX": 2})
        self.assertIn("units.SFX", str(caught.exception))
        why = twill.explain(plain.problem)
        self.assertEqual(why["initiation_interval"], plain.ii - 1)
        self.assertTrue(why["clash"] or why["forced_by"])
        with self.assertRaises(twill.Refused):
            twill.explain(plain.problem, plain.ii)
        found = plain.evaluate()
        self.assertEqual(found["initiation_interval"], plain.ii)
        self.assertTrue(all(r["least"] <= r["cycles"] for r in plain.sensitivity(seed=0)))
        pinned = plain.problem.pin("least_ii", value=plain.ii + 5)
        other = twill.solve(pinned)
        self.assertEqual(other.ii, plain.ii + 5)
        difference = plain.diff(other)
        self.assertEqual(difference["numbers"][0], {"name": "I", "a": plain.ii, "b": other.ii})
        with self.assertRaises(twill.InputError):
            plain.problem.pin("colour", "x", "red")

    def test_triton_module(self):
        folder = os.path.join(os.path.dirname(__file__), "../../../graph/kernels/triton")
        with open(os.path.join(folder, "hopper-attention-forward.ttgir"), encoding="utf-8") as file:
            module = file.read()
        self.assertIn("line", twill.loops(module))
        self.assertIn("dot", twill.costs(module))
        solution = twill.solve(module, for_triton=True)
        self.assertEqual(solution.status, "optimal")
        self.assertIn("loop.stage", solution.annotated())
        self.assertIn("prologue", solution.pipelined())
        with self.assertRaises(TypeError):
            twill.solve(solution.problem).annotated()
        with self.assertRaises(twill.InputError):
            twill.solve(module, subtile=3)
        with open(os.path.join(folder, "hopper-gemm-persistent.ttgir"), encoding="utf-8") as file:
            outer, inner = twill.nest(file.read())
        self.assertGreater(outer.ii, inner.ii)

    def test_program(self):
        program = twill.program(KERNEL, machine="hopper")
        self.assertTrue(program.executable)
        program.judge()
        self.assertLess(program.run(3, seed=1), 1.0)
        self.assertIn("wait", program.text)
        self.assertEqual(program.data["initiation_interval"], program.ii)
        bare = twill.program(twill.solve("figure-1", machine="figure-1"))
        self.assertFalse(bare.executable)
        with self.assertRaises(twill.InputError):
            bare.run(3)

    def test_a_kernel_with_turns_and_in_time(self):
        program = twill.program(KERNEL, machine="hopper", turns="all", merge=True, seed=3)
        self.assertEqual(program.json, command("program", KERNEL, "--machine", "hopper", "--all-turns",
                                               "--merge", "--seed", "3", "--json").stdout)
        program.compare(program.solution)
        timed = command("run", KERNEL, "--machine", "hopper", "--all-turns", "--merge", "--time",
                        "--iterations", "20", "--wait-cost", "50", "--runs", "5", "--seed", "3", "--json")
        self.assertEqual(program.time(iterations=20, wait_cost=50, runs=5, seed=3),
                         json.loads(timed.stdout))
        self.assertIn('"ph":"s"', program.trace(iterations=4))
        self.assertNotEqual(program.trace(iterations=4, wait_cost=50), program.trace(iterations=4))
        again = twill.Program.parse(program.json)
        self.assertEqual(again.json, program.json)
        again.compare(program.solution)
        with self.assertRaises(twill.Refused):
            again.compare(twill.solve(program.solution.problem, ii=program.ii + 7))
        with self.assertRaises(TypeError):
            again.time()
        with self.assertRaises(twill.InputError):
            program.time(spread=101)
        module = os.path.join(os.path.dirname(__file__), "../../../graph/kernels/triton/hopper-attention-forward.ttgir")
        with open(module, encoding="utf-8") as file:
            self.assertTrue(twill.program(file.read()).executable)

    def test_more_slots_pins_and_readings(self):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "s.json")
            for given, options in (
                    ({"more": ["wg0"], "layout": "2x4"}, ["--more", "wg0", "--layout", "2x4"]),
                    ({"pins": [("slot", "s0_qk", "wg0"), ("most_ii", None, 2100)], "layout": "2x4"},
                     ["--pin", "s0_qk=wg0", "--ii-range", "..2100", "--layout", "2x4"]),
                    ({"holds": "off", "rings": "live"}, ["--holds", "off", "--rings", "live"])):
                self.assertEqual(command("solve", KERNEL, "--machine", "hopper", "--quiet", "-o", out,
                                         *options).returncode, 0)
                with open(out, encoding="utf-8") as file:
                    theirs = json.load(file)
                ours = twill.solve(KERNEL, machine="hopper", **given).data
                self.assertEqual(ours["problem_sha256"], theirs["problem_sha256"])
                self.assertEqual(ours["ops"], theirs["ops"])
        with self.assertRaises(twill.InputError):
            twill.solve(KERNEL, machine="hopper", more=["wg9"])
        with self.assertRaises(twill.InputError):
            twill.solve(KERNEL, machine="hopper", pins=[("slot", "s0_qk", "wg9")])
        with self.assertRaises(twill.InputError):
            twill.solve(KERNEL, machine="hopper", holds="perhaps")

    def test_measured_cycles_and_normalised_ones(self):
        module = os.path.join(os.path.dirname(__file__),
                              "../../../graph/kernels/triton/hopper-attention-forward.ttgir")
        with open(module, encoding="utf-8") as file:
            text = file.read()
        profile = '{"format": "twill.profile", "version": 1, "ops": {"math.exp2": 1010}}'
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "profile.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write(profile)
            theirs = command("lower", module, "--profile", path, "--explain").stdout
        self.assertIn("1010", theirs)
        self.assertEqual(twill.costs(text, profile=profile), theirs)
        with self.assertRaises(twill.InputError):
            twill.costs(KERNEL, "hopper", profile=profile)
        relative = twill.Problem.of("fmha-backward", "hopper", normalize=20, normalize_relative=True)
        self.assertEqual(relative.data["ops"], json.loads(command(
            "lower", "fmha-backward", "--machine", "hopper", "--normalize", "20",
            "--normalize-relative").stdout)["ops"])
        self.assertNotEqual(relative.json,
                            twill.Problem.of("fmha-backward", "hopper", normalize=20).json)

    def test_what_is_built_in(self):
        self.assertEqual([*twill.kernels()],
                         [one["name"] for one in json.loads(command("kernels", "--json").stdout)])
        self.assertEqual(twill.machines()["hopper"],
                         {one["name"]: one["doc"]
                          for one in json.loads(command("machines", "--json").stdout)}["hopper"])
        self.assertEqual(twill.encodings(), json.loads(command("encodings", "--json").stdout))
        self.assertEqual(twill.kernel_text("fmha-forward", "hopper"),
                         command("kernels", "--show", "fmha-forward", "--machine", "hopper").stdout)
        self.assertEqual(twill.machine_text("hopper"), command("machines", "--show", "hopper").stdout)
        with self.assertRaises(twill.InputError):
            twill.machine_text("hoper")
        path = os.path.join(os.path.dirname(__file__), "../../../tests/fuzz/measurements/hopper")
        with open(path, encoding="utf-8") as file:
            measured = file.read()
        fitted = command("machines", "--quiet", "--fit", path, "--base", "hopper").stdout
        self.assertEqual(twill.fit_machine(measured, "hopper"), fitted)
        self.assertEqual(twill.fit_machine(measured, twill.machine_text("hopper")), fitted)
        with self.assertRaises(twill.InputError):
            twill.fit_machine("{}", "hopper")

    def test_pages_and_proofs_of_why(self):
        loop = twill.Problem.lower("figure-1", "figure-1")
        best, other = twill.solve(loop), twill.solve(loop, ii=3)
        self.assertIn("<svg", best.diff_page(other, "best", "slower"))
        self.assertIn("slower", best.diff_page(other, "best", "slower"))
        with tempfile.TemporaryDirectory() as folder:
            why = twill.explain(loop, certificate=os.path.join(folder, "why"))
            proved = twill.check(os.path.join(folder, "why", why["certificate"]))
            self.assertTrue(any("I = 1" in line or "I < 2" in line for line in proved), proved)
            with self.assertRaises(twill.InputError):
                twill.explain(loop, certificate=os.path.join(folder, "why"))
            tiles = twill.solve("gemm-tiles", machine="hopper", tiles="m=128,n=128,subtiles=1", evidence=True)
            tiles.certify(os.path.join(folder, "tiles"))
            self.assertTrue(twill.check(os.path.join(folder, "tiles")))
        slack = loop.with_slack(1)
        self.assertGreaterEqual(twill.solve(slack).length, best.length)
        self.assertIn("with slack 1", slack.data["name"])

    def test_results_are_stored_where_that_is_asked(self):
        stored = twill.solve("hopper-fwd-plain", machine="hopper", store="trunc_p")
        self.assertEqual(stored.made_by["options"]["store"], "trunc_p")
        self.assertIn("trunc_p_stored", [op["id"] for op in stored.problem.data["ops"]])
        with self.assertRaisesRegex(twill.InputError, "no matrix product reads it"):
            twill.solve("hopper-fwd-plain", machine="hopper", store="exp_p")
        with self.assertRaisesRegex(twill.InputError, "only a kernel file"):
            twill.solve(read_module(), store="x")

    def test_several_iterations_in_one(self):
        twice = twill.solve("blackwell-fwd-plain", machine="blackwell", unroll=2)
        self.assertEqual((twice.status, twice.ii), ("optimal", 2560))
        slots = {op["id"]: op["slot"] for op in twice.ops if op["id"].endswith("exp_p")}
        self.assertEqual(len(set(slots.values())), 2)
        program = twill.program("blackwell-fwd-plain", machine="blackwell", unroll=2)
        self.assertEqual(program.ii, 2560)
        self.assertIn("i1_exp_p", twill.emit("blackwell-fwd-plain", "blackwell", unroll=2).text)

    def test_register_splits_sub_tilings_and_ranges(self):
        why = twill.explain("fmha-forward", machine="hopper", layout="2x4", choose_registers=True)
        self.assertEqual(why, [json.loads(command(
            "explain", "fmha-forward", "--machine", "hopper", "--layout", "2x4", "--registers",
            "auto", "--json").stdout)])
        with self.assertRaises(TypeError):
            twill.explain(KERNEL)
        text = read_module()
        best = twill.solve(text, subtile=0)
        self.assertEqual(best.ii, min(twill.solve(text, subtile=m).ii for m in (1, 2)))  # (4: rows are lacking)
        self.assertTrue(best.made_by["options"]["subtile"].startswith("M="))
        path = os.path.join(os.path.dirname(__file__), "../../../tests/fuzz/measurements/hopper")
        with open(path, encoding="utf-8") as file:
            machine = twill.fit_machine(file.read(), "hopper")
        worst, said = twill.ranges("fmha-forward", machine)
        self.assertTrue(said["worst_case"]["proved"])
        self.assertEqual(said["worst_case"]["initiation_interval"], worst.ii)
        self.assertLess(said["best"]["initiation_interval"], worst.ii)
        with self.assertRaises(twill.InputError):
            twill.ranges("fmha-forward", "hopper")

    def test_kernels(self):
        with tempfile.TemporaryDirectory() as folder:
            for to in ("gluon", "cuda", "ttgir-ws"):
                out = os.path.join(folder, "kernel")
                self.assertEqual(command("emit", "gemm", "--machine", "hopper", "--to", to, "-o",
                                         out).returncode, 0)
                with open(out, encoding="utf-8") as file:
                    theirs = file.read()
                kernel = twill.emit("gemm", "hopper", to)
                self.assertEqual(kernel.text, theirs)
                path = os.path.join(folder, "program.json")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(kernel.program.json)
                self.assertEqual(kernel.program.emit(to),
                                 command("emit", path, "--to", to).stdout)
        self.assertNotEqual(kernel.program.emit("ttgir-ws", for_trips=0), kernel.text)
        kept = twill.emit("gemm", "hopper", persistent=True)
        self.assertEqual(kept.text, command("emit", "gemm", "--machine", "hopper", "--persistent").stdout)
        self.assertIn("for tile in range(gl.program_id(0), tile_count, gl.num_programs(0)):", kept.text)
        with self.assertRaises(twill.InputError):
            kernel.program.emit("cuda", persistent=True)
        with self.assertRaises(twill.InputError):
            kernel.program.emit("ptx")
        with self.assertRaises(twill.InputError):
            twill.emit("gemm", "hopper", "cuda", for_trips=1)
        with self.assertRaises(twill.Refused) as caught:
            twill.program(twill.solve("figure-1", machine="figure-1")).emit("cuda")
        self.assertIn("meaning", str(caught.exception))
        folder = os.path.join(os.path.dirname(__file__), "../../../graph/kernels/triton")
        with open(os.path.join(folder, "hopper-attention-forward.ttgir"), encoding="utf-8") as file:
            kernel = twill.emit(file.read(), subtile=2)
        self.assertIn("attention_forward = UserKernel()", kernel.text)

    def test_threads(self):
        problem = twill.Problem.lower(KERNEL, "hopper", layout="2x4")
        found = []
        threads = [threading.Thread(target=lambda: found.append(twill.solve(problem, threads=1).ops))
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(found), 4)
        self.assertTrue(all(ops == found[0] for ops in found))

    def test_interrupt_leaves_the_best_so_far(self):
        # A search that takes long; Ctrl-C after a while.
        code = ("import twill\n"
                "s = twill.solve('hopper-bwd', machine='hopper', engine='time_indexed', threads=1)\n"
                "print(s.status)\n")
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        time.sleep(3)
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=60)
        self.assertIn(out.strip(), ("feasible", "unknown", "optimal"))
        self.assertEqual(child.returncode, 0)


if __name__ == "__main__":
    unittest.main()
