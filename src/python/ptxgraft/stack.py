"""The stack language: instruction sets, machines, programs, and compiling many of these at once.

stack.hpp describes the language, set.hpp the sets, program.hpp what is done with programs in a search.

>>> import numpy, ptxgraft
>>> machine = ptxgraft.stack.Machine("in f32 x, out f32 y")
>>> program = machine.parse("x 1.5 sub.f32 0.0 max.f32 -> y")
>>> ptxgraft.evaluate(program, x=numpy.array([1, 2, 3], numpy.float32))["y"]
array([0. , 0.5, 1.5], dtype=float32)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from ptxgraft import _arrays
from ptxgraft._library import (
    NULL,
    Error,
    Handle,
    Options,
    bytes_of,
    check,
    decode,
    enum_name,
    enum_value,
    ffi,
    info,
    invalid,
    lib,
    name_bytes,
    text_bytes,
    text_of,
    wrong_type,
)
from ptxgraft._skeleton import Site
from ptxgraft._stub import EFFECTS, Stub

if TYPE_CHECKING:
    import numpy
    import numpy.typing

    NumPyArray = numpy.typing.NDArray[Any]


def compile(program: str, site: Site, *, constants: str = "literals", leftovers_are_errors: bool = False) -> Stub:
    """Compiles a program, or a whole `.stub` file, for a site.

    >>> import ptxgraft
    >>> site = ptxgraft.Skeleton.from_template("elementwise/simple", target="sm_80").site("function")
    >>> ptxgraft.stack.compile("x 1.5 sub.f32 0.0 max.f32 -> y", site).instruction_count
    2
    """
    return site.stub(program, constants=constants, leftovers_are_errors=leftovers_are_errors)


class CompileOptions(NamedTuple):
    """How programs are compiled; these values are of programs that people write: what is missing is an error."""

    missing: str = "error"  #: an instruction without operands: "error", "skip" (it does nothing)
    requests: str = "assigned"  #: what operands receive: "assigned", "top" (what lies on top where nothing is assigned)
    empty: str = "error"  #: an operand without a value: "error", "keep", "zero"
    leftover: str = "allow"  #: values that nobody used: "allow", "error"
    constants: str = "literals"  #: "literals", "data"
    reuse: bool = False  #: one value for equal computations
    fold: bool = False  #: what has constant operands is computed
    hash: bool = False  #: hashes are made
    most_steps: int = 0
    most_depth: int = 0


#: Of programs that a search makes: nothing in them is an error.
MUTATED = CompileOptions(missing="skip", requests="top", empty="zero")


def _compile_options(given: CompileOptions) -> Options:
    if not isinstance(given, CompileOptions):
        raise wrong_type(given, "CompileOptions")
    options = Options("compile_options")
    struct = options.struct
    for field in "missing", "requests", "empty", "leftover", "constants":
        setattr(struct, field, enum_value(field.upper(), getattr(given, field)))
    for field in "reuse", "fold", "hash", "most_steps", "most_depth":
        setattr(struct, field, getattr(given, field))
    return options


def _effect_bits(allowed: Sequence[str]) -> int:
    return sum(enum_value("EFFECT", effect) for effect in allowed)


class Operand(NamedTuple):
    """An operand of an instruction, in PTX's order."""

    type: str
    is_output: bool
    is_immediate: bool  #: a constant that is a part of the instruction


class Entry(NamedTuple):
    """An instruction of a set."""

    name: str  #: that programs call it by
    form: str  #: of PTX: "fma.rn.f32"; "" of a special register
    special: str  #: "%tid.x"; else ""
    weight: float  #: how often it is drawn
    effects: tuple[str, ...]  #: that a site must allow
    operands: tuple[Operand, ...]


