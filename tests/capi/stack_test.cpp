// Sets, machines, programs and many of them at once in C, as a search uses them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "handles.hpp"
#include "ptxgraft/program.hpp"
#include "two_calls.hpp"

namespace {

using namespace ptxgraft::test;
using testing::HasSubstr;
namespace stack = ptxgraft::stack;

constexpr const char* operands = "in f32 x, out f32 y";

CMachine machine_of(const char* signature = operands, const ptxgraft_set* set = nullptr) {
    CMachine made;
    EXPECT_OK(ptxgraft_machine_create(&made, set, signature, nullptr));
    return made;
}

CSet set_of(std::string_view text) {
    CSet made;
    EXPECT_OK(ptxgraft_set_create_from_text(&made, text.data(), text.size()));
    return made;
}

CProgram program_of(std::string_view text, const ptxgraft_machine* machine) {
    CProgram made;
    EXPECT_OK(ptxgraft_program_create_from_text(&made, machine, text.data(), text.size()));
    return made;
}

std::string text_of_program(const ptxgraft_program* program, const ptxgraft_machine* machine) {
    return text_of([&](char* t, size_t* n) { return ptxgraft_program_get_text(t, n, program, machine); });
}

std::vector<ptxgraft_instruction> code_of(const ptxgraft_program* program) {
    return list_of<ptxgraft_instruction>(
        [&](auto* list, size_t* n) { return ptxgraft_program_get_code(list, n, program); });
}

// ---------------------------------------------------------------------------------------------------- sets

TEST(CApiSet, TellsItsInstructions) {
    const CSet set = set_of("add.f32\nmac = fma.rn.f32 weight 4\nld.global.f32\n%tid.x\n");
    ASSERT_EQ(ptxgraft_set_get_entry_count(set), 4u);
    ptxgraft_entry_info info = PTXGRAFT_ENTRY_INFO_INIT;
    size_t mac = 0;
    ASSERT_OK(ptxgraft_set_find_entry(&mac, set, "mac"));
    ASSERT_OK(ptxgraft_set_get_entry(&info, set, mac));
    EXPECT_STREQ(info.name, "mac");
    EXPECT_STREQ(info.form, "fma.rn.f32");
    EXPECT_STREQ(info.special, "");
    EXPECT_EQ(info.operand_count, 4u);
    EXPECT_EQ(info.weight, 4);
    ASSERT_OK(ptxgraft_set_get_entry(&info, set, 2));
    EXPECT_EQ(info.effects, uint32_t{PTXGRAFT_EFFECT_load});
    ASSERT_OK(ptxgraft_set_get_entry(&info, set, 3));
    EXPECT_STREQ(info.special, "%tid.x");
    EXPECT_EQ(info.special_type, uint32_t{PTXGRAFT_TYPE_u32});
    ptxgraft_entry_operand_info operand = PTXGRAFT_ENTRY_OPERAND_INFO_INIT;
    ASSERT_OK(ptxgraft_set_get_entry_operand(&operand, set, mac, 0));
    EXPECT_EQ(operand.type, uint32_t{PTXGRAFT_TYPE_f32});
    EXPECT_EQ(operand.is_output, 1u);
    EXPECT_INVALID(ptxgraft_set_get_entry(&info, set, 4), "entry 4 of 4");
    EXPECT_INVALID(ptxgraft_set_get_entry_operand(&operand, set, mac, 4), "operand 4 of 4");
    EXPECT_INVALID(ptxgraft_set_find_entry(&mac, set, "sub.f32"), "sub.f32");
}

TEST(CApiSet, TextIsReadToAnEqualSet) {
    const CSet set = set_of("type philox u32\nbump = add.u32 philox, u32 -> philox\ninclude f32\n");
    const auto text = text_of([&](char* t, size_t* n) { return ptxgraft_set_get_text(t, n, set); });
    const CSet again = set_of(text);
    EXPECT_EQ(ptxgraft_set_get_entry_count(set), ptxgraft_set_get_entry_count(again));
    EXPECT_STREQ(ptxgraft_set_get_type_name(again, 18), "philox");
    EXPECT_STREQ(ptxgraft_set_get_type_name(again, PTXGRAFT_TYPE_f16x2), "f16x2");
    EXPECT_STREQ(ptxgraft_set_get_type_name(again, 17), "b128");
    EXPECT_EQ(ptxgraft_set_get_type_name(again, 19), nullptr);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("type 19 of 19"));
}

TEST(CApiSet, ErrorsHaveTheirPlaceInTheText) {
    ptxgraft_set* set = nullptr;
    const std::string text = "add.f32\nadd.f33\n";
    EXPECT_EQ(ptxgraft_set_create_from_text(&set, text.data(), text.size()),
              PTXGRAFT_STATUS_set_form_unknown);
    EXPECT_EQ(ptxgraft_error_get_line(), 2u);
    EXPECT_STREQ(ptxgraft_error_get_source_name(), "set");
    EXPECT_INVALID(ptxgraft_set_create_by_name(&set, "f33"),
                   "there is no set f33; there are expression, f32");
    EXPECT_EQ(set, nullptr);
}

