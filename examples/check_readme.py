"""check_readme.py SOURCE BUILD: compares the code blocks of the README files with what they claim to be, and follows their links.

The files are README.md and CONTRIBUTING.md, and each README.md of a folder beside or under src/, or under tests/. A block after
`<!-- file: PATH -->` must equal that file; one after `<!-- output: PROGRAM -->` must equal what BUILD/PROGRAM prints; one after
`<!-- part of: PATH -->` must stand in that file, indentation aside; in one after `<!-- shell: exit STATUS -->` the first line is
`$ build/COMMAND`, the others are what that prints, and it ends with that status. Links that are no addresses must lead to a file.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

source, build = map(pathlib.Path, sys.argv[1:])
CLAIM = re.compile(r"<!-- (file|output|part of|shell): (.+?) -->\n```\w*\n(.*?)```", re.DOTALL)
COMMENT = re.compile(r"<!-- (?:file|output|part of|shell):")
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


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


def faults(file, text, claims):
    if len(claims) != len(COMMENT.findall(text)):
        yield "a comment with a claim has no block behind it"
    yield from (f"{kind}: {name}" for kind, name, block in claims if not holds(kind, name, block))
    yield from (f"no file: {link}" for link in LINK.findall(CODE.sub("", text)) if not (file.parent / link).exists())


caches = tempfile.TemporaryDirectory()
os.environ["XDG_CACHE_HOME"] = caches.name  # what is shown is made now, and nothing is left in the user's home
files = [source / "README.md", source / "CONTRIBUTING.md"]
files += [readme for pattern in ("*/README.md", "src/*/README.md", "tests/*/README.md") for readme in sorted(source.glob(pattern))]
texts = {file: file.read_text() for file in files}
claims = {file: CLAIM.findall(text) for file, text in texts.items()}
wrong = [f"{file.relative_to(source)}: {fault}" for file in files for fault in faults(file, texts[file], claims[file])]
print(f"{len(files)} files, {sum(map(len, claims.values()))} blocks, {len(wrong)} faults", *wrong, sep="\n")
sys.exit(bool(wrong) or not any(kind == "output" for kind, _, _ in claims[files[0]]))
