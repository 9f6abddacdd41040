"""Which versions of Triton this was tried with: its passes are no public interface and change."""

# The round trip of tests/graph/ttgir/triton_tool_test.py passes with these.
TESTED = ("3.9.0", "3.8.0")


def untested():
    """A sentence about the installed Triton where it is not one of TESTED, else "". ImportError
    where there is none."""
    import triton
    if triton.__version__ in TESTED:
        return ""
    return (f"Triton {triton.__version__} was not tried with Twill; these were: {', '.join(TESTED)}. Its passes may "
            "be others: compare what comes out with what you expect")


# Passes that fail on a schedule though nothing depends on them, by the versions that they do so in.
# TritonGPUPrefetch before 3.8: where one operand of a product is read into registers an iteration before the other.
FAILING_PASSES = ((3, 8), ("add_prefetch",))


def failing_passes(version):
    """The passes to leave out of a module with a schedule, for a version as "3.7.0"."""
    below, names = FAILING_PASSES
    numbers = tuple(int(part) if part.isdigit() else 0 for part in version.split(".")[:2])
    return names if numbers < below else ()
