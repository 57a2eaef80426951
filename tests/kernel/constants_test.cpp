// Constants as data: one structure is assembled once, kernels have constants of their own, and what they
// compute is what literals compute, to the bit.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <set>
#include <thread>

#include "device/fake_gpu.hpp"
#include "ptxgraft/expression.hpp"
#include "ptxgraft/kernel.hpp"
#include "route_kernels.hpp"
#include "support/files.hpp"
#include "support/paths.hpp"
#include "support/random_programs.hpp"

namespace ptxgraft {
namespace {

using testing::HasSubstr;
using namespace test;
using stack::Constants;

constexpr std::uint32_t points = 64;

// --- a skeleton with copies of a site of any signature: register r of thread t is word r * points + t, and
// each copy stores behind what the ones before it stored

std::vector<std::string> registers_of(const SiteOperand& operand) {
    if (operand.count == 0) return {operand.register_name};
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < operand.count; ++i)
        names.push_back(operand.register_name + std::to_string(i));
    return names;
}
std::size_t words_of(const Signature& signature) {
    std::size_t count = 0;
    for (const SiteOperand& operand : signature.operands) count += registers_of(operand).size();
    return count * points;
}

std::string moved(Type type, const std::string& name, std::size_t place, bool stores) {
    const std::string where = std::string(stores ? "[%out+" : "[%in+") + std::to_string(8 * place) + "]";
    const std::string width = type == Type::pred ? "32" : std::to_string(bits(type));
    if (type == Type::pred && stores)
        return "\tselp.b32 %t, 1, 0, " + name + ";\n\tst.global.b32 " + where + ", %t;\n";
    if (type == Type::pred) return "\tld.global.b32 %t, " + where + ";\n\tsetp.ne.u32 " + name + ", %t, 0;\n";
    return stores ? "\tst.global.b" + width + " " + where + ", " + name + ";\n"
                  : "\tld.global.b" + width + " " + name + ", " + where + ";\n";
}

std::string site_text(const Signature& signature, const std::string& policy) {
    std::string text = "\t{ // PTXGRAFT_SITE s " + policy + "\n", stores;
    std::size_t place = 0;
    for (const SiteOperand& operand : signature.operands) {
        const std::string count = operand.count == 0 ? "" : std::to_string(operand.count);
        text += "\t.reg " + std::string(register_type(operand.type)) + " " + operand.register_name +
                (count.empty() ? "" : "<" + count + ">") + "; // " + std::string(name(operand.direction)) +
                " " + (operand.user_type.empty() ? "" : operand.user_type + ":") +
                std::string(name(operand.type)) + " " + operand.name + (count.empty() ? "" : " " + count) +
                "\n";
        for (const std::string& name : registers_of(operand)) {
            if (operand.direction != Direction::out) text += moved(operand.type, name, place, false);
            if (operand.direction != Direction::in) stores += moved(operand.type, name, place, true);
            place += points;
        }
    }
    return text + "\t// PTXGRAFT_STUB\n\t// PTXGRAFT_END\n" + stores + "\t}\n";
}

Skeleton skeleton_for(const Signature& signature, const std::string& policy = "", int copies = 1) {
    std::string body;
    for (int i = 0; i < copies; ++i)
        body += site_text(signature, policy) + "\tadd.u64 %out, %out, " +
                std::to_string(8 * words_of(signature)) + ";\n";
    return skeleton_of(
        ".version 9.0\n.target sm_90a\n.address_size 64\n"
        ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
        "\t.reg .b32 %t; .reg .b64 %in, %out, %a;\n"
        "\tld.param.u64 %in, [in]; ld.param.u64 %out, [out];\n"
        "\tmov.u32 %t, %tid.x; mul.wide.u32 %a, %t, 8; add.u64 %in, %in, %a; add.u64 %out, %out, %a;\n" +
        body + "\tret;\n}\n");
}

const Device& fast_emulator() {
    static const Device device = *Device::open("emulator:fast");
    return device;
}

using Table = std::vector<std::uint64_t>;

Expected<Table> try_launch(const Kernel& kernel, const Table& in, std::size_t copies = 1) {
    const auto source = fast_emulator().upload(in), target = fast_emulator().allocate(in.size() * 8 * copies);
    EXPECT_TRUE(source && target && target->fill(std::byte{0}));
    if (auto done = kernel.launch({.block = {points}}, *source, *target); !done)
        return tl::unexpected(done.error());
    return target->download<std::uint64_t>();
}
Table launched(const Kernel& kernel, const Table& in, std::size_t copies = 1) {
    const auto table = try_launch(kernel, in, copies);
    EXPECT_TRUE(table) << describe(table.error());
    return table.value_or(Table(in.size() * copies));
}
Kernel grafted(const Skeleton& skeleton, const Stub& stub, Route route = Route::inlined) {
    auto kernel = skeleton.graft({{"s", stub}}, fast_emulator(), {.routes = {.route = route}});
    if (!kernel) throw std::runtime_error(describe(kernel.error()));
    return *kernel;
}
void expect_assembles(const Skeleton& skeleton, const Stub& stub, Route route = Route::inlined) {
    const auto code = skeleton.assemble({{"s", stub}}, {.routes = {.route = route}});
    EXPECT_TRUE(code) << describe(code.error());
    const auto rendered = skeleton.render_by(std::vector<Graft>{{"s", stub}}, {.route = route});
    ASSERT_TRUE(rendered);
    const auto whole = default_assembler().assemble(rendered->ptx, {.target = "sm_90a"});
    EXPECT_TRUE(whole) << describe(whole.error(), rendered->ptx);
}

Table random_table(const Signature& signature, RandomPrograms& random) {
    Table table;
    for (const SiteOperand& operand : signature.operands)
        for (std::size_t r = registers_of(operand).size(); r-- > 0;)
            for (std::uint32_t i = 0; i < points; ++i) {
                const float number = static_cast<float>(static_cast<int>(random.below(2001)) - 1000) / 64.0f;
                table.push_back(operand.type == Type::f32 && random.below(8) != 0
                                    ? std::bit_cast<std::uint32_t>(number)
                                : operand.type == Type::f64 && random.below(8) != 0
                                    ? std::bit_cast<std::uint64_t>(static_cast<double>(number) / 3)
                                : random.below(2) == 0 ? random.below(9)
                                                       : random.below(~0ull));
            }
    return table;
}

// --- equal to literals

TEST(Constants, LibraryStubsComputeWhatLiteralsCompute) {
    RandomPrograms random(3);
    std::size_t compared = 0, with_constants = 0;
    for (const auto& file : std::filesystem::recursive_directory_iterator(test::source_path("stubs"))) {
        if (file.path().extension() != ".stub") continue;
        SCOPED_TRACE(file.path());
        const std::string text = read_file(file.path());
        const auto head = stack::parse_file(text);
        ASSERT_TRUE(head);
        if (head->policy.allowed != Effect::none) continue;  // their operands are addresses
        const Skeleton skeleton = skeleton_for(head->signature);
        const Site& site = *skeleton.site("s");
        const isa::Architecture target{.sm = 90, .variant = 'a'};
        const auto literals = stack::compile(text, site, {.target = target}),
                   data = stack::compile(text, site,
                                         {.compile = {.leftover = stack::Leftover::error,
                                                      .hash = true,
                                                      .constants = Constants::data},
                                          .target = target});
        ASSERT_TRUE(literals && data) << describe(data.error(), text);
        const Table in = random_table(head->signature, random);
        const Table should = launched(grafted(skeleton, *literals), in);
        EXPECT_EQ(launched(grafted(skeleton, *data), in), should) << data->ptx();
        EXPECT_EQ(launched(grafted(skeleton, *data, Route::call), in), should) << data->ptx();
        expect_assembles(skeleton, *data);
        ++compared;
        with_constants += !data->constants().empty();
    }
    EXPECT_GT(compared, 50u);
    EXPECT_GT(with_constants, 35u);
}

const Signature& of_all_types() {
    static const Signature made = *Signature::parse(
        "mod f32 x, in f32 y, out f32 z, mod u32 n, in s32 m, mod pred p, out pred q, mod u64 w, mod f64 d, "
        "mod u16 h, mod s16 i, mod f32 frag[3], mod s32 k, out b32 o, out s64 l, mod f16 half, mod bf16 "
        "brain, "
        "mod f16x2 halves, mod bf16x2 brains, out f16 other, out b16 bits");
    return made;
}

TEST(Constants, RandomProgramsComputeWhatLiteralsCompute) {
    RandomPrograms random(8);
    const Skeleton skeleton = skeleton_for(of_all_types());
    const auto machine = stack::Machine::make(stack::find_set("standard"), *skeleton.site("s"),
                                              {.policy = {}, .target = {.sm = 90, .variant = 'a'}});
    ASSERT_TRUE(machine);
    std::size_t compared = 0, constants = 0;
    for (int n = 0; n < 400; ++n) {
        const stack::Program program = random.program(*machine, 120);
        stack::CompileOptions options = random.lenient();
        options.limits.steps = 1u << 10;
        options.constants = Constants::literals;
        const auto literals = stack::make_stub(program, *machine, options);
        options.constants = Constants::data;
        const auto data = stack::make_stub(program, *machine, options);
        ASSERT_EQ(literals.has_value(), data.has_value());
        if (!literals || data->constants().empty()) continue;
        const auto reads_time = [&](const char* name) {
            return literals->ptx().find(name) != std::string::npos;
        };
        if (reads_time("%clock") || reads_time("%globaltimer")) continue;
        const Table in = random_table(of_all_types(), random);
        const auto should = try_launch(grafted(skeleton, *literals), in),
                   is = try_launch(grafted(skeleton, *data), in);
        ASSERT_EQ(should.has_value(), is.has_value()) << literals->ptx() << data->ptx();
        if (!should) continue;  // an address that is none
        const auto at = std::ranges::mismatch(*should, *is).in1 - should->begin();
        ASSERT_TRUE(*should == *is) << "word " << at << "\n" << literals->ptx() << data->ptx();
        if (++compared % 10 == 0) expect_assembles(skeleton, *data);
        constants += data->constants().size();
        if (HasFailure()) return;
    }
    EXPECT_GT(compared, 150u);
    EXPECT_GT(constants, 1000u);
}

// --- one structure

const Signature& of_two() {
    static const Signature made = *Signature::parse("mod f32 acc, in f32 bias");
    return made;
}
Stub scaled(const Skeleton& skeleton, float by, float and_more = 1.0f) {
    auto stub = compile_expression("acc = acc * " + std::to_string(by) + " + " + std::to_string(and_more),
                                   *skeleton.site("s"), {.constants = Constants::data});
    if (!stub) throw std::runtime_error(describe(stub.error()));
    return *stub;
}
Table numbers(const Skeleton& skeleton) {
    Table table(words_of(skeleton.site("s")->signature));
    for (std::size_t i = 0; i < table.size(); ++i)
        table[i] = std::bit_cast<std::uint32_t>(static_cast<float>(i));
    return table;
}
// Of thread 3, at each copy.
std::vector<float> of_third(const Kernel& kernel, const Skeleton& skeleton, std::size_t copies = 1) {
    const Table in = numbers(skeleton);
    const Table all = launched(kernel, in, copies);
    std::vector<float> values;
    for (std::size_t c = 0; c < copies; ++c)
        values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(all[c * in.size() + 3])));
    return values;
}

