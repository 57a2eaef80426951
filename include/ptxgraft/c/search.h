#ifndef PTXGRAFT_C_SEARCH_H
#define PTXGRAFT_C_SEARCH_H
/**
 * @file search.h
 * Searches for programs: a task as text, candidates that are asked for and results that are told, or a run
 * with the task's own gates; elites, and what an archive holds. search.hpp says how it searches, and
 * search_task.hpp what a task is.
 *
 * @code
 *   // A search whose candidates are judged here. The task has one site: "in f32 x, out f32 y".
 *   if ((status = ptxgraft_search_open(&search, "run.sqlite", task, task_size, NULL))) goto done;
 *   while (!(status = ptxgraft_search_ask(&candidates, search, 256)) &&
 *          ptxgraft_candidates_get_count(candidates) != 0) {
 *       ptxgraft_results results = PTXGRAFT_RESULTS_INIT;
 *       judge(candidates, verdicts, costs, errors, descriptors);
 *       results.candidates = candidates;
 *       results.verdicts = verdicts;
 *       results.costs = costs;
 *       results.errors = errors;
 *       results.error_count = 64;
 *       results.descriptors = descriptors;
 *       results.descriptor_count = ptxgraft_search_get_axis_count(search);
 *       if ((status = ptxgraft_search_tell(search, &results))) break;
 *       ptxgraft_candidates_destroy(candidates);
 *       candidates = NULL;
 *   }
 *   ptxgraft_candidates_destroy(candidates);
 * @endcode
 */

#include "ptxgraft/c/assembler.h"
#include "ptxgraft/c/stack.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A search. Threads: one at a time uses it; a run has threads of its own. */
typedef struct ptxgraft_search ptxgraft_search;

/** How parents are chosen. */
typedef enum ptxgraft_strategy PTXGRAFT_C_ENUM {
    PTXGRAFT_STRATEGY_task = 0,   /**< as the task says */
    PTXGRAFT_STRATEGY_evolve = 1, /**< elites, and epsilon-lexicase selection of the population */
    PTXGRAFT_STRATEGY_random = 2, /**< no parents */
    PTXGRAFT_STRATEGY_climb = 3   /**< the best so far is the parent of all */
} ptxgraft_strategy;

/** What counts in the place of what the task says. */
typedef struct ptxgraft_search_options {
    size_t struct_size;
    uint64_t seed; /**< where `has_seed` is 1 */
    uint32_t has_seed;
    ptxgraft_strategy strategy;
    const ptxgraft_stop* stop; /**< ends the enumeration once it is asked for; may be null */
} ptxgraft_search_options;
#define PTXGRAFT_SEARCH_OPTIONS_INIT \
    { sizeof(ptxgraft_search_options), 0, 0, PTXGRAFT_STRATEGY_task, NULL }

/** Opens a search of a task, or goes on with the one that the archive holds, which has to be of this task and
    these options. A null archive keeps everything in memory. `options` may be null. A new search that evolves
    begins with a short enumeration, half a second a site, unless the task says `"enumerate": false`.
    PTXGRAFT_STATUS_task_invalid has its place in the task. Stopped meanwhile, there is no search:
    PTXGRAFT_STATUS_work_stopped. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_search_open(ptxgraft_search** search, const char* archive,
                                                    const char* task, size_t size,
                                                    const ptxgraft_search_options* options);
PTXGRAFT_C_API void ptxgraft_search_destroy(ptxgraft_search* search);

/** The sites whose stubs are searched, and their machines, to be destroyed as others are. */
PTXGRAFT_C_API size_t ptxgraft_search_get_site_count(const ptxgraft_search* search);
PTXGRAFT_C_API const char* ptxgraft_search_get_site_name(const ptxgraft_search* search, size_t site);
PTXGRAFT_C_API ptxgraft_status ptxgraft_machine_create_from_search(ptxgraft_machine** machine,
                                                                   const ptxgraft_search* search,
                                                                   size_t site);

/** A tunable; strings and lists live as long as the search. */
typedef struct ptxgraft_tunable_info {
    size_t struct_size;
    const char* name;
    const int64_t* values;
    size_t value_count;
} ptxgraft_tunable_info;
#define PTXGRAFT_TUNABLE_INFO_INIT \
    { sizeof(ptxgraft_tunable_info), NULL, NULL, 0 }
