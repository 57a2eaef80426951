/* The C header alone, and every _INIT macro as an initialiser. */
#include <ptxgraft/ptxgraft.h>

int c_header(void);
size_t further_sizes(void);

size_t further_sizes(void) {
    ptxgraft_verify_options a0 = PTXGRAFT_VERIFY_OPTIONS_INIT;
    ptxgraft_diagnostic_info a1 = PTXGRAFT_DIAGNOSTIC_INFO_INIT;
    ptxgraft_statement_info a2 = PTXGRAFT_STATEMENT_INFO_INIT;
    ptxgraft_declared_info a3 = PTXGRAFT_DECLARED_INFO_INIT;
    ptxgraft_form_info a4 = PTXGRAFT_FORM_INFO_INIT;
    ptxgraft_form_operand_info a5 = PTXGRAFT_FORM_OPERAND_INFO_INIT;
    ptxgraft_plan_options a6 = PTXGRAFT_PLAN_OPTIONS_INIT;
    ptxgraft_trial_options a7 = PTXGRAFT_TRIAL_OPTIONS_INIT;
    ptxgraft_plan_info a8 = PTXGRAFT_PLAN_INFO_INIT;
    ptxgraft_tensor_info a9 = PTXGRAFT_TENSOR_INFO_INIT;
    ptxgraft_trial_info a10 = PTXGRAFT_TRIAL_INFO_INIT;
    ptxgraft_search_options a11 = PTXGRAFT_SEARCH_OPTIONS_INIT;
    ptxgraft_results a12 = PTXGRAFT_RESULTS_INIT;
    ptxgraft_run_options a13 = PTXGRAFT_RUN_OPTIONS_INIT;
    ptxgraft_tunable_info a14 = PTXGRAFT_TUNABLE_INFO_INIT;
    ptxgraft_candidate_info a15 = PTXGRAFT_CANDIDATE_INFO_INIT;
    ptxgraft_summary_info a16 = PTXGRAFT_SUMMARY_INFO_INIT;
    ptxgraft_elite_info a17 = PTXGRAFT_ELITE_INFO_INIT;
    ptxgraft_pool_options a18 = PTXGRAFT_POOL_OPTIONS_INIT;
    ptxgraft_check_request a19 = PTXGRAFT_CHECK_REQUEST_INIT;
    ptxgraft_worker_info a20 = PTXGRAFT_WORKER_INFO_INIT;
    ptxgraft_pool_report a21 = PTXGRAFT_POOL_REPORT_INIT;
    ptxgraft_check_info a22 = PTXGRAFT_CHECK_INFO_INIT;
    ptxgraft_variable_options a23 = PTXGRAFT_VARIABLE_OPTIONS_INIT;
    ptxgraft_entry_directives a24 = PTXGRAFT_ENTRY_DIRECTIVES_INIT;
    ptxgraft_emitted_site a25 = PTXGRAFT_EMITTED_SITE_INIT;
    ptxgraft_stream_options a26 = PTXGRAFT_STREAM_OPTIONS_INIT;
    ptxgraft_profile_line a27 = PTXGRAFT_PROFILE_LINE_INIT;
    ptxgraft_profile_class a28 = PTXGRAFT_PROFILE_CLASS_INIT;
    ptxgraft_spare_registers_options a29 = PTXGRAFT_SPARE_REGISTERS_OPTIONS_INIT;
    ptxgraft_spare_registers_info a30 = PTXGRAFT_SPARE_REGISTERS_INFO_INIT;
    return a29.struct_size + a30.struct_size + a0.struct_size + a1.struct_size + a2.struct_size +
           a3.struct_size + a4.struct_size + a5.struct_size + a6.struct_size + a7.struct_size +
           a8.struct_size + a9.struct_size + a10.struct_size + a11.struct_size + a12.struct_size +
           a13.struct_size + a14.struct_size + a15.struct_size + a16.struct_size + a17.struct_size +
           a18.struct_size + a19.struct_size + a20.struct_size + a21.struct_size + a22.struct_size +
           a23.struct_size + a24.struct_size + a25.struct_size + a26.struct_size + a27.struct_size +
           a28.struct_size;
}

