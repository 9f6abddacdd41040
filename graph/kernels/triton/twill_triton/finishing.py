"""From a module with a schedule to PTX: the rest of Triton's compiler."""

import dataclasses
import json
import os
import re
import subprocess
import sys
import tempfile

from . import pipeline


@dataclasses.dataclass
class Finished:
    """How far the rest of Triton got: `reached` is nothing, parse, ttgir, llir or ptx. `reason` says why no
    further. `ttgir` is what its passes made of the module, `metadata` what a launch needs (name, shared,
    num_warps, ...), `ptx` the code."""
    reached: str = "nothing"
    reason: str = ""
    ttgir: str = ""
    ptx: str = ""
    metadata: dict = dataclasses.field(default_factory=dict)


def module_facts(text):
    """Capability, warps and stages of a module's text: its target, its warps, its loops' tt.num_stages (3
    where no loop says)."""
    target = re.search(r'"?ttg\.target"? = "cuda:(\d+)"', text)
    warps = re.search(r'"?ttg\.num-warps"? = (\d+)', text)
    if not target or not warps:
        raise ValueError("the module has no ttg.target of cuda or no ttg.num-warps: it is no TTGIR for NVIDIA")
    ctas = re.search(r'"?ttg\.num-ctas"? = (\d+)', text)
    stages = re.search(r"tt\.num_stages = (\d+)", text)
    return int(target.group(1)), int(warps.group(1)), int(stages.group(1)) if stages else 3, \
        int(ctas.group(1)) if ctas else 1


def _plain(metadata):
    return {key: value for key, value in metadata.items()
            if isinstance(value, (str, int, float, bool, list, tuple, type(None)))}


def finish(module, keep_stages=None, num_stages=None):
    """Takes the text of a module through the rest of Triton. keep_stages: leave out the passes that would
    set stages anew (default: where the module has stages). A pass may abort the process or hang:
    finish_apart() is safe from that. Nothing is raised of what Triton refuses: see Finished."""
    from triton._C.libtriton import ir
    capability, warps, stages, ctas = module_facts(module)
    if keep_stages is None:
        keep_stages = "loop.stage" in module
    _, backend, options = pipeline.backend_for(capability, num_warps=warps, num_stages=num_stages or stages,
                                               num_ctas=ctas)
    context = pipeline.new_context(backend)
    done = Finished()
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "module.ttgir")
            with open(path, "w", encoding="utf-8") as file:
                file.write(module)
            parsed = ir.parse_mlir_module(path, context)
        parsed.context = context
        done.reached = "parse"
        parsed, metadata = pipeline.run_half(backend, parsed, options, capability, False,
                                             pipeline.SETS_STAGES if keep_stages else ())
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


def finish_apart(module, keep_stages=None, num_stages=None, seconds=300):
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
