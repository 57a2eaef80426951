"""Stubs: checked instruction sequences for the operands of a site."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ptxgraft._library import NULL, Handle, Options, check, enum_value, ffi, lib, name_bytes, text_bytes, text_of


#: What a stub may do beyond computing in registers, in the order of the bits of ptxgraft_effect.
EFFECTS = ("load", "store", "atomic", "warp", "barrier", "branch", "call", "tensor", "exit", "state")


class Stub(Handle):
    """A checked instruction sequence. It fits every site with the operands that it was made for, and never changes.

    >>> import ptxgraft
    >>> print(ptxgraft.Stub.for_signature("mod f32 acc, in f32 bias", "acc bias add.f32 -> acc").ptx.strip())
    add.f32 _acc, _acc, _bias;
    """

    __slots__ = ()
    _noun = "stub"

    def __init__(self) -> None:
        raise TypeError("a stub comes from Site.stub, stack.compile, expression.compile or Stub.for_signature")

    @classmethod
    def _new(cls, handle: Any) -> Stub:
        stub = cls.__new__(cls)
        stub._handle = handle
        return stub

    @classmethod
    def _make(cls, skeleton: Any, site: str, text: str, language: str, constants: str, flags: tuple[bool, bool, bool, bool]) -> Stub:
        options = Options("stub_options")
        struct = options.struct
        data = text_bytes(text)
        struct.text, struct.text_size = options.keep(ffi.from_buffer("char[]", data)), len(data)
        struct.language, struct.constants = enum_value("LANGUAGE", language), enum_value("CONSTANTS", constants)
        struct.leftovers_are_errors, struct.contract, struct.approximate, struct.flush_subnormals = flags
        return cls._new(cls._create(lib.ptxgraft_stub_create, skeleton, name_bytes(site), struct))

    @classmethod
    def for_signature(cls, signature: str, program: str) -> Stub:
        """Compiles a stack program without a skeleton, for operands such as "mod f32 acc, in f32 bias"."""
        data = text_bytes(program)
        return cls._new(cls._create(lib.ptxgraft_stub_create_for_signature, name_bytes(signature), data, len(data)))

    @property
    def ptx(self) -> str:
        """What is spliced into the skeleton."""
        return text_of(lib.ptxgraft_stub_get_ptx, self._handle)

    @property
    def instruction_count(self) -> int:
        return int(lib.ptxgraft_stub_get_instruction_count(self._handle))

    @property
    def constants(self) -> tuple[int, ...]:
        """The bits of constants that are data, in the order in which the text pushes those that count."""
        count = ffi.new("size_t*")
        check(lib.ptxgraft_stub_get_constants(NULL, count, self._handle))
        if not count[0]:
            return ()
        bits = ffi.new("uint64_t[]", count[0])
        check(lib.ptxgraft_stub_get_constants(bits, count, self._handle))
        return tuple(bits)

    def with_constants(self, constants: Sequence[int]) -> Stub:
        """The same stub with the bits of other constants, without a compile."""
        bits = ffi.new("uint64_t[]", list(constants))
        return self._new(self._create(lib.ptxgraft_stub_create_with_constants, self._handle, bits, len(bits)))

    def _description(self) -> str:
        return f"of {self.instruction_count} instructions"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(self.ptx)}</pre>"
