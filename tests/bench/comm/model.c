/* A decode step of one text in tensor parallel, by a model of SmolLM2-135M's shape with random weights (on the host
 * device, of the small model's): in segments, as one graph, and eagerly; the sums over the ranks in the graphs, or
 * eager ops between them. */
#include "tests/bench/decoder.h"
#include "examples/llama/ranks.h"
#include "ranks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ALONE: captured without the ranks' table, so that nobody compares or watches. */
enum { SEGMENTS, FULL, EAGER, SEGMENTS_EAGER_SUMS, FULL_EAGER_SUMS, SEGMENTS_ALONE, FULL_ALONE, WAYS };
static const struct {
    bg_mode mode;
    bool eager_sums, alone;
} ways[WAYS] = {{BG_MODE_PIECEWISE, false, false}, {BG_MODE_FULL, false, false}, {BG_MODE_NONE, false, false},
                {BG_MODE_PIECEWISE, true, false},  {BG_MODE_FULL, true, false},  {BG_MODE_PIECEWISE, false, true},
                {BG_MODE_FULL, false, true}};
_Static_assert((int)WAYS <= (int)CONTENDERS_MAX, "ways");

enum { SEED = 1 };

/* max |difference| / max |logit|: fp32 has 6e-8, and some hundred sums lie before each. */
static const double tolerance = 2e-5;

typedef struct turn {
    decoder decoder;
    const team *team;
} turn;

static bg_status run(void *state)
{
    turn *t = state;
    return decoder_step(&t->decoder);
}

static bg_status meet(void *state)
{
    const turn *t = state;
    return team_meet(t->team);
}

/* ---- the same work -------------------------------------------------------------------------------------------- */

static bg_status read_step(turn *t, float *logits)
{
    bg_status status;
    BG__TRY(decoder_step(&t->decoder));
    BG__TRY_CUDA(cudaMemcpyAsync(logits, t->decoder.logits.data, bg_tensor_bytes(&t->decoder.logits),
                                 cudaMemcpyDeviceToHost, t->team->stream));
    BG__TRY_CUDA(cudaStreamSynchronize(t->team->stream));
    status = bg_comm_check(t->team->comm);
done:
    return status;
}

static double distance(const float *found, const float *reference, int count)
{
    double most = 0, largest = 0;
    for (int i = 0; i < count; i++) {
        double apart = fabs((double)found[i] - reference[i]);
        most = isnan(apart) ? INFINITY : fmax(most, apart);
        largest = fmax(largest, fabs((double)reference[i]));
    }
    return largest > 0 ? most / largest : INFINITY;
}

static int breaks_of(const turn *turns, int way)
{
    bg_graph_info info = BG_GRAPH_INFO_INIT;
    return bg_graph_get_info(decoder_graph(&turns[way].decoder), &info) == BG_OK ? info.breaks : 0;
}

/* The environment, or an op, may leave another shape than the way's name tells. */
static bg_status check_breaks(const turn *turns, const llama_config *config)
{
    const int eager = config->layers + 1, sums = 2 * config->layers; /* attention and sampling; after each half */
    const int expected[WAYS] = {eager, 0, 0, eager + sums, sums, eager, 0};
    for (int i = 0; i < WAYS; i++)
        if (i != EAGER && breaks_of(turns, i) != expected[i])
            return bg__fail(BG_ERROR_MISMATCH,
                            "way %d has %d breaks, expected %d: is BG_DEBUG, BG_EAGER_OPS or BG_BREAKABLE set?", i,
                            breaks_of(turns, i), expected[i]);
    return BG_OK;
}

static bg_status check_ways(turn *turns, int vocabulary)
{
    float *reference = calloc(2 * (size_t)vocabulary, sizeof *reference), *found;
    bg_status status = BG_OK;

    if (reference == NULL) {
        status = bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %d logits", vocabulary);
        goto done;
    }
    found = reference + vocabulary;
    BG__TRY(read_step(&turns[EAGER], reference));
    for (int i = 0; i < WAYS; i++) {
        double apart;
        BG__TRY(read_step(&turns[i], found));
        apart = distance(found, reference, vocabulary);
        if (apart > tolerance) {
            status = bg__fail(BG_ERROR_MISMATCH, "way %d gives other logits than the eager one: %.2g of the largest", i,
                              apart);
            goto done;
        }
    }
done:
    free(reference);
    return status;
}

/* ---- figures -------------------------------------------------------------------------------------------------- */