PTXGRAFT_C_API size_t ptxgraft_search_get_tunable_count(const ptxgraft_search* search);
PTXGRAFT_C_API ptxgraft_status ptxgraft_search_get_tunable(ptxgraft_tunable_info* info,
                                                           const ptxgraft_search* search, size_t tunable);

/** The axes of its archive, in the order of descriptors: "instructions", "error", … The name is null when
    there is none of this index. */
PTXGRAFT_C_API size_t ptxgraft_search_get_axis_count(const ptxgraft_search* search);
PTXGRAFT_C_API const char* ptxgraft_search_get_axis_name(const ptxgraft_search* search, size_t axis);

/* ------------------------------------------------------------------------------------------- ask and tell */

/** Candidates that wait for their results. They never change. Threads: any number read them at once. */
typedef struct ptxgraft_candidates ptxgraft_candidates;

/** At most `most` candidates: fewer where others have to be told before, and none where there are no more. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_search_ask(ptxgraft_candidates** candidates, ptxgraft_search* search,
                                                   size_t most);
PTXGRAFT_C_API void ptxgraft_candidates_destroy(ptxgraft_candidates* candidates);
PTXGRAFT_C_API size_t ptxgraft_candidates_get_count(const ptxgraft_candidates* candidates);

/** What is to be done with a candidate beside judging it, by whoever can. */
typedef enum ptxgraft_refine PTXGRAFT_C_ENUM {
    PTXGRAFT_REFINE_none = 0,
    PTXGRAFT_REFINE_constants = 1, /**< vary its constants, and tell the best found */
    PTXGRAFT_REFINE_shorten = 2,   /**< delete what can go without loss, and tell the shortest */
    PTXGRAFT_REFINE_measure = 3    /**< nothing: its cost is an interval, and is to be measured again */
} ptxgraft_refine;

/** A candidate; lists live as long as the candidates. */
typedef struct ptxgraft_candidate_info {
    size_t struct_size;
    uint64_t index;           /**< in the order of the search */
    uint64_t structure;       /**< of the dataflow of all sites, with the tunables */
    uint64_t constants;       /**< the values of its constants */
    const uint32_t* tunables; /**< the place of each tunable's value */
    size_t tunable_count;
    ptxgraft_refine refine;
    uint32_t zero; /**< always 0 */
} ptxgraft_candidate_info;
#define PTXGRAFT_CANDIDATE_INFO_INIT \
    { sizeof(ptxgraft_candidate_info), 0, 0, 0, NULL, 0, PTXGRAFT_REFINE_none, 0 }
PTXGRAFT_C_API ptxgraft_status ptxgraft_candidates_get(ptxgraft_candidate_info* info,
                                                       const ptxgraft_candidates* candidates,
                                                       size_t candidate);
/** A candidate's program for a site. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_program_create_from_candidate(ptxgraft_program** program,
                                                                      const ptxgraft_candidates* candidates,
                                                                      size_t candidate, size_t site);
/** The programs of all candidates for a site, as PTXGRAFT_ENCODING_checked; they live as long as the
    candidates. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_candidates_get_programs(ptxgraft_programs* programs,
                                                                const ptxgraft_candidates* candidates,
                                                                size_t site);

/** How a candidate ended. */
typedef enum ptxgraft_verdict PTXGRAFT_C_ENUM {
    PTXGRAFT_VERDICT_ok = 0,         /**< it can become an elite */
    PTXGRAFT_VERDICT_infeasible = 1, /**< judged, and too wrong: with errors it takes part in selection */
    PTXGRAFT_VERDICT_wrong = 2,      /**< right where it was screened, wrong elsewhere */
    PTXGRAFT_VERDICT_rejected = 3,   /**< a policy or a limit forbids it */
    PTXGRAFT_VERDICT_failed = 4,     /**< it does not compile, assemble, load or launch */
    PTXGRAFT_VERDICT_late = 5,
    PTXGRAFT_VERDICT_crashed = 6,
    PTXGRAFT_VERDICT_impossible = 7, /**< better than can be */
    PTXGRAFT_VERDICT_noisy = 8       /**< measured, and nothing can be said */
} ptxgraft_verdict;

/** Results of some or all candidates of one ask: arrays with an element for each, or rows of so many. What is
    null is not said. */
