"""Names are data: the text of a program with hostile names is that of one with tame names, but for how things are called.

usage: emit_names_test.py TWILL [--programs N]
Needs no compiler. Of N (30) programs in each language the names are words of hostile_names.py and random characters. Comments
are left out as the language itself has them; then the texts must be equal token by token. In each function, or what else stands at
the left edge, one name is for one name: a name of a file that hides another is found. In Python no name of the module is bound twice,
and none of it or of the builtins that the text uses in a function.
Kernels, notes, machines and files with hostile names, and of the text's own words every fifth (with --programs each), must leave
the text as it is.
"""
import ast
import builtins
import collections
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import tokenize

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from hostile_names import HOSTILE, renamed, victims  # noqa: E402

LANGUAGES = {"hopper": ("gluon", "cuda", "ttgir-ws"), "blackwell": ("tilelang",)}
PYTHON = ("gluon", "tilelang")
KERNELS = (("gemm", "hopper"), ("hopper-fwd-sub2", "hopper"), ("gemm", "blackwell"))
CHARACTERS = "ab_0 \n\r\t\\\"'#/*%{}()<>?;:,.@^!$&|=+-~`\0\x7f\u00e9\u202e\u2028"
BLOCK = ("", "block")  # a new function begins
STRING = r'"(?:[^"\\\n]|\\.)*"'


def random_name(source, own):
    """`own`: words of the text itself, which names of a file must not take."""
    kind = source.random()
    if kind < 0.7:
        return source.choice(HOSTILE if kind < 0.4 else own)
    return "".join(source.choice(CHARACTERS) for _ in range(source.choice((1, 2, 3, 8, 200))))


def python_tokens(text):
    """(token, kind), without comments and texts that nobody reads. Kind "" = the token is no name."""
    ast.parse(text)
    begins, depth, last = True, 0, ""
    kept = [t for t in tokenize.generate_tokens(io.StringIO(text).readline)
            if t.type not in (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING)]
    for k, token in enumerate(kept):
        if token.type == tokenize.STRING and begins:
            continue
        begins = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
        if token.start[1] == 0 and last in ("", "\n"):
            yield BLOCK
        depth += (token.string in ("(", "[", "{")) - (token.string in (")", "]", "}"))
        if token.type == tokenize.NAME:
            keyword = depth > 0 and kept[k + 1].string == "="
            yield token.string, "" if last == "." or keyword else "name"
        elif token.type == tokenize.STRING:
            yield from words_of(token.string, "name" if re.match(r"[A-Za-z]*[fF]", token.string) else "text")
        else:
            yield token.string if token.type != tokenize.INDENT else "indent", ""
        if token.type not in (tokenize.INDENT, tokenize.DEDENT):
            last = token.string


def bound(tree):
    """The names that a module binds at its left edge, each as often as it does."""
    for one in ast.walk(tree):
        if one in tree.body and isinstance(one, ast.FunctionDef):
            yield one.name
    names = [tree]
    while names:
        node = names.pop()
        for one in ast.iter_child_nodes(node):
            if isinstance(one, (ast.Import, ast.ImportFrom)):
                yield from ((a.asname or a.name).split(".")[0] for a in one.names)
            elif isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                yield one.id
            elif not isinstance(one, (ast.FunctionDef, ast.ClassDef, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)):
                names.append(one)


def hidden(text, used):
    """A name that is bound twice at the left edge, or in a function as one of the module or as one that is used; or ""."""
    tree = ast.parse(text)
    again = [name for name, times in collections.Counter(bound(tree)).items() if times > 1]
    if again:
        return f"bound twice: {again}"
    module = set(bound(tree)) | used
    for function in (one for one in tree.body if isinstance(one, ast.FunctionDef)):
        local = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)} | {
            a.arg for n in ast.walk(function) if isinstance(n, ast.arguments) for a in n.args + n.kwonlyargs}
        if local & module:
            return f"hidden in {function.name}: {sorted(local & module)}"
    return ""


