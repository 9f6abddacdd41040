"""Which variables of a kernel's loops Triton does not carry from one iteration to the next, although they change.

Triton's frontend (3.9, CodeGenerator._find_carries) visits the body of a loop once and compares values: a name that has the value then
that it had before the loop is carried by no iteration. So in

    older = x
    for i in range(n):
        older, x = x, f(x)

`older` stays what it was: both names had one value when the loop began. What is executed here as Python would not show it.

usage: carried_names.py FILE.py...
"""
import ast
import itertools
import sys


class Visit:
    """Values of names as Triton's frontend sees them: (number, None), or (number, (line, name)) of what a loop should have carried. Equal
    numbers are one value."""

    def __init__(self):
        self.numbers = itertools.count()
        self.lost = {}  # line and name -> what is wrong

    def fresh(self):
        return next(self.numbers), None

    def value(self, expression, names):
        if isinstance(expression, ast.Name) and expression.id in names:
            return names[expression.id]
        if isinstance(expression, ast.Call) and ast.unparse(expression.func) == "gl.to_tensor":
            return self.value(expression.args[0], names)
        return self.used(expression, names)

    def used(self, expression, names):
        """A new value, of those that an expression reads."""
        for one in ast.walk(expression):
            stale = names[one.id][1] if isinstance(one, ast.Name) and one.id in names else None
            if stale:
                self.lost[one.lineno, one.id] = (f"line {one.lineno}: {one.id} is what it was before the loop of line {stale[0]}, which does not carry "
                                                 f"{stale[1]}: another name has its value when the loop begins")
        return self.fresh()

    def body(self, statements, names):
        for one in statements:
            if isinstance(one, (ast.Assign, ast.AnnAssign)):
                target = one.targets[0] if isinstance(one, ast.Assign) else one.target
                if isinstance(target, ast.Tuple):
                    values = [self.value(part, names) for part in one.value.elts] if isinstance(one.value, ast.Tuple) else [
                        self.used(one.value, names) for _ in target.elts]
                    names.update((part.id, value) for part, value in zip(target.elts, values))
                else:
                    names[target.id] = self.value(one.value, names)
            elif isinstance(one, ast.AugAssign):
                names[one.target.id] = self.used(one, names)
            elif isinstance(one, ast.Expr):
                self.used(one.value, names)
            elif isinstance(one, ast.For):
                self.used(one.iter, names)
                self.loop(one, names)
            elif isinstance(one, ast.If):
                self.used(one.test, names)
                yes, no = dict(names), dict(names)
                self.body(one.body, yes)
                self.body(one.orelse, no)
                names.clear()
                names.update((name, self.joined(yes[name], no[name])) for name in yes if name in no)

    def joined(self, yes, no):
        """Of two sides of a branch."""
        stale = yes[1] or no[1]
        return (yes[0] if yes[0] == no[0] else next(self.numbers)), stale

    def loop(self, loop, names):
        if "static_range" in ast.unparse(loop.iter):  # written out
            names[loop.target.id] = self.fresh()
            self.body(loop.body, names)
            return
        before, first = dict(names), dict(names)
        first[loop.target.id] = self.fresh()
        self.body(loop.body, first)
        carried = [name for name in before if first[name][0] != before[name][0]]
        second = dict(before)
        second.update((name, self.fresh()) for name in [*carried, loop.target.id])
        begun = dict(second)
        self.body(loop.body, second)
        # (What it is behind the loop and in the next iteration is what it was before.)
        wrong = {name: (before[name][0], (loop.lineno, name)) for name in before
                 if name not in carried and second[name][0] != before[name][0]}
        begun.update(wrong)
        marks = {}
        while True:  # (a mark more each time)
            end = dict(begun)
            self.body(loop.body, end)
            more = {name: end[name][1] for name in before if end[name][1] and name not in marks and name not in wrong}
            if not more:
                break
            marks.update(more)
            begun.update((name, (begun[name][0], mark)) for name, mark in more.items())
        names.update((name, (before[name][0], mark)) for name, mark in marks.items())
        names.update((name, (next(self.numbers), marks.get(name))) for name in carried)
        names.update(wrong)


def lost(text):
    """What is wrong with the kernels of a text, a line each."""
    visit = Visit()
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef) and any("jit" in ast.unparse(one) for one in function.decorator_list):
            visit.body(function.body, {one.arg: visit.fresh() for one in function.args.args})
    return [visit.lost[place] for place in sorted(visit.lost)]


def main():
    failed = False
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            for one in lost(file.read()):
                print(f"{path}: {one}")
                failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