TEST(Constants, AStructureIsAssembledOnce) {
    for (const Route route : {Route::inlined, Route::call, Route::automatic}) {
        const Skeleton skeleton = skeleton_for(of_two(), "", 2);
        const Counting assembler;
        const GraftOptions options{.routes = {.route = route}, .assembler = &assembler};
        const auto first = skeleton.assemble({{"s", scaled(skeleton, 2)}}, options);
        ASSERT_TRUE(first) << describe(first.error());
        EXPECT_EQ(first->from, CacheLevel::none);
        for (int i = 3; i < 20; ++i) {
            const Stub stub = scaled(skeleton, static_cast<float>(i));
            const auto code = skeleton.assemble({{"s", stub}}, options);
            ASSERT_TRUE(code);
            EXPECT_EQ(code->cubin, first->cubin);
            EXPECT_EQ(code->from, CacheLevel::memory);
            ASSERT_EQ(code->banks.size(), 1u);
            EXPECT_EQ(code->banks[0].variable, "ptxgraft_constants_0_s");
            EXPECT_TRUE(std::ranges::equal(code->banks[0].stub.constants(), stub.constants()));
        }
        EXPECT_EQ(assembler.count, 1);
        // The variable is in the machine code under its name.
        const auto image = std::string_view(reinterpret_cast<const char*>(first->cubin->image.data()),
                                            first->cubin->image.size());
        EXPECT_NE(image.find("ptxgraft_constants_0_s"), std::string_view::npos);
        // Another structure is assembled.
        const auto other =
            compile_expression("acc = acc + 1.0", *skeleton.site("s"), {.constants = Constants::data});
        EXPECT_NE(skeleton.assemble({{"s", *other}}, options)->cubin, first->cubin);
        EXPECT_EQ(assembler.count, 2);
    }
}