def words_of(text, kind="text"):
    """Of a string: its words hide no names of the program, and none hides them."""
    for word in re.findall(r"[A-Za-z_]\w*|\d\w*|\s+|.", text, re.S):
        yield word, kind if re.match("[A-Za-z_]", word) else ""


def plain_tokens(text, name):
    """Of a language whose comments end with their line."""
    for line in re.findall(r"//[^\n]*", text):
        if line.endswith(("\\", "??/")):
            raise AssertionError(f"a comment goes on: {line!r}")
    last = ""
    yield BLOCK
    for match in re.finditer(rf"(?P<comment>//[^\n]*)|(?P<directive>^#(?:pragma|include|if|else|endif|ifdef|ifndef|define|undef)\b[^\n]*)|(?P<attribute>\[\[\w+\]\])|(?P<string>{STRING})|(?P<space>\s+)|(?P<name>{name})|(?P<number>\d\w*)|(?P<word>[A-Za-z_]\w*)|::|.", text, re.S | re.M):
        if match["comment"] or match["space"]:
            if "\n\n" in match[0] and text[match.end():match.end() + 1] not in ("", " ", "}"):
                yield BLOCK
            continue
        if match["directive"] or match["attribute"]:
            yield match[0], ""
        elif match["string"]:
            yield from words_of(match[0])
        else:
            yield match[0], "" if not match["name"] or last == "::" else "member" if last in (".", ">") else "name"
        last = match[0]


def tokens(language, text):
    if any(ord(c) > 126 or (ord(c) < 32 and c != "\n") for c in text):
        raise AssertionError("the text is not printable ASCII")
    if language in PYTHON:
        return list(python_tokens(text))
    # (Declarations of CUDA stand in the order of their names.)
    text = re.sub(r"^( +[A-Z]\w*<[^;()]*>) (\w+(?:,\s+\w+)*);", lambda m: f"{m[1]} {m[2].count(',') + 1};", text, flags=re.M)
    return list(plain_tokens(text, r"[A-Za-z_]\w*" if language == "cuda" else r"[%@][\w.$]+"))


def difference(tame, hostile):
    """What differs beside names, or ""."""
    for k, ((a, kind), (b, other)) in enumerate(zip(tame, hostile)):
        if (a, kind) == BLOCK:
            there, back = {}, {}
        same = kind == other and (kind == "member" and a == b or there.setdefault((kind, a), b) == b and back.setdefault((kind, b), a) == a if kind else a == b)
        if not same:
            return f"token {k}: {b!r} for {a!r} after {' '.join(t for t, _ in hostile[max(0, k - 12):k])[-120:]!r}"
    return "" if len(tame) == len(hostile) else f"{len(hostile)} tokens, not {len(tame)}"


def words_in(text):
    return sorted({word for word in re.findall(r"[A-Za-z_]\w*", text) if not word.startswith("tame")})


def fault(language, tame, text):
    return difference(tame, tokens(language, text)) or (
        hidden(text, {name for name, kind in tame if kind == "name"} & set(dir(builtins))) if language in PYTHON else "")


def write(path, thing):
    with open(path, "w") as file:
        json.dump(thing, file)


def emit(twill, language, source):
    """The text, or None where it is refused."""
    done = subprocess.run([twill, "emit", *source, "--to", language, "--quiet"], capture_output=True, text=True)
    if done.returncode not in (0, 2) or (done.returncode == 2 and done.stdout):
        raise AssertionError(f"exit code {done.returncode}: {done.stderr[-300:]}")
    return done.stdout if done.returncode == 0 else None


