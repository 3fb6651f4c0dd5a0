/* Work of a pass that runs when the pass is captured, and so is in no segment. */
#ifndef BG_DEBUG_LEAKS_H
#define BG_DEBUG_LEAKS_H

#include "debug/report/report.h"

#define BG__LEAK_ADVICE                                                                                                \
    "launch on the stream that the body is given, bind library handles to it (bg_cublas_bind), and fork other "        \
    "streams "                                                                                                         \
    "from it (bg_stream_wait_stream)"

/* Around a capture, without launches, of the pass that graph is a capture of. begin overwrites the outputs of its
 * captured calls; *leaks stays NULL where they are no longer where they were. end tells report of those that the
 * capture has changed (NULL: it failed, nothing is told), puts back what all of them held, and frees leaks. Both wait
 * for the device; begin takes as much device memory again as the outputs, and host memory. end takes NULL. */
typedef struct bg__leaks bg__leaks;
bg_status bg__leaks_begin(bg__leaks **leaks, bg_graph *graph, cudaStream_t stream);
bg_status bg__leaks_end(bg__leaks *leaks, bg_report *report);

/* BG_CHECK_LEAKS: captured calls with outputs that left no node in the graph (idle_calls.c). */
bg_status bg__check_absent(bg_graph *graph, bg_report *report);

#endif
