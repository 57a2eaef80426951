"""What launches on an emulator did, line by line of the PTX, and by classes of instructions."""

from __future__ import annotations

from html import escape
from typing import Any, NamedTuple

from ptxgraft._library import check, decode, ffi, info, lib


class ProfileLine(NamedTuple):
    """A line of PTX."""

    line: int  #: from 1
    instruction: str  #: the first one there
    warps: int  #: instructions that warps executed
    lanes: int  #: lanes that were active in them
    wavefronts: int  #: of accesses to shared memory
    ideal_wavefronts: int  #: without bank conflicts
    sectors: int  #: of accesses to global memory: of 32 bytes
    ideal_sectors: int  #: how few could hold as many different bytes
    shared_size: int  #: bytes that these accesses read or wrote
    global_size: int


class ProfileClass(NamedTuple):
    """Instructions of one class."""

    name: str  #: "integer", "global load", "tensor core"
    warps: int
    lanes: int
    shared_size: int
    global_size: int


class Profile(NamedTuple):
    """Counts of launches: Device.profile."""

    lines: tuple[ProfileLine, ...]
    classes: tuple[ProfileClass, ...]

    def __repr__(self) -> str:
        return f"<ptxgraft.Profile of {len(self.lines)} lines, {sum(line.warps for line in self.lines)} warp instructions>"

    def _repr_html_(self) -> str:
        """The lines in their order, and the classes, the most executed first."""
        all_warps = max(sum(line.warps for line in self.lines), 1)
        heads = "line", "instruction", "warps", "of all", "lanes of 32", "wavefronts (ideal)", "sectors (ideal)"
        lines = "".join(_row(_cells(line, all_warps)) for line in self.lines)
        classes = "".join(
            _row((escape(c.name), str(c.warps), f"{c.warps / all_warps:.1%}"))
            for c in sorted(self.classes, key=lambda c: c.warps, reverse=True)
        )
        return (
            f"<table><caption>{all_warps if self.lines else 0} warp instructions</caption>"
            f"<tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>{lines}</table>"
            f"<table><tr><th>class</th><th>warps</th><th>of all</th></tr>{classes}</table>"
        )


def _row(cells: tuple[str, ...]) -> str:
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _cells(line: ProfileLine, all_warps: int) -> tuple[str, ...]:
    return (
        str(line.line),
        f"<code>{escape(line.instruction)}</code>",
        str(line.warps),
        f"{line.warps / all_warps:.1%}",
        f"{line.lanes / max(line.warps, 1):.1f}",
        f"{line.wavefronts} ({line.ideal_wavefronts})" if line.wavefronts else "",
        f"{line.sectors} ({line.ideal_sectors})" if line.sectors else "",
    )


def profile_of(device: Any) -> Profile:
    out = ffi.new("ptxgraft_profile**")
    check(lib.ptxgraft_profile_create(out, device))
    made = ffi.gc(out[0], lib.ptxgraft_profile_destroy)
    lines = (info("profile_line", lib.ptxgraft_profile_get_line, made, i) for i in range(lib.ptxgraft_profile_get_line_count(made)))
    classes = (info("profile_class", lib.ptxgraft_profile_get_class, made, i) for i in range(lib.ptxgraft_profile_get_class_count(made)))
    return Profile(
        tuple(ProfileLine(l.line, decode(l.instruction), *(getattr(l, field) for field in ProfileLine._fields[2:])) for l in lines),
        tuple(ProfileClass(decode(c.name), *(getattr(c, field) for field in ProfileClass._fields[1:])) for c in classes),
    )
