#include "faults.h"
#include "fault_kinds.h"
#include "examples/llama/ops.h"
#include "examples/llama/random.h"
#include <breakgraph/workspace.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[LLAMA_FAULT_KINDS] = {
    [LLAMA_FAULT_BRANCH] = "branch",     [LLAMA_FAULT_COUNTER] = "counter",
    [LLAMA_FAULT_LEAKED] = "leaked",     [LLAMA_FAULT_TEMPORARY] = "temporary",
    [LLAMA_FAULT_SKIPPED] = "skipped",   [LLAMA_FAULT_HOST_COPY] = "host-copy",
    [LLAMA_FAULT_CACHED] = "cached",     [LLAMA_FAULT_OVERWRITE] = "beside",
    [LLAMA_FAULT_POSITION] = "position", [LLAMA_FAULT_NAN] = "nan",
    [LLAMA_FAULT_PAIR] = "pair",         [LLAMA_FAULT_CANCEL] = "cancel",
    [LLAMA_FAULT_VARIES] = "varies"};

/* The ops that can get faults, and how often a pass calls them. Eager ops are never captured, and `advance` has no
 * row. */
typedef struct op_calls {
    const char *op;
    int per_layer, beside;
    bool positioned;
} op_calls;
enum { EMBEDDING, RMS_NORM, MATMUL, ROPE, KV_APPEND, ADD, SILU_GATE, OPS };
static const op_calls ops[OPS] = {{"embedding", 0, 1, false}, {"rms_norm", 2, 1, false}, {"matmul", 7, 1, false},
                                  {"rope", 2, 0, true},       {"kv_append", 1, 0, true}, {"add", 2, 0, false},
                                  {"silu_gate", 1, 0, false}};

static llama_planted_call planted[LLAMA_FAULTS_MAX];
static int planted_count;
static int next_call[OPS]; /* in the current pass */

const char *llama_fault_name(llama_fault kind)
{
    return names[kind];
}

/* ---- in the ops --------------------------------------------------------------------------------- */

static int find_op(const char *name)
{
    int op = 0;
    while (op < OPS && strcmp(ops[op].op, name) != 0)
        op++;
    return op;
}

int llama_faults_next_call(const char *name)
{
    int op = find_op(name);
    if (op == EMBEDDING) /* every pass begins with it */
        memset(next_call, 0, sizeof next_call);
    return op == OPS ? -1 : next_call[op]++;
}

/* Returns the value that faults.h has added to the op's arguments. */
static int read_call_number(const bg_op *op, const void *args)
{
    for (uint32_t i = 0; i < op->field_count; i++)
        if (strcmp(op->fields[i].name, "call") == 0)
            return *(const int *)(const void *)((const char *)args + op->fields[i].offset);
    return -1;
}

bool llama_faults_prevent_rule(const bg_rule *rule, const void *const *calls)
{
    for (int i = 0; i < rule->count; i++)
        for (int k = 0; k < planted_count; k++)
            if (planted[k].call == read_call_number(rule->calls[i], calls[i]) &&
                strcmp(planted[k].op, rule->calls[i]->name) == 0)
                return true;
    return false;
}

bg_status llama_faults_run(const bg_op *op, int call, void *args, bg_op_body right, cudaStream_t stream)
{
    for (int i = 0; i < planted_count; i++)
        if (planted[i].call == call && strcmp(planted[i].op, op->name) == 0)
            return llama_planted_call_run(&planted[i], op, args, right, stream);
    return right(args, stream);
}

/* ---- planting ----------------------------------------------------------------------------------- */

static int max_row_elements(const llama_config *c)
{
    const int rows[] = {c->width, c->hidden, c->heads * c->head_dim, c->vocabulary};
    int largest = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        largest = rows[i] > largest ? rows[i] : largest;
    return largest;
}

typedef struct call_place {
    int op, call;
} call_place;

static bg_status plant_call(llama_fault kind, call_place at, float factor, const llama_config *config)
{
    llama_planted_call *p = &planted[planted_count++];
    size_t bytes = (size_t)max_row_elements(config) * sizeof(float);
    *p = (llama_planted_call){.kind = kind, .op = ops[at.op].op, .call = at.call, .factor = factor};
    snprintf(p->name, sizeof p->name, "%s#%d", p->op, at.call);
    p->host = calloc(1, bytes);
    if (!p->host)
        return bg_report_failure(BG_ERROR_OUT_OF_MEMORY, "llama_faults_plant", "out of host memory",
                                 "free some memory");
    TRY(llama_check_cuda(cudaStreamCreateWithFlags(&p->aside, cudaStreamNonBlocking), "cudaStreamCreateWithFlags"));
    TRY(llama_check_cuda(cudaMalloc((void **)&p->buffer, bytes), "cudaMalloc"));
    TRY(llama_check_cuda(cudaMalloc((void **)&p->counter, sizeof *p->counter), "cudaMalloc"));
    TRY(llama_check_cuda(cudaMemset(p->counter, 0, sizeof *p->counter), "cudaMemset"));
    TRY(llama_check_cuda(cudaMemset(p->buffer, 0, bytes), "cudaMemset"));
    return llama_check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); /* no stream waits for the memsets */
}

/* Chooses among all calls that the kind fits, with equal probability. */
static call_place pick_call(llama_fault kind, uint64_t *random, const llama_config *config)
{
    int count[OPS], total = 0;
    call_place p = {.op = 0};
    for (int i = 0; i < OPS; i++) {
        bool fits = kind != LLAMA_FAULT_POSITION || ops[i].positioned;
        count[i] = fits ? ops[i].per_layer * config->layers + ops[i].beside : 0;
        total += count[i];
    }
    p.call = llama_random_below(random, total);
    while (p.call >= count[p.op])
        p.call -= count[p.op++];
    return p;
}

