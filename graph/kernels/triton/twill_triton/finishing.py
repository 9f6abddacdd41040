"""From a module with a schedule to PTX: the rest of Triton's compiler."""

import dataclasses
import json
import os
import re
import subprocess
import sys
import tempfile

from . import pipeline, versions


@dataclasses.dataclass
class Finished:
    """How far the rest of Triton got: `reached` is nothing, parse, ttgir, llir or ptx. `reason` says why no
    further. `ttgir` is what its passes made of the module, `metadata` what a launch needs (name, shared,
    num_warps, ...), `ptx` the code. `without`: of finish_kept(), "" or "partitions" or "schedule"; `reason` says
    then why Triton did not take it."""
    reached: str = "nothing"
    reason: str = ""
    ttgir: str = ""
    ptx: str = ""
    metadata: dict = dataclasses.field(default_factory=dict)
    without: str = ""


def module_facts(text):
    """Capability, warps and CTAs of a module's text."""
    target = re.search(r'"?ttg\.target"? = "cuda:(\d+)"', text)
    warps = re.search(r'"?ttg\.num-warps"? = (\d+)', text)
    if not target or not warps:
        raise ValueError("the module has no ttg.target of cuda or no ttg.num-warps: it is no TTGIR for NVIDIA")
    ctas = re.search(r'"?ttg\.num-ctas"? = (\d+)', text)
    return int(target.group(1)), int(warps.group(1)), int(ctas.group(1)) if ctas else 1


# The attributes of a loop that has a schedule: no dictionary nests in them.
_SCHEDULED = re.compile(r"\{[^{}]*tt\.scheduled_max_stage[^{}]*\}")


# And of the region that is partitioned.
_PARTITIONED = re.compile(r"\{[^{}]*tt\.warp_specialize[^{}]*\}")


def _ring_depth(text, otherwise):
    """Buffers of each ring in a partitioned region: Triton takes as many as the launch has stages, so these are
    what a module with partitions says of that loop."""
    stages = [int(number) for found in _PARTITIONED.findall(text)
              for number in re.findall(r"tt\.num_stages = (\d+)", found)]
    return max(stages, default=otherwise)


def _version():
    import triton
    return triton.__version__


def _set_aside(text):
    """Scheduled loops as ones that Triton leaves alone: one stage, no warp specialisation."""
    def one(found):
        attributes = re.sub(r"tt\.num_stages = (\d+)", r"tt.num_stages = 1 : i32, tt.kept_stages = \1", found[0])
        return attributes.replace("tt.warp_specialize", "tt.kept_warp_specialize")
    return _SCHEDULED.sub(one, text)


def _take_back(text):
    """The other way."""
    def one(found):
        attributes = found[0].replace("tt.kept_warp_specialize", "tt.warp_specialize")
        kept = re.search(r"tt\.kept_stages = (\d+)", attributes)
        if kept:
            attributes = re.sub(r"tt\.kept_stages = \d+ : i32, ", "", attributes)
            attributes = re.sub(r"tt\.num_stages = \d+", f"tt.num_stages = {kept[1]}", attributes)
        return attributes
    return _SCHEDULED.sub(one, text)


def _plain(metadata):
    return {key: value for key, value in metadata.items()
            if isinstance(value, (str, int, float, bool, list, tuple, type(None)))}


def _parsed(text, context):
    from triton._C.libtriton import ir
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "module.ttgir")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        module = ir.parse_mlir_module(path, context)
    module.context = context
    return module


