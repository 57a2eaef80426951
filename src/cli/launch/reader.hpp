#pragma once
/// @file reader.hpp
/// Reads a launch file: file.cpp the launches, buffers.cpp the buffers and what is expected of
/// them, layout.cpp arguments and structs, tensor_map.cpp tensor maps. Buffers come first, for
/// arguments and other buffers refer to them by name; a tensor map is read last, since it takes from its
/// buffer what it does not say.

#include <filesystem>
#include <string>
#include <vector>

#include "cli/launch/file.hpp"
#include "cli/launch/values.hpp"

namespace ptxgraft::cli {

/// A value laid out as C does it.
struct Layout {
    PlannedBytes value = {};
    std::uint64_t alignment = 1;
    Nature nature = Nature::bits;
    std::string text = {};  ///< what messages call it

    [[nodiscard]] std::uint64_t size() const { return value.bytes.size(); }
    /// Puts a value behind what is there, at byte `at`, with zeros between.
    void append(const Layout& part, std::uint64_t at);
};

/// Most bytes of a struct or array in a launch file: longer buffers come from files.
inline constexpr std::uint64_t most_layout_bytes = std::uint64_t{16} << 20;

class LaunchReader {
  public:
    LaunchReader(const std::string& path, const FileReader& files)
        : folder_(std::filesystem::path(path == "-" ? "" : path).parent_path()), files_(files) {}

    [[nodiscard]] Expected<LaunchPlan> read(const JsonValue& root);

  private:
    // file.cpp
    Expected<void> read_launches(const JsonValue& root);
    Expected<PlannedLaunch> launch(const JsonValue& value);
    Expected<void> read_shape(const JsonValue& value, PlannedLaunch& launch);
    Expected<void> read_arguments(const JsonValue& value, PlannedLaunch& launch);
    Expected<void> read_outputs_after(const JsonValue& value, PlannedLaunch& launch);
    Expected<void> finish_places();
    [[nodiscard]] std::string resolved(const std::string& path) const;
    [[nodiscard]] Expected<std::size_t> buffer_named(const JsonValue& name) const;

    // buffers.cpp
    Expected<void> read_buffers(const JsonValue& root);
    Expected<PlannedBuffer> buffer(const JsonValue& value);
    Expected<void> fill(const JsonValue& value, const ElementType* type, PlannedBuffer& buffer);
    Expected<void> declare(const JsonValue& value, const ElementType* type, PlannedBuffer& buffer);
    Expected<void> declare_variable(const JsonValue& value, const ElementType* type, PlannedBuffer& buffer);
    Expected<void> load(const JsonValue& file, const JsonValue& value, const ElementType* type,
                        PlannedBuffer& buffer);
    Expected<void> list(const JsonValue& numbers, const JsonValue& value, const ElementType* type,
                        PlannedBuffer& buffer);
    Expected<void> compose(const JsonValue& value, PlannedBuffer& buffer);
    Expected<PlannedOutput> output(const JsonValue& value, std::size_t buffer);
    Expected<void> check_output_file(const JsonValue& name);

    // expect.cpp
    Expected<Expectation> expectation(const JsonValue& value, const PlannedBuffer& buffer);
    Expected<Expectation> wanted(const JsonValue& value, const PlannedBuffer& buffer, bool is_exact);
    Expected<Tolerance> tolerance(const JsonValue& value, const Expectation& expected);
    Expected<Array> array_of(const JsonValue& file, const std::vector<std::uint64_t>& shape);

    // layout.cpp
    Expected<PlannedArgument> argument(const JsonValue& value);
    Expected<Layout> value(const JsonValue& object, std::string_view what,
                           std::span<const std::string_view> also);
    Expected<Layout> address(const JsonValue& object, std::span<const std::string_view> also);
    Expected<Layout> tensor_map_place(const JsonValue& map);
    Expected<Layout> scalar(const JsonValue& given, const ElementType& type);
    Expected<Layout> structure(const JsonValue& object, const JsonValue& fields);
    Expected<void> field(const JsonValue& value, Layout& structure);
    Expected<Layout> array(const JsonValue& object, const JsonValue& elements);

    // tensor_map.cpp
    Expected<TensorMapOptions> tensor_map(const JsonValue& map, const PlannedPlace& place) const;

    std::filesystem::path folder_;
    const FileReader& files_;
    LaunchPlan plan_;
    std::vector<std::string> names_;              // of the buffers
    std::vector<const JsonValue*> maps_;          // that are still to be read: those of plan_.maps
    std::vector<const JsonValue*> compositions_;  // of the buffers; null: it is no struct or array
    std::vector<std::pair<std::string, Span>> output_files_;
};

/// The rule of `"fill"` or `"random"`, for elements of a type.
[[nodiscard]] Expected<Source> source_of(const JsonValue& value, const ElementType& type);
/// The type of an array's elements; arrays of plain numbers stand for the type of the same name.
[[nodiscard]] ElementType type_of(const Array& array);

}  // namespace ptxgraft::cli
