#include "bugs.h"

#include <string.h>

#include "machine.h"
#include "model.h"
#include "ops.h"

enum { BLOCK = 4096, BEYOND = ELEMENTS / 2 * sizeof(uint32_t), TENSOR = ELEMENTS * sizeof(uint32_t), TENSORS = 8 };

static bug *the_bug; /* NULL: there is none */

const char *const bug_texts[BUG_SORT_COUNT] = {
#define BUG_TEXT(name, text, kind, other) text,
    BUG_SORTS(BUG_TEXT)};
static const char *const kinds[BUG_SORT_COUNT][2] = {
#define BUG_KIND(name, text, kind, other) {kind, other},
    BUG_SORTS(BUG_KIND)};

/* ---- where it can be ---- */

bool make_capturable(program *p)
{
    p->debug = BG_DEBUG_OFF;
    p->launch = p->join_at_end = p->state = false;
    return repair(p);
}

/* Calls of BG_DEBUG=forward have no names; what never runs may reach beyond its memory. */
bool bug_needs_recapture(bug_sort sort)
{
    return sort == BUG_SCALAR || sort == BUG_ALTERNATES || sort == BUG_BRANCH || sort == BUG_LEAK;
}

static bool suit(program *p, bug_sort sort)
{
    bool recapture = bug_needs_recapture(sort);
    if (recapture || sort == BUG_OUT_OF_RANGE || sort == BUG_STACK)
        return make_capturable(p);
    if (p->debug == BG_DEBUG_FORWARD)
        p->debug = BG_DEBUG_OFF;
    return repair(p);
}

/* Which tensors have memory of the program's, in the order of the fields; outputs only, or all. */
static int list_tensors(const instruction *in, bool outputs, int list[TENSORS])
{
    const op_shape *shape = &op_shapes[in->op];
    int inputs = shape->in_place ? 0 : shape->in, count = 0;
    for (int i = 0; i < inputs && !outputs; i++)
        list[count++] = i;
    for (int i = 0; i < shape->out; i++)
        if (in->given[i] == GIVEN_MEMORY)
            list[count++] = inputs + i;
    return count;
}

static bool can_have(const instruction *in, bool eager, bug_sort sort)
{
    int list[TENSORS];
    switch (sort) {
    case BUG_OVERLAP: return list_tensors(in, true, list) >= 2;
    case BUG_BRANCH: return in->op != OP_TELL && list_tensors(in, true, list) == op_shapes[in->op].out;
    case BUG_STACK: return !eager;
    case BUG_LEAK: /* all that the body does goes elsewhere, and to where it is looked for */
        return !eager && in->place == PLACE_HERE && list_tensors(in, true, list) == op_shapes[in->op].out &&
               (in->op == OP_MIX || in->op == OP_BUMP || in->op == OP_PAIR || in->op == OP_SPLIT);
    case BUG_SCALAR:
    case BUG_NAN: return true;
    default: return list_tensors(in, false, list) > 0;
    }
}

static void choose_tensors(bug *b, const instruction *in, dice *d)
{
    int list[TENSORS], count = list_tensors(in, b->sort == BUG_OVERLAP, list), first;
    if (count == 0)
        return;
    first = dice_below(d, count);
    b->tensor = list[first];
    b->other = list[(first + 1) % count];
}

/* Whether the program is legal without the instruction, and its other calls are as eager: what is joined by a break, or
 * named by its number, may be not. */
static bool can_be_left_out(const program *p, const call_list *calls, int at)
{
    program without = *p;
    call_list left;
    int length;

    without.length = length = p->length - 1;
    memmove(&without.list[at], &without.list[at + 1], (size_t)(length - at) * sizeof without.list[0]);
    if (!repair(&without) || without.length != length)
        return false;
    model_list_calls(&without, &left);
    for (int i = 0; i < length; i++)
        if (without.list[i].id != p->list[i + (i >= at)].id || left.eager[i] != calls->eager[i + (i >= at)])
            return false;
    return true;
}

static bool choose(bug *b, const program *p, dice *d)
{
    int can[LENGTH], count = 0, start = dice_below(d, p->length), at = 0;
    const instruction *in;
    call_list calls;
    bool elsewhere;

    model_list_calls(p, &calls);
    for (int i = 0; i < p->length; i++)
        if (p->list[i].kind == CALL && can_have(&p->list[i], calls.eager[i], b->sort) &&
            (b->sort != BUG_BRANCH || can_be_left_out(p, &calls, i)))
            can[count++] = i;
    if (count == 0)
        return false;
    while (at < count - 1 && can[at] < start)
        at++;
    in = &p->list[can[at]];
    b->line = in->id;
    snprintf(b->call, sizeof b->call, "%s", calls.names[can[at]]);
    choose_tensors(b, in, d);
    b->second = dice_percent(d, 50);
    /* An eager body may run while a graph is captured, and the library copies what was left elsewhere. */
    elsewhere = in->op == OP_NEST || in->place != PLACE_HERE || calls.eager[can[at]];
    b->told = b->sort == BUG_MOVED || (b->sort == BUG_OUT_OF_RANGE && (elsewhere || b->second));
    return true;
}

/* ---- its memory ---- */

static bool say(const char *what, const char *why)
{
    fprintf(stderr, "no bug can be planted: %s: %s\n", what, why);
    return false;
}

