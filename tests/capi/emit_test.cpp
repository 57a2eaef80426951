// Kernels that a program writes, in C.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "arguments.hpp"
#include "handles.hpp"
#include "two_calls.hpp"

namespace {

using namespace ptxgraft::test;
using testing::HasSubstr;

using CEmitter = Handle<ptxgraft_emitter, ptxgraft_emitter_destroy>;

CEmitter emitter_of(const char* target = "sm_80") {
    CEmitter made;
    EXPECT_OK(ptxgraft_emitter_create(&made, target, nullptr));
    return made;
}
ptxgraft_builder* entry_of(ptxgraft_emitter* emitter, const char* name = "k") {
    ptxgraft_builder* made = nullptr;
    EXPECT_OK(ptxgraft_emitter_add_entry(&made, emitter, name));
    return made;
}
const char* reg(ptxgraft_builder* builder, const char* type) {
    const char* name = nullptr;
    EXPECT_OK(ptxgraft_builder_add_register(&name, builder, type, nullptr));
    return name;
}
const char* argument(ptxgraft_builder* builder, const char* type, const char* name) {
    const char* made = nullptr;
    EXPECT_OK(ptxgraft_builder_add_argument(&made, builder, type, name));
    return made;
}
ptxgraft_status emit(ptxgraft_builder* builder, const char* name, const std::vector<std::string>& operands,
                     const char* guard = nullptr) {
    std::vector<const char*> texts;
    for (const std::string& one : operands) texts.push_back(one.c_str());
    return ptxgraft_builder_emit(builder, guard, name, texts.data(), texts.size());
}
std::string ptx_of(const ptxgraft_emitter* emitter) {
    return text_of([&](char* t, size_t* n) { return ptxgraft_emitter_get_ptx(t, n, emitter); });
}

TEST(CApiEmit, AKernelRuns) {
    const CEmitter emitter = emitter_of();
    ptxgraft_builder* const k = entry_of(emitter);
    const std::string data = argument(k, "u64", "data"), n = argument(k, "u32", "n");
    const std::string i = reg(k, "u32"), value = reg(k, "f32"), address = reg(k, "u64"), p = reg(k, "pred");
    const char* done = nullptr;
    ASSERT_OK(ptxgraft_builder_add_label(&done, k, "done"));
    EXPECT_OK(emit(k, "mov.u32", {i, "%tid.x"}));
    EXPECT_OK(emit(k, "setp.ge.u32", {p, i, n}));
    EXPECT_OK(emit(k, "bra", {done}, p.c_str()));
    EXPECT_OK(emit(k, "mad.wide.u32", {address, i, "4", data}));
    EXPECT_OK(emit(k, "ld.global.f32", {value, "[" + address + "]"}));
    EXPECT_OK(emit(k, "fma.rn.f32", {value, value, "2.0", "0f3F800000"}));
    EXPECT_OK(emit(k, "add.f32", {value, value, "1.5"}, ("!" + p).c_str()));
    EXPECT_OK(emit(k, "st.global.f32", {"[" + address + "+0]", value}));
    EXPECT_OK(ptxgraft_builder_place(k, done));
    EXPECT_OK(emit(k, "ret", {}));
    EXPECT_EQ(ptxgraft_builder_get_instruction_count(k), 11u);
    const std::string ptx = ptx_of(emitter);
    EXPECT_THAT(ptx, HasSubstr("@!" + p + " add.f32 "));
    const CSkeleton skeleton = c_skeleton(ptx);
    CDevice device;
    ASSERT_OK(ptxgraft_device_open(&device, "emulator:sm_80"));
    CKernel kernel;
    ASSERT_OK(ptxgraft_kernel_create(&kernel, skeleton, device, nullptr));
    float values[4] = {0, 1, 2, 3};
    CBuffer buffer;
    ASSERT_OK(ptxgraft_buffer_create(&buffer, device, sizeof values));
    ASSERT_OK(ptxgraft_buffer_write(buffer, 0, values, sizeof values));
    const uint32_t count = 3;
    const ptxgraft_argument arguments[] = {PTXGRAFT_BUFFER(buffer), PTXGRAFT_VALUE(count)};
    ptxgraft_launch_options launch = PTXGRAFT_LAUNCH_OPTIONS_INIT;
    launch.block[0] = 4;
    ASSERT_OK(ptxgraft_kernel_launch(kernel, &launch, arguments, 2));
    ASSERT_OK(ptxgraft_buffer_read(values, buffer, 0, sizeof values));
    EXPECT_THAT(values, testing::ElementsAre(2.5f, 4.5f, 6.5f, 3));
}

TEST(CApiEmit, MistakesSayWhatWouldBeRight) {
    const CEmitter emitter = emitter_of();
    ptxgraft_builder* const k = entry_of(emitter);
    const std::string x = reg(k, "f32"), d = reg(k, "f64");
    EXPECT_EQ(emit(k, "add.f33", {x, x, x}), PTXGRAFT_STATUS_modifier_unknown);
    EXPECT_EQ(emit(k, "add.f32", {x, x, d}), PTXGRAFT_STATUS_operand_type_wrong);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("form: add"));
    EXPECT_EQ(emit(k, "add.f32", {x, x}), PTXGRAFT_STATUS_operand_count_wrong);
    EXPECT_EQ(emit(k, "add.f32", {x, x, "%f99"}), PTXGRAFT_STATUS_name_undeclared);
    EXPECT_EQ(ptxgraft_error_get_index(), 2u);
    EXPECT_EQ(emit(k, "tanh.approx.bf16", {reg(k, "b16"), reg(k, "b16")}), PTXGRAFT_STATUS_target_not_able)
        << "it wants sm_90";
    EXPECT_INVALID(emit(k, "add.f32", {x, x + ", " + x}), "operands has 2 texts, which are 3 operands");
    EXPECT_INVALID(emit(k, "ret", {}, x.c_str()), "guard is '" + x + "'; it is a predicate");
    EXPECT_INVALID(ptxgraft_builder_emit(k, nullptr, "ret", nullptr, 1), "operands is null, but count is 1");
    const char* const null[] = {nullptr};
    EXPECT_INVALID(ptxgraft_builder_emit(k, nullptr, "ret", null, 1), "operands[0] is null");
    EXPECT_INVALID(ptxgraft_builder_place(k, "L9"), "'L9' is no label of this function");
    const char* name = nullptr;
    EXPECT_EQ(ptxgraft_builder_add_register(&name, k, "f31", nullptr), PTXGRAFT_STATUS_type_unknown);
    size_t size = 0;
    EXPECT_EQ(ptxgraft_emitter_get_ptx(nullptr, &size, emitter), PTXGRAFT_STATUS_modifier_unknown)
        << "the first error";
    EXPECT_OK(ptxgraft_emitter_get_text(nullptr, &size, emitter));
}