TEST(CApiSet, TheLibraryListsWhatItShips) {
    std::set<std::string> names;
    for (size_t i = 0; i < ptxgraft_library_get_set_count(); ++i) {
        names.insert(ptxgraft_library_get_set_name(i));
        CSet set;
        EXPECT_OK(ptxgraft_set_create_by_name(&set, ptxgraft_library_get_set_name(i)));
        EXPECT_GT(ptxgraft_set_get_entry_count(set), 0u);
    }
    EXPECT_TRUE(names.count("f32") != 0 && names.count("standard") != 0);
    EXPECT_EQ(ptxgraft_library_get_set_name(names.size()), nullptr);
    size_t stubs = 0;
    for (size_t i = 0; i < ptxgraft_library_get_file_count(); ++i) {
        const std::string name = ptxgraft_library_get_file_name(i);
        if (!name.ends_with(".stub")) continue;
        ++stubs;
        const auto text =
            text_of([&](char* t, size_t* n) { return ptxgraft_library_get_file_text(t, n, i); });
        EXPECT_THAT(text, HasSubstr("signature:")) << name;
    }
    EXPECT_GT(stubs, 10u);
    size_t size = 0;
    EXPECT_INVALID(ptxgraft_library_get_file_text(nullptr, &size, 100000), "file 100000 of");
}

// ------------------------------------------------------------------------------------------------ machines

TEST(CApiMachine, HashIsThatOfCpp) {
    const CMachine machine = machine_of();
    const auto same =
        *stack::Machine::make(stack::find_set("standard"), *ptxgraft::Signature::parse(operands));
    EXPECT_EQ(ptxgraft_machine_get_hash(machine), stack::machine_hash(same));
    EXPECT_NE(ptxgraft_machine_get_hash(machine),
              ptxgraft_machine_get_hash(machine_of("in f32 x, out f32 z")));
    EXPECT_EQ(text_of([&](char* t, size_t* n) { return ptxgraft_machine_get_signature(t, n, machine); }),
              operands);
    EXPECT_EQ(ptxgraft_machine_get_hash(nullptr), 0u);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("machine is null"));
}

TEST(CApiMachine, RegistersAreThoseOfTheSignature) {
    const CMachine machine = machine_of("in f16 h, mod f32 frag[2], out pred p");
    ASSERT_EQ(ptxgraft_machine_get_register_count(machine), 4u);
    const char* const names[] = {"h", "frag", "frag", "p"};
    const uint32_t sizes[] = {2, 4, 4, 1}, elements[] = {0, 0, 1, 0};
    for (size_t i = 0; i < 4; ++i) {
        ptxgraft_register_info info = PTXGRAFT_REGISTER_INFO_INIT;
        ASSERT_OK(ptxgraft_machine_get_register(&info, machine, i));
        EXPECT_STREQ(info.operand, names[i]);
        EXPECT_EQ(info.size, sizes[i]);
        EXPECT_EQ(info.element, elements[i]);
    }
    ptxgraft_register_info info = PTXGRAFT_REGISTER_INFO_INIT;
    EXPECT_INVALID(ptxgraft_machine_get_register(&info, machine, 4), "register 4 of 4");
}

TEST(CApiMachine, EffectsNeedLeave) {
    const CSet set = set_of("ld.global.f32\n");
    const char* const signature = "in u64 p, out f32 y";
    const auto compile = [](const ptxgraft_machine* machine) {
        CStub stub;
        return ptxgraft_stub_create_from_compiled(&stub, program_of("p ld.global.f32 -> y", machine), machine,
                                                  nullptr);
    };
    EXPECT_EQ(compile(machine_of(signature, set)), PTXGRAFT_STATUS_stub_effect_forbidden);
    ptxgraft_machine_options options = PTXGRAFT_MACHINE_OPTIONS_INIT;
    options.allowed = PTXGRAFT_EFFECT_load;
    CMachine machine, none;
    ASSERT_OK(ptxgraft_machine_create(&machine, set, signature, &options));
    EXPECT_OK(compile(machine));
    options.allowed = 1u << 20;
    EXPECT_INVALID(ptxgraft_machine_create(&none, set, signature, &options), "allowed is 0x100000");
    options.allowed = 0;
    options.target = "sm_99";
    EXPECT_EQ(ptxgraft_machine_create(&none, set, signature, &options), PTXGRAFT_STATUS_target_unknown);
    EXPECT_EQ(none, nullptr);
}

TEST(CApiMachine, OfASiteHasWhatItsMarkingAllows) {
    const CSkeleton skeleton = c_skeleton(warp_site());
    CMachine machine;
    ASSERT_OK(ptxgraft_machine_create_for_site(&machine, nullptr, skeleton, "s", nullptr));
    CSet set;
    ASSERT_OK(ptxgraft_set_create_from_machine(&set, machine));
    EXPECT_GT(ptxgraft_set_get_entry_count(set), 1000u);
    const CProgram program = program_of("acc 1 31 -1 shfl.sync.bfly.b32 drop.u32", machine);
    EXPECT_NE(program, nullptr);
    CMachine none;
    EXPECT_EQ(ptxgraft_machine_create_for_site(&none, nullptr, skeleton, "t", nullptr),
              PTXGRAFT_STATUS_site_unknown);
}

