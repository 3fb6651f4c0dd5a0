/* Compares the inputs of the calls of a replay with those in the eager pass. */
#ifndef BG_DEBUG_REPLAYED_INPUTS_H
#define BG_DEBUG_REPLAYED_INPUTS_H

#include "comparison.h"

/* Compares the inputs of a call of the graph that is about to begin with those of the same call in the eager run. An
 * input that differs, and that an earlier call of the eager run wrote, is set to the output of that call. */
bg_status bg__inputs_compare(bg__shadow *shadow, const bg__call *call, const void *args);

/* The tensor of that field in the eager pass; NULL: it was no tensor there. */
const bg_tensor *bg__eager_input_find(const bg__call_inputs *inputs, const char *field);
/* Whether an earlier call of the eager pass has written the tensor. */
bool bg__eager_input_is_written(const bg__shadow *shadow, const bg__call_inputs *inputs, const bg_tensor *tensor);
/* The advice of findings on arguments that the program may have changed by bg_graph_args. */
extern const char bg__exposed_args_advice[];

#endif