// What a caller does not look at is not left out of the module in silence.
TEST(CApiEmit, AnyCallThatFailsIsTheModulesError) {
    const auto error_of = [](auto mistake) {
        const CEmitter emitter = emitter_of();
        ptxgraft_builder* const k = entry_of(emitter);
        const ptxgraft_status status = mistake(k, reg(k, "f32"));
        EXPECT_OK(emit(k, "ret", {}));
        size_t size = 0;
        EXPECT_EQ(ptxgraft_emitter_get_ptx(nullptr, &size, emitter), status);
        EXPECT_OK(ptxgraft_emitter_get_text(nullptr, &size, emitter));
        return status;
    };
    EXPECT_EQ(error_of([](auto* k, std::string x) {
                  return emit(k, "add.f32", {x, x, "%f99"});
              }),
              PTXGRAFT_STATUS_name_undeclared);
    EXPECT_EQ(error_of([](auto* k, std::string x) {
                  return emit(k, "add.f32", {x, x, x}, "%p1");
              }),
              PTXGRAFT_STATUS_argument_invalid);
    EXPECT_EQ(error_of([](auto* k, std::string) {
                  const char* name = nullptr;
                  return ptxgraft_builder_add_register(&name, k, "f31", nullptr);
              }),
              PTXGRAFT_STATUS_type_unknown);
    EXPECT_EQ(error_of([](auto* k, std::string) { return ptxgraft_builder_place(k, "L9"); }),
              PTXGRAFT_STATUS_argument_invalid);
    EXPECT_EQ(error_of([](auto*, std::string) { return PTXGRAFT_STATUS_ok; }), PTXGRAFT_STATUS_ok);
}