// A device looks for the variable, whatever the assembler makes of the loads.
TEST(Constants, ConstantsThatNobodyNeedsHaveTheirVariable) {
    std::string text = skeleton_for(of_two()).ptx();
    text.erase(text.find("\tst.global"), text.find("\t}\n") - text.find("\tst.global"));
    const auto code = skeleton_of(text).assemble({{"s", scaled(skeleton_of(text), 2)}});
    ASSERT_TRUE(code) << describe(code.error());
    const auto image =
        std::string_view(reinterpret_cast<const char*>(code->cubin->image.data()), code->cubin->image.size());
    EXPECT_NE(image.find("ptxgraft_constants_0_s"), std::string_view::npos);
    EXPECT_NE(image.find(".nv.constant3"), std::string_view::npos);
}

TEST(Constants, ManyCandidatesOfAStructureAreAssembledOnce) {
    const Skeleton skeleton = skeleton_for(of_two());
    std::vector<std::vector<Graft>> candidates;
    for (int i = 0; i < 64; ++i)
        candidates.push_back({{"s", scaled(skeleton, static_cast<float>(i) + 0.5f)}});
    const Counting assembler;
    const auto codes = skeleton.assemble_many(candidates, {.assembler = &assembler}, {.threads = 3});
    EXPECT_EQ(assembler.count, 1);
    const auto kernels = skeleton.graft_many(candidates, fast_emulator(), {}, {.threads = 3});
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        ASSERT_TRUE(codes[i]) << describe(codes[i].error());
        EXPECT_EQ(codes[i]->cubin, codes[0]->cubin);
        EXPECT_TRUE(
            std::ranges::equal(codes[i]->banks.at(0).stub.constants(), candidates[i][0].stub.constants()));
        ASSERT_TRUE(kernels[i]) << describe(kernels[i].error());
        EXPECT_EQ(of_third(*kernels[i], skeleton)[0], 3 * (static_cast<float>(i) + 0.5f) + 1);
    }
    // A cache that others share keeps the structure too.
    const Cache cache = *Cache::open();
    const Counting again;
    for (const auto& candidate : candidates)
        EXPECT_TRUE(skeleton_for(of_two()).assemble(candidate, {.assembler = &again, .cache = &cache}));
    EXPECT_EQ(again.count, 1);
}