// ------------------------------------------------------------------------------------------------ programs

TEST(CApiProgram, GoesThroughTextCodeAndBytes) {
    const CMachine machine = machine_of();
    const CProgram program = program_of("x 2.5 mul.f32 1f64 drop.f64 -> y", machine);
    const std::string text = text_of_program(program, machine);
    const auto code = code_of(program);
    EXPECT_EQ(code.size(), ptxgraft_program_get_instruction_count(program));
    EXPECT_EQ(code[0].opcode, PTXGRAFT_OPCODE_input);
    EXPECT_EQ(code.back().opcode, PTXGRAFT_OPCODE_assign);
    const auto pool =
        list_of<uint64_t>([&](auto* p, size_t* n) { return ptxgraft_program_get_pool(p, n, program); });
    CProgram of_code, of_bytes;
    ASSERT_OK(
        ptxgraft_program_create_from_code(&of_code, code.data(), code.size(), pool.data(), pool.size()));
    EXPECT_EQ(text_of_program(of_code, machine), text);
    const auto bytes = list_of<std::byte>(
        [&](auto* b, size_t* n) { return ptxgraft_program_get_bytes(b, n, program, machine); });
    ASSERT_OK(ptxgraft_program_create_from_bytes(&of_bytes, machine, bytes.data(), bytes.size()));
    EXPECT_EQ(text_of_program(of_bytes, machine), text);
    EXPECT_EQ(ptxgraft_program_get_routine_count(of_bytes), 0u);
}

TEST(CApiProgram, BytesThatChangedAreRefused) {
    const CMachine machine = machine_of();
    const CProgram program = program_of("x 2.5 mul.f32 -> y", machine);
    auto bytes = list_of<std::byte>(
        [&](auto* b, size_t* n) { return ptxgraft_program_get_bytes(b, n, program, machine); });
    CProgram none;
    EXPECT_EQ(ptxgraft_program_create_from_bytes(&none, machine_of("in f64 x, out f64 y"), bytes.data(),
                                                 bytes.size()),
              PTXGRAFT_STATUS_program_machine_differs);
    bytes.back() ^= std::byte{1};
    EXPECT_EQ(ptxgraft_program_create_from_bytes(&none, machine, bytes.data(), bytes.size()),
              PTXGRAFT_STATUS_program_bytes_malformed);
    EXPECT_EQ(ptxgraft_program_create_from_bytes(&none, nullptr, bytes.data(), 3),
              PTXGRAFT_STATUS_program_bytes_malformed);
    EXPECT_EQ(none, nullptr);
}

TEST(CApiProgram, ErrorsHaveTheirPlaceInTheText) {
    const CMachine machine = machine_of();
    ptxgraft_program* none = nullptr;
    const std::string text = "x 1.0\nadd.f33 -> y";
    EXPECT_NE(ptxgraft_program_create_from_text(&none, machine, text.data(), text.size()),
              PTXGRAFT_STATUS_ok);
    EXPECT_EQ(ptxgraft_error_get_line(), 2u);
    EXPECT_EQ(ptxgraft_error_get_column(), 1u);
    EXPECT_STREQ(ptxgraft_error_get_source(), text.c_str());
    EXPECT_STREQ(ptxgraft_error_get_source_name(), "program");
    EXPECT_EQ(none, nullptr);
}

TEST(CApiProgram, ExpressionsAreProgramsOfTheirSet) {
    CSet set;
    ASSERT_OK(ptxgraft_set_create_by_name(&set, "expression"));
    const CMachine machine = machine_of(operands, set);
    const std::string text = "y = x * x + 1";
    CProgram program;
    ptxgraft_stub_options options = PTXGRAFT_STUB_OPTIONS_INIT;
    options.contract = 1;
    ASSERT_OK(ptxgraft_program_create_from_expression(&program, machine, text.data(), text.size(), &options));
    EXPECT_THAT(text_of_program(program, machine), HasSubstr("fma.rn.f32"));
    CProgram none;
    EXPECT_INVALID(
        ptxgraft_program_create_from_expression(&none, machine_of(), text.data(), text.size(), nullptr),
        "the machine's set is not \"expression\"");
    EXPECT_NE(ptxgraft_program_create_from_expression(&none, machine, "y = z", 5, nullptr),
              PTXGRAFT_STATUS_ok);
    EXPECT_EQ(ptxgraft_error_get_column(), 5u);
}

