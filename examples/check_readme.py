"""check_readme.py SOURCE BUILD: compares README.md's code blocks with what they claim to be.

A block after `<!-- file: PATH -->` must equal that file; one after `<!-- output: PROGRAM -->` must equal what BUILD/PROGRAM prints;
one after `<!-- part of: PATH -->` must stand in that file, indentation aside; in one after `<!-- shell: exit STATUS -->` the first line is
`$ build/COMMAND`, the others are what that prints, and it ends with that status.
"""

import pathlib
import re
import shlex
import subprocess
import sys

source, build = map(pathlib.Path, sys.argv[1:])
CLAIM = re.compile(r"<!-- (file|output|part of|shell): (.+?) -->\n```\w*\n(.*?)```", re.DOTALL)


def stripped(text):
    return "\n".join(line.strip() for line in text.splitlines())


def holds(kind, name, block):
    if kind == "output":
        run = subprocess.run([build / name], capture_output=True, text=True, cwd=source)
        return run.returncode == 0 and run.stdout == block
    if kind == "shell":
        command, printed = block.split("\n", 1)
        program, *arguments = shlex.split(command.removeprefix("$ build/"))
        run = subprocess.run([build / program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=source)
        return f"exit {run.returncode}" == name and run.stdout == printed
    text = (source / name).read_text()
    return text == block if kind == "file" else stripped(block) in stripped(text)


claims = CLAIM.findall((source / "README.md").read_text())
wrong = [f"{kind}: {name}" for kind, name, block in claims if not holds(kind, name, block)]
print(f"{len(claims)} blocks, {len(wrong)} differ", *wrong, sep="\n")
sys.exit(bool(wrong) or not any(kind == "output" for kind, _, _ in claims))
