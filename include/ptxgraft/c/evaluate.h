#ifndef PTXGRAFT_C_EVALUATE_H
#define PTXGRAFT_C_EVALUATE_H
/**
 * @file evaluate.h
 * Programs on the CPU over columns of inputs, bit for bit what their PTX computes; the largest error over all
 * inputs; where two programs differ. evaluate.hpp and accuracy.hpp say what is exact.
 *
 * @code
 *   // y = f(x) at 1000 points: the signature is "in f32 x, out f32 y".
 *   const void* inputs[] = {x, NULL};
 *   void* outputs[] = {NULL, y};
 *   ptxgraft_columns columns = PTXGRAFT_COLUMNS_INIT;
 *   columns.inputs = inputs;
 *   columns.outputs = outputs;
 *   columns.register_count = 2;
 *   columns.count = 1000;
 *   if ((status = ptxgraft_evaluator_create(&evaluator, program, machine, NULL))) goto done;
 *   status = ptxgraft_evaluator_run(evaluator, &columns);
 * @endcode
 */

#include "ptxgraft/c/stack.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What approximate instructions (`.approx`, `.full`) give. */
typedef enum ptxgraft_approximation PTXGRAFT_C_ENUM {
    PTXGRAFT_APPROXIMATION_exact = 0, /**< the exact value, rounded once */
    PTXGRAFT_APPROXIMATION_up = 1,    /**< the largest value within the manual's bound */
    PTXGRAFT_APPROXIMATION_down = 2,  /**< the smallest */
    PTXGRAFT_APPROXIMATION_hashed = 3 /**< one of both, by a hash of `seed`, the place and the inputs */
} ptxgraft_approximation;

/** The values of the registers of a signature, in its order: ptxgraft_machine_get_register() says what each
    is, and how many bytes a value has (a pred one byte, 0 or 1). */
typedef struct ptxgraft_columns {
    size_t struct_size;
    const void* const* inputs; /**< one per register; those of `out` operands may be null */
    void* const* outputs; /**< one per register; those of `in` operands may be null. May be equal to inputs */
    size_t register_count; /**< of both lists: all of the signature */
    size_t count;          /**< values of each */
    uint64_t seed;
    ptxgraft_approximation approximation;
    uint32_t zero; /**< always 0 */
} ptxgraft_columns;
#define PTXGRAFT_COLUMNS_INIT \
    { sizeof(ptxgraft_columns), NULL, NULL, 0, 0, 0, PTXGRAFT_APPROXIMATION_exact, 0 }

/** A program made ready. Threads: any number run one at once; while it is prepared or its constants are set,
    none. */
typedef struct ptxgraft_evaluator ptxgraft_evaluator;

/** Null options: MUTATED. PTXGRAFT_STATUS_instruction_not_evaluable for effects, special registers, and forms
    of which only hardware knows the result. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_evaluator_create(ptxgraft_evaluator** evaluator,
                                                         const ptxgraft_program* program,
                                                         const ptxgraft_machine* machine,
                                                         const ptxgraft_compile_options* options);
/** Another program in the place of the one before, in the memory that is there. After an error there is
    none, and ptxgraft_evaluator_run() is PTXGRAFT_STATUS_argument_invalid. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_evaluator_prepare(ptxgraft_evaluator* evaluator,
                                                          const ptxgraft_program* program,
                                                          const ptxgraft_machine* machine,
                                                          const ptxgraft_compile_options* options);
PTXGRAFT_C_API void ptxgraft_evaluator_destroy(ptxgraft_evaluator* evaluator);

PTXGRAFT_C_API ptxgraft_status ptxgraft_evaluator_run(const ptxgraft_evaluator* evaluator,
                                                      const ptxgraft_columns* columns);
/** The constants that are data (PTXGRAFT_CONSTANTS_data): their bits. As ptxgraft_stub_get_constants(). */
PTXGRAFT_C_API ptxgraft_status ptxgraft_evaluator_get_constants(uint64_t* constants, size_t* count,
                                                                const ptxgraft_evaluator* evaluator);
/** Others in their place. PTXGRAFT_STATUS_constants_differ for another number of them. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_evaluator_set_constants(ptxgraft_evaluator* evaluator,
                                                                const uint64_t* constants, size_t count);
PTXGRAFT_C_API uint32_t ptxgraft_evaluator_get_instruction_count(const ptxgraft_evaluator* evaluator);
/** 1: it has approximate instructions; else every ptxgraft_approximation gives the same. */
PTXGRAFT_C_API uint32_t ptxgraft_evaluator_get_approximate(const ptxgraft_evaluator* evaluator);

