"""The stack language: programs that compile to stubs in microseconds (stack.hpp describes it)."""

from __future__ import annotations

from ptxgraft._skeleton import Site
from ptxgraft._stub import Stub


def compile(program: str, site: Site, *, constants: str = "literals", leftovers_are_errors: bool = False) -> Stub:
    """Compiles a program, or a whole `.stub` file, for a site.

    >>> import ptxgraft
    >>> site = ptxgraft.Skeleton.from_template("elementwise/simple", target="sm_80").site("function")
    >>> ptxgraft.stack.compile("x 1.5 sub.f32 0.0 max.f32 -> y", site).instruction_count
    2
    """
    return site.stub(program, constants=constants, leftovers_are_errors=leftovers_are_errors)
