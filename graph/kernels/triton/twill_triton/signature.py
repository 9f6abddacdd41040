"""Signatures of kernels: "x_ptr=*fp16, n=i32, BLOCK=128", or in the order of the parameters, as Triton's
ahead-of-time compiler takes them: "*fp16, i32, 128"."""

import ast

# Parameters that a launch specialises to multiples of 16, where the tensors' addresses and sizes are.
_ALIGNED = ("i32", "i64", "u32", "u64")


# What Triton's pointers point to, and its numbers.
_TYPES = {"fp8e4nv", "fp8e4b8", "fp8e5", "fp8e5b16", "fp8e4b15", "fp16", "bf16", "fp32", "fp64", "i1", "i8", "i16", "i32",
          "i64", "u1", "u8", "u16", "u32", "u64"}


class SignatureError(ValueError):
    """What is wrong with a signature or a constant, with the parameter that it is about."""


def split(text):
    """The parts between commas that stand in no bracket or string."""
    parts, depth, quote, begin = [], 0, "", 0
    for place, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in "[(<{":
            depth += 1
        elif sign in "])>}":
            depth -= 1
        elif sign == "," and depth == 0:
            parts.append(text[begin:place])
            begin = place + 1
    parts.append(text[begin:])
    parts = [part.strip() for part in parts]
    return parts[:-1] if parts and not parts[-1] else parts


def is_type(text):
    """Is it a type of Triton's (fp16, *fp8e4nv, i32, tensordesc<fp16[128, 64]>), no value?"""
    base = text.lstrip("*")
    return base.startswith("tensordesc<") or (base[:1] in "ifub" and any(c.isdigit() for c in base) and
                                              base.isidentifier())


def value_of(text, names=None):
    """The value of a constant: a Python literal (128, 1.5, True, None, "relu"), a type of triton.language
    (fp16, float16, tl.float16), or a name of the kernel's file. SignatureError for anything else."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        pass
    if names is not None and text in names:
        return names[text]
    import triton.language as tl
    name = text[3:] if text.startswith("tl.") else text
    short = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "i1": "int1",
             "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "fp8e4nv": "float8e4nv",
             "fp8e5": "float8e5"}
    found = getattr(tl, short.get(name, name), None)
    if isinstance(found, tl.dtype):
        return found
    raise SignatureError(f"{text!r} is no value: a Python literal (a text in quotes), a type of "
                         "triton.language or a name of the kernel's file is")


def parse(text, parameters, constants=None, names=None):
    """Of a signature's text and the kernel's `parameters` (name -> default or None, with the names that are
    tl.constexpr in `parameters.constexpr`): types, constants and attributes as ASTSource takes them.

    A type may end in :16 (addresses or values are multiples of 16, which is taken of pointers and integers
    anyway) or :1 (nothing is known). Constants are in the signature, in `constants`, or have defaults.
    """
    types, values, hints = {}, dict(constants or {}), {}
    order = list(parameters.names)
    for name in values:
        if name not in order:
            raise SignatureError(f"the kernel has no parameter {name!r}; it has {', '.join(order)}")
    free = [name for name in order if name not in values and name not in parameters.constexpr]
    every = [name for name in order if name not in values]
    parts = split(text)
    named = [part for part in parts if "=" in part]
    if named and len(named) != len(parts):
        raise SignatureError("a signature names all of its parameters or none")
    if not named:
        # In order: of all parameters that have no value yet, or of those that are no tl.constexpr.
        target = free if len(parts) == len(free) else every
        if len(parts) != len(target):
            raise SignatureError(f"the signature has {len(parts)} types, the kernel {len(target)} parameters: "
                                 + ", ".join(target))
        pairs = list(zip(target, parts))
    else:
        pairs = [tuple(half.strip() for half in part.split("=", 1)) for part in parts]
    for name, what in pairs:
        if name not in order:
            raise SignatureError(f"the kernel has no parameter {name!r}; it has {', '.join(order)}")
        if name in types or name in values:
            raise SignatureError(f"parameter {name!r} is given twice")
        kind, _, hint = what.partition(":")
        kind = kind.strip()
        if not is_type(kind):
            values[name] = value_of(what, names)
            continue
        if name in parameters.constexpr:
            # A type as the value of a constant (dtype=fp16).
            values[name] = value_of(what, names)
            continue
        if hint not in ("", "1", "16"):
            raise SignatureError(f"parameter {name!r}: {hint!r} is no hint; 16 (multiples of 16) and 1 (nothing "
                                 "is known) are")
        if not kind.lstrip("*").startswith("tensordesc<") and kind.lstrip("*") not in _TYPES:
            raise SignatureError(f"parameter {name!r}: Triton has no type {kind.lstrip('*')!r}; it has "
                                 + ", ".join(sorted(_TYPES)))
        types[name] = kind
        hints[name] = hint
    for name in order:
        if name in types or name in values:
            continue
        if name in parameters.defaults:
            values[name] = parameters.defaults[name]
        elif name in parameters.constexpr:
            raise SignatureError(f"parameter {name!r} is a tl.constexpr and has no value: --constexpr {name}=VALUE")
        else:
            raise SignatureError(f"parameter {name!r} has no type in the signature")
    full = {name: types.get(name, "constexpr") for name in order}
    attributes = {(place,): [["tt.divisibility", 16]] for place, name in enumerate(order)
                  if name in types and hints[name] != "1" and
                  (hints[name] == "16" or types[name].startswith("*") or types[name] in _ALIGNED)}
    return full, values, attributes


class Parameters:
    """The parameters of a kernel: names in order, which are tl.constexpr, and defaults."""

    def __init__(self, kernel):
        self.names = list(kernel.arg_names)
        self.constexpr = {parameter.name for parameter in kernel.params if parameter.is_constexpr}
        self.defaults = {parameter.name: parameter.default for parameter in kernel.params
                         if parameter.has_default}
