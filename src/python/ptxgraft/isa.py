"""The table of PTX instructions, and what `verify` finds in a module.

>>> import ptxgraft
>>> for diagnostic in ptxgraft.isa.verify('''.version 9.0
... .target sm_90
... .address_size 64
... .visible .entry f() { .reg .f64 %d<3>; add.sat.f64 %d1, %d2, %d2; ret; }'''):
...     print(diagnostic.line, diagnostic.code)
4 modifier_not_allowed
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from ptxgraft._library import check, decode, ffi, info, lib, name_bytes, text_of
from ptxgraft._stub import EFFECTS
from ptxgraft.syntax import Diagnostic, Module


def verify(text: str, *, target: Optional[str] = None, manual_order: bool = False) -> tuple[Diagnostic, ...]:
    """Everything that ptxas would refuse in a text, and all that does not parse."""
    return Module(text, any_text=True).verify(target=target, manual_order=manual_order)


def check_instruction(name: str, *, target: Optional[str] = None, ptx_version: int = 0) -> None:
    """Raises what is wrong with an opcode and its modifiers, "fma.rn.f32"; `ptx_version` is 90 for PTX ISA 9.0, 0 the newest.

    >>> import ptxgraft
    >>> ptxgraft.isa.check_instruction("fma.rn.f32")
    >>> ptxgraft.isa.check_instruction("fma.f32")
    Traceback (most recent call last):
    ptxgraft._library.Error: ...
    """
    check(lib.ptxgraft_isa_verify(name_bytes(name), _target(target), ptx_version))


def _target(target: Optional[str]) -> object:
    return ffi.NULL if target is None else name_bytes(target)


def rows(opcode: str) -> tuple[str, ...]:
    """The rows of the table for an opcode, in the manual's notation, with the versions since when they are there."""
    return tuple(text_of(lib.ptxgraft_isa_get_rows, name_bytes(opcode)).splitlines())


def pure_opcodes() -> tuple[str, ...]:
    """Opcodes that have a form without effects."""
    return tuple(text_of(lib.ptxgraft_isa_get_pure_opcodes).splitlines())


def effects(opcode: str) -> tuple[str, ...]:
    """What an opcode may do beside writing its registers.

    >>> import ptxgraft
    >>> ptxgraft.isa.effects("ld"), ptxgraft.isa.effects("add")
    (('load',), ())
    """
    bits = ffi.new("uint32_t*")
    check(lib.ptxgraft_isa_get_effects(bits, name_bytes(opcode)))
    return tuple(name for bit, name in enumerate(EFFECTS) if bits[0] >> bit & 1)


class Form(NamedTuple):
    """A fully spelled instruction whose operands are registers, constants and addresses."""

    name: str  #: unique: "setp.lt.f32|q"
    spelling: str  #: in PTX: "setp.lt.f32"
    pure: bool  #: it computes its outputs from its inputs and does nothing else
    effects: tuple[str, ...]
    operands: tuple[str, ...]  #: their types, in writing order


def forms(opcode: str, *, target: Optional[str] = None, ptx_version: int = 0) -> tuple[Form, ...]:
    """All forms of an opcode; of a target and a PTX version alone.

    >>> import ptxgraft
    >>> [form.name for form in ptxgraft.isa.forms("popc")]
    ['popc.b32', 'popc.b64']
    """
    out = ffi.new("ptxgraft_forms**")
    check(lib.ptxgraft_forms_create(out, name_bytes(opcode), _target(target), ptx_version))
    handle = ffi.gc(out[0], lib.ptxgraft_forms_destroy)
    found = []
    for index in range(lib.ptxgraft_forms_get_count(handle)):
        form = info("form_info", lib.ptxgraft_forms_get, handle, index)
        operands = (info("form_operand_info", lib.ptxgraft_forms_get_operand, handle, index, i) for i in range(form.operand_count))
        effects_of = tuple(name for bit, name in enumerate(EFFECTS) if form.effects >> bit & 1)
        found.append(Form(decode(form.name), decode(form.spelling), bool(form.pure), effects_of, tuple(decode(o.type) for o in operands)))
    return tuple(found)