def finish(module, keep_stages=None, num_stages=3):
    """Takes the text of a module through the rest of Triton. keep_stages: loops that have stages keep them, and
    Triton sets those of the others (default: where the module has stages). num_stages: of loops without
    tt.num_stages, as in the launch of a kernel; and buffers of a partitioned region's rings, unless a module with
    stages or partitions says how many. A pass may abort the process or hang: finish_apart() is safe from
    that. Nothing is raised of what Triton refuses: see Finished."""
    capability, warps, ctas = module_facts(module)
    if keep_stages is None:
        keep_stages = "loop.stage" in module or "ttg.partition.stages" in module
    _, backend, options = pipeline.backend_for(capability, num_warps=warps, num_stages=num_stages, num_ctas=ctas)
    context = pipeline.new_context(backend)
    done = Finished()
    try:
        parsed = _parsed(module, context)
        done.reached = "parse"
        parts = (pipeline.FIRST, pipeline.STAGES, pipeline.REST)
        if keep_stages:
            parsed, _ = pipeline.run_part(backend, parsed, options, capability, parts[:1])
            parsed = _parsed(_set_aside(str(parsed)), context)
            parsed, _ = pipeline.run_part(backend, parsed, options, capability, parts[1:2])
            parsed = _parsed(_take_back(str(parsed)), context)
            parts = parts[2:]
            _, backend, options = pipeline.backend_for(capability, num_warps=warps, num_ctas=ctas,
                                                       num_stages=_ring_depth(module, num_stages))
        left_out = versions.failing_passes(_version()) if keep_stages else ()
        parsed, metadata = pipeline.run_part(backend, parsed, options, capability, parts, left_out)
        done.reached = "ttgir"
        done.ttgir = str(parsed)
        if "tensordesc_meta" not in metadata and hasattr(parsed, "get_tensordesc_metadata"):
            metadata["tensordesc_meta"] = parsed.get_tensordesc_metadata()
        code = backend.make_llir(parsed, metadata, options, capability)
        done.reached = "llir"
        done.ptx = backend.make_ptx(code, metadata, options, capability)
        done.reached = "ptx"
        done.metadata = _plain(metadata)
    except BaseException as error:  # a pass that fails raises RuntimeError, a binding anything
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        lines = str(error).strip().splitlines()
        done.reason = lines[0][:160] if lines else "failed"
    return done


def strip_partitions(text):
    """A module with a schedule, of which the stages alone are left."""
    value = r"(?:array<[^>]*>|\[[^\]]*\]|\d+ : i32)"
    name = r"(?:ttg\.partition(?:\.outputs|\.stages)?|ttg\.warp_specialize\.tag|tt\.warp_specialize)"
    text = re.sub(rf"{name}(?: = {value})?(?:, )?(?=[\w}}\"])", "", text)
    return text.replace(", }", "}").replace(" {}", "")


def finish_kept(module, original=None, **options):
    """As finish_apart(), and where the installed Triton fails on the schedule with less of it: without partitions,
    then `original`, the module as it came. Finished.without says what was left out."""
    done = finish_apart(module, **options)
    for without, text in (("partitions", strip_partitions(module)), ("schedule", original)):
        if done.reached == "ptx" or text is None or text == module:
            continue
        less = finish_apart(text, **options)
        if less.reached == "ptx":
            less.without, less.reason = without, done.reason
            return less
    return done


def finish_apart(module, keep_stages=None, num_stages=3, seconds=300):
    """As finish(), in a process of its own, which may abort or hang: `reason` then says so."""
    module_facts(module)
    with tempfile.TemporaryDirectory() as folder:
        source, out = os.path.join(folder, "module.ttgir"), os.path.join(folder, "out.json")
        with open(source, "w", encoding="utf-8") as file:
            file.write(module)
        code = ("import dataclasses, json, sys; from twill_triton.finishing import finish\n"
                "source, out, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])\n"
                "done = finish(open(source, encoding='utf-8').read(), **options)\n"
                "json.dump(dataclasses.asdict(done), open(out, 'w', encoding='utf-8'), default=str)\n")
        environment = dict(os.environ)
        here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        environment["PYTHONPATH"] = os.pathsep.join([here, *filter(None, [environment.get("PYTHONPATH")])])
        options = json.dumps({"keep_stages": keep_stages, "num_stages": num_stages})
        try:
            run = subprocess.run([sys.executable, "-W", "ignore", "-c", code, source, out, options],
                                 capture_output=True, text=True, timeout=seconds, check=False, env=environment)
        except subprocess.TimeoutExpired:
            return Finished(reason=f"hangs ({seconds} s)")
        errors = [line for line in run.stderr.splitlines() if "error:" in line or "Assertion" in line]
        if not os.path.exists(out):
            last = (run.stderr.strip().splitlines() or [""])[-1]
            return Finished(reason=f"ended with {run.returncode}: {(errors or [last])[0][:200]}")
        with open(out, encoding="utf-8") as file:
            done = Finished(**json.load(file))
        if done.reached != "ptx" and errors:
            done.reason += " | " + errors[0][:200].replace(source, "the module")
        return done
