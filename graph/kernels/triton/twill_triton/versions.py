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