TEST(Constants, KernelsOfAStructureHaveTheirOwn) {
    const Skeleton skeleton = skeleton_for(of_two(), "", 2);
    for (const Route route : {Route::inlined, Route::call}) {
        const Kernel two = grafted(skeleton, scaled(skeleton, 2), route),
                     five = grafted(skeleton, scaled(skeleton, 5), route);
        for (int round = 0; round < 2; ++round) {
            EXPECT_EQ(of_third(two, skeleton, 2), (std::vector{7.0f, 7.0f}));
            EXPECT_EQ(of_third(five, skeleton, 2), (std::vector{16.0f, 16.0f}));
        }
        EXPECT_EQ(&two.ptx(), &five.ptx());
    }
}

TEST(Constants, AreChangedInALoadedKernel) {
    const Skeleton skeleton = skeleton_for(of_two());
    const Kernel kernel = grafted(skeleton, scaled(skeleton, 2)),
                 other = grafted(skeleton, scaled(skeleton, 9));
    const auto stream = fast_emulator().create_stream();
    ASSERT_TRUE(stream);
    ASSERT_OK(kernel.set_constants("s", scaled(skeleton, 4)));
    EXPECT_EQ(of_third(kernel, skeleton)[0], 13.0f);
    const std::uint64_t bits[] = {std::bit_cast<std::uint32_t>(0.5f), std::bit_cast<std::uint32_t>(-1.0f)};
    ASSERT_OK(kernel.set_constants("s", bits, &*stream));
    EXPECT_EQ(of_third(kernel, skeleton)[0], 0.5f);
    EXPECT_EQ(of_third(other, skeleton)[0], 28.0f);
    const auto refused = [&](const Expected<void>& done, const char* why) {
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, Errc::constants_differ);
        EXPECT_THAT(describe(done.error()), HasSubstr(why));
    };
    refused(kernel.set_constants("s", std::span(bits).first(1)), "site s has 2, not 1");
    refused(kernel.set_constants("t", bits), "site t has none");
    const auto another = compile_expression("acc = acc + 1.0 * bias - 2.0", *skeleton.site("s"),
                                            {.constants = Constants::data});
    refused(kernel.set_constants("s", *another), "another structure");
    EXPECT_EQ(of_third(kernel, skeleton)[0], 0.5f);
    const Device elsewhere = *Device::open("emulator");
    const auto foreign = elsewhere.create_stream();
    const auto wrong = kernel.set_constants("s", bits, &*foreign);
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, Errc::device_differs);
}