static bg_status plant_single(llama_fault kind, uint64_t *random, const llama_config *config)
{
    return plant_call(kind, pick_call(kind, random, config), 1, config);
}

static bg_status plant_pair(uint64_t *random, const llama_config *config)
{
    llama_fault kind = (llama_fault)llama_random_below(random, LLAMA_FAULT_SINGLE_KINDS),
                other_kind = (llama_fault)llama_random_below(random, LLAMA_FAULT_SINGLE_KINDS);
    call_place at = pick_call(kind, random, config), other;
    do
        other = pick_call(other_kind, random, config);
    while (other.op == at.op && other.call == at.call);
    TRY(plant_call(kind, at, 1, config));
    return plant_call(other_kind, other, 1, config);
}

/* Plants into a call and into the only call that reads its output; the second output is proportional to the first. */
static bg_status plant_cancel(uint64_t *random, const llama_config *config)
{
    /* of a layer: query, its rope; key, its rope; up, silu_gate; silu_gate, down */
    static const call_place pairs[][2] = {{{MATMUL, 0}, {ROPE, 0}},
                                          {{MATMUL, 1}, {ROPE, 1}},
                                          {{MATMUL, 5}, {SILU_GATE, 0}},
                                          {{SILU_GATE, 0}, {MATMUL, 6}}};
    const call_place *pair = pairs[llama_random_below(random, sizeof pairs / sizeof pairs[0])];
    int layer = llama_random_below(random, config->layers);
    for (int i = 0; i < 2; i++) {
        call_place at = {pair[i].op, layer * ops[pair[i].op].per_layer + pair[i].call};
        TRY(plant_call(LLAMA_FAULT_CANCEL, at, i == 0 ? 2 : 0.5f, config));
    }
    return BG_OK;
}

bg_status llama_faults_plant(llama_fault kind, uint64_t seed, const llama_config *config)
{
    uint64_t random = seed * LLAMA_FAULT_KINDS + (uint64_t)kind;
    bg_status status;
    llama_faults_clear();
    if (kind == LLAMA_FAULT_PAIR)
        status = plant_pair(&random, config);
    else if (kind == LLAMA_FAULT_CANCEL)
        status = plant_cancel(&random, config);
    else
        status = plant_single(kind, &random, config);
    if (status != BG_OK)
        llama_faults_clear();
    return status;
}

void llama_faults_clear(void)
{
    if (planted_count > 0)
        cudaDeviceSynchronize(); /* work may still use the memory; no caller could receive an error */
    for (int i = 0; i < planted_count; i++) {
        llama_planted_call *p = &planted[i];
        if (p->aside)
            cudaStreamDestroy(p->aside);
        cudaFree(p->buffer);
        cudaFree(p->counter);
        free(p->host);
    }
    planted_count = 0;
}

int llama_faults_list(const char *calls[LLAMA_FAULTS_MAX])
{
    for (int i = 0; i < planted_count; i++)
        calls[i] = planted[i].name;
    return planted_count;
}

void llama_faults_print(FILE *out)
{
    for (int i = 0; i < planted_count; i++)
        fprintf(out, "%s %s (%s)", i == 0 ? "planted:" : " and", planted[i].name, names[planted[i].kind]);
    fputs(planted_count == 0 ? "nothing is planted\n" : "\n", out);
}

/* ---- the command line --------------------------------------------------------------------------- */

static struct {
    llama_fault kind;
    uint64_t seed;
} asked_fault = {LLAMA_FAULT_KINDS, 0};

static int fail_with_allowed(const char *text, char *error)
{
    int length = snprintf(error, GGUF_ERROR_SIZE, "--plant-faults \"%.60s\"; allowed: KIND:SEED, KIND one of", text);
    for (int i = 0; i < LLAMA_FAULT_KINDS; i++)
        length += snprintf(error + length, (size_t)(GGUF_ERROR_SIZE - length), " %s", names[i]);
    return -1;
}

static int parse_fault(const char *text, char *error)
{
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : 0;
    int kind = 0;
    char *end;
    if (!colon || colon[1] < '0' || colon[1] > '9')
        return fail_with_allowed(text, error);
    while (kind < LLAMA_FAULT_KINDS && (strlen(names[kind]) != length || strncmp(names[kind], text, length) != 0))
        kind++;
    errno = 0;
    asked_fault.kind = (llama_fault)kind;
    asked_fault.seed = strtoull(colon + 1, &end, 10);
    return kind == LLAMA_FAULT_KINDS || *end || errno ? fail_with_allowed(text, error) : 0;
}

int llama_faults_parse_option(int *argc, char ***argv, char *error)
{
    if (*argc < 2 || strcmp((*argv)[1], "--plant-faults") != 0)
        return 0;
    if (*argc < 3)
        return fail_with_allowed("", error);
    if (parse_fault((*argv)[2], error))
        return -1;
    *argc -= 2;
    *argv += 2;
    return 0;
}

bg_status llama_faults_plant_option(const llama_config *config)
{
    if (asked_fault.kind == LLAMA_FAULT_KINDS)
        return BG_OK;
    TRY(llama_faults_plant(asked_fault.kind, asked_fault.seed, config));
    llama_faults_print(stderr);
    return BG_OK;
}