/* ------------------------------------------------------------------------------------------------- errors */

/** Inputs by their bits, both ends included; of several registers the bits of all, the first's lowest.
    Final. */
typedef struct ptxgraft_input_range {
    uint64_t first, last;
} ptxgraft_input_range;

typedef enum ptxgraft_measure PTXGRAFT_C_ENUM {
    PTXGRAFT_MEASURE_absolute = 0,
    PTXGRAFT_MEASURE_relative = 1, /**< of the expected magnitude */
    PTXGRAFT_MEASURE_ulp = 2       /**< units in the last place of the result's type */
} ptxgraft_measure;

/** Which inputs are tried, and how errors count. */
typedef struct ptxgraft_error_options {
    size_t struct_size;
    /** Gives what is right for `count` inputs. Called on several threads at once. */
    void (*reference)(const double* inputs, double* expected, size_t count, void* payload);
    void* payload;
    const ptxgraft_input_range* ranges; /**< null: all inputs */
    size_t range_count;
    const ptxgraft_compile_options* compile; /**< null: MUTATED */
    double floor;                            /**< relative errors are of no smaller magnitude than this */
    double stop_above;
    ptxgraft_measure measure;
    uint32_t exact_only; /**< 1: approximate instructions are exact; 0: also at both edges, and hashed */
    uint32_t threads;    /**< 0: one per processor */
    uint32_t zero;       /**< always 0 */
} ptxgraft_error_options;
/** `stop_above` 0: it never stops; else it ends where an error passes it. */
#define PTXGRAFT_ERROR_OPTIONS_INIT \
    { sizeof(ptxgraft_error_options), NULL, NULL, NULL, 0, NULL, 0, 0, PTXGRAFT_MEASURE_relative, 0, 0, 0 }

/** The largest error. */
typedef struct ptxgraft_error_info {
    size_t struct_size;
    double error;            /**< infinite where one of result and expected value is no number, not both */
    double expected, result; /**< there */
    uint64_t input;          /**< its bits */
    uint64_t input_count;    /**< inputs that were evaluated */
    uint64_t seed;           /**< of a hashed approximation */
    ptxgraft_approximation approximation;
    uint32_t complete; /**< 0: `stop_above` ended it, and other inputs may be worse */
} ptxgraft_error_info;
#define PTXGRAFT_ERROR_INFO_INIT \
    { sizeof(ptxgraft_error_info), 0, 0, 0, 0, 0, 0, PTXGRAFT_APPROXIMATION_exact, 0 }

/** Evaluates a program of one input register of 16 or 32 bits and one result for every input. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_program_get_largest_error(ptxgraft_error_info* info,
                                                                  const ptxgraft_program* program,
                                                                  const ptxgraft_machine* machine,
                                                                  const ptxgraft_error_options* options);
/** The bits of the f32, f16 or bf16 from `low` to `high`, to be given as ranges. As with texts, but that
    `*count` counts ranges: two of them at most. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_input_get_ranges(ptxgraft_input_range* ranges, size_t* count,
                                                         ptxgraft_type type, double low, double high);

/** Where two programs differ. */
typedef struct ptxgraft_difference_info {
    size_t struct_size;
    uint32_t found;    /**< 0: they are one function of the inputs that were tried */
    uint32_t output;   /**< the register of the signature */
    uint64_t input;    /**< the bits of all inputs */
    uint64_t expected; /**< what the reference gives, in bits */
    uint64_t result;
} ptxgraft_difference_info;
#define PTXGRAFT_DIFFERENCE_INFO_INIT \
    { sizeof(ptxgraft_difference_info), 0, 0, 0, 0, 0 }
/** The first input for which a program gives other bits than the reference. Their inputs have 32 bits
    together. Of `options`, which may be null, ranges, compile and threads count. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_program_find_difference(ptxgraft_difference_info* info,
                                                                const ptxgraft_program* program,
                                                                const ptxgraft_program* reference,
                                                                const ptxgraft_machine* machine,
                                                                const ptxgraft_error_options* options);

#ifdef __cplusplus
}
#endif
#endif /* PTXGRAFT_C_EVALUATE_H */
