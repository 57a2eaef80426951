"""A module of PTX: what ptxas would say of it, an edit, and the module again."""

from ptxgraft import syntax

module = syntax.Module(
    """.version 9.0
.target sm_90
.address_size 64
.visible .entry scale(.param .u64 data)
{
    .reg .b64 %rd<3>;
    .reg .f64 %d<3>;
    ld.param.u64 %rd1, [data];
    ld.global.f64 %d1, [%rd1];
    add.sat.f64 %d2, %d1, %d1;  // doubled
    st.global.f64 [%rd1], %d2;
    ret;
}
"""
)
for diagnostic in module.verify():
    print(diagnostic.description, end="")
addition = next(statement for statement in module.walk() if statement.name == "add.sat.f64")
addition.set_modifier(0, "")
print(addition.text, module.verify())
assert module.verify() == () and "// doubled" in module.text
