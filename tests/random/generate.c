/* The program of a seed. Instructions are thrown like dice, and stay where the model finds them legal. */
#include <string.h>

#include "model.h"

/* One of a list of weights, by its index. */
static int weighted(dice *d, const int *weights, int count)
{
    int total = 0, i, left;
    for (i = 0; i < count; i++)
        total += weights[i];
    left = dice_below(d, total);
    for (i = 0; left >= weights[i]; i++)
        left -= weights[i];
    return i;
}

static const int op_weights[OP_KINDS] = {30, 18, 10, 10, 14, 7, 6, 6, 9, 6};

static void throw_pattern(dice *d, pattern *p)
{
    static const char *const wild[] = {"", "eager_", "e", "m", "b", "p"};
    char name[24];
    bool eager = dice_percent(d, 50);

    *p = (pattern){.negate = dice_percent(d, eager ? 75 : 20), .parent_index = -1, .index = -1};
    op_name((op_kind)weighted(d, op_weights, OP_NEST + 1), eager, name, sizeof name);
    p->wild = dice_percent(d, 20);
    snprintf(p->name, sizeof p->name, "%s", p->wild ? wild[dice_below(d, 6)] : name);
    if (dice_percent(d, 20)) {
        static const char *const inner[] = {"mix", "bump", "eager_bump"};
        snprintf(p->parent, sizeof p->parent, "%s", dice_percent(d, 75) ? "nest" : "eager_nest");
        p->parent_index = dice_percent(d, 50) ? dice_below(d, 2) : -1;
        p->wild = false;
        snprintf(p->name, sizeof p->name, "%s", inner[dice_below(d, 3)]);
    }
    if (dice_percent(d, 30))
        p->index = dice_below(d, 2);
}

void throw_patterns(dice *d, program *p)
{
    p->pattern_count = 1 + dice_below(d, PATTERNS);
    for (int i = 0; i < p->pattern_count; i++)
        throw_pattern(d, &p->patterns[i]);
}

/* In which ways it also runs, and what it does there that a capture's options do not tell. */
static void throw_ways(dice *d, program *p)
{
    static const int fault_weights[] = {46, 18, 18, 18};

    p->pool = dice_percent(d, 60);
    p->helper = dice_percent(d, 40);
    p->faults = (faults)weighted(d, fault_weights, 4);
    for (int w = 0; w < WAY_COUNT; w++)
        p->ways |= (unsigned)dice_percent(d, 40) << w;
}

static void throw_options(dice *d, program *p)
{
    static const int debug_weights[] = {62, 12, 12, 14};
    static const bg_debug debugs[] = {BG_DEBUG_OFF, BG_DEBUG_FORWARD, BG_DEBUG_OPS, BG_DEBUG_SYNC};
    static const int mode_weights[] = {60, 20, 20};
    static const enum cudaStreamCaptureMode modes[] = {cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeGlobal,
                                                       cudaStreamCaptureModeRelaxed};

    p->debug = debugs[weighted(d, debug_weights, 4)];
    p->debug_from_environment = dice_percent(d, 40);
    p->breakable = p->debug == BG_DEBUG_OPS || p->debug == BG_DEBUG_FORWARD || !dice_percent(d, 12);
    p->whole = p->debug == BG_DEBUG_FORWARD || dice_percent(d, 40);
    p->launch = dice_percent(d, 75);
    p->state = dice_percent(d, p->launch ? 10 : 60);
    p->join_at_end = dice_percent(d, 25);
    p->barriers = dice_percent(d, 40);
    p->workers = !p->launch && dice_percent(d, 50) ? 1 + dice_below(d, 3) : 0;
    p->upload = dice_percent(d, p->launch ? 2 : 30);
    p->zero_tail = dice_percent(d, 50);
    p->churn = dice_percent(d, 20);
    p->queued = dice_percent(d, 35);
    p->move = dice_percent(d, 35) ? 2 + dice_below(d, 3) : 1;
    p->mode = modes[weighted(d, mode_weights, 3)];
    p->replays = REPLAYS;
    if (dice_percent(d, 68))
        throw_patterns(d, p);
    p->patterns_from_environment = dice_percent(d, 40);
}

/* ---- instructions ---- */

static op_kind throw_op(dice *d, const program *p)
{
    if (p->helper && dice_percent(d, 55))
        return OP_MIX;
    if (p->faults == FAULTS_HANDLED && dice_percent(d, 30))
        return OP_NEST;
    return (op_kind)weighted(d, op_weights, OP_KINDS);
}