class Set(Handle):
    """An instruction set: one of the library by its name, or what a `.set` text says.

    >>> import ptxgraft
    >>> [entry.name for entry in ptxgraft.stack.Set.from_text("add.f32\\nmul.f32").entries]
    ['add.f32', 'mul.f32']
    """

    __slots__ = ()
    _noun = "set"

    def __init__(self, name: str = "standard"):
        self._handle = self._create(lib.ptxgraft_set_create_by_name, name_bytes(name))

    @classmethod
    def _new(cls, handle: Any) -> Set:
        made = cls.__new__(cls)
        made._handle = handle
        return made

    @classmethod
    def from_text(cls, text: str) -> Set:
        """A `.set` file, or the names of forms alone, a line each."""
        data = text_bytes(text)
        return cls._new(cls._create(lib.ptxgraft_set_create_from_text, data, len(data)))

    @staticmethod
    def names() -> tuple[str, ...]:
        """Of the library's sets."""
        return tuple(decode(lib.ptxgraft_library_get_set_name(i)) for i in range(lib.ptxgraft_library_get_set_count()))

    @property
    def text(self) -> str:
        return text_of(lib.ptxgraft_set_get_text, self._handle)

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(self._entry(i) for i in range(lib.ptxgraft_set_get_entry_count(self._handle)))

    def _entry(self, index: int) -> Entry:
        entry = info("entry_info", lib.ptxgraft_set_get_entry, self._handle, index)
        operands = (
            info("entry_operand_info", lib.ptxgraft_set_get_entry_operand, self._handle, index, i) for i in range(entry.operand_count)
        )
        return Entry(
            decode(entry.name),
            decode(entry.form),
            decode(entry.special),
            entry.weight,
            tuple(name for bit, name in enumerate(EFFECTS) if entry.effects >> bit & 1),
            tuple(Operand(self.type_name(o.type), bool(o.is_output), bool(o.is_immediate)) for o in operands),
        )

    def index(self, name: str) -> int:
        """The number of an instruction in programs, by its name."""
        index = ffi.new("size_t*")
        check(lib.ptxgraft_set_find_entry(index, self._handle, name_bytes(name)))
        return int(index[0])

    def type_name(self, number: int) -> str:
        return decode(lib.ptxgraft_set_get_type_name(self._handle, number))


class Register(NamedTuple):
    """A register of a signature: a scalar operand, or an element of a fragment."""

    operand: str
    element: int
    type: str
    direction: str
    size: int  #: bytes of a value in a column

    @property
    def name(self) -> str:
        """As arrays of `evaluate` are named: "x", "frag[2]"."""
        return self.operand if self.element < 0 else f"{self.operand}[{self.element}]"


