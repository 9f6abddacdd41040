"""The command twill, as the package brings it."""
import os
import sys

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "twill")


def main():
    os.execv(PROGRAM, [PROGRAM, *sys.argv[1:]])