/* By which its body fails, or one in it. */
static void throw_fault(dice *d, const program *p, instruction *in)
{
    if (p->faults == FAULTS_NONE || dice_percent(d, p->faults == FAULTS_HANDLED ? 10 : 60))
        in->variant &= ~NEST_FAILS;
    in->eager |= in->op == OP_NEST && (in->variant & NEST_FAILS);
    if (p->faults >= FAULTS_RETURNED && dice_percent(d, 22))
        in->failing = dice_percent(d, 40) ? FAILING_AT_CAPTURE : FAILING_LATER;
}

static void throw_call(dice *d, const program *p, instruction *in)
{
    static const int place_weights[PLACES] = {40, 15, 12, 18, 15};
    const op_shape *shape;

    in->op = throw_op(d, p);
    shape = &op_shapes[in->op];
    in->eager = shape->only_eager || dice_percent(d, p->helper ? 20 : 45);
    in->place = (place)weighted(d, place_weights, PLACES);
    in->variant = dice_below(d, NEST_VARIANTS);
    throw_fault(d, p, in);
    in->line = dice_percent(d, p->helper ? 90 : 15) ? HELPER_LINE : in->id;
    in->shorter = dice_percent(d, 15) ? dice_percent(d, 50) ? SHORTER_ALWAYS : SHORTER_SOME : SHORTER_NEVER;
    if (in->op == OP_TELL) {
        in->place = PLACE_HERE;
        in->shorter = SHORTER_NEVER;
    }
    in->change_value = dice_percent(d, 30);
    in->change_input = shape->in > 0 && dice_percent(d, 20) ? dice_below(d, BUFFERS) : -1;
    for (int i = 0; i < shape->out; i++) {
        if (shape->in_place || in->shorter || dice_percent(d, p->helper ? 40 : 70))
            continue;
        in->given[i] = dice_percent(d, 60) ? GIVEN_SHAPE : GIVEN_NOTHING;
        in->out[i] = BUFFERS + dice_below(d, SLOTS);
    }
}

/* One of the wanted, if a few throws find it. */
static int throw_slot(dice *d, const bool wanted[SLOTS])
{
    int slot = dice_below(d, SLOTS);
    for (int tries = 1; tries < SLOTS && !wanted[slot]; tries++)
        slot = dice_below(d, SLOTS);
    return BUFFERS + slot;
}

/* A stream that takes part, or one that could. */
static void throw_instruction(dice *d, const model *m, instruction *in)
{
    static const int weights[] = {
        [CALL] = 50,   [WAIT] = 30,       [BREAK] = 5,       [KERNEL] = 6,    [COPY] = 4,  [FILL] = 2,
        [RECORD] = 10, [WAIT_EVENT] = 14, [RECORD_BARE] = 6, [WAIT_BARE] = 8, [TAKE] = 12, [RELEASE] = 10};

    in->kind = (instruction_kind)weighted(d, weights, sizeof weights / sizeof weights[0]);
    if (m->program->helper && dice_percent(d, 30))
        in->kind = CALL;
    do
        in->stream = dice_below(d, STREAMS);
    while (in->kind != WAIT && in->kind != WAIT_EVENT && !m->member[in->stream]);
    do
        in->on = dice_below(d, STREAMS);
    while (!m->member[in->on]);
    in->event = dice_below(d, EVENTS);
    in->change_input = -1;
    in->k = (uint32_t)dice_below(d, 100);
    for (int i = 0; i < 2; i++)
        in->in[i] = dice_percent(d, m->program->helper ? 40 : 15) ? throw_slot(d, m->slot_set) : dice_below(d, CELLS);
    for (int i = 0; i < OUTPUTS; i++)
        in->out[i] = dice_below(d, dice_percent(d, 35) ? CELLS : BUFFERS);
    if (in->kind == TAKE)
        in->out[0] = BUFFERS + dice_below(d, SLOTS);
    if (in->kind == RELEASE)
        in->out[0] = throw_slot(d, m->slot_taken);
    if (in->kind == CALL)
        throw_call(d, m->program, in);
    /* Few inputs suit a listener. */
    for (int tries = 0; in->kind == CALL && in->op == OP_LISTEN && tries < 20 && !model_may_listen(m, in); tries++) {
        in->event = dice_below(d, EVENTS);
        in->in[0] = dice_below(d, CELLS);
        in->change_input = -1;
    }
}

void generate(program *p, uint64_t seed)
{
    dice d = {seed};
    int length;
    model m;

    memset(p, 0, sizeof *p);
    p->seed = seed;
    p->schedule = dice_roll(&d) | 1; /* 0 would be the order of issue */
    throw_options(&d, p);
    throw_ways(&d, p);
    length = 4 + dice_below(&d, 24);
    model_start(&m, p);
    for (int tries = 0; p->length < length && tries < 400; tries++) {
        instruction in = {.id = p->length, .line = p->length};
        throw_instruction(&d, &m, &in);
        if (model_step(&m, &in))
            p->list[p->length++] = in;
    }
    (void)repair(p); /* there is room: at most a join for each stream */
}
