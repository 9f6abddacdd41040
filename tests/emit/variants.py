"""Built-in kernels with other head dimensions, number types and masks."""
import json
import math
import os
import re
import subprocess


def with_head_dimension(kernel, columns):
    """Attention forward with so many columns of Q, K, V and O in the place of 128."""
    meaning = kernel["meaning"]
    meaning["constants"]["scale"] = math.log2(math.e) / math.sqrt(columns)
    for tensor in meaning["tensors"]:
        if len(tensor["shape"]) == 2:
            tensor["shape"][1] = columns
    for value in meaning["before"] + meaning["after"] + kernel["ops"]:
        name = re.sub(r"^s\d+_", "", value["id"])
        if name in ("q", "o", "st_o", "ld_k", "alloc_k", "ld_v", "alloc_v", "tld_acc", "mul_acc", "tst_acc", "pv"):
            value["shape"][1] = columns
        elif name == "qk":
            value["shape"][2] = columns
        elif name == "trans_k":
            value["shape"][0] = columns
        if "traffic" in value:
            value["traffic"]["SMEM"] = value["traffic"]["SMEM"] * columns // 128
    kernel["resident"]["memory"]["smem"] = kernel["resident"]["memory"]["smem"] * columns // 128


def with_mask(kernel, masked):
    """Attention forward with a mask on its scores: an op between those that make them and all that use them."""
    made = {op["computes"][1]: op for op in kernel["ops"] if op["computes"][0] in ("row_max",)}
    for scores, reader in made.items():
        mask = re.sub("[a-z]+_[a-z]+$", "mask_s", reader["id"]) if scores != "qk" else "mask_s"
        at = next(k for k, op in enumerate(kernel["ops"]) if op["id"] == scores)
        of = kernel["ops"][at]
        for op in kernel["ops"]:
            op["computes"] = [mask if operand == scores else operand for operand in op["computes"]]
        for edge in kernel["edges"]:
            if edge["from"] == scores:
                edge["from"] = mask
                edge.pop("blocking", None)
                edge.pop("doc", None)
        kernel["ops"].insert(at + 1, {"id": mask, "kind": "add", "shape": of["shape"][:2], "type": "f32", "computes": masked(scores)})
        kernel["edges"].append({"from": scores, "to": mask, "blocking": True})


def with_causal_mask(kernel):
    kernel["meaning"]["constants"]["first"] = 200
    with_mask(kernel, lambda scores: ["causal", scores, "first", 1])


def with_bounds(kernel):
    """Keys up to 200 behind the query, and of these the first 320: row - column - 128 i + 200 >= 0, 319 - column - 128 i >= 0."""
    with_mask(kernel, lambda scores: ["within", scores, "-inf", 1, -1, -128, 200, 0, -1, -128, 319])


def with_functions(kernel):
    """The fused MLP with every function of one number in its gate: of add_1, which is more than 1."""
    steps = [["mul", "add_1", -1], ["abs", "f0"], ["sqrt", "f1"], ["log", "f2"], ["erf", "f3"], ["sin", "f4"], ["cos", "f5"],
             ["rsqrt", "add_1"], ["min", "f6", "f7"], ["mul", "f8", 0], ["add", "f9", 0.5], ["floor", "f10"], ["ceil", "f10"],
             ["add", "f11", "f12"]]  # 0 and 1: whole numbers are told of what has no error
    at = next(k for k, op in enumerate(kernel["ops"]) if op["id"] == "rcp")
    like = {key: kernel["ops"][at][key] for key in ("shape", "type", "width")}
    kernel["ops"][at]["computes"] = ["mul", "f8", "f13"]
    kernel["ops"][at:at] = [dict(like, id=f"f{k}", kind="exp2", computes=step) for k, step in enumerate(steps)]
    kernel["edges"] = [edge for edge in kernel["edges"] if edge["to"] != "rcp"]
    for to, step in [("rcp", ["", "f8", "f13"])] + [(f"f{k}", step) for k, step in enumerate(steps)]:
        kernel["edges"] += [{"from": operand, "to": to} for operand in step[1:] if isinstance(operand, str)]


def with_stored_p(kernel):
    """Attention forward whose P is stored by an op of its own: `twill solve --store`, written by hand."""
    for op in [op for op in kernel["ops"] if op["id"].endswith("trunc_p")]:
        name = op["id"] + "_stored"
        kernel["ops"].append(dict(op, id=name, kind="local_alloc", computes=["copy", op["id"]]))
        for product in kernel["ops"]:
            if product["computes"][0] == "product" and op["id"] in product["computes"]:
                product["computes"] = [name if operand == op["id"] else operand for operand in product["computes"]]
                product["traffic"]["SMEM"] += math.prod(op["shape"]) * 2
        for edge in kernel["edges"]:
            if edge["from"] == op["id"]:
                edge.update({"from": name, "blocking": True})
        kernel["edges"].append({"from": op["id"], "to": name})


def options(name):
    """Of `twill program` and `emit`: KERNEL+x2 is the built-in one with two iterations in one."""
    copies = [change[1:] for change in name.split(":")[0].split("+")[1:] if re.fullmatch(r"x\d+", change)]
    return ["--unroll", copies[0]] if copies else []


def emit_options(name):
    """Of `twill emit` alone: KERNEL+persistent has programs that do block after block."""
    return options(name) + (["--persistent"] if "persistent" in name.split(":")[0].split("+")[1:] else [])


def source(twill, name, folder):
    """(kernel, machine), beside options(); KERNEL+bf16, +d64, +causal, +bounds, +functions and +stored is the built-in one with bf16 in the
    place of f16, head dimension 64, a mask, other functions, P stored by an op of its own."""
    kernel, machine = name.split(":")
    kernel, *changes = kernel.split("+")
    changes = [change for change in changes if not re.fullmatch(r"x\d+|persistent", change)]
    if not changes:
        return kernel, machine
    text = subprocess.run([twill, "kernels", "--show", kernel], capture_output=True, text=True, check=True).stdout
    changed = json.loads(text.replace('"f16"', '"bf16"') if "bf16" in changes else text)
    if "stored" in changes:
        with_stored_p(changed)
    if "d64" in changes:
        with_head_dimension(changed, 64)
    if "causal" in changes:
        with_causal_mask(changed)
    if "bounds" in changes:
        with_bounds(changed)
    if "functions" in changes:
        with_functions(changed)
    path = os.path.join(folder, "changed.json")
    with open(path, "w") as file:
        json.dump(changed, file)
    return path, machine