// What a kernel leaves in a variable is not for others of its structure.
TEST(Constants, SkeletonsWithVariablesShareNone) {
    const std::string text = R"(.version 8.0
.target sm_80
.address_size 64
.global .u32 launches;
.visible .entry k(.param .u64 out)
{
	.reg .b32 %r<3>; .reg .b64 %rd<2>; .reg .f32 %f<2>;
	ld.param.u64 %rd1, [out];
	ld.global.u32 %r1, [launches]; add.u32 %r1, %r1, 1; st.global.u32 [launches], %r1;
	cvt.rn.f32.u32 %f1, %r1;
	{ // PTXGRAFT_SITE s
	.reg .f32 _acc; // mod f32 acc
	mov.b32 _acc, %f1;
	// PTXGRAFT_STUB
	// PTXGRAFT_END
	mov.b32 %f1, _acc;
	}
	st.global.f32 [%rd1], %f1;
	ret;
}
)";
    const Skeleton skeleton = skeleton_of(text);
    const auto once = [&](const Kernel& kernel) {
        const auto out = fast_emulator().allocate(4);
        EXPECT_TRUE(kernel.launch({}, *out));
        return out->download<float>()->at(0);
    };
    const Kernel ten = grafted(skeleton, scaled(skeleton, 10, 0)),
                 hundred = grafted(skeleton, scaled(skeleton, 100, 0));
    EXPECT_EQ(once(ten), 10.0f);
    EXPECT_EQ(once(ten), 20.0f);
    EXPECT_EQ(once(hundred), 100.0f);
}

// --- texts

TEST(Constants, ARenderedTextHasTheirValues) {
    const Skeleton skeleton = skeleton_for(of_two());
    const Stub stub = scaled(skeleton, 2);
    const auto text = skeleton.render({{"s", stub}});
    ASSERT_TRUE(text);
    EXPECT_THAT(*text,
                HasSubstr(".const .align 8 .b64 ptxgraft_constants_0_s[2] = {0x40000000, 0x3F800000};"));
    const auto function = fast_emulator().load(*text, "k");
    ASSERT_TRUE(function) << describe(function.error());
    expect_assembles(skeleton, stub);
    expect_assembles(skeleton, stub, Route::call);
    EXPECT_THAT(grafted(skeleton, stub).ptx(), HasSubstr("ptxgraft_constants_0_s[2];"));
}

TEST(Constants, NamesOfTheSkeletonAreLeftAlone) {
    std::string text = skeleton_for(of_two()).ptx();
    const std::string variable = ".global .f32 ptxgraft_constants_0_s = 1.0;\n";
    text.insert(text.find(".visible"), variable);
    const Skeleton skeleton = skeleton_of(text);
    expect_assembles(skeleton, scaled(skeleton, 2));
    EXPECT_EQ(of_third(grafted(skeleton, scaled(skeleton, 2)), skeleton)[0], 7.0f);
}

TEST(Constants, SitesHaveBanksOfTheirOwn) {
    std::string other = site_text(of_two(), "");
    other.replace(other.find("PTXGRAFT_SITE s"), 15, "PTXGRAFT_SITE t.2");
    std::string text = skeleton_for(of_two()).ptx();
    text.insert(text.find("\tret;"), other);
    const Skeleton skeleton = skeleton_of(text);
    const Stub two = scaled(skeleton, 2), three = scaled(skeleton, 3);
    const auto kernel = skeleton.graft({{"s", two}, {"t.2", three}}, fast_emulator());
    ASSERT_TRUE(kernel) << describe(kernel.error());
    EXPECT_EQ(of_third(*kernel, skeleton, 2), (std::vector{7.0f, 10.0f}));
    ASSERT_OK(kernel->set_constants("t.2", two));
    EXPECT_EQ(of_third(*kernel, skeleton, 2), (std::vector{7.0f, 7.0f}));
    // One with constants as data beside one with literals.
    const auto literal = compile_expression("acc = acc * 3.0 + 1.0", *skeleton.site("s"));
    const auto mixed = skeleton.graft({{"s", *literal}, {"t.2", two}}, fast_emulator());
    ASSERT_TRUE(mixed);
    EXPECT_EQ(of_third(*mixed, skeleton, 2), (std::vector{10.0f, 7.0f}));
}

