"""The program `ptxgraft`, which the wheel brings, as a script of this environment."""

import os
import sys


def main() -> None:
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "ptxgraft")
    os.execv(program, [program, *sys.argv[1:]])