TEST(CApiProgram, SimplifyLeavesWhatCounts) {
    const CMachine machine = machine_of();
    const CProgram program = program_of("x 7 drop.u32 dup.f32 drop.f32 0.5 mul.f32 -> y", machine);
    const auto live = list_of<uint32_t>(
        [&](auto* p, size_t* n) { return ptxgraft_program_get_live_code(p, n, program, machine, nullptr); });
    EXPECT_EQ(live, (std::vector<uint32_t>{0, 5, 6, 7}));
    CProgram shorter;
    ASSERT_OK(ptxgraft_program_create_simplified(&shorter, program, machine, nullptr));
    EXPECT_EQ(ptxgraft_program_get_instruction_count(shorter), 4u);
    ptxgraft_dataflow_info one = PTXGRAFT_DATAFLOW_INFO_INIT, other = one;
    ASSERT_OK(ptxgraft_program_get_dataflow(&one, program, machine, nullptr));
    ASSERT_OK(ptxgraft_program_get_dataflow(&other, shorter, machine, nullptr));
    EXPECT_EQ(one.hash, other.hash);
    EXPECT_NE(one.hash, 0u);
}

TEST(CApiProgram, ConstantsChangeTheirHashAndNotTheStructure) {
    const CMachine machine = machine_of();
    const CProgram program = program_of("x 0.5 mul.f32 3.0 add.f32 -> y", machine);
    auto constants = list_of<ptxgraft_placed_constant>(
        [&](auto* c, size_t* n) { return ptxgraft_program_get_constants(c, n, program, machine); });
    ASSERT_EQ(constants.size(), 2u);
    EXPECT_EQ(constants[0].bits, 0x3F000000u);
    EXPECT_EQ(constants[0].at, 1u);
    EXPECT_EQ(constants[0].routine, PTXGRAFT_NO_PLACE);
    const auto data = list_of<ptxgraft_placed_constant>([&](auto* c, size_t* n) {
        return ptxgraft_program_get_data_constants(c, n, program, machine, nullptr);
    });
    EXPECT_EQ(data.size(), 2u);
    ptxgraft_dataflow_info before = PTXGRAFT_DATAFLOW_INFO_INIT, after = before;
    ASSERT_OK(ptxgraft_program_get_dataflow(&before, program, machine, nullptr));
    constants[0].bits = 0x40000000;
    ASSERT_OK(ptxgraft_program_set_constant(program, machine, &constants[0]));
    ASSERT_OK(ptxgraft_program_get_dataflow(&after, program, machine, nullptr));
    EXPECT_EQ(before.structure, after.structure);
    EXPECT_NE(before.constants, after.constants);
    EXPECT_THAT(text_of_program(program, machine), HasSubstr("2.0"));
    constants[0].at = 0;
    EXPECT_INVALID(ptxgraft_program_set_constant(program, machine, &constants[0]),
                   "no constant stands at instruction 0");
}

TEST(CApiProgram, BecomesAStub) {
    const CMachine machine = machine_of();
    const CProgram program = program_of("x 0.5 mul.f32 -> y", machine);
    CStub stub;
    ptxgraft_compile_options options = PTXGRAFT_COMPILE_OPTIONS_INIT;
    options.constants = PTXGRAFT_CONSTANTS_data;
    ASSERT_OK(ptxgraft_stub_create_from_compiled(&stub, program, machine, &options));
    ptxgraft_stub_info info = PTXGRAFT_STUB_INFO_INIT;
    ASSERT_OK(ptxgraft_stub_get_info(&info, stub));
    EXPECT_EQ(info.constant_count, 1u);
    EXPECT_NE(info.hash, 0u);
    EXPECT_NE(info.structure, 0u);
    EXPECT_EQ(info.instruction_count, ptxgraft_stub_get_instruction_count(stub));
    EXPECT_EQ(text_of([&](char* t, size_t* n) { return ptxgraft_stub_get_signature(t, n, stub); }), operands);
    CStub none;
    EXPECT_NE(ptxgraft_stub_create_from_compiled(&none, program_of("x 1.0 mul.f32 -> y", machine),
                                                 machine_of("in f64 x, out f64 y"), nullptr),
              PTXGRAFT_STATUS_ok);
    EXPECT_EQ(none, nullptr);
}

TEST(CApiProgram, StubsOfASignatureAreOfEveryLanguage) {
    const std::pair<ptxgraft_language, std::string> texts[] = {
        {PTXGRAFT_LANGUAGE_program, "x 2.0 mul.f32 -> y"},
        {PTXGRAFT_LANGUAGE_expression, "y = x * 2"},
        {PTXGRAFT_LANGUAGE_ptx, "mul.f32 y, x, 0f40000000;"}};
    for (const auto& [language, text] : texts) {
        ptxgraft_stub_options options = PTXGRAFT_STUB_OPTIONS_INIT;
        options.language = language;
        options.text = text.data();
        options.text_size = text.size();
        CStub stub;
        EXPECT_OK(ptxgraft_stub_create_for_signature_with_options(&stub, operands, 0, &options));
        EXPECT_EQ(ptxgraft_stub_get_instruction_count(stub) > 0, true) << text;
        CStub none;
        EXPECT_NE(ptxgraft_stub_create_for_signature_with_options(&none, "in f32 x, out f32", 0, &options),
                  PTXGRAFT_STATUS_ok);
        EXPECT_STREQ(ptxgraft_error_get_source_name(), "signature");
        EXPECT_INVALID(ptxgraft_stub_create_for_signature_with_options(&none, operands, 1u << 15, &options),
                       "allowed is 0x8000");
    }
}