// Each call has its own error, and what it would have added is not there.
TEST(CApiEmit, ACallFailsAlsoBehindOneThatFailed) {
    const CEmitter emitter = emitter_of();
    ptxgraft_builder* const k = entry_of(emitter);
    const char* name = nullptr;
    ptxgraft_variable_options tile = PTXGRAFT_VARIABLE_OPTIONS_INIT;
    tile.space = PTXGRAFT_SPACE_shared;
    tile.name = "tile";
    tile.type = "f32";
    ptxgraft_entry_directives directives = PTXGRAFT_ENTRY_DIRECTIVES_INIT;
    directives.max_threads[0] = 2000;
    ASSERT_OK(ptxgraft_builder_add_parameter(k, "u32", "n", 0, 0));
    ASSERT_OK(ptxgraft_builder_add_variable(k, &tile));
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(ptxgraft_builder_add_register(&name, k, "f32", "a b"), PTXGRAFT_STATUS_argument_invalid);
        EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("'%a b' is no name"));
        EXPECT_EQ(ptxgraft_builder_add_register(&name, k, "f32", "tid.x"), PTXGRAFT_STATUS_name_taken);
        EXPECT_EQ(ptxgraft_builder_add_label(&name, k, "a b"), PTXGRAFT_STATUS_argument_invalid);
        EXPECT_EQ(ptxgraft_builder_add_parameter(k, "u32", "n", 0, 0), PTXGRAFT_STATUS_name_redeclared);
        EXPECT_EQ(ptxgraft_builder_add_argument(&name, k, "u32", "n"), PTXGRAFT_STATUS_name_redeclared);
        EXPECT_EQ(ptxgraft_builder_add_result(k, "u32", "n"), PTXGRAFT_STATUS_directive_invalid);
        EXPECT_INVALID(ptxgraft_builder_add_parameter(k, "u32", "a b", 0, 0), "'a b' is no name");
        EXPECT_EQ(ptxgraft_builder_add_variable(k, &tile), PTXGRAFT_STATUS_name_redeclared);
        EXPECT_EQ(ptxgraft_builder_set_directives(k, &directives), PTXGRAFT_STATUS_directive_invalid);
    }
    EXPECT_EQ(name, nullptr);
    EXPECT_OK(emit(k, "ret", {}));
    const auto text = text_of([&](char* t, size_t* n) { return ptxgraft_emitter_get_text(t, n, emitter); });
    EXPECT_THAT(text, HasSubstr("k(.param .u32 n)\n{\n\t.shared .f32 tile;\n\tret;\n}"));
    size_t size = 0;
    EXPECT_INVALID(ptxgraft_emitter_get_ptx(nullptr, &size, emitter), "'%a b' is no name");
}

TEST(CApiEmit, ANameIsOneAndNobodyElses) {
    const auto ptx_with = [](const char* first, const char* second) {
        const CEmitter emitter = emitter_of();
        for (const char* name : {first, second}) EXPECT_OK(emit(entry_of(emitter, name), "ret", {}));
        size_t size = 0;
        return ptxgraft_emitter_get_ptx(nullptr, &size, emitter);
    };
    EXPECT_OK(ptx_with("a", "b"));
    EXPECT_INVALID(ptx_with("a", "b c"), "'b c' is no name");
    EXPECT_INVALID(ptx_with("", "b"), "'' is no name");
    EXPECT_EQ(ptx_with("a", "a"), PTXGRAFT_STATUS_name_redeclared);
}

TEST(CApiEmit, AnOperandIsNoFurtherInstruction) {
    const CEmitter emitter = emitter_of();
    ptxgraft_builder* const k = entry_of(emitter);
    const std::string x = reg(k, "f32");
    for (const char* more : {"; exit", "; .reg .b32 y", "; } .entry l() { exit"})
        EXPECT_INVALID(emit(k, "add.f32", {x, x, x + more}), "more in them than one instruction");
    EXPECT_EQ(ptxgraft_builder_get_instruction_count(k), 0u);
}

