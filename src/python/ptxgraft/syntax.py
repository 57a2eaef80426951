"""Modules of PTX as trees that keep every byte: look, verify, edit, print (syntax.hpp says what a tree is).

>>> import ptxgraft
>>> module = ptxgraft.syntax.Module('''.version 9.0
... .target sm_90
... .address_size 64
... .visible .entry f() { .reg .f32 %f<3>; add.f32 %f1, %f2, %f2; // twice
... ret; }''')
>>> [statement.name for statement in module.function("f").body if statement.kind == "instruction"]
['add.f32', 'ret']
>>> add = next(s for s in module.walk() if s.name == "add.f32")
>>> add.set_opcode("mul")
>>> print(add.text, module.verify())
mul.f32 %f1, %f2, %f2; ()
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Optional

from ptxgraft._library import NULL, Handle, Options, check, decode, enum_name, enum_value, ffi, info, lib, name_bytes, text_bytes, text_of


class Diagnostic(NamedTuple):
    """Something that is wrong in a text."""

    code: str  #: "modifier_not_allowed"
    line: int  #: from 1; 0: it has no place
    column: int
    begin: int  #: the bytes of the text that it is about
    end: int
    message: str  #: what is wrong, and what would be right
    description: str  #: whole lines: the place, the message, the line of the text, a caret


class Module(Handle):
    """A module. Any number of threads read one at once; while one edits it, no other may use it.

    With `any_text` a text that does not parse is taken too: `verify` tells of all errors."""

    __slots__ = ()
    _noun = "module"

    def __init__(self, text: str, *, any_text: bool = False):
        data = text_bytes(text)
        create = lib.ptxgraft_module_create_from_any_text if any_text else lib.ptxgraft_module_create_from_text
        self._handle = self._create(create, data, len(data))

    @property
    def text(self) -> str:
        """Byte for byte what was given, but for what was edited."""
        return text_of(lib.ptxgraft_module_get_text, self._handle)

    def __str__(self) -> str:
        return self.text

    @property
    def canonical(self) -> str:
        """The same statements in one layout, without comments."""
        return text_of(lib.ptxgraft_module_get_canonical, self._handle)

    @property
    def version(self) -> str:
        return decode(lib.ptxgraft_module_get_version(self._handle))

    @property
    def target(self) -> str:
        return decode(lib.ptxgraft_module_get_target(self._handle))

    def verify(self, *, target: Optional[str] = None, manual_order: bool = False) -> tuple[Diagnostic, ...]:
        """Everything that ptxas would refuse, for the module's own target or another one. `manual_order`: modifiers that are not in
        the manual's order are wrong too."""
        options = Options("verify_options")
        options.text("target", target)
        options.struct.manual_order = manual_order
        out = ffi.new("ptxgraft_diagnostics**")
        check(lib.ptxgraft_module_verify(out, self._handle, options.struct))
        diagnostics = ffi.gc(out[0], lib.ptxgraft_diagnostics_destroy)
        infos = (
            info("diagnostic_info", lib.ptxgraft_diagnostics_get, diagnostics, i)
            for i in range(lib.ptxgraft_diagnostics_get_count(diagnostics))
        )
        return tuple(
            Diagnostic(
                decode(lib.ptxgraft_status_get_name(d.status)), d.line, d.column, d.begin, d.end, decode(d.message), decode(d.description)
            )
            for d in infos
        )

    def function(self, name: str) -> Statement:
        """An entry or a function by name; the definition, where there is one."""
        out = ffi.new("ptxgraft_statement*")
        check(lib.ptxgraft_module_find_function(out, self._handle, name_bytes(name)))
        return Statement(self, out)

    @property
    def body(self) -> Iterator[Statement]:
        """The statements of the module itself."""
        return _row(self, _neighbour(self, _NONE, "child"))

    def walk(self) -> Iterator[Statement]:
        """All statements in the order of the text, those of bodies too."""
        return _row(self, _neighbour(self, _NONE, "walk"), "walk")

    def add(self, text: str) -> None:
        """Statements at its end."""
        _add(self, lib.ptxgraft_statement_add, _NONE, text)

    def rename(self, old: str, new: str, *, at: Optional[Statement] = None) -> int:
        """Renames what a name means at a statement (None: in the module), and nothing else of an equal text; in how many places."""
        count = ffi.new("size_t*")
        where = _NONE if at is None else at._numbers
        check(lib.ptxgraft_module_rename(count, self._handle, where[0], name_bytes(old), name_bytes(new)))
        return int(count[0])