// ----------------------------------------------------------------------------------------- random programs

TEST(CApiSampler, DrawsTheSameProgramsAsCpp) {
    const CMachine machine = machine_of();
    CSampler sampler;
    ASSERT_OK(ptxgraft_sampler_create(&sampler, machine, nullptr));
    const auto cpp =
        *stack::Machine::make(stack::find_set("standard"), *ptxgraft::Signature::parse(operands));
    const auto drawn = *stack::Sampler::make(cpp);
    for (std::uint64_t stream = 0; stream < 20; ++stream) {
        CProgram program;
        ASSERT_OK(ptxgraft_program_create_at_random(&program, sampler, 7, stream, 12));
        stack::Random random(7, stream);
        EXPECT_EQ(text_of_program(program, machine), stack::print(drawn.program(random, 12), cpp));
    }
}

TEST(CApiSampler, TakesConstantsFromItsSources) {
    const CSet set = set_of("add.f32\nmul.f32\n");
    const CMachine machine = machine_of(operands, set);
    const double values[] = {42};
    const ptxgraft_constant_source source = {1, 0, 0, values, 1, PTXGRAFT_SOURCE_KIND_values, 0};
    const double weights[] = {0, 1};
    ptxgraft_sampler_options options = PTXGRAFT_SAMPLER_OPTIONS_INIT;
    options.sources = &source;
    options.source_count = 1;
    options.weights = weights;
    options.weight_count = 2;
    CSampler sampler;
    ASSERT_OK(ptxgraft_sampler_create(&sampler, machine, &options));
    CProgram program;
    ASSERT_OK(ptxgraft_program_create_at_random(&program, sampler, 1, 0, 30));
    const std::string text = text_of_program(program, machine);
    EXPECT_THAT(text, HasSubstr("mul.f32"));
    EXPECT_THAT(text, testing::Not(HasSubstr("add.f32")));
    const auto constants = list_of<ptxgraft_placed_constant>(
        [&](auto* c, size_t* n) { return ptxgraft_program_get_constants(c, n, program, machine); });
    EXPECT_FALSE(constants.empty());
    for (const auto& c : constants) EXPECT_EQ(c.bits, 0x42280000u);
}

TEST(CApiSampler, OptionsAreChecked) {
    const CMachine machine = machine_of();
    const auto call = [&](const ptxgraft_sampler_options* o) {
        CSampler sampler;
        return ptxgraft_sampler_create(&sampler, machine, o);
    };
    const ptxgraft_sampler_options good = PTXGRAFT_SAMPLER_OPTIONS_INIT;
    expect_options_of_all_versions(good, "ptxgraft_sampler_options", 72, call);
    expect_checked(good, &ptxgraft_sampler_options::shape, "shape", 1, call);
    ptxgraft_sampler_options wrong = good;
    wrong.constant_share = 2;
    EXPECT_EQ(call(&wrong), PTXGRAFT_STATUS_argument_invalid);
    wrong = good;
    wrong.weight_count = 3;
    EXPECT_INVALID(call(&wrong), "weights is null, but weight_count is 3");
    ptxgraft_constant_source source = {1, 0, 0, nullptr, 0, static_cast<ptxgraft_source_kind>(6), 0};
    wrong = good;
    wrong.sources = &source;
    wrong.source_count = 1;
    EXPECT_INVALID(call(&wrong), "sources[0]: kind is 6; it is 0 to 5");
}

// --------------------------------------------------------------------------------------------- many at once

struct Population {
    std::vector<std::byte> bytes;
    std::vector<size_t> offsets = {0};
    void add(const void* data, size_t size) {
        const auto* const begin = static_cast<const std::byte*>(data);
        bytes.insert(bytes.end(), begin, begin + size);
        offsets.push_back(bytes.size());
    }
    [[nodiscard]] ptxgraft_programs programs(ptxgraft_encoding encoding) const {
        return {bytes.data(), offsets.data(), offsets.size() - 1, encoding, 0};
    }
};

// What C++ makes of the same programs.
stack::Batch expected(const std::vector<stack::Program>& programs, const stack::Machine& machine) {
    std::vector<stack::ProgramView> views(programs.begin(), programs.end());
    stack::BatchOptions options;
    options.compile.hash = true;
    return stack::compile_batch(views, machine, options);
}

ptxgraft_compile_options hashed() {
    ptxgraft_compile_options options = PTXGRAFT_COMPILE_OPTIONS_MUTATED;
    options.hash = 1;
    return options;
}

