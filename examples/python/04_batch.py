"""Many candidates of one skeleton assembled at once, without a GPU: which takes the fewest registers?"""

from typing import Union

import ptxgraft

skeleton = ptxgraft.Skeleton.from_template("elementwise/simple", target="sm_90a")
programs = [
    "x x mul.f32 -> y",
    "x 0.0 max.f32 -> y",
    "x nothing add.f32 -> y",  # an error of its own
    "x 1.0 add.f32 x 2.0 add.f32 mul.f32 x 3.0 add.f32 mul.f32 -> y",
]
stubs: list[Union[ptxgraft.Stub, ptxgraft.Error]] = []
for program in programs:
    try:
        stubs.append(skeleton.site("function").stub(program))
    except ptxgraft.Error as error:
        stubs.append(error)
good = [(program, stub) for program, stub in zip(programs, stubs) if isinstance(stub, ptxgraft.Stub)]
codes = skeleton.assemble_many([{"function": stub} for _, stub in good], options=ptxgraft.GraftOptions(route="auto", cache=ptxgraft.Cache()))
for (program, _), code in zip(good, codes):
    assert isinstance(code, ptxgraft.MachineCode), code
    function = code.functions[0]
    print(f"{program:66} {function.registers} registers, {function.code_size} bytes of code")
assert len(codes) == 3