TEST(CApiEmit, VariablesFunctionsAndLines) {
    const CEmitter emitter = emitter_of();
    ptxgraft_variable_options table = PTXGRAFT_VARIABLE_OPTIONS_INIT;
    table.name = "table";
    table.type = "f32";
    table.count = 2;
    table.values = "{1.0, 2.0}";
    ASSERT_OK(ptxgraft_emitter_add_variable(emitter, &table));
    ptxgraft_variable_options dynamic = PTXGRAFT_VARIABLE_OPTIONS_INIT;
    dynamic.name = "memory";
    dynamic.space = PTXGRAFT_SPACE_dynamic;
    ASSERT_OK(ptxgraft_emitter_add_variable(emitter, &dynamic));
    ASSERT_OK(ptxgraft_emitter_add_line(emitter, "// a line"));
    ptxgraft_builder* square = nullptr;
    ASSERT_OK(ptxgraft_emitter_add_function(&square, emitter, "square"));
    ASSERT_OK(ptxgraft_builder_add_parameter(square, "f32", "x", 0, 0));
    ASSERT_OK(ptxgraft_builder_add_result(square, "f32", "y"));
    const std::string v = reg(square, "f32");
    EXPECT_OK(emit(square, "ld.param.f32", {v, "[x]"}));
    EXPECT_OK(emit(square, "mul.f32", {v, v, v}));
    EXPECT_OK(emit(square, "st.param.f32", {"[y]", v}));
    EXPECT_OK(emit(square, "ret", {}));
    ptxgraft_builder* const k = entry_of(emitter);
    ASSERT_OK(ptxgraft_builder_add_parameter(k, "b8", "map", 128, 64));
    ptxgraft_variable_options tile = PTXGRAFT_VARIABLE_OPTIONS_INIT;
    tile.name = "tile";
    tile.type = "f32";
    tile.count = 32;
    tile.space = PTXGRAFT_SPACE_shared;
    ASSERT_OK(ptxgraft_builder_add_variable(k, &tile));
    ptxgraft_entry_directives directives = PTXGRAFT_ENTRY_DIRECTIVES_INIT;
    directives.max_threads[0] = 128;
    directives.max_threads[1] = directives.max_threads[2] = 1;
    ASSERT_OK(ptxgraft_builder_set_directives(k, &directives));
    const std::string w = reg(k, "f32"), u = reg(k, "f32");
    ASSERT_OK(ptxgraft_builder_add_comment(k, "squares it"));
    EXPECT_OK(emit(k, "ld.global.f32", {w, "[table+4]"}));
    EXPECT_OK(emit(k, "call.uni", {"(" + u + ")", "square", "(" + w + ")"}));
    EXPECT_OK(emit(k, "st.shared.f32", {"[tile]", u}));
    ASSERT_OK(ptxgraft_builder_add_lines(k, "\t.pragma \"nounroll\";\n", 21));
    EXPECT_OK(emit(k, "ret", {}));
    const std::string ptx = ptx_of(emitter);
    for (const char* part :
         {"// a line", ".extern .shared .align 128 .b8 memory[];", ".maxntid 128", "// squares it",
          ".pragma \"nounroll\";", ".param .align 64 .b8 map[128]", "call.uni"})
        EXPECT_THAT(ptx, HasSubstr(part));
    tile.space = PTXGRAFT_SPACE_global;
    EXPECT_INVALID(ptxgraft_builder_add_variable(k, &tile),
                   "space is 0, in which there is no such variable here");
    tile.space = PTXGRAFT_SPACE_local;
    EXPECT_INVALID(ptxgraft_emitter_add_variable(emitter, &tile), "space is 3");
    tile.name = nullptr;
    EXPECT_INVALID(ptxgraft_emitter_add_variable(emitter, &tile), "name is null");
    expect_checked(table, &ptxgraft_variable_options::space, "space", 4,
                   [&](const auto* o) { return ptxgraft_emitter_add_variable(emitter, o); });
}

struct Body {
    std::string reg;
    ptxgraft_status status = PTXGRAFT_STATUS_ok;
};
ptxgraft_status double_it(ptxgraft_builder* builder, void* payload) {
    auto* const body = static_cast<Body*>(payload);
    body->status = emit(builder, "add.f32", {"_x", "_x", "_x"});
    return body->status;
}
ptxgraft_status fail_body(ptxgraft_builder*, void*) { return PTXGRAFT_STATUS_out_of_memory; }
ptxgraft_status emit_nothing_declared(ptxgraft_builder* builder, void*) {
    return emit(builder, "add.f32", {"_x", "_x", "_nothing"});
}

