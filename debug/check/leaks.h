/* Leaks: work of a pass that runs while the pass is captured, so that no segment contains it. */
#ifndef BG_DEBUG_LEAKS_H
#define BG_DEBUG_LEAKS_H

#include "debug/report/report.h"

#define BG__LEAK_ADVICE                                                                                                \
    "launch on the stream that the body is given, bind library handles to it (bg_cublas_bind), and fork other "        \
    "streams "                                                                                                         \
    "from it (bg_stream_wait_stream)"

/* `begin` and `end` enclose a second capture, without launches, of the pass of `graph`. Both wait for the device.
 * `begin` overwrites the outputs of captured calls. It allocates as much device memory, and as much host memory, as the
 * outputs have. If memory of the outputs was freed or reused, *leaks stays NULL. `end` adds findings on outputs that
 * the capture has changed, restores the outputs, and frees `leaks`, which may be NULL. report NULL: the capture failed,
 * and no findings are added. */
typedef struct bg__leaks bg__leaks;
bg_status bg__leaks_begin(bg__leaks **leaks, bg_graph *graph, cudaStream_t stream);
bg_status bg__leaks_end(bg__leaks *leaks, bg_report *report);

/* BG_CHECK_LEAKS: finds captured calls that have outputs but left no node in the graph (idle_calls.c). */
bg_status bg__check_idle_calls(bg_graph *graph, bg_report *report);

#endif
