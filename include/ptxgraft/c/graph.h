#ifndef PTXGRAFT_C_GRAPH_H
#define PTXGRAFT_C_GRAPH_H
/**
 * @file graph.h
 * Launches that are put together once and queued with one call, again and again; a search swaps the kernel of
 * one of them for its next variant.
 *
 * @code
 *   // What two calls launch on a stream becomes a graph; its second launch is the one that is searched.
 *   if ((status = ptxgraft_stream_begin_capture(stream))) goto done;
 *   prepare(stream);
 *   options.stream = stream;
 *   ptxgraft_kernel_launch(first, &options, arguments, 3);
 *   if ((status = ptxgraft_graph_create_from_capture(&graph, stream))) goto done;
 *   options.stream = NULL;
 *   for (i = 0; i < count; ++i) {
 *       ptxgraft_planned_launch planned = {variants[i], &options, arguments, 3};
 *       ptxgraft_graph_change(graph, 1, &planned);
 *       ptxgraft_graph_launch(graph, stream);
 *   }
 * @endcode
 */

#include "ptxgraft/c/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A sequence of launches on a device, each behind the one before it. It keeps its kernels loaded, but not
    the buffers of their arguments. Threads: one at a time uses a graph, also to launch it. */
typedef struct ptxgraft_graph ptxgraft_graph;

/** A launch of a graph. The arguments are copied. `options` may be null: one block of one thread; they name
    no stream. Final. */
typedef struct ptxgraft_planned_launch {
    const ptxgraft_kernel* kernel;
    const ptxgraft_launch_options* options;
    const ptxgraft_argument* arguments;
    size_t argument_count;
} ptxgraft_planned_launch;

/** A graph without launches. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_graph_create(ptxgraft_graph** graph, const ptxgraft_device* device);
/** From now on launches on the stream do not run, but become a graph, and so does what other libraries launch
    there. Until ptxgraft_graph_create_from_capture() one thread at a time uses the stream. Of a stream that
    is captured already: PTXGRAFT_STATUS_argument_invalid. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_stream_begin_capture(ptxgraft_stream* stream);
/** The graph of what was launched on the stream since, whose launches have numbers in their order; those of
    other libraries have none. From then on launches run again, also after an error. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_graph_create_from_capture(ptxgraft_graph** graph,
                                                                  ptxgraft_stream* stream);
PTXGRAFT_C_API void ptxgraft_graph_destroy(ptxgraft_graph* graph);

/** Adds a launch at the end; `number`, which may be null, becomes its number. Of a graph that was
    instantiated, launched or captured: PTXGRAFT_STATUS_graph_change_not_possible. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_graph_add(size_t* number, ptxgraft_graph* graph,
                                                  const ptxgraft_planned_launch* launch);
/** Another kernel, shape or arguments for one launch: the next launches of the graph have it. Its cluster and
    whether it is cooperative stay once the graph is instantiated. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_graph_change(ptxgraft_graph* graph, size_t number,
                                                     const ptxgraft_planned_launch* launch);
/** Makes it ready to be launched; the first launch does it otherwise. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_graph_instantiate(ptxgraft_graph* graph);
/** Queues all of its launches behind what is on the stream; null: the device's own. */
PTXGRAFT_C_API ptxgraft_status ptxgraft_graph_launch(ptxgraft_graph* graph, const ptxgraft_stream* stream);
/** Launches that have a number. */
PTXGRAFT_C_API size_t ptxgraft_graph_get_size(const ptxgraft_graph* graph);

#ifdef __cplusplus
}
#endif
#endif /* PTXGRAFT_C_GRAPH_H */