TEST(CApiCompilation, GivesWhatCppGives) {
    const CMachine machine = machine_of();
    const auto cpp =
        *stack::Machine::make(stack::find_set("standard"), *ptxgraft::Signature::parse(operands));
    std::vector<stack::Program> programs;
    Population code, checked;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        programs.push_back(stack::random_program(cpp, seed, 20));
        programs.back().pool.clear();
        code.add(programs.back().code.data(), programs.back().code.size() * 8);
        const auto bytes = stack::to_bytes(programs.back(), ptxgraft_machine_get_hash(machine));
        checked.add(bytes.data(), bytes.size());
    }
    const auto right = expected(programs, cpp);
    const auto options = hashed();
    for (const auto& [population, encoding] :
         {std::pair(&code, PTXGRAFT_ENCODING_code), std::pair(&checked, PTXGRAFT_ENCODING_checked)}) {
        const ptxgraft_programs given = population->programs(encoding);
        CCompilation compilation;
        ASSERT_OK(ptxgraft_compilation_create(&compilation, machine, &given, &options, 2));
        ASSERT_EQ(ptxgraft_compilation_get_count(compilation), 300u);
        std::vector<ptxgraft_status> statuses(300, PTXGRAFT_STATUS_out_of_memory);
        std::vector<uint32_t> counts(300);
        std::vector<uint64_t> hashes(300), structures(300), constants(300);
        std::vector<size_t> text_offsets(301), constant_offsets(301);
        ptxgraft_compilation_arrays arrays = PTXGRAFT_COMPILATION_ARRAYS_INIT;
        arrays.statuses = statuses.data();
        arrays.instruction_counts = counts.data();
        arrays.hashes = hashes.data();
        arrays.structures = structures.data();
        arrays.constant_hashes = constants.data();
        arrays.text_offsets = text_offsets.data();
        arrays.constant_offsets = constant_offsets.data();
        ASSERT_OK(ptxgraft_compilation_read(&arrays, compilation));
        const char* const text = ptxgraft_compilation_get_text(compilation);
        for (size_t i = 0; i < 300; ++i) {
            const auto& item = right.items[i];
            EXPECT_EQ(statuses[i], PTXGRAFT_STATUS_ok);
            EXPECT_EQ(counts[i], item.instruction_count);
            EXPECT_EQ(hashes[i], item.hash);
            EXPECT_EQ(structures[i], item.parts.structure);
            EXPECT_EQ(constants[i], item.parts.constants);
            EXPECT_EQ(std::string_view(text + text_offsets[i], text_offsets[i + 1] - text_offsets[i]),
                      std::string_view(right.text).substr(item.begin, item.end - item.begin));
        }
        EXPECT_EQ(constant_offsets.back(), 0u);
        EXPECT_EQ(ptxgraft_compilation_get_constants(compilation), nullptr);
        EXPECT_EQ(
            text_of([&](char* t, size_t* n) { return ptxgraft_compilation_get_ptx(t, n, compilation, 7); }),
            std::string(text + text_offsets[7], text_offsets[8] - text_offsets[7]));
    }
}

TEST(CApiCompilation, ConstantsAreDataOfEachProgram) {
    const CMachine machine = machine_of();
    Population code;
    for (const char* text : {"x 0.5 mul.f32", "x", "x 2.0 mul.f32 3.0 add.f32"}) {
        const auto instructions = code_of(program_of(text, machine));
        code.add(instructions.data(), instructions.size() * 8);
    }
    ptxgraft_compile_options options = hashed();
    options.constants = PTXGRAFT_CONSTANTS_data;
    const auto given = code.programs(PTXGRAFT_ENCODING_code);
    CCompilation compilation;
    ASSERT_OK(ptxgraft_compilation_create(&compilation, machine, &given, &options, 0));
    size_t offsets[4] = {};
    ptxgraft_compilation_arrays arrays = PTXGRAFT_COMPILATION_ARRAYS_INIT;
    arrays.constant_offsets = offsets;
    ASSERT_OK(ptxgraft_compilation_read(&arrays, compilation));
    EXPECT_THAT(offsets, testing::ElementsAre(0, 1, 1, 3));
    const uint64_t* const constants = ptxgraft_compilation_get_constants(compilation);
    ASSERT_NE(constants, nullptr);
    EXPECT_EQ(constants[0], 0x3F000000u);
}

// Bytes at odd places, and any bytes, are programs as well.
TEST(CApiCompilation, TakesBytesThatAreNotAligned) {
    const CMachine machine = machine_of();
    const auto instructions = code_of(program_of("x 0.5 mul.f32", machine));
    std::vector<std::byte> bytes(instructions.size() * 8 + 9, std::byte{0xFF});
    std::memcpy(bytes.data() + 1, instructions.data(), instructions.size() * 8);
    const size_t offsets[] = {1, 1 + instructions.size() * 8, bytes.size()};
    const ptxgraft_programs given = {bytes.data(), offsets, 2, PTXGRAFT_ENCODING_code, 0};
    CCompilation compilation;
    ASSERT_OK(ptxgraft_compilation_create(&compilation, machine, &given, nullptr, 1));
    EXPECT_THAT(
        text_of([&](char* t, size_t* n) { return ptxgraft_compilation_get_ptx(t, n, compilation, 0); }),
        HasSubstr("mul.f32"));
    EXPECT_THAT(
        text_of([&](char* t, size_t* n) { return ptxgraft_compilation_get_ptx(t, n, compilation, 1); }),
        HasSubstr("0f00000000"));
}