def programs(twill, folder, count, faults):
    """Texts of programs that were compared."""
    compared = 0
    for kernel, machine in KERNELS:
        path = os.path.join(folder, "p.json")
        subprocess.run([twill, "program", kernel, "--machine", machine, "-o", path, "--quiet"], check=True)
        with open(path) as file:
            program = json.load(file)
        kinds = victims(program)
        names = [name for kind in kinds.values() for name in kind]
        tame = {name: f"tame{k:03}" for k, name in enumerate(names)}
        write(path, renamed(program, tame))
        texts = {language: emit(twill, language, [path]) for language in LANGUAGES[machine]}
        right, own = {language: tokens(language, text) for language, text in texts.items()}, words_in("".join(texts.values()))
        # (Axes have a table of their own, in which a tensor's name is another key: nothing meets, but here it would look so.)
        own = [word for word in own if not word.startswith("axis_")]
        for seed in range(count // len(KERNELS)):
            source = random.Random(seed)
            chosen, used = dict(tame), set()
            for name in source.sample(names, source.choice((1, 3, len(names)))):
                wish = random_name(source, own)
                # (TileLang names types and storages in strings, which are not told apart here.)
                if wish not in used and wish not in names and wish not in ("load", "store") and not (
                        machine == "blackwell" and wish in ("float16", "float32")):
                    chosen[name] = wish
                    used.add(wish)
            write(path, renamed(program, chosen))
            for language in LANGUAGES[machine]:
                try:
                    text = emit(twill, language, [path])
                    wrong = "" if text is None else fault(language, right[language], text)
                except (AssertionError, SyntaxError, tokenize.TokenError) as error:
                    text, wrong = "", str(error)
                compared += text is not None
                if wrong:
                    faults.append(f"{kernel}, {language}, seed {seed}: {wrong}")
    return compared


def files(twill, folder, every, faults):
    """Kernel files, notes, machines and the names of files."""
    compared = 0
    texts = {what: json.loads(subprocess.run([twill, command, "--show", what], capture_output=True, text=True, check=True).stdout)
             for command, what in (("kernels", "gemm"), *(("machines", machine) for machine in LANGUAGES))}
    of_machine = {language: machine for machine, all_ in LANGUAGES.items() for language in all_}
    tame = {language: emit(twill, language, ["gemm", "--machine", machine]) for language, machine in of_machine.items()}
    right = {language: tokens(language, text) for language, text in tame.items()}
    # (All words of the text itself, too: the function that a kernel's name becomes is seen everywhere.)
    for word in dict.fromkeys(HOSTILE + words_in(tame["gluon"] + tame["tilelang"])[::every]):
        kernel, machines = dict(texts["gemm"]), {machine: dict(texts[machine]) for machine in LANGUAGES}
        for file in (kernel, *machines.values()):
            file["name"] = word or "-"
            for key in ("doc", "note"):
                if isinstance(file.get(key), str):
                    file[key] = word
        place = os.path.join(folder, re.sub(r"[\0/]", "?", word)[:80] or "-")
        write(place + ".k.json", kernel)
        for language, machine in of_machine.items():
            write(place + ".m.json", machines[machine])
            try:
                text = emit(twill, language, [place + ".k.json", "--machine", place + ".m.json"])
                wrong = "" if text is None else fault(language, right[language], text)
            except (AssertionError, SyntaxError, tokenize.TokenError) as error:
                text, wrong = "", str(error)
            compared += text is not None
            if wrong:
                faults.append(f"files named {word[:40]!r}, {language}: {wrong}")
    return compared


def main():
    twill, faults = sys.argv[1], []
    many = "--programs" in sys.argv
    count = int(sys.argv[sys.argv.index("--programs") + 1]) if many else 30
    with tempfile.TemporaryDirectory() as folder:
        of_programs, of_files = programs(twill, folder, count, faults), files(twill, folder, 1 if many else 5, faults)
    for fault in faults[:20]:
        print(fault)
    print(f"{of_programs} texts of programs and {of_files} of files with hostile names compared, {len(faults)} faults")
    return 1 if faults or of_programs < count or of_files < len(HOSTILE) else 0


if __name__ == "__main__":
    sys.exit(main())
