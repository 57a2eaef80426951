"""Writes the C source of the extension module `_ptxgraft` from the public C headers.

Usage: binding.py CC INCLUDE_DIR OUTPUT.c. The declarations that cffi reads are the headers themselves, preprocessed: there is no other
copy of them. What is added is named below: a constant of each numeric macro, a variable of each `_INIT`, the callbacks, and what launch.h
beside this file declares.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import cffi

# What Python implements and C calls; each has the type of a callback in the headers. Their payload is a handle of cffi's.
CALLBACKS = """
extern "Python" int ptxgraft_python_should_stop(void* payload);
extern "Python" void ptxgraft_python_on_result(size_t candidate, ptxgraft_status status, const ptxgraft_machine_code* code,
                                               const ptxgraft_kernel* kernel, void* payload);
extern "Python" ptxgraft_status ptxgraft_python_emit_body(ptxgraft_builder* builder, void* payload);
extern "Python" void ptxgraft_python_progress(const char* ledger, void* payload);
"""
# cffi knows the types of these headers itself.
STANDARD_HEADERS = {"stddef.h": "#define NULL 0", "stdint.h": "#define UINT64_C(n) n##ull\n#define UINT32_C(n) n##u"}


def preprocess(compiler: str, include: str, *options: str) -> str:
    """ptxgraft.h with all that it includes, but for the headers of C."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in STANDARD_HEADERS.items():
            pathlib.Path(folder, name).write_text(text + "\n", encoding="utf-8")
        command = [compiler, "-E", "-std=c99", "-nostdinc", "-I", folder, "-I", include, *options, f"{include}/ptxgraft/ptxgraft.h"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def declarations(compiler: str, include: str) -> str:
    text = preprocess(compiler, include, "-P")
    text = re.sub(r"__attribute__\s*\(\([^;]*?\)\)\)", "", text)
    return re.sub(r"typedef char ptxgraft_enums_are_ints\[[^;]*;", "", text)  # a check, which the C compiler makes


def own_declarations() -> str:
    """What launch.h has between its marks."""
    text = pathlib.Path(__file__).with_name("launch.h").read_text(encoding="utf-8")
    return text[text.index("/* [binding.py */") : text.index("/* binding.py] */")]


def macros(compiler: str, include: str) -> dict[str, str]:
    """The macros without parameters, and what stands behind them."""
    found = re.findall(r"^#define (PTXGRAFT_\w+)(?: (.*))?$", preprocess(compiler, include, "-dM"), re.MULTILINE)
    return {name: value for name, value in found if value}


def is_number(value: str, all_macros: dict[str, str]) -> bool:
    """Whether a macro's value is one of numbers, operators and other such macros."""
    for word in re.findall(r"[A-Za-z_]\w*", re.sub(r"\b(0[xX][0-9A-Fa-f]+|[0-9]+)[uUlL]*\b|UINT(?:64|32)_C|UINT(?:64|32)_MAX", "", value)):
        if word not in all_macros or not is_number(all_macros[word], all_macros):
            return False
    return '"' not in value and "{" not in value and re.search(r"\d|MAX", value) is not None


def generate(compiler: str, include: str, output: str) -> None:
    all_macros = macros(compiler, include)
    numbers = [name for name, value in sorted(all_macros.items()) if is_number(value, all_macros)]
    structs = [name[: -len("_INIT")].lower() for name in sorted(all_macros) if name.endswith("_INIT")]
    ffi = cffi.FFI()
    ffi.cdef(declarations(compiler, include))
    ffi.cdef("".join(f"#define {name} ...\n" for name in numbers))
    ffi.cdef("".join(f"static const {struct} {struct}_init;\n" for struct in structs))
    ffi.cdef(CALLBACKS)
    ffi.cdef(own_declarations())
    initials = "".join(f"static const {struct} {struct}_init = {struct.upper()}_INIT;\n" for struct in structs)
    ffi.set_source("ptxgraft._ptxgraft", f'#include "launch.h"\n{initials}')
    ffi.emit_c_code(output)


if __name__ == "__main__":
    generate(*sys.argv[1:])