typedef struct ptxgraft_results {
    size_t struct_size;
    const ptxgraft_candidates* candidates;
    const size_t* which;              /**< the places of those that are told; null: all, in their order */
    size_t count;                     /**< of `which` */
    const ptxgraft_verdict* verdicts; /**< null: ok */
    const double* costs;              /**< what is minimised; finite or plus infinity */
    const double* lows;               /**< the costs' intervals; null: exact */
    const double* highs;
    const double* descriptors; /**< rows: a value for each axis; null where none is ok, or there is no axis */
    size_t descriptor_count;   /**< of a row: ptxgraft_search_get_axis_count() */
    const float* errors;       /**< rows: an error for each case, 0 is right */
    size_t error_count;
    /** Rows: for each site the program that refinement made of the candidate; null: it has none. */
    const ptxgraft_program* const* refined;
} ptxgraft_results;
#define PTXGRAFT_RESULTS_INIT \
    { sizeof(ptxgraft_results), NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, NULL }
/** In any order. A candidate that is told twice counts once; what is never told is asked for again when the
    archive is opened again. The error's index is the result's. PTXGRAFT_STATUS_argument_invalid where the
    candidates are not of this ptxgraft_search, even if they are of the same task or archive. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_search_tell(ptxgraft_search* search, const ptxgraft_results* results);

/* --------------------------------------------------------------------------------------------------- runs */

/** What ends a run, and who is told of it. Numbers that are 0 are as the task says. */
typedef struct ptxgraft_run_options {
    size_t struct_size;
    uint64_t candidates; /**< judged; 0 in the task too: no limit */
    double seconds;      /**< on the wall */
    double cpu_seconds;  /**< of all threads of this process */
    /** May be null. Called after each batch with a ledger as JSON, which lives as long as the call. */
    void (*progress)(const char* ledger, void* payload);
    void* payload;
    const ptxgraft_stop* stop; /**< ends the run once it is asked for; may be null */
    uint32_t threads;          /**< 0: one per processor */
    uint32_t zero;             /**< always 0 */
} ptxgraft_run_options;
#define PTXGRAFT_RUN_OPTIONS_INIT \
    { sizeof(ptxgraft_run_options), 0, 0, 0, NULL, NULL, NULL, 0, 0 }

typedef enum ptxgraft_ending PTXGRAFT_C_ENUM {
    PTXGRAFT_ENDING_budget = 0,
    PTXGRAFT_ENDING_target = 1,    /**< the task's target was reached */
    PTXGRAFT_ENDING_exhausted = 2, /**< there are no more candidates */
    PTXGRAFT_ENDING_asked = 3,     /**< the stop */
    PTXGRAFT_ENDING_stagnation = 4 /**< no gain for as many candidates as the task says */
} ptxgraft_ending;

typedef struct ptxgraft_summary_info {
    size_t struct_size;
    uint64_t judged;
    /** Of the elite whose cost is at most the least: of measured costs the upper end of the interval counts.
        UINT64_MAX: there is none. */
    uint64_t best_index;
    double best_cost;
    ptxgraft_ending ending;
    uint32_t zero; /**< always 0 */
} ptxgraft_summary_info;
#define PTXGRAFT_SUMMARY_INFO_INIT \
    { sizeof(ptxgraft_summary_info), 0, 0, 0, PTXGRAFT_ENDING_budget, 0 }

/** Asks, judges with the task's gates, and tells, until something ends it. PTXGRAFT_STATUS_argument_invalid
    of a task that has no gates. `options` may be null. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_search_run(ptxgraft_summary_info* info, ptxgraft_search* search,
                                                   const ptxgraft_run_options* options);
/** Text: what the search has done, as JSON: judged, drawn, duplicates, guessed, measured_again, disagreed,
    cells, without_gain, status, gates, operators. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_search_get_ledger(char* text, size_t* size,
                                                          const ptxgraft_search* search);

/* ------------------------------------------------------------------------------------------- small spaces */

/** Which programs are tried. */
typedef struct ptxgraft_enumerate_options {
    size_t struct_size;
    uint64_t trials;           /**< it gives up behind so many; 0: never */
    const ptxgraft_stop* stop; /**< ends it once it is asked for; may be null */
    uint32_t instructions;     /**< programs of at most so many */
    uint32_t threads;          /**< 0: one per processor */
} ptxgraft_enumerate_options;
#define PTXGRAFT_ENUMERATE_OPTIONS_INIT \
    { sizeof(ptxgraft_enumerate_options), 0, NULL, 3, 0 }

