#pragma once
/// @file structs.hpp
/// The structs of ptxgraft.h that may grow: how large each was in version 1 of the interface, which never
/// changes, what its `_INIT` says, and how those of callers of other versions are read and filled.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "ptxgraft/error.hpp"
#include "ptxgraft/ptxgraft.h"

namespace ptxgraft::capi {

template <class Struct> struct Versioned;  ///< name, first_size, init

/// Errc::argument_invalid when a struct has less than version 1 of it had.
[[nodiscard]] inline Expected<void> check_size(std::size_t given, std::size_t first, const char* name) {
    if (given >= first) return {};
    return fail(Errc::argument_invalid, "struct_size is " + std::to_string(given) + "; a " + name +
                                            " has at least " + std::to_string(first) +
                                            " bytes; start from its _INIT macro");
}

/// Errc::argument_invalid when what options of a later version have behind the `known` bytes asks for
/// anything.
[[nodiscard]] inline Expected<void> check_rest(const void* options, std::size_t given, std::size_t known,
                                               const char* name) {
    constexpr std::size_t most = 4096;  // no struct will be as large: more is no size, and is not looked at
    if (given > most)
        return fail(Errc::argument_invalid, "struct_size is " + std::to_string(given) + "; no " + name +
                                                " is as large; start from its _INIT macro");
    const auto* const bytes = static_cast<const std::byte*>(options);
    const auto is_set = [](std::byte byte) { return byte != std::byte{0}; };
    if (given <= known || std::none_of(bytes + known, bytes + given, is_set)) return {};
    return fail(Errc::argument_invalid, "these are options of a newer version: of the " +
                                            std::to_string(given) + " bytes of a " + name +
                                            " version " PTXGRAFT_VERSION_STRING " knows " +
                                            std::to_string(known) + ", and what follows them is not zero");
}

/// The same for what is always 0 for now, and which a later version may give a meaning.
template <class Struct> [[nodiscard]] Expected<void> check_zero(const Struct& options, const char* name) {
    if constexpr (requires { options.zero; }) {
        if (options.zero != 0)
            return fail(Errc::argument_invalid, "zero is " + std::to_string(options.zero) + "; in a " + name +
                                                    " of version " PTXGRAFT_VERSION_STRING " it is 0");
    }
    return {};
}

/// An options struct of the caller; what an earlier version lacks, and all when it is null, is that of its
/// `_INIT`.
template <class Struct> [[nodiscard]] Expected<Struct> options_of(const Struct* given) {
    using Version = Versioned<Struct>;
    Struct result = Version::init;
    if (!given) return result;
    const std::size_t size = given->struct_size;
    auto valid = check_size(size, Version::first_size, Version::name);
    if (valid) valid = check_rest(given, size, sizeof(Struct), Version::name);
    if (!valid) return tl::unexpected(std::move(valid.error()));
    std::memcpy(&result, given, std::min(size, sizeof(Struct)));
    if (valid = check_zero(result, Version::name); !valid) return tl::unexpected(std::move(valid.error()));
    return result;
}

/// Errc::argument_invalid when an info struct of the caller is none; null is one.
template <class Struct> [[nodiscard]] Expected<void> check_info(const Struct* out) {
    using Version = Versioned<Struct>;
    if (out == nullptr) return {};
    return check_size(out->struct_size, Version::first_size, Version::name);
}

/// Fills an info struct of the caller, but for its struct_size, as far as both know its fields.
template <class Struct> [[nodiscard]] Expected<void> give_info(Struct* out, const Struct& info) {
    if (auto valid = check_info(out); !valid) return valid;
    constexpr std::size_t begin = sizeof out->struct_size;
    std::memcpy(reinterpret_cast<std::byte*>(out) + begin, reinterpret_cast<const std::byte*>(&info) + begin,
                std::min(out->struct_size, sizeof(Struct)) - begin);
    return {};
}

// The struct, its size in version 1, its last field now, its _INIT. The last field ends the struct: a later
// one that came to lie in padding would make the struct no longer, and what callers have in padding is
// anything.
#define PTXGRAFT_VERSIONED(Struct, size_in_version_1, last_field, INIT)                         \
    template <> struct Versioned<Struct> {                                                      \
        static constexpr const char* name = #Struct;                                            \
        static constexpr std::size_t first_size = size_in_version_1;                            \
        static constexpr Struct init = INIT;                                                    \
    };                                                                                          \
    static_assert(sizeof(Struct) >= (size_in_version_1) && offsetof(Struct, struct_size) == 0); \
    static_assert(offsetof(Struct, last_field) + sizeof(Struct::last_field) == sizeof(Struct))

// Options, which the caller fills.
PTXGRAFT_VERSIONED(ptxgraft_device_options, 64, zero, PTXGRAFT_DEVICE_OPTIONS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_tensor_map_options, 72, pixels_per_column, PTXGRAFT_TENSOR_MAP_OPTIONS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_sum_options, 40, magnitudes, PTXGRAFT_SUM_OPTIONS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_cuda_options, 80, cache, PTXGRAFT_CUDA_OPTIONS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_graft_options, 48, stop, PTXGRAFT_GRAFT_OPTIONS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_launch_options, 96, zero, PTXGRAFT_LAUNCH_OPTIONS_INIT);

PTXGRAFT_VERSIONED(ptxgraft_stub_options, 48, flush_subnormals, PTXGRAFT_STUB_OPTIONS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_batch_options, 56, variants_per_module, PTXGRAFT_BATCH_OPTIONS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_cache_options, 32, disk_size, PTXGRAFT_CACHE_OPTIONS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_worker_pool_options, 48, program, PTXGRAFT_WORKER_POOL_OPTIONS_INIT);

PTXGRAFT_VERSIONED(ptxgraft_machine_options, 24, allowed, PTXGRAFT_MACHINE_OPTIONS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_compile_options, 48, most_depth, PTXGRAFT_COMPILE_OPTIONS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_sampler_options, 72, zero, PTXGRAFT_SAMPLER_OPTIONS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_compilation_arrays, 64, constant_offsets, PTXGRAFT_COMPILATION_ARRAYS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_columns, 56, zero, PTXGRAFT_COLUMNS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_error_options, 80, zero, PTXGRAFT_ERROR_OPTIONS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_verify_options, 24, zero, PTXGRAFT_VERIFY_OPTIONS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_plan_options, 40, is_reference, PTXGRAFT_PLAN_OPTIONS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_trial_options, 96, cache, PTXGRAFT_TRIAL_OPTIONS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_spare_registers_options, 64, cache, PTXGRAFT_SPARE_REGISTERS_OPTIONS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_search_options, 24, stop, PTXGRAFT_SEARCH_OPTIONS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_results, 104, refined, PTXGRAFT_RESULTS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_run_options, 64, zero, PTXGRAFT_RUN_OPTIONS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_enumerate_options, 32, threads, PTXGRAFT_ENUMERATE_OPTIONS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_speed_options, 32, separation, PTXGRAFT_SPEED_OPTIONS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_session_options, 88, zero, PTXGRAFT_SESSION_OPTIONS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_timings_options, 16, rounds, PTXGRAFT_TIMINGS_OPTIONS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_pool_options, 112, zero, PTXGRAFT_POOL_OPTIONS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_check_request, 40, variant_count, PTXGRAFT_CHECK_REQUEST_INIT);
PTXGRAFT_VERSIONED(ptxgraft_variable_options, 56, zero, PTXGRAFT_VARIABLE_OPTIONS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_entry_directives, 56, zero, PTXGRAFT_ENTRY_DIRECTIVES_INIT);
PTXGRAFT_VERSIONED(ptxgraft_emitted_site, 56, pure, PTXGRAFT_EMITTED_SITE_INIT);
PTXGRAFT_VERSIONED(ptxgraft_stream_options, 16, non_blocking, PTXGRAFT_STREAM_OPTIONS_INIT);

// Nor has what was added to options padding between its fields: earlier libraries want zeros there.
static_assert(sizeof(ptxgraft_device_options) == 64 + 3 * sizeof(void*) + 8 * sizeof(int));
static_assert(sizeof(ptxgraft_tensor_map_options) == 72 + 2 * sizeof(void*) + 2 * sizeof(int));
static_assert(sizeof(ptxgraft_launch_options) == 96 + 4 * sizeof(int));
static_assert(sizeof(ptxgraft_graft_options) == 48 + 2 * sizeof(int) + 10 * sizeof(void*));

// Infos, which the library fills.
PTXGRAFT_VERSIONED(ptxgraft_report_info, 48, finding_count, PTXGRAFT_REPORT_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_finding_info, 56, blocks, PTXGRAFT_FINDING_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_site_info, 40, pure, PTXGRAFT_SITE_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_operand_info, 48, register_name, PTXGRAFT_OPERAND_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_copy_info, 24, line, PTXGRAFT_COPY_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_kernel_times, 32, link, PTXGRAFT_KERNEL_TIMES_INIT);
PTXGRAFT_VERSIONED(ptxgraft_kernel_attributes, 40, ptx_version, PTXGRAFT_KERNEL_ATTRIBUTES_INIT);
PTXGRAFT_VERSIONED(ptxgraft_parameter_info, 32, size, PTXGRAFT_PARAMETER_INFO_INIT);

PTXGRAFT_VERSIONED(ptxgraft_device_properties, 152, cooperative, PTXGRAFT_DEVICE_PROPERTIES_INIT);
PTXGRAFT_VERSIONED(ptxgraft_bank_info, 40, constant_count, PTXGRAFT_BANK_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_machine_code_info, 80, suffix, PTXGRAFT_MACHINE_CODE_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_function_info, 56, parameter_size, PTXGRAFT_FUNCTION_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_route_info, 32, reason, PTXGRAFT_ROUTE_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_loss_info, 24, message, PTXGRAFT_LOSS_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_preparation_info, 48, not_linkable, PTXGRAFT_PREPARATION_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_cache_counters, 88, written_size, PTXGRAFT_CACHE_COUNTERS_INIT);
PTXGRAFT_VERSIONED(ptxgraft_cache_size, 24, size, PTXGRAFT_CACHE_SIZE_INIT);
PTXGRAFT_VERSIONED(ptxgraft_cache_check, 40, abandoned, PTXGRAFT_CACHE_CHECK_INIT);

PTXGRAFT_VERSIONED(ptxgraft_stub_info, 48, constants, PTXGRAFT_STUB_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_entry_info, 56, special_type, PTXGRAFT_ENTRY_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_entry_operand_info, 24, stack, PTXGRAFT_ENTRY_OPERAND_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_register_info, 32, size, PTXGRAFT_REGISTER_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_dataflow_info, 32, constants, PTXGRAFT_DATAFLOW_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_error_info, 64, complete, PTXGRAFT_ERROR_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_difference_info, 40, result, PTXGRAFT_DIFFERENCE_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_diagnostic_info, 56, description, PTXGRAFT_DIAGNOSTIC_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_statement_info, 88, is_definition, PTXGRAFT_STATEMENT_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_declared_info, 48, vector, PTXGRAFT_DECLARED_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_form_info, 40, effects, PTXGRAFT_FORM_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_form_operand_info, 72, is_wide, PTXGRAFT_FORM_OPERAND_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_plan_info, 72, shared_size, PTXGRAFT_PLAN_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_tensor_info, 80, zeroed, PTXGRAFT_TENSOR_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_spare_registers_info, 32, zero, PTXGRAFT_SPARE_REGISTERS_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_trial_info, 104, stack_size, PTXGRAFT_TRIAL_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_tunable_info, 32, value_count, PTXGRAFT_TUNABLE_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_candidate_info, 56, zero, PTXGRAFT_CANDIDATE_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_summary_info, 40, zero, PTXGRAFT_SUMMARY_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_elite_info, 72, tunable_count, PTXGRAFT_ELITE_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_enumeration_info, 32, zero, PTXGRAFT_ENUMERATION_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_speed_info, 64, speed, PTXGRAFT_SPEED_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_calibration_info, 64, zero, PTXGRAFT_CALIBRATION_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_session_info, 56, clock, PTXGRAFT_SESSION_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_timing_info, 104, is_promising, PTXGRAFT_TIMING_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_round_info, 48, zero, PTXGRAFT_ROUND_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_worker_info, 72, has_network, PTXGRAFT_WORKER_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_pool_report, 56, zero, PTXGRAFT_POOL_REPORT_INIT);
PTXGRAFT_VERSIONED(ptxgraft_check_info, 104, regime, PTXGRAFT_CHECK_INFO_INIT);
PTXGRAFT_VERSIONED(ptxgraft_profile_line, 88, zero, PTXGRAFT_PROFILE_LINE_INIT);
PTXGRAFT_VERSIONED(ptxgraft_profile_class, 48, global_size, PTXGRAFT_PROFILE_CLASS_INIT);

#undef PTXGRAFT_VERSIONED

// Final: they stand in arrays or are passed by value.
static_assert(sizeof(ptxgraft_graft) == 16 && sizeof(ptxgraft_argument) == 24 &&
              sizeof(ptxgraft_tensor_map) == 128 && sizeof(ptxgraft_candidate) == 16 &&
              sizeof(ptxgraft_site_route) == 16 && sizeof(ptxgraft_limit) == 8 &&
              sizeof(ptxgraft_planned_launch) == 32 && sizeof(ptxgraft_instruction) == 8 &&
              sizeof(ptxgraft_placed_constant) == 24 && sizeof(ptxgraft_constant_source) == 48 &&
              sizeof(ptxgraft_programs) == 32 && sizeof(ptxgraft_input_range) == 16 &&
              sizeof(ptxgraft_statement) == 16 && sizeof(ptxgraft_variant) == 32 &&
              sizeof(ptxgraft_site_argument) == 40);

}  // namespace ptxgraft::capi