// Those with routines, and those at odd places, are read; others are looked at.
TEST(CApiCompilation, CheckedBytesMayStandAnywhere) {
    const CMachine machine = machine_of();
    const char* const texts[] = {"routine square f32 -> f32 : dup.f32 mul.f32 end x square -> y",
                                 "x 1f64 drop.f64 -> y", "x 2.0 mul.f32 -> y"};
    Population checked;
    std::vector<std::string> wanted;
    for (const char* text : texts) {
        const CProgram program = program_of(text, machine);
        const auto bytes = list_of<std::byte>(
            [&](auto* b, size_t* n) { return ptxgraft_program_get_bytes(b, n, program, machine); });
        checked.add(bytes.data(), bytes.size());
        CStub stub;
        const ptxgraft_compile_options options = PTXGRAFT_COMPILE_OPTIONS_MUTATED;
        ASSERT_OK(ptxgraft_stub_create_from_compiled(&stub, program, machine, &options));
        wanted.push_back(std::to_string(ptxgraft_stub_get_instruction_count(stub)));
    }
    std::vector<std::byte> moved(checked.bytes.size() + 1);
    std::memcpy(moved.data() + 1, checked.bytes.data(), checked.bytes.size());
    for (const std::byte* const bytes : {static_cast<const std::byte*>(checked.bytes.data()),
                                         static_cast<const std::byte*>(moved.data() + 1)}) {
        const ptxgraft_programs given = {bytes, checked.offsets.data(), 3, PTXGRAFT_ENCODING_checked, 0};
        CCompilation compilation;
        ASSERT_OK(ptxgraft_compilation_create(&compilation, machine, &given, nullptr, 2));
        uint32_t counts[3];
        ptxgraft_compilation_arrays arrays = PTXGRAFT_COMPILATION_ARRAYS_INIT;
        arrays.instruction_counts = counts;
        ASSERT_OK(ptxgraft_compilation_read(&arrays, compilation));
        for (int i = 0; i < 3; ++i)
            EXPECT_EQ(std::to_string(counts[i]), wanted[static_cast<size_t>(i)]) << texts[i];
    }
}

TEST(CApiCompilation, EachProgramHasItsOwnError) {
    const CMachine machine = machine_of();
    const uint64_t hash = ptxgraft_machine_get_hash(machine);
    stack::Program good;
    good.code = {{stack::Opcode::input, 0, 0, 0}};
    Population checked;
    auto bytes = stack::to_bytes(good, hash);
    checked.add(bytes.data(), bytes.size());
    bytes.back() ^= std::byte{1};
    checked.add(bytes.data(), bytes.size());
    bytes = stack::to_bytes(good, hash + 1);
    checked.add(bytes.data(), bytes.size());
    bytes = stack::to_bytes(good, hash);
    checked.add(bytes.data(), bytes.size());
    const auto given = checked.programs(PTXGRAFT_ENCODING_checked);
    CCompilation compilation;
    ASSERT_OK(ptxgraft_compilation_create(&compilation, machine, &given, nullptr, 2));
    ptxgraft_status statuses[4];
    size_t offsets[5];
    ptxgraft_compilation_arrays arrays = PTXGRAFT_COMPILATION_ARRAYS_INIT;
    arrays.statuses = statuses;
    arrays.text_offsets = offsets;
    ASSERT_OK(ptxgraft_compilation_read(&arrays, compilation));
    EXPECT_THAT(statuses, testing::ElementsAre(PTXGRAFT_STATUS_ok, PTXGRAFT_STATUS_program_bytes_malformed,
                                               PTXGRAFT_STATUS_program_machine_differs, PTXGRAFT_STATUS_ok));
    EXPECT_EQ(offsets[1], offsets[2]);
    EXPECT_EQ(offsets[4], 2 * offsets[1]);
    size_t size = 0;
    EXPECT_EQ(ptxgraft_compilation_get_ptx(nullptr, &size, compilation, 1),
              PTXGRAFT_STATUS_program_bytes_malformed);
    EXPECT_INVALID(ptxgraft_compilation_get_ptx(nullptr, &size, compilation, 4), "program 4 of 4");
}

