#ifndef PTXGRAFT_PYTHON_LAUNCH_H
#define PTXGRAFT_PYTHON_LAUNCH_H
/* Launches on the memory of arrays that somebody else's runtime owns, planned in Python and run without it:
   launch.c. binding.py reads what stands between the two marks. */

#include <ptxgraft/ptxgraft.h>

/* [binding.py */
typedef struct ptxgraft_python_operand {
    size_t size; /* bytes of one launch */
    /* 1: its memory has as many for each launch, one behind another; 0: all launches get the same */
    int32_t is_batch;
    int32_t is_result; /* 1: the kernel writes it */
} ptxgraft_python_operand;

/* As many launches of a kernel as a batch has elements. It does not change while one runs; any number of
   threads run one at once. */
typedef struct ptxgraft_python_plan {
    const ptxgraft_kernel* kernel;
    const ptxgraft_device* device;
    const ptxgraft_launch_options* options;
    const ptxgraft_argument* arguments; /* what is the same for all launches */
    const int32_t* operand_of;          /* of each argument: the operand whose address it gets, or -1 */
    size_t argument_count;
    const ptxgraft_python_operand* operands; /* results behind inputs */
    size_t operand_count;
    size_t launches;
    int32_t copies; /* 1: the device's memory is its own, and operands are in the host's */
    int32_t on_gpu; /* 1: launches go to the runtime's stream */
} ptxgraft_python_plan;

/* Launches on the memory of the operands, with a stream that may be null. An input that the kernel has
   changed is PTXGRAFT_STATUS_memory_read_only and its place in `changed`; that is found where operands are
   copied. */
ptxgraft_status ptxgraft_python_run(const ptxgraft_python_plan* plan, void* const* operands,
                                    const ptxgraft_stream* stream, size_t* changed);

/* A handler of XLA's FFI: xla.c. */
void* ptxgraft_python_xla_call(void* frame);
/* What a call says beside its plan: the number of this process. */
extern uint64_t ptxgraft_python_xla_process;
/* binding.py] */

#endif /* PTXGRAFT_PYTHON_LAUNCH_H */
