#include "traffic.h"
#include "examples/llama/ops.h"
#include "examples/llama/random.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double random_gap(uint64_t *state, double rate)
{
    const double uniform = (double)(llama_random(state) >> 11) / 9007199254740992.0; /* below 1 */
    return -log(1 - uniform) / rate;
}

static bg_status make_arrival(llama_arrival *arrival, uint64_t *state, const llama_traffic_options *o)
{
    arrival->prompt_count = 1 + llama_random_below(state, o->longest_prompt);
    arrival->tokens = 1 + llama_random_below(state, o->most_tokens);
    arrival->prompt = malloc((size_t)arrival->prompt_count * sizeof *arrival->prompt);
    if (!arrival->prompt)
        return bg_report_failure(BG_ERROR_OUT_OF_MEMORY, "llama_traffic_create", "out of host memory",
                                 "ask for fewer requests");
    for (int i = 0; i < arrival->prompt_count; i++)
        arrival->prompt[i] = llama_random_below(state, o->vocabulary);
    return BG_OK;
}

bg_status llama_traffic_create(llama_traffic *traffic, const llama_traffic_options *o)
{
    uint64_t state = o->seed;
    double at = 0;
    memset(traffic, 0, sizeof *traffic);
    traffic->list = calloc((size_t)o->count, sizeof *traffic->list);
    if (!traffic->list)
        return bg_report_failure(BG_ERROR_OUT_OF_MEMORY, "llama_traffic_create", "out of host memory",
                                 "ask for fewer requests");
    traffic->count = o->count;
    for (int i = 0; i < o->count; i++) {
        traffic->list[i].at = at += random_gap(&state, o->rate);
        TRY(make_arrival(&traffic->list[i], &state, o));
    }
    return BG_OK;
}

void llama_traffic_free(llama_traffic *traffic)
{
    for (int i = 0; i < traffic->count; i++)
        free(traffic->list[i].prompt);
    free(traffic->list);
    memset(traffic, 0, sizeof *traffic);
}