TEST(CApiEmit, ASiteHasTheErrorOfItsBody) {
    for (const bool is_call : {true, false}) {
        const CEmitter emitter = emitter_of();
        ptxgraft_builder* const k = entry_of(emitter);
        const char* const x = reg(k, "f32");
        const ptxgraft_site_argument argument = {"x", "f32", &x, 1, PTXGRAFT_DIRECTION_mod, 0};
        ptxgraft_emitted_site site = PTXGRAFT_EMITTED_SITE_INIT;
        site.name = "epilogue";
        site.arguments = &argument;
        site.argument_count = 1;
        site.body = is_call ? emit_nothing_declared : fail_body;
        EXPECT_EQ(ptxgraft_builder_add_site(k, &site),
                  is_call ? PTXGRAFT_STATUS_name_undeclared : PTXGRAFT_STATUS_out_of_memory);
        if (is_call) {
            EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("_nothing is not declared"));
            EXPECT_EQ(ptxgraft_error_get_index(), 2u);
        }
        EXPECT_OK(emit(k, "ret", {}));
        size_t size = 0;
        EXPECT_NE(ptxgraft_emitter_get_ptx(nullptr, &size, emitter), PTXGRAFT_STATUS_ok);
        EXPECT_THAT(ptxgraft_error_get_message(),
                    HasSubstr(is_call ? "_nothing is not declared" : "the body of the site epilogue"));
    }
}

TEST(CApiEmit, ASiteTakesStubs) {
    const CEmitter emitter = emitter_of();
    ptxgraft_builder* const k = entry_of(emitter);
    const char* const x = reg(k, "f32");
    EXPECT_OK(emit(k, "mov.f32", {x, "1.0"}));
    const char* const registers[] = {x};
    const ptxgraft_site_argument argument = {"x", "f32", registers, 1, PTXGRAFT_DIRECTION_mod, 0};
    Body body;
    ptxgraft_emitted_site site = PTXGRAFT_EMITTED_SITE_INIT;
    site.name = "epilogue";
    site.arguments = &argument;
    site.argument_count = 1;
    site.body = double_it;
    site.payload = &body;
    site.allowed = PTXGRAFT_EFFECT_warp;
    ASSERT_OK(ptxgraft_builder_add_site(k, &site));
    EXPECT_EQ(emit(k, "add.f32", {"_x", "_x", "_x"}), PTXGRAFT_STATUS_name_undeclared)
        << "only within the site";
    EXPECT_OK(emit(k, "ret", {}));
    const CSkeleton skeleton =
        c_skeleton(text_of([&](char* t, size_t* n) { return ptxgraft_emitter_get_text(t, n, emitter); }));
    size_t index = 9;
    ASSERT_OK(ptxgraft_site_find(&index, skeleton, "epilogue"));
    ptxgraft_site_info info = PTXGRAFT_SITE_INFO_INIT;
    ASSERT_OK(ptxgraft_site_get_info(&info, skeleton, index));
    EXPECT_EQ(info.allowed, uint32_t{PTXGRAFT_EFFECT_warp});
    site.body = fail_body;
    EXPECT_EQ(ptxgraft_builder_add_site(k, &site), PTXGRAFT_STATUS_out_of_memory) << "the body's own";
    ptxgraft_site_argument wrong = argument;
    wrong.register_count = 0;
    site.arguments = &wrong;
    EXPECT_INVALID(ptxgraft_builder_add_site(k, &site), "arguments[0]: register_count is 0");
    wrong = argument;
    wrong.direction = static_cast<ptxgraft_direction>(3);
    EXPECT_INVALID(ptxgraft_builder_add_site(k, &site), "direction is 3; it is 0 to 2");
    site.name = nullptr;
    EXPECT_INVALID(ptxgraft_builder_add_site(k, &site), "name is null");
    site.struct_size = 8;
    EXPECT_INVALID(ptxgraft_builder_add_site(k, &site), "struct_size is 8");
}

TEST(CApiEmit, ArgumentsAreChecked) {
    CEmitter none;
    EXPECT_EQ(ptxgraft_emitter_create(&none, "sm_99", nullptr), PTXGRAFT_STATUS_target_unknown);
    EXPECT_INVALID(ptxgraft_emitter_create(nullptr, nullptr, nullptr), "emitter is null");
    EXPECT_EQ(none, nullptr);
    const CEmitter emitter = emitter_of(nullptr);
    EXPECT_INVALID(ptxgraft_builder_add_parameter(entry_of(emitter), "pred", "p", 0, 0),
                   "a predicate is no parameter");
    EXPECT_INVALID(ptxgraft_builder_add_parameter(entry_of(emitter, "l"), "f32", "p", 4, 0),
                   "an array of bytes is of type b8");
    ptxgraft_emitter_destroy(nullptr);
}

}  // namespace
