"""Programs on the CPU over columns of inputs, bit for bit what their PTX computes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

from ptxgraft._library import NULL, Handle, Options, check, enum_value, ffi, info, invalid, lib, wrong_type
from ptxgraft.stack import MUTATED, CompileOptions, Machine, Program, Register, _compile_options

if TYPE_CHECKING:
    import numpy
    import numpy.typing

    NumPyArray = numpy.typing.NDArray[Any]

# How a register's column is held: PTX's types that NumPy has; others by their bits.
_DTYPES = {"pred": "bool", "f16": "float16", "f32": "float32", "f64": "float64"}
_DTYPES.update({f"{kind}{bits}": f"int{bits}" for kind in "s" for bits in (16, 32, 64)})


def _dtype(register: Register) -> str:
    return _DTYPES.get(register.type, f"uint{8 * register.size}")


class Evaluator(Handle):
    """A program made ready. Any number of threads run one at once; none while it is prepared.

    >>> import numpy, ptxgraft
    >>> machine = ptxgraft.stack.Machine("mod f32 acc, in f32 bias")
    >>> evaluator = ptxgraft.Evaluator(machine.parse("acc bias add.f32 -> acc"))
    >>> evaluator(acc=numpy.float32([1, 2]), bias=numpy.float32([10, 20]))["acc"]
    array([11., 22.], dtype=float32)
    """

    __slots__ = ("machine",)
    _noun = "evaluator"

    def __init__(self, program: Program, options: CompileOptions = CompileOptions()):
        self.machine = _program(program).machine
        struct = _compile_options(options).struct
        self._handle = self._create(lib.ptxgraft_evaluator_create, program._handle, program.machine._handle, struct)

    def prepare(self, program: Program, options: CompileOptions = CompileOptions()) -> None:
        """Another program in the place of the one before, in the memory that is there."""
        self.machine = _program(program).machine
        check(lib.ptxgraft_evaluator_prepare(self._handle, program._handle, self.machine._handle, _compile_options(options).struct))

    @property
    def instruction_count(self) -> int:
        return int(lib.ptxgraft_evaluator_get_instruction_count(self._handle))

    @property
    def is_approximate(self) -> bool:
        """Whether it has approximate instructions; without, every `approximation` gives the same."""
        return bool(lib.ptxgraft_evaluator_get_approximate(self._handle))

    def __call__(
        self, inputs: Mapping[str, Any] = {}, *, approximation: str = "exact", seed: int = 0, **more: Any
    ) -> dict[str, NumPyArray]:
        """The outputs by name ("y", "frag[2]"), of inputs by name, all of one shape. Types are those of the registers; of b32 and its
        like, f16x2, bf16 unsigned integers of their width stand for the bits. `approximation`: "exact", "up", "down", "hashed"."""
        import numpy

        given = {**inputs, **more}
        columns = [self._column(given, register) for register in self.machine.registers]
        if given:
            raise invalid(f"{', '.join(given)} is no input; those are {', '.join(r.name for r in _inputs(self.machine))}")
        shapes = {column.shape for column in columns if column is not None}
        if len(shapes) > 1:
            raise invalid(f"the inputs have different shapes: {', '.join(map(str, sorted(shapes)))}")
        shape = shapes.pop() if shapes else (1,)
        outputs = [numpy.empty(shape, _dtype(r)) if r.direction != "in" else None for r in self.machine.registers]
        self._run(columns, outputs, shape, approximation, seed)
        return {r.name: output for r, output in zip(self.machine.registers, outputs) if output is not None}

    def _column(self, given: dict[str, Any], register: Register) -> Optional[NumPyArray]:
        import numpy

        if register.direction == "out":
            return None
        if register.name not in given:
            raise invalid(f"the input {register.name} is missing")
        array = numpy.asarray(given.pop(register.name))
        if array.dtype != _dtype(register):
            raise invalid(f"{register.name} is a {register.type}, whose array is of {_dtype(register)}, not {array.dtype}")
        return numpy.ascontiguousarray(array)

    def _run(
        self, inputs: Sequence[Optional[NumPyArray]], outputs: Sequence[Optional[NumPyArray]], shape: tuple[int, ...], how: str, seed: int
    ) -> None:
        columns = Options("columns")
        struct = columns.struct
        struct.register_count, struct.approximation, struct.seed = len(inputs), enum_value("APPROXIMATION", how), seed
        struct.count = 1
        for extent in shape:
            struct.count *= extent
        for field, arrays in (("inputs", inputs), ("outputs", outputs)):
            pointers = columns.keep(ffi.new("void*[]", [NULL if a is None else ffi.cast("void*", a.ctypes.data) for a in arrays]))
            setattr(struct, field, pointers)
        check(lib.ptxgraft_evaluator_run(self._handle, struct))


def _inputs(machine: Machine) -> list[Register]:
    return [register for register in machine.registers if register.direction != "out"]


def evaluate(program: Program, inputs: Mapping[str, Any] = {}, *, options: CompileOptions = MUTATED, **more: Any) -> dict[str, NumPyArray]:
    """An Evaluator made and called: the outputs by name.

    >>> import numpy, ptxgraft
    >>> machine = ptxgraft.stack.Machine("in u32 a, in u32 b, out u32 c")
    >>> ptxgraft.evaluate(machine.parse("a b and.b32 -> c"), a=numpy.uint32([12, 7]), b=numpy.uint32([10, 2]))["c"]
    array([8, 2], dtype=uint32)
    """
    return Evaluator(program, options)(inputs, **more)


class Difference(NamedTuple):
    """Where two programs differ: the bits of the inputs, of what is expected, and of the result."""

    output: int  #: the register of the signature
    input: int
    expected: int
    result: int


def _program(value: Any) -> Program:
    if not isinstance(value, Program):
        raise wrong_type(value, "a ptxgraft.stack.Program")
    return value


def find_difference(program: Program, reference: Program, *, threads: int = 0, options: CompileOptions = MUTATED) -> Optional[Difference]:
    """The first input for which a program gives other bits than the reference, of all; their inputs have 32 bits together. None:
    they are one function. What a handler of a signal raises, Ctrl-C above all, comes out of it within a tenth of a second.

    >>> import ptxgraft
    >>> machine = ptxgraft.stack.Machine("in u16 x, out u16 y")
    >>> doubled = machine.parse("x x add.u16 -> y")
    >>> ptxgraft.find_difference(doubled, machine.parse("x 1u32 shl.b16 -> y")) is None
    True
    """
    machine, other = _program(program).machine, _program(reference).machine
    if machine is not other and machine.hash != other.hash:
        raise invalid("the programs are of different machines, on which a program means different things")
    given, compile_options = Options("error_options"), _compile_options(options)
    given.struct.compile, given.struct.threads = given.keep(compile_options.struct), threads
    arguments = program._handle, reference._handle, program.machine._handle, given.struct
    for _ in _parts(given, sum(1 if r.type == "pred" else 8 * r.size for r in _inputs(program.machine))):
        found = info("difference_info", lib.ptxgraft_program_find_difference, *arguments)
        if found.found:
            return Difference(found.output, found.input, found.expected, found.result)
    return None


def _parts(given: Options, bits: int) -> Iterator[None]:
    """Sets `ranges` to one part of all inputs after the other. Each takes 0.03 to 0.08 s; handlers of signals run in between."""
    if not 0 < bits <= 32:
        yield  # the library says why not
        return
    part, first = given.keep(ffi.new("ptxgraft_input_range*")), 0
    given.struct.ranges, given.struct.range_count = part, 1
    size = 1 << 18
    while first < 1 << bits:
        part.first, part.last = first, min(first + size, 1 << bits) - 1
        begin = time.monotonic()
        yield
        took = time.monotonic() - begin
        first, size = part.last + 1, size * 2 if took < 0.03 else max(size // 2, 1 << 14) if took > 0.08 else size
