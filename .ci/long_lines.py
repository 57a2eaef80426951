"""long_lines.py LIMIT FILE…: names the lines that have more characters than LIMIT; the status is 1 if there are any.

clang-format does not reflow comments, so it passes over those. A line that a raw string literal touches is data, and may be longer.
"""

import pathlib
import re
import sys

RAW_STRING = re.compile(r'\bR"([^\s()\\]{0,16})\(.*?\)\1"', re.DOTALL)


def lines_of_raw_strings(text):
    for match in RAW_STRING.finditer(text):
        first = text.count("\n", 0, match.start())
        yield from range(first, first + match.group().count("\n") + 1)


def long_lines(path, limit):
    text = path.read_text(encoding="utf-8")
    data = set(lines_of_raw_strings(text))
    for index, line in enumerate(text.splitlines()):
        if len(line) > limit and index not in data:
            yield f"{path}:{index + 1}: {len(line)} characters, more than {limit}"


limit, *names = sys.argv[1:]
found = [message for name in names for message in long_lines(pathlib.Path(name), int(limit))]
print(*found, sep="\n", end="\n" if found else "")
sys.exit(bool(found))