TEST(Constants, AreNotLinked) {
    const Skeleton skeleton = skeleton_for(of_two(), "", 2);
    const auto code = skeleton.assemble({{"s", scaled(skeleton, 2)}}, {.routes = {.route = Route::link}});
    ASSERT_FALSE(code);
    EXPECT_EQ(code.error().code, Errc::route_not_possible);
    EXPECT_THAT(describe(code.error()), HasSubstr("constants are data"));
    ASSERT_OK(skeleton.prepare());
    const auto chosen =
        skeleton.assemble({{"s", scaled(skeleton, 2)}}, {.routes = {.route = Route::automatic}});
    ASSERT_OK(chosen);
    EXPECT_NE(chosen->routes.at(0).route, Route::link);
}

// --- threads and GPUs

TEST(Constants, ThreadsHaveKernelsOfOneStructure) {
    const Skeleton skeleton = skeleton_for(of_two());
    std::vector<std::thread> threads;
    for (int t = 1; t <= 4; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 50; ++i) {
                const auto by = static_cast<float>(t * 100 + i);
                const Kernel kernel = grafted(skeleton, scaled(skeleton, by));
                EXPECT_EQ(of_third(kernel, skeleton)[0], 3 * by + 1);
            }
        });
    for (std::thread& thread : threads) thread.join();
}

TEST(Constants, ThreadsWaitForOneAssembly) {
    const Skeleton skeleton = skeleton_for(of_two());
    const Counting assembler;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            const Stub stub = scaled(skeleton, static_cast<float>(t) + 2);
            EXPECT_OK(skeleton.assemble({{"s", stub}}, {.assembler = &assembler}));
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(assembler.count, 1);
}

// Each graft loads a module of its own, from one machine code, and writes the constants before it is there.
TEST(Constants, OnAGpuEachKernelHasAModule) {
    fake() = {};
    const auto device = Device::open("cuda", driver());
    ASSERT_OK(device);
    const Skeleton skeleton = skeleton_for(of_two());
    const Counting assembler;
    const Stub two = scaled(skeleton, 2), three = scaled(skeleton, 3);
    const auto one = skeleton.graft({{"s", two}}, *device, {.assembler = &assembler}),
               other = skeleton.graft({{"s", three}}, *device, {.assembler = &assembler});
    ASSERT_OK(one);
    ASSERT_OK(other);
    EXPECT_EQ(assembler.count, 1);
    EXPECT_EQ(one->cubin(), other->cubin());
    EXPECT_EQ(device->loaded_modules(), 2u);
    const auto held = [](const Stub& stub) {
        const auto bytes = std::as_bytes(stub.constants());
        std::vector<std::byte> all(bytes.begin(), bytes.end());
        all.resize(64);
        return all;
    };
    ASSERT_EQ(fake().tables.size(), 2u);
    EXPECT_EQ(fake().tables.begin()->second, held(two));
    EXPECT_EQ(fake().tables.rbegin()->second, held(three));
    EXPECT_EQ(fake().calls["cuStreamSynchronize"], 2);
    const auto stream = device->create_stream({.non_blocking = true});
    ASSERT_OK(stream);
    ASSERT_OK(one->set_constants("s", three, &*stream));
    EXPECT_EQ(fake().copies.back().stream, stream->handle());
    EXPECT_EQ(fake().tables.begin()->second, held(three));
    EXPECT_EQ(fake().calls["cuModuleLoadDataEx"], 2);
    fake().failing_call = "cuMemcpyHtoDAsync_v2";
    fake().failing_result = 1;
    const auto failed = one->set_constants("s", two);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, Errc::driver_failed);
}

}  // namespace
}  // namespace ptxgraft
