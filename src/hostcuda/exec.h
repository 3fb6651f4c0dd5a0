/* Executable graphs. A launch holds the program as it was then: later updates, even the end of the executable graph,
 * do not reach it. */
#ifndef HOSTCUDA_EXEC_H
#define HOSTCUDA_EXEC_H

#include "hostcuda/ops.h"
#include "hostcuda/state.h"

struct hc_order;
struct hc_program; /* ops in the order in which they run; shared, copied before it changes */

size_t hc_program_size(const struct hc_program *program);
const struct hc_op *hc_program_op(const struct hc_program *program, size_t index);
/* NULL: they run in their sequence. */
const struct hc_order *hc_program_order(const struct hc_program *program);
void hc_program_release(struct hc_program *program);

#endif