int c_header(void) {
    const uint32_t value = 5;
    ptxgraft_cuda_options cuda = PTXGRAFT_CUDA_OPTIONS_INIT;
    ptxgraft_graft_options graft = PTXGRAFT_GRAFT_OPTIONS_INIT;
    ptxgraft_launch_options launch = PTXGRAFT_LAUNCH_OPTIONS_INIT;
    ptxgraft_device_options device = PTXGRAFT_DEVICE_OPTIONS_INIT;
    ptxgraft_site_info site = PTXGRAFT_SITE_INFO_INIT;
    ptxgraft_operand_info operand = PTXGRAFT_OPERAND_INFO_INIT;
    ptxgraft_copy_info copy = PTXGRAFT_COPY_INFO_INIT;
    ptxgraft_kernel_times times = PTXGRAFT_KERNEL_TIMES_INIT;
    ptxgraft_parameter_info parameter = PTXGRAFT_PARAMETER_INFO_INIT;
    ptxgraft_argument arguments[] = {PTXGRAFT_BUFFER(NULL), PTXGRAFT_VALUE(value)};
    ptxgraft_tensor_map_options map = PTXGRAFT_TENSOR_MAP_OPTIONS_INIT;
    ptxgraft_sum_options sum = PTXGRAFT_SUM_OPTIONS_INIT;
    ptxgraft_report_info report = PTXGRAFT_REPORT_INFO_INIT;
    ptxgraft_finding_info finding = PTXGRAFT_FINDING_INFO_INIT;
    ptxgraft_batch_options batch = PTXGRAFT_BATCH_OPTIONS_INIT;
    ptxgraft_cache_options cache = PTXGRAFT_CACHE_OPTIONS_INIT;
    ptxgraft_worker_pool_options pool = PTXGRAFT_WORKER_POOL_OPTIONS_INIT;
    ptxgraft_kernel_attributes attributes = PTXGRAFT_KERNEL_ATTRIBUTES_INIT;
    ptxgraft_device_properties properties = PTXGRAFT_DEVICE_PROPERTIES_INIT;
    ptxgraft_machine_code_info code = PTXGRAFT_MACHINE_CODE_INFO_INIT;
    ptxgraft_function_info function = PTXGRAFT_FUNCTION_INFO_INIT;
    ptxgraft_route_info route = PTXGRAFT_ROUTE_INFO_INIT;
    ptxgraft_loss_info loss = PTXGRAFT_LOSS_INFO_INIT;
    ptxgraft_preparation_info preparation = PTXGRAFT_PREPARATION_INFO_INIT;
    ptxgraft_cache_counters counters = PTXGRAFT_CACHE_COUNTERS_INIT;
    ptxgraft_cache_size cached = PTXGRAFT_CACHE_SIZE_INIT;
    ptxgraft_cache_check check = PTXGRAFT_CACHE_CHECK_INIT;
    ptxgraft_stub_options stub = PTXGRAFT_STUB_OPTIONS_INIT;
    ptxgraft_bank_info bank = PTXGRAFT_BANK_INFO_INIT;
    ptxgraft_machine_options machine = PTXGRAFT_MACHINE_OPTIONS_INIT;
    ptxgraft_compile_options compile = PTXGRAFT_COMPILE_OPTIONS_INIT;
    ptxgraft_compile_options mutated = PTXGRAFT_COMPILE_OPTIONS_MUTATED;
    ptxgraft_sampler_options sampler = PTXGRAFT_SAMPLER_OPTIONS_INIT;
    ptxgraft_compilation_arrays arrays = PTXGRAFT_COMPILATION_ARRAYS_INIT;
    ptxgraft_entry_info entry = PTXGRAFT_ENTRY_INFO_INIT;
    ptxgraft_entry_operand_info entry_operand = PTXGRAFT_ENTRY_OPERAND_INFO_INIT;
    ptxgraft_register_info of_register = PTXGRAFT_REGISTER_INFO_INIT;
    ptxgraft_dataflow_info dataflow = PTXGRAFT_DATAFLOW_INFO_INIT;
    ptxgraft_stub_info of_stub = PTXGRAFT_STUB_INFO_INIT;
    ptxgraft_columns columns = PTXGRAFT_COLUMNS_INIT;
    ptxgraft_error_options error = PTXGRAFT_ERROR_OPTIONS_INIT;
    ptxgraft_error_info largest = PTXGRAFT_ERROR_INFO_INIT;
    ptxgraft_difference_info difference = PTXGRAFT_DIFFERENCE_INFO_INIT;
    const size_t stack_sizes = machine.struct_size + compile.struct_size + mutated.struct_size +
                               sampler.struct_size + arrays.struct_size + entry.struct_size +
                               entry_operand.struct_size + of_register.struct_size + dataflow.struct_size +
                               of_stub.struct_size + columns.struct_size + error.struct_size +
                               largest.struct_size + difference.struct_size;
    const size_t more_sizes = batch.struct_size + cache.struct_size + pool.struct_size +
                              attributes.struct_size + properties.struct_size + code.struct_size +
                              function.struct_size + route.struct_size + loss.struct_size +
                              preparation.struct_size + counters.struct_size + cached.struct_size +
                              check.struct_size + stub.struct_size + bank.struct_size;
    const size_t sizes = map.struct_size + sum.struct_size + report.struct_size + finding.struct_size +
                         cuda.struct_size + device.struct_size + graft.struct_size + launch.struct_size +
                         site.struct_size + operand.struct_size + copy.struct_size + times.struct_size +
                         parameter.struct_size + arguments[1].size;
    return sizes + more_sizes + stack_sizes + further_sizes() > 0 ? PTXGRAFT_STATUS_ok
                                                                  : PTXGRAFT_STATUS_argument_invalid;
}