typedef struct ptxgraft_enumeration_info {
    size_t struct_size;
    uint64_t trials;       /**< instructions that were evaluated */
    uint32_t has_program;  /**< 1: one was found */
    uint32_t instructions; /**< of the program */
    /** 1: all shorter programs were tried, and without a program all of `instructions` of the options. */
    uint32_t is_complete;
    uint32_t zero; /**< always 0 */
} ptxgraft_enumeration_info;
#define PTXGRAFT_ENUMERATION_INFO_INIT \
    { sizeof(ptxgraft_enumeration_info), 0, 0, 0, 0, 0 }

/** Tries all programs of the search's one site, from the shortest on, with the task's constants, and gives
    one that is right on all points and has as few instructions as any (search.hpp, enumerate). It is null
    where there is none. The search itself does not change. PTXGRAFT_STATUS_space_invalid of a task of several
    sites, or that does not say what is right there. `options` may be null. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_search_enumerate(ptxgraft_enumeration_info* info,
                                                         ptxgraft_program** program,
                                                         const ptxgraft_search* search,
                                                         const ptxgraft_enumerate_options* options);

/* ------------------------------------------------------------------------------------------------- elites */

/** The best of each cell. They never change. Threads: any number read them at once. */
typedef struct ptxgraft_elites ptxgraft_elites;

/** Those of the search as it is now, in the order of the cells. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_elites_create(ptxgraft_elites** elites,
                                                      const ptxgraft_search* search);
/** Those of an archive, also while a search writes it. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_elites_create_from_archive(ptxgraft_elites** elites,
                                                                   const char* archive);
/** Of these the ones that no other beats: by what the cost may be at most (of measured costs the upper end
    of the interval), then by the cost, and by each value of the descriptor. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_elites_create_front(ptxgraft_elites** front,
                                                            const ptxgraft_elites* elites);
PTXGRAFT_C_API void ptxgraft_elites_destroy(ptxgraft_elites* elites);
PTXGRAFT_C_API size_t ptxgraft_elites_get_count(const ptxgraft_elites* elites);

/** An elite; lists live as long as the elites. */
typedef struct ptxgraft_elite_info {
    size_t struct_size;
    uint64_t index; /**< of the candidate */
    double cost;
    const double* descriptor; /**< a value for each axis */
    size_t descriptor_count;
    const uint32_t* cell; /**< the bin on each axis */
    size_t axis_count;
    const uint32_t* tunables; /**< the place of each tunable's value */
    size_t tunable_count;
} ptxgraft_elite_info;
#define PTXGRAFT_ELITE_INFO_INIT \
    { sizeof(ptxgraft_elite_info), 0, 0, NULL, 0, NULL, 0, NULL, 0 }
PTXGRAFT_C_API ptxgraft_status ptxgraft_elites_get(ptxgraft_elite_info* info, const ptxgraft_elites* elites,
                                                   size_t elite);
/** An elite's program for a site. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_program_create_from_elite(ptxgraft_program** program,
                                                                  const ptxgraft_elites* elites, size_t elite,
                                                                  size_t site);
/** Text: an elite as JSON: index, cost, descriptor, cell, programs, tunables. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_elites_get_description(char* text, size_t* size,
                                                               const ptxgraft_elites* elites, size_t elite);

/* ----------------------------------------------------------------------------------------------- archives */

/** Text: a line of JSON for each judged candidate, in the order of the indices, without times or paths. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_archive_get_lines(char* text, size_t* size, const char* archive);
/** Text: a report as a page of HTML (search_report.hpp); the same facts as JSON. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_archive_get_page(char* text, size_t* size, const char* archive,
                                                         const char* title);
PTXGRAFT_C_API ptxgraft_status ptxgraft_archive_get_facts(char* text, size_t* size, const char* archive,
                                                          const char* title);
/** Makes one archive of several (search.hpp, merge): a collection, which is read and never continued. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_archive_merge(const char* out, const char* const* archives,
                                                      size_t count);

#ifdef __cplusplus
}
#endif
#endif /* PTXGRAFT_C_SEARCH_H */
