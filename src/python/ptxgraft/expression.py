"""Expressions: stubs in the notation of C (expression.hpp describes it)."""

from __future__ import annotations

from ptxgraft._skeleton import Site
from ptxgraft._stub import Stub


def compile(
    text: str,
    site: Site,
    *,
    constants: str = "literals",
    contract: bool = False,
    approximate: bool = False,
    flush_subnormals: bool = False,
) -> Stub:
    """Compiles an expression for a site.

    >>> import ptxgraft
    >>> site = ptxgraft.Skeleton.from_template("elementwise/simple", target="sm_80").site("function")
    >>> ptxgraft.expression.compile("y = max(x - 1.5, 0.0)", site).instruction_count
    2
    """
    return site.stub(
        text,
        language="expression",
        constants=constants,
        contract=contract,
        approximate=approximate,
        flush_subnormals=flush_subnormals,
    )
