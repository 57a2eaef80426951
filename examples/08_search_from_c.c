/* A search in C whose candidates are judged here: which program of adds, multiplications and maxima is
   max(0, x) * 2 + 1? The search gives candidates, this program evaluates them at some points, and tells how
   wrong each is and how many instructions it has. Equal seeds give equal searches: the output is always the
   same. */
#include <math.h>
#include <ptxgraft/ptxgraft.h>
#include <stdio.h>
#include <stdlib.h>

enum { POINTS = 16, BLOCK = 256, ROUNDS = 80 };

static const char task[] =
    "{\"signature\": \"in f32 x, out f32 y\","
    " \"set\": [\"add.f32\", \"mul.f32\", \"max.f32\", \"neg.f32\", \"fma.rn.f32\"],"
    " \"genes\": 12, \"inputs\": {\"x\": [0]}, \"reference\": \"y = max(x, 0) * 2 + 1\","
    " \"axes\": {\"instructions\": [1, 2, 3, 4]}, \"options\": {\"seed\": 7, \"block\": 256}}";

static float wanted(float x) { return (x > 0 ? x : 0) * 2 + 1; }

/* What is told of one block of candidates. */
typedef struct Block {
    double instructions[BLOCK];
    double descriptors[BLOCK][2]; /* on the search's axes: instructions, the largest error */
    float errors[BLOCK][POINTS];
    ptxgraft_verdict verdicts[BLOCK];
} Block;

/* Evaluates one candidate at all points. */
static ptxgraft_status judge(Block* block, size_t i, const ptxgraft_program* program,
                             const ptxgraft_machine* machine) {
    ptxgraft_compile_options options = PTXGRAFT_COMPILE_OPTIONS_MUTATED;
    ptxgraft_columns columns = PTXGRAFT_COLUMNS_INIT;
    ptxgraft_evaluator* evaluator = NULL;
    float x[POINTS], y[POINTS];
    const void* inputs[2];
    void* outputs[2];
    ptxgraft_status status;
    int p;
    options.reuse = options.fold = 1;
    if ((status = ptxgraft_evaluator_create(&evaluator, program, machine, &options))) return status;
    for (p = 0; p < POINTS; ++p) x[p] = (float)p - 7.5f;
    inputs[0] = x, inputs[1] = NULL;
    outputs[0] = NULL, outputs[1] = y;
    columns.inputs = inputs;
    columns.outputs = outputs;
    columns.register_count = 2;
    columns.count = POINTS;
    status = ptxgraft_evaluator_run(evaluator, &columns);
    block->instructions[i] = ptxgraft_evaluator_get_instruction_count(evaluator);
    block->descriptors[i][0] = block->instructions[i];
    block->descriptors[i][1] = 0;
    block->verdicts[i] = PTXGRAFT_VERDICT_ok;
    for (p = 0; p < POINTS; ++p) {
        const float error = (float)fabs((double)y[p] - (double)wanted(x[p]));
        block->errors[i][p] = error < 1e30f ? error : 1e30f; /* NaN too */
        block->descriptors[i][1] = fmax(block->descriptors[i][1], (double)block->errors[i][p]);
        if (!(error < 1e-7f)) block->verdicts[i] = PTXGRAFT_VERDICT_infeasible;
    }
    ptxgraft_evaluator_destroy(evaluator);
    return status;
}

/* Asks for a block of candidates, judges them, tells; `*count` becomes how many there were. */
static ptxgraft_status search_block(size_t* count, ptxgraft_search* search, const ptxgraft_machine* machine) {
    static Block block;
    ptxgraft_candidates* candidates = NULL;
    ptxgraft_results results = PTXGRAFT_RESULTS_INIT;
    ptxgraft_status status = ptxgraft_search_ask(&candidates, search, BLOCK);
    size_t i;
    if (status) return status;
    *count = ptxgraft_candidates_get_count(candidates);
    for (i = 0; i < *count && !status; ++i) {
        ptxgraft_program* program = NULL;
        status = ptxgraft_program_create_from_candidate(&program, candidates, i, 0);
        if (!status) status = judge(&block, i, program, machine);
        ptxgraft_program_destroy(program);
    }
    results.candidates = candidates;
    results.verdicts = block.verdicts;
    results.costs = block.instructions;
    results.descriptors = &block.descriptors[0][0];
    results.descriptor_count = 2;
    results.errors = &block.errors[0][0];
    results.error_count = POINTS;
    if (!status) status = ptxgraft_search_tell(search, &results);
    ptxgraft_candidates_destroy(candidates);
    return status;
}

/* Prints the elites that no other beats. */
static ptxgraft_status print_front(const ptxgraft_search* search, const ptxgraft_machine* machine) {
    ptxgraft_elites *elites = NULL, *front = NULL;
    ptxgraft_status status = ptxgraft_elites_create(&elites, search);
    size_t i;
    if (!status) status = ptxgraft_elites_create_front(&front, elites);
    for (i = 0; !status && i < ptxgraft_elites_get_count(front); ++i) {
        ptxgraft_elite_info info = PTXGRAFT_ELITE_INFO_INIT;
        ptxgraft_program *program = NULL, *shorter = NULL;
        char text[1024];
        size_t size = sizeof text;
        ptxgraft_elites_get(&info, front, i);
        status = ptxgraft_program_create_from_elite(&program, front, i, 0);
        if (!status) status = ptxgraft_program_create_simplified(&shorter, program, machine, NULL);
        if (!status) status = ptxgraft_program_get_text(text, &size, shorter, machine);
        if (!status) printf("%g instructions: %s\n", info.cost, text);
        ptxgraft_program_destroy(shorter);
        ptxgraft_program_destroy(program);
    }
    ptxgraft_elites_destroy(front);
    ptxgraft_elites_destroy(elites);
    return status;
}

int main(void) {
    ptxgraft_search* search = NULL;
    ptxgraft_machine* machine = NULL;
    size_t count = 1, judged = 0;
    int round;
    ptxgraft_status status = ptxgraft_search_open(&search, NULL, task, sizeof task - 1, NULL);
    if (!status) status = ptxgraft_machine_create_from_search(&machine, search, 0);
    for (round = 0; round < ROUNDS && !status && count > 0; ++round) {
        status = search_block(&count, search, machine);
        judged += count;
    }
    if (!status) printf("%u candidates\n", (unsigned)judged);
    if (!status) status = print_front(search, machine);
    if (status) fputs(ptxgraft_error_get_message(), stderr);
    ptxgraft_machine_destroy(machine);
    ptxgraft_search_destroy(search);
    return status ? EXIT_FAILURE : EXIT_SUCCESS;
}