TEST(CApiCompilation, StrictOptionsMakeErrors) {
    const CMachine machine = machine_of();
    const auto instructions = code_of(program_of("x add.f32", machine));
    Population code;
    code.add(instructions.data(), instructions.size() * 8);
    const auto given = code.programs(PTXGRAFT_ENCODING_code);
    const ptxgraft_compile_options strict = PTXGRAFT_COMPILE_OPTIONS_INIT;
    CCompilation compilation;
    ASSERT_OK(ptxgraft_compilation_create(&compilation, machine, &given, &strict, 1));
    size_t size = 0;
    EXPECT_NE(ptxgraft_compilation_get_ptx(nullptr, &size, compilation, 0), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(ptxgraft_error_get_index(), 1u) << "the instruction that lacks an operand";
}

TEST(CApiCompilation, ArgumentsAreChecked) {
    const CMachine machine = machine_of();
    const std::byte bytes[16] = {};
    const size_t offsets[] = {0, 8, 16}, backwards[] = {0, 16, 8}, uneven[] = {0, 8, 15};
    CCompilation none;
    const auto create = [&](ptxgraft_programs given) {
        return ptxgraft_compilation_create(&none, machine, &given, nullptr, 1);
    };
    EXPECT_INVALID(create({nullptr, offsets, 2, PTXGRAFT_ENCODING_code, 0}), "bytes is null");
    EXPECT_INVALID(create({bytes, nullptr, 2, PTXGRAFT_ENCODING_code, 0}), "offsets is null, but count is 2");
    EXPECT_INVALID(create({bytes, backwards, 2, PTXGRAFT_ENCODING_code, 0}),
                   "offsets[1] is 16, and the next one 8");
    EXPECT_EQ(ptxgraft_error_get_index(), 1u);
    EXPECT_INVALID(create({bytes, uneven, 2, PTXGRAFT_ENCODING_code, 0}), "program 1 has 7 bytes");
    EXPECT_INVALID(create({bytes, offsets, 2, static_cast<ptxgraft_encoding>(2), 0}),
                   "encoding is 2; it is 0 to 1");
    EXPECT_INVALID(ptxgraft_compilation_create(&none, nullptr, nullptr, nullptr, 1), "machine is null");
    EXPECT_EQ(none, nullptr);
    EXPECT_OK(create({nullptr, nullptr, 0, PTXGRAFT_ENCODING_code, 0}));
    EXPECT_EQ(ptxgraft_compilation_get_count(none), 0u);
    const ptxgraft_programs given = {bytes, offsets, 2, PTXGRAFT_ENCODING_code, 0};
    const auto compile = [&](const ptxgraft_compile_options* options) {
        CCompilation made;
        return ptxgraft_compilation_create(&made, machine, &given, options, 1);
    };
    const ptxgraft_compile_options good = PTXGRAFT_COMPILE_OPTIONS_MUTATED;
    expect_options_of_all_versions(good, "ptxgraft_compile_options", 48, compile);
    expect_checked(good, &ptxgraft_compile_options::missing, "missing", 1, compile);
    expect_checked(good, &ptxgraft_compile_options::requests, "requests", 1, compile);
    expect_checked(good, &ptxgraft_compile_options::empty, "empty", 2, compile);
    expect_checked(good, &ptxgraft_compile_options::leftover, "leftover", 1, compile);
    expect_checked(good, &ptxgraft_compile_options::constants, "constants", 1, compile);
    ptxgraft_compile_options deep = good;
    deep.most_depth = 257;
    EXPECT_INVALID(compile(&deep), "most_depth is 257; it is at most 256");
    const ptxgraft_compilation_arrays arrays = PTXGRAFT_COMPILATION_ARRAYS_INIT;
    expect_options_of_all_versions(arrays, "ptxgraft_compilation_arrays", 64,
                                   [&](const auto* a) { return ptxgraft_compilation_read(a, none); });
}

TEST(CApiStack, InfosOfAllVersionsAreFilled) {
    const CSet set = set_of("fma.rn.f32\n");
    const CMachine machine = machine_of();
    const CProgram program = program_of("x", machine);
    const CStub stub = c_stub(c_skeleton(warp_site()));
    expect_infos_of_all_versions(ptxgraft_entry_info PTXGRAFT_ENTRY_INFO_INIT, "ptxgraft_entry_info", 56,
                                 [&](auto* i) { return ptxgraft_set_get_entry(i, set, 0); });
    expect_infos_of_all_versions(ptxgraft_entry_operand_info PTXGRAFT_ENTRY_OPERAND_INFO_INIT,
                                 "ptxgraft_entry_operand_info", 24,
                                 [&](auto* i) { return ptxgraft_set_get_entry_operand(i, set, 0, 0); });
    expect_infos_of_all_versions(ptxgraft_register_info PTXGRAFT_REGISTER_INFO_INIT, "ptxgraft_register_info",
                                 32, [&](auto* i) { return ptxgraft_machine_get_register(i, machine, 0); });
    expect_infos_of_all_versions(
        ptxgraft_dataflow_info PTXGRAFT_DATAFLOW_INFO_INIT, "ptxgraft_dataflow_info", 32,
        [&](auto* i) { return ptxgraft_program_get_dataflow(i, program, machine, nullptr); });
    expect_infos_of_all_versions(ptxgraft_stub_info PTXGRAFT_STUB_INFO_INIT, "ptxgraft_stub_info", 48,
                                 [&](auto* i) { return ptxgraft_stub_get_info(i, stub); });
}

TEST(CApiStack, DestroyOfNullDoesNothing) {
    ptxgraft_set_destroy(nullptr);
    ptxgraft_machine_destroy(nullptr);
    ptxgraft_program_destroy(nullptr);
    ptxgraft_sampler_destroy(nullptr);
    ptxgraft_compilation_destroy(nullptr);
    ptxgraft_evaluator_destroy(nullptr);
}

}  // namespace
