/* Compares two tensors that should be equal. */
#ifndef BG_DEBUG_COMPARE_H
#define BG_DEBUG_COMPARE_H

#include <breakgraph/shadow.h>
#include "kernels/library/compare.h"

#include "debug/report/report.h"

/* Compares `got` with `expected`, which both have the dtype and shape of `shape`. room: a bgk_difference in device
 * memory. Waits for stream. */
bg_status bg__compare(const bg_tensor *shape, const void *expected, const void *got, const bg_tolerance *tolerance,
                      bgk_difference *room, cudaStream_t stream, bgk_difference *found);

/* Makes several comparisons with one wait. `begin` sets `count` places of `room`, at most BG__COMPARED_TOGETHER.
 * `queue` queues a comparison, as in bg__compare, at one of these places. `read` waits for `stream`, and gets the
 * results at all places. */
enum { BG__COMPARED_TOGETHER = 64 };
bg_status bg__compare_begin(bgk_difference *room, size_t count, cudaStream_t stream);
bg_status bg__compare_queue(const bg_tensor *shape, const void *expected, const void *got,
                            const bg_tolerance *tolerance, bgk_difference *place, cudaStream_t stream);
bg_status bg__compare_read(const bgk_difference *room, size_t count, cudaStream_t stream, bgk_difference *found);

/* Writes "3 of 64 elements (f32) differ ...", with the largest errors. Only the comparisons of the report have counts
 * of NaN, ULP and digests. Returns `text`. */
const char *bg__compare_text(const bg_tensor *shape, const bgk_difference *difference, char *text, size_t bytes);

/* Adds the difference to the report's comparisons. against: "eager" or "reference". */
bg_status bg__comparison_record(bg_report *report, const bg__call *call, const char *field, const bg_tensor *shape,
                                const char *against, const bgk_difference *difference);

#endif
