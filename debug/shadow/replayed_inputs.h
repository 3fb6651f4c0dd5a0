/* The inputs of the calls of a replay, beside those of the eager pass. */
#ifndef BG_DEBUG_REPLAYED_INPUTS_H
#define BG_DEBUG_REPLAYED_INPUTS_H

#include "comparison.h"

/* Compares the inputs of a call of the graph that is about to begin with those of the same call in the eager run. One
 * that an earlier call made there, and that differs, is set to that call's output. */
bg_status bg__inputs_check(bg__shadow *shadow, const bg__call *call, const void *args);

/* The field's tensor, as the eager pass had it; NULL: it was no tensor there. */
const bg_tensor *bg__input_find(const bg__call_inputs *inputs, const char *field);
/* Whether an earlier call of the eager pass has written the tensor. */
bool bg__input_is_written(const bg__shadow *shadow, const bg__call_inputs *inputs, const bg_tensor *tensor);
/* The advice where bg_graph_args has given the arguments of a call to the program. */
extern const char bg__changed_advice[];

#endif