static bg_status add(team *team, const timing *timings, int way, int against, int breaks)
{
    static const char *const names[WAYS] = {
        "in segments", "one graph", "eager", "in segments, eager sums", "one graph but for eager sums",
        "unwatched",   "unwatched"};
    row row = {.section = "ranks, model", .against = names[against], .breaks = breaks};
    snprintf(row.what, sizeof row.what, "decode step, %s", names[way]);
    return report_timings(&team->report, row, &timings[way], &timings[against], 0, 0);
}

static bg_status report_steps(team *team, const turn *turns, const timing *timings)
{
    bg_status status;

    BG__TRY(add(team, timings, SEGMENTS, FULL, breaks_of(turns, SEGMENTS)));
    BG__TRY(add(team, timings, SEGMENTS, EAGER, 0));
    BG__TRY(add(team, timings, FULL, EAGER, 0));
    BG__TRY(add(team, timings, SEGMENTS_EAGER_SUMS, SEGMENTS, breaks_of(turns, SEGMENTS_EAGER_SUMS)));
    BG__TRY(add(team, timings, FULL_EAGER_SUMS, FULL, breaks_of(turns, FULL_EAGER_SUMS)));
    BG__TRY(add(team, timings, SEGMENTS, SEGMENTS_ALONE, 0));
    BG__TRY(add(team, timings, FULL, FULL_ALONE, 0));
    printf("\ntokens a second: %.0f in segments, %.0f as one graph, %.0f eagerly; with eager sums %.0f in segments, "
           "%.0f as one graph but for them\n",
           1e6 / timings[SEGMENTS].total.median, 1e6 / timings[FULL].total.median, 1e6 / timings[EAGER].total.median,
           1e6 / timings[SEGMENTS_EAGER_SUMS].total.median, 1e6 / timings[FULL_EAGER_SUMS].total.median);
    printf("breaks: %d in segments, %d with eager sums, %d in one graph but for eager sums\n",
           breaks_of(turns, SEGMENTS), breaks_of(turns, SEGMENTS_EAGER_SUMS), breaks_of(turns, FULL_EAGER_SUMS));
done:
    return status;
}

/* ---- the model ------------------------------------------------------------------------------------------------ */

static bg_status make_part(const team *team, const llama_ranks *ranks, llama_device_weights *device)
{
    llama_weights weights = {.layer = NULL};
    llama_part part;
    char error[GGUF_ERROR_SIZE];
    bg_status status;

    if (llama_weights_random(&weights, team->report.on_gpu ? &llama_smollm2 : &llama_small, SEED, error) != 0) {
        status = bg__fail(BG_ERROR_OUT_OF_MEMORY, "%s", error);
        goto done;
    }
    BG__TRY(llama_split(&part, &weights.config, ranks->rank, ranks->size));
    status = llama_device_weights_create_part(device, &weights, &part, ranks, team->stream);
done:
    llama_weights_free(&weights);
    return status;
}

static bg_status open_way(turn *t, const team *team, const llama_device_weights *weights, int way)
{
    decoder_options options = {.mode = ways[way].mode,
                               .eager_ops = ways[way].eager_sums ? "all_reduce" : NULL,
                               .ranks = ways[way].alone ? NULL : bg_comm_ranks(team->comm)};
    t->team = team;
    return decoder_open(&t->decoder, weights, &options, team->stream);
}

bg_status bench_ranks_model(team *team)
{
    turn turns[WAYS] = {{.team = NULL}};
    contender contenders[WAYS];
    plan plan = {.stream = team->stream, .samples = team->report.samples, .warm_up = team->report.warm_up, .batch = 1};
    const llama_ranks ranks = {.rank = bg_comm_rank(team->comm), .size = bg_comm_size(team->comm), .comm = team->comm};
    llama_device_weights device = {.layer = NULL};
    timing timings[WAYS];
    char title[160];
    bg_status status;

    snprintf(title, sizeof title, "A decode step of one text on %d ranks, %s, random weights (seed %d)", ranks.size,
             team->report.on_gpu ? "a model of SmolLM2-135M's shape" : "the small model", SEED);
    report_section(title);
    BG__TRY(make_part(team, &ranks, &device));
    for (int i = 0; i < WAYS; i++) {
        BG__TRY(open_way(&turns[i], team, &device, i));
        contenders[i] = (contender){run, meet, &turns[i]};
    }
    BG__TRY(check_breaks(turns, &device.config));
    BG__TRY(check_ways(turns, device.config.vocabulary));
    BG__TRY(team_meet(team));
    BG__TRY(bench_measure(contenders, WAYS, &plan, timings));
    BG__TRY(report_steps(team, turns, timings));
done:
    for (int i = 0; i < WAYS; i++)
        decoder_close(&turns[i].decoder);
    llama_device_weights_free(&device);
    return status;
}