static bool take_memory(bug *b)
{
    size_t bytes = b->sort == BUG_OUT_OF_RANGE && !b->told ? TENSOR : BLOCK;
    size_t told = b->sort == BUG_OUT_OF_RANGE ? TENSOR : BLOCK;
    int count = b->sort == BUG_ALTERNATES || b->sort == BUG_MOVED ? 2 : 1;
    cudaError_t error = cudaSuccess;

    for (int i = 0; i < count && error == cudaSuccess; i++) {
        error = cudaMalloc((void **)&b->memory[i], bytes);
        if (error == cudaSuccess)
            error = cudaMemset(b->memory[i], 0, bytes);
    }
    if (error == cudaSuccess)
        error = cudaDeviceSynchronize();
    if (error != cudaSuccess)
        return say("cudaMalloc or cudaMemset", cudaGetErrorName(error));
    return !b->told || bg_ledger_alloc(b->memory[0], told, "planted") == BG_OK || say("the ledger", bg_last_error());
}

static bool take_stream(bug *b)
{
    cudaError_t error =
        b->sort == BUG_LEAK ? cudaStreamCreateWithFlags(&b->outside, cudaStreamNonBlocking) : cudaSuccess;
    return error == cudaSuccess || say("cudaStreamCreateWithFlags", cudaGetErrorName(error));
}

bool bug_plant(bug *b, bug_sort sort, program *p)
{
    dice d = {p->seed ^ 0xb06};

    *b = (bug){.sort = sort};
    for (int i = 0; i < p->length; i++)
        p->list[i].line = p->list[i].id;
    if (!suit(p, sort) || p->length == 0 || !choose(b, p, &d) || !take_memory(b) || !take_stream(b)) {
        bug_remove(b);
        return false;
    }
    the_bug = b;
    this_pass.nan_at = sort == BUG_NAN ? b->line : NO_CALL;
    this_pass.stack_copy_at = sort == BUG_STACK ? b->line : NO_CALL;
    this_pass.leak_at = sort == BUG_LEAK ? b->line : NO_CALL;
    this_pass.outside = b->outside;
    return true;
}

static bool let_go(bug *b)
{
    cudaError_t error = cudaFree(b->memory[0]);
    b->memory[0] = NULL;
    if (error == cudaSuccess && b->sort == BUG_REUSED)
        error = cudaMalloc((void **)&b->memory[1], BLOCK);
    return error == cudaSuccess || say("cudaFree or cudaMalloc", cudaGetErrorName(error));
}

bool bug_happen(bug *b)
{
    if (b->sort == BUG_FREED || b->sort == BUG_REUSED)
        return let_go(b);
    if (b->sort != BUG_MOVED)
        return true;
    if (bg_ledger_free(b->memory[0]) != BG_OK || bg_ledger_alloc(b->memory[1], BLOCK, "planted") != BG_OK)
        return say("the ledger", bg_last_error());
    b->changed = true;
    return true;
}

void bug_remove(bug *b)
{
    void *told = b->sort == BUG_MOVED && b->changed ? b->memory[1] : b->memory[0];
    if (b->told && told != NULL && bg_ledger_free(told) != BG_OK)
        fprintf(stderr, "%s\n", bg_last_error());
    for (int i = 0; i < 2; i++)
        released(cudaFree(b->memory[i]), "cudaFree");
    if (b->outside != NULL)
        released(cudaStreamDestroy(b->outside), "cudaStreamDestroy");
    b->outside = NULL;
    the_bug = NULL;
    this_pass.nan_at = this_pass.stack_copy_at = this_pass.leak_at = NO_CALL;
}

/* ---- what it does ---- */

void bug_change(void)
{
    the_bug->changed = true;
}

bool bug_skips(int id)
{
    return the_bug != NULL && the_bug->sort == BUG_BRANCH && the_bug->line == id && the_bug->changed != the_bug->second;
}

void bug_spoil(int id, const bg_op *op, void *args)
{
    const bug *b = the_bug;

    if (b == NULL || b->line != id)
        return;
    switch (b->sort) {
    case BUG_FREED:
    case BUG_REUSED:
    case BUG_MOVED: tensor_of(op, args, b->tensor)->data = b->memory[0]; break;
    case BUG_OUT_OF_RANGE: tensor_of(op, args, b->tensor)->data = b->memory[0] + BEYOND; break;
    case BUG_OVERLAP:
        tensor_of(op, args, b->tensor)->data = b->memory[0];
        tensor_of(op, args, b->other)->data = b->memory[0] + BEYOND;
        break;
    case BUG_SCALAR: *(uint32_t *)field_named(op, args, "k") += b->changed; break;
    case BUG_ALTERNATES: tensor_of(op, args, b->tensor)->data = b->memory[b->changed]; break;
    default: break; /* not in the arguments */
    }
}

/* ---- what is found ---- */

bool bug_is_near(const bug *b, const bg_finding *finding)
{
    size_t length = strlen(b->call);
    return strncmp(finding->call, b->call, length) == 0 &&
           (finding->call[length] == '\0' || finding->call[length] == '/');
}

bool bug_is_named(const bug *b, const bg_finding *finding)
{
    bool kind = strcmp(finding->kind, kinds[b->sort][0]) == 0 ||
                (kinds[b->sort][1] != NULL && strcmp(finding->kind, kinds[b->sort][1]) == 0);
    return kind && strcmp(finding->call, b->call) == 0 && finding->line == b->line;
}