_NONE = ffi.new("ptxgraft_statement*")


class Statement:
    """A statement of a module, until it is removed or replaced."""

    __slots__ = ("module", "_numbers")

    def __init__(self, module: Module, numbers: Any):
        self.module, self._numbers = module, numbers

    @property
    def _info(self) -> Any:
        return info("statement_info", lib.ptxgraft_statement_get_info, self.module._handle, self._numbers[0])

    @property
    def kind(self) -> str:
        """Such as "function", "variable", "instruction", "label", "block", "directive"."""
        return enum_name("statement_kind", self._info.kind)

    @property
    def name(self) -> str:
        """Of a label, a function, the first variable; of an instruction opcode and modifiers, "fma.rn.f32"; else ""."""
        return decode(self._info.name)

    @property
    def guard(self) -> str:
        """Of an instruction: "%p1", "!%p1"; else ""."""
        return decode(self._info.guard)

    @property
    def line(self) -> int:
        """From 1, of the text that was parsed; 0 of what is new or was edited."""
        return int(self._info.line)

    @property
    def is_entry(self) -> bool:
        return bool(self._info.is_entry)

    @property
    def text(self) -> str:
        """As written, without blanks and comments before it; of a function with its body."""
        return text_of(lib.ptxgraft_statement_get_text, self.module._handle, self._numbers[0])

    @property
    def operands(self) -> tuple[str, ...]:
        """Of an instruction, as written."""
        get = lib.ptxgraft_statement_get_operand
        return tuple(text_of(get, self.module._handle, self._numbers[0], i) for i in range(self._info.operand_count))

    @property
    def parent(self) -> Optional[Statement]:
        """The function or block around it."""
        return _neighbour(self.module, self._numbers, "parent")

    @property
    def body(self) -> Iterator[Statement]:
        """The statements in a function or block."""
        return _row(self.module, _neighbour(self.module, self._numbers, "child"))

    def add_before(self, text: str) -> None:
        _add(self.module, lib.ptxgraft_statement_add_before, self._numbers, text)

    def add_after(self, text: str) -> None:
        _add(self.module, lib.ptxgraft_statement_add_after, self._numbers, text)

    def add(self, text: str) -> None:
        """Statements at the end of its body."""
        _add(self.module, lib.ptxgraft_statement_add, self._numbers, text)

    def replace(self, text: str) -> None:
        """Statements in its place."""
        _add(self.module, lib.ptxgraft_statement_replace, self._numbers, text)

    def remove(self) -> None:
        check(lib.ptxgraft_statement_remove(self.module._handle, self._numbers[0]))

    def set_opcode(self, opcode: str) -> None:
        check(lib.ptxgraft_statement_set_opcode(self.module._handle, self._numbers[0], name_bytes(opcode)))

    def set_operand(self, index: int, text: str) -> None:
        check(lib.ptxgraft_statement_set_operand(self.module._handle, self._numbers[0], index, name_bytes(text)))

    def set_guard(self, guard: str) -> None:
        """ "!%p1", or "" for none."""
        check(lib.ptxgraft_statement_set_guard(self.module._handle, self._numbers[0], name_bytes(guard)))

    def set_modifier(self, index: int, text: str) -> None:
        """ ".rz" in the place of a modifier; "" takes it away."""
        check(lib.ptxgraft_statement_set_modifier(self.module._handle, self._numbers[0], index, name_bytes(text)))

    def __repr__(self) -> str:
        return f"<ptxgraft.syntax.Statement {self.kind} {self.name}>"


def _neighbour(module: Module, numbers: Any, which: str) -> Optional[Statement]:
    out = ffi.new("ptxgraft_statement*")
    check(lib.ptxgraft_statement_get_neighbour(out, module._handle, numbers[0], enum_value("NEIGHBOUR", which)))
    return Statement(module, out) if out.numbers[0] or out.numbers[1] else None


def _row(module: Module, first: Optional[Statement], which: str = "next") -> Iterator[Statement]:
    statement = first
    while statement is not None:
        following = _neighbour(module, statement._numbers, which)  # asked for first: the statement may be removed meanwhile
        yield statement
        statement = following


def _add(module: Module, function: Any, at: Any, text: str) -> None:
    data = text_bytes(text)
    arguments = (at[0], data, len(data))
    check(function(NULL, module._handle, *arguments))