class Machine(Handle):
    """A set over the operands of a site: what programs run on. Any number of threads use one at once."""

    __slots__ = ("registers",)
    _noun = "machine"

    def __init__(
        self,
        operands: Union[str, Site],
        set: Optional[Set] = None,
        *,
        target: Optional[str] = None,
        ptx_version: int = 0,
        allowed: Sequence[str] = (),
    ):
        """`operands`: a site, or a signature such as "mod f32 acc, in f32 bias". `set`: None is the standard one. `target`, and
        `ptx_version` (90 for PTX ISA 9.0): instructions that these lack are not there; `allowed`: effects, beside a site's own."""
        options = Options("machine_options")
        options.text("target", target)
        options.struct.ptx_version, options.struct.allowed = ptx_version, _effect_bits(allowed)
        if not isinstance(set, (Set, type(None))):
            raise wrong_type(set, "a Set")
        set_handle = NULL if set is None else set._handle
        if isinstance(operands, Site):
            skeleton, name = operands._skeleton._handle, name_bytes(operands.name)
            self._handle = self._create(lib.ptxgraft_machine_create_for_site, set_handle, skeleton, name, options.struct)
        else:
            self._handle = self._create(lib.ptxgraft_machine_create, set_handle, name_bytes(operands), options.struct)
        self.registers: tuple[Register, ...] = self._read_registers()

    @classmethod
    def _new(cls, handle: Any) -> Machine:
        machine = cls.__new__(cls)
        machine._handle = handle
        machine.registers = machine._read_registers()
        return machine

    def _read_registers(self) -> tuple[Register, ...]:
        count = lib.ptxgraft_machine_get_register_count(self._handle)
        infos = [info("register_info", lib.ptxgraft_machine_get_register, self._handle, i) for i in range(count)]
        fragments = {decode(i.operand) for i in infos if i.element > 0}
        return tuple(
            Register(
                decode(i.operand),
                i.element if decode(i.operand) in fragments else -1,
                enum_name("type", i.type),
                enum_name("direction", i.direction),
                i.size,
            )
            for i in infos
        )

    @property
    def hash(self) -> int:
        """Two machines share it on which every program means the same; stable between processes."""
        return int(lib.ptxgraft_machine_get_hash(self._handle))

    @property
    def signature(self) -> str:
        return text_of(lib.ptxgraft_machine_get_signature, self._handle)

    @property
    def set(self) -> Set:
        return Set._new(Set._create(lib.ptxgraft_set_create_from_machine, self._handle))

    def parse(self, text: str) -> Program:
        """The program of a text."""
        data = text_bytes(text)
        return Program._new(self, Program._create(lib.ptxgraft_program_create_from_text, self._handle, data, len(data)))

    def parse_expression(self, text: str) -> Program:
        """The program of an expression, for a machine of the set "expression"."""
        data = text_bytes(text)
        return Program._new(self, Program._create(lib.ptxgraft_program_create_from_expression, self._handle, data, len(data), NULL))

    def from_bytes(self, data: bytes) -> Program:
        """What `bytes(program)` gave."""
        return Program._new(self, Program._create(lib.ptxgraft_program_create_from_bytes, self._handle, data, len(data)))

    def from_code(self, code: Any, pool: Sequence[int] = ()) -> Program:
        """Bare instructions, 8 bytes each, whatever they are: bytes, or an array; and the constants that `pooled` pushes.

        >>> import ptxgraft
        >>> machine = ptxgraft.stack.Machine("in f32 x, out f32 y")
        >>> machine.from_code(bytes(range(64))).instruction_count
        8
        """
        place = _arrays.place_of(code)
        if place.size % 8:
            raise invalid(f"an instruction has 8 bytes, and the code {place.size}")
        pointer = ffi.cast("ptxgraft_instruction*", place.address)
        numbers = ffi.new("uint64_t[]", list(pool))
        create = lib.ptxgraft_program_create_from_code
        return Program._new(self, Program._create(create, pointer, place.size // 8, numbers, len(numbers)))


class Program(Handle):
    """A program for a machine. It does not change.

    >>> import ptxgraft
    >>> machine = ptxgraft.stack.Machine("in f32 x, out f32 y")
    >>> program = machine.parse("x dup.f32 mul.f32 -> y")
    >>> str(program)
    'x dup.f32 mul.f32 -> y'
    >>> machine.from_bytes(bytes(program)) == program
    True
    """

    __slots__ = ("machine",)
    _noun = "program"
    machine: Machine

    def __init__(self) -> None:
        raise TypeError("a program comes from Machine.parse, from_bytes, from_code or a Sampler")

    @classmethod
    def _new(cls, machine: Machine, handle: Any) -> Program:
        program = cls.__new__(cls)
        program.machine, program._handle = machine, handle
        return program

    def __str__(self) -> str:
        return text_of(lib.ptxgraft_program_get_text, self._handle, self.machine._handle).rstrip("\n")

    def __bytes__(self) -> bytes:
        """The whole program, with a version and a checksum."""
        return bytes_of(lib.ptxgraft_program_get_bytes, self._handle, self.machine._handle)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and bytes(self) == bytes(other)

    def __hash__(self) -> int:
        return hash(bytes(self))

    def _list(self, function: Any, kind: str, *more: Any) -> Any:
        count = ffi.new("size_t*")
        check(function(NULL, count, self._handle, *more))
        array = ffi.new(kind, max(count[0], 1))
        if count[0]:
            check(function(array, count, self._handle, *more))
        return array[0 : count[0]]

    @property
    def code(self) -> bytes:
        """Its instructions, 8 bytes each, without those of routines."""
        instructions = self._list(lib.ptxgraft_program_get_code, "ptxgraft_instruction[]")
        return bytes(ffi.buffer(instructions)) if len(instructions) else b""

    @property
    def pool(self) -> tuple[int, ...]:
        """The 64-bit constants that `pooled` pushes."""
        return tuple(self._list(lib.ptxgraft_program_get_pool, "uint64_t[]"))

    @property
    def instruction_count(self) -> int:
        """Dead ones included, without those of routines."""
        return int(lib.ptxgraft_program_get_instruction_count(self._handle))

    def live(self, options: CompileOptions = MUTATED) -> tuple[int, ...]:
        """The places in the code of the instructions that count."""
        struct = _compile_options(options).struct
        return tuple(self._list(lib.ptxgraft_program_get_live_code, "uint32_t[]", self.machine._handle, struct))

    def dataflow_hash(self, options: CompileOptions = MUTATED) -> int:
        """Equal for two programs that emit the same dataflow."""
        arguments = self._handle, self.machine._handle, _compile_options(options).struct
        return int(info("dataflow_info", lib.ptxgraft_program_get_dataflow, *arguments).hash)

    def simplified(self, options: CompileOptions = MUTATED) -> Program:
        """The same dataflow in fewer instructions, without what is dead."""
        struct = _compile_options(options).struct
        create = lib.ptxgraft_program_create_simplified
        return self._new(self.machine, self._create(create, self._handle, self.machine._handle, struct))

    def stub(self, options: CompileOptions = CompileOptions()) -> Stub:
        """A stub of it."""
        struct = _compile_options(options).struct
        return Stub._new(Stub._create(lib.ptxgraft_stub_create_from_compiled, self._handle, self.machine._handle, struct))

    def _description(self) -> str:
        return f"{str(self)!r}"


class Sampler(Handle):
    """Draws programs for a machine. `weights`: for instructions by name, in the place of the set's own.

    >>> import ptxgraft
    >>> sampler = ptxgraft.stack.Sampler(ptxgraft.stack.Machine("in f32 x, out f32 y", ptxgraft.stack.Set("f32")))
    >>> program = sampler.draw(5, seed=1, stream=7)
    >>> program == sampler.draw(5, seed=1, stream=7), len(program.live()) >= 5
    (True, True)
    """

    __slots__ = ("machine",)
    _noun = "sampler"

    def __init__(
        self,
        machine: Machine,
        *,
        shape: str = "tree",
        weights: Mapping[str, float] = {},
        constant_share: float = 0.25,
        shared: float = 0.1,
        words: float = 0.1,
    ):
        options = Options("sampler_options")
        struct = options.struct
        struct.shape, struct.constant_share, struct.shared, struct.words = enum_value("SHAPE", shape), constant_share, shared, words
        if weights:
            entries = machine.set.entries
            unknown = weights.keys() - {entry.name for entry in entries}
            if unknown:
                raise invalid(f"the set has no {', '.join(sorted(unknown))}")
            numbers = options.keep(ffi.new("double[]", [weights.get(entry.name, entry.weight) for entry in entries]))
            struct.weights, struct.weight_count = numbers, len(entries)
        self.machine = machine
        self._handle = self._create(lib.ptxgraft_sampler_create, machine._handle, struct)

    def draw(self, live: int, *, seed: int, stream: int = 0) -> Program:
        """A program of so many live instructions. Equal seed and stream give an equal program everywhere."""
        return Program._new(self.machine, Program._create(lib.ptxgraft_program_create_at_random, self._handle, seed, stream, live))


class Compilation(Handle):
    """Many programs, compiled: one text of all, and the figures of each as NumPy arrays. `statuses` is 0 where it went well."""

    __slots__ = ("count", "statuses", "instruction_counts", "hashes", "text_offsets")
    _noun = "compilation"
    statuses: NumPyArray
    instruction_counts: NumPyArray
    hashes: NumPyArray
    text_offsets: NumPyArray  #: one more than programs

    def __init__(self, handle: Any):
        import numpy

        self._handle = handle
        self.count: int = lib.ptxgraft_compilation_get_count(handle)
        self.statuses = numpy.empty(self.count, numpy.int32)
        self.instruction_counts = numpy.empty(self.count, numpy.uint32)
        self.hashes = numpy.empty(self.count, numpy.uint64)
        self.text_offsets = numpy.empty(self.count + 1, numpy.uint64)
        arrays = Options("compilation_arrays").struct
        for field in "statuses", "instruction_counts", "hashes", "text_offsets":
            kind = ffi.typeof(arrays[0]).fields
            c_type = dict(kind)[field].type
            setattr(arrays, field, ffi.cast(c_type, getattr(self, field).ctypes.data))
        check(lib.ptxgraft_compilation_read(arrays, handle))

    def __len__(self) -> int:
        return self.count

    def ptx(self, program: int) -> str:
        """The PTX of one program; of one that failed, its error is raised, whose `index` is the instruction that is wrong."""
        if self.statuses[program]:
            text_of(lib.ptxgraft_compilation_get_ptx, self._handle, program)
        begin, end = int(self.text_offsets[program]), int(self.text_offsets[program + 1])
        return bytes(self.text[begin:end]).decode()

    @property
    def text(self) -> memoryview:
        """The PTX of all programs, one behind another, without a copy."""
        size = int(self.text_offsets[-1])
        return memoryview(ffi.buffer(lib.ptxgraft_compilation_get_text(self._handle), size)) if size else memoryview(b"")


def compile_many(
    machine: Machine, programs: Any, offsets: Any = None, *, options: CompileOptions = MUTATED, encoding: str = "code", threads: int = 0
) -> Compilation:
    """Compiles many programs on some threads (0: one per processor), straight from their bytes.

    `programs`: an array of two dimensions whose rows are programs of bare instructions (8 bytes each, any bytes), or bytes of one
    behind another, where program i stands from offsets[i] up to offsets[i + 1]. `encoding`: "code", or "checked" for what
    `bytes(program)` gives.

    >>> import numpy, ptxgraft
    >>> machine = ptxgraft.stack.Machine("in f32 x, out f32 y")
    >>> genes = numpy.random.default_rng(1).integers(0, 1 << 64, (1000, 16), numpy.uint64)  # programs of 16 instructions
    >>> compiled = ptxgraft.stack.compile_many(machine, genes)
    >>> len(compiled), int(compiled.statuses.any())
    (1000, 0)
    """
    import numpy

    place = _arrays.place_of(programs)
    if offsets is None:
        shape: tuple[int, ...] = tuple(getattr(programs, "shape", ()))
        if len(shape) < 2:
            raise invalid("programs that are not rows of an array come with offsets")
        size = place.size // max(shape[0], 1)
        offsets = numpy.arange(0, (shape[0] + 1) * size, size or 1, dtype=numpy.uint64) if size else numpy.zeros(shape[0] + 1, numpy.uint64)
    offsets = numpy.ascontiguousarray(offsets, dtype=numpy.uint64)
    if len(offsets) < 1 or (numpy.diff(offsets.astype(numpy.int64)) < 0).any() or int(offsets[-1]) > place.size:
        raise invalid(f"offsets ascend, from the first program's to the last one's end, which is within the {place.size} bytes")
    struct = ffi.new("ptxgraft_programs*")
    struct.bytes, struct.offsets = ffi.cast("void*", place.address), ffi.cast("size_t*", offsets.ctypes.data)
    struct.count, struct.encoding = len(offsets) - 1, enum_value("ENCODING", encoding)
    arguments = machine._handle, struct, _compile_options(options).struct, threads
    return Compilation(Compilation._create(lib.ptxgraft_compilation_create, *arguments))


def library_stubs() -> dict[str, str]:
    """The stubs and sets that come with the library, by their files: "activation/gelu.stub".

    >>> import ptxgraft
    >>> "x" in ptxgraft.stack.library_stubs()["activation/relu.stub"]
    True
    """
    count = lib.ptxgraft_library_get_file_count()
    return {decode(lib.ptxgraft_library_get_file_name(i)): text_of(lib.ptxgraft_library_get_file_text, i) for i in range(count)}


__all__ = [
    "Compilation", "CompileOptions", "Entry", "Error", "MUTATED", "Machine", "Operand", "Program", "Register", "Sampler", "Set", "compile",
    "compile_many", "library_stubs",
]  # fmt: skip
