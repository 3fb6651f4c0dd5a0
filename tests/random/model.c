#include "model.h"

#include <string.h>

const char *const feature_texts[FEATURE_COUNT] = {
#define FEATURE_TEXT(name, text) text,
    FEATURES(FEATURE_TEXT)
#undef FEATURE_TEXT
};

enum { TELLER = STREAMS };

static void has(model *m, feature f)
{
    m->features[f] = true;
}

/* ---- eager or captured ---- */

static bool name_matches(const pattern *p, const char *name)
{
    return p->wild ? strncmp(p->name, name, strlen(p->name)) == 0 : strcmp(p->name, name) == 0;
}

static bool matches(const pattern *p, const call_name *call)
{
    if (!name_matches(p, call->name) || (p->index >= 0 && p->index != call->index))
        return false;
    if (p->parent[0] != '\0')
        return call->parent != NULL && strcmp(p->parent, call->parent) == 0 &&
               (p->parent_index < 0 || p->parent_index == call->parent_index);
    return p->index < 0 || call->parent == NULL; /* a bare name matches at any depth, a numbered one at the top */
}

bool model_is_eager(const program *p, const call_name *call, bool declared)
{
    bool eager = declared && !p->inline_eager;
    if (!p->breakable)
        return false;
    if (p->debug == BG_DEBUG_OPS)
        return true;
    for (int i = 0; i < p->pattern_count; i++)
        if (matches(&p->patterns[i], call))
            eager = !p->patterns[i].negate;
    return eager;
}

void pattern_text(const pattern *p, char *text, size_t bytes)
{
    size_t used = (size_t)snprintf(text, bytes, "%s", p->negate ? "!" : "");
    if (p->parent[0] != '\0')
        used += (size_t)snprintf(text + used, bytes - used, "%s", p->parent);
    if (p->parent[0] != '\0' && p->parent_index >= 0)
        used += (size_t)snprintf(text + used, bytes - used, "#%d", p->parent_index);
    used += (size_t)snprintf(text + used, bytes - used, "%s%s%s", p->parent[0] ? "/" : "", p->name, p->wild ? "*" : "");
    if (p->index >= 0)
        snprintf(text + used, bytes - used, "#%d", p->index);
}

/* Breaks inside the body of a captured nest op. */
static int nested_breaks(const program *p, const instruction *in, const char *name, int index)
{
    call_name inner[] = {{"mix", 0, name, index}, {"bump", 0, name, index}, {"eager_bump", 0, name, index}};
    int breaks = 0;
    if (in->op != OP_NEST)
        return 0;
    for (int i = 0; i < 3; i++)
        if (i < 2 || (in->variant & NEST_EAGER))
            breaks += model_is_eager(p, &inner[i], i == 2);
    return breaks;
}

/* ---- order ---- */

static void merge(clock *into, const clock *other)
{
    for (int s = 0; s <= STREAMS; s++)
        if (into->seen[s] < other->seen[s])
            into->seen[s] = other->seen[s];
}

/* Where the default capture breaks, all streams are joined in every way to run the pass. */
static void join_all(model *m)
{
    for (int s = 1; s < STREAMS; s++)
        merge(&m->broken[0], &m->broken[s]);
    for (int s = 0; s < STREAMS; s++) {
        m->broken[s] = m->broken[0];
        m->idle[s] = s != 0 && m->member[s];
        if (m->work[s] > 0 && s != 0)
            has(m, HAS_OPEN_FORK_AT_BREAK);
        m->work[s] = 0;
    }
}

/* joined: the default capture breaks here; broken: this one does. */
static void barrier(model *m, bool joined, bool broken)
{
    if (joined)
        join_all(m);
    for (int e = 0; e < EVENTS && (joined || broken); e++)
        m->bare[e].recorded = false;
    m->segment += joined || broken;
}

static const clock *clock_of(const model *m, int stream)
{
    return m->program->barriers ? &m->broken[stream] : &m->plain[stream];
}

static bool written_before(const model *m, int stream, int cell)
{
    const history *h = &m->cells[cell];
    return h->writer < 0 || clock_of(m, stream)->seen[h->writer] >= h->written;
}

static bool may_read(const model *m, int stream, int cell)
{
    if (cell >= BUFFERS && !m->slot_set[cell - BUFFERS])
        return false;
    return written_before(m, stream, cell);
}

static bool may_write(const model *m, int stream, int cell)
{
    if (!may_read(m, stream, cell))
        return false;
    for (int s = 0; s <= STREAMS; s++)
        if (m->cells[cell].read[s] > clock_of(m, stream)->seen[s])
            return false;
    return true;
}

/* One more piece of work on the stream. */
static void tick(model *m, int stream)
{
    m->now[stream]++;
    m->plain[stream].seen[stream] = m->broken[stream].seen[stream] = m->now[stream];
    m->work[stream] = m->now[stream];
    if (m->idle[stream])
        has(m, HAS_USED_AFTER_BREAK);
    m->idle[stream] = false;
}

static void note_read(model *m, int stream, int cell)
{
    m->cells[cell].read[stream] = m->now[stream];
}

static void note_write(model *m, int stream, int cell)
{
    m->cells[cell].writer = stream;
    m->cells[cell].written = m->now[stream];
}

/* ---- instructions ---- */

static bool step_wait(model *m, const instruction *in)
{
    if (in->stream == in->on || !m->member[in->on])
        return false;
    if (!m->member[in->stream]) {
        has(m, HAS_FORK);
        if (in->on != 0)
            has(m, HAS_FORK_OF_FORK);
    } else if (m->work[in->on] > 0 && m->broken[in->stream].seen[in->on] < m->work[in->on]) {
        has(m, in->stream == 0 ? HAS_JOIN : in->on == 0 ? HAS_FORK_AGAIN : HAS_JOIN_FORKS);
    }
    m->member[in->stream] = true;
    m->idle[in->stream] = false;
    merge(&m->plain[in->stream], &m->plain[in->on]);
    merge(&m->broken[in->stream], &m->broken[in->on]);
    return true;
}

static bool step_break(model *m, const instruction *in)
{
    bool broken = m->program->breakable && !m->program->inline_eager;

    has(m, HAS_BARE_BREAK);
    if (in->stream != 0)
        has(m, HAS_BREAK_ON_FORK);
    m->breaks += broken;
    barrier(m, true, broken);
    return true;
}

static bool step_plain(model *m, const instruction *in)
{
    int inputs = in->kind == KERNEL ? 2 : in->kind == COPY ? 1 : 0;
    for (int i = 0; i < inputs; i++)
        if (!may_read(m, in->stream, in->in[i]))
            return false;
    if (!may_write(m, in->stream, in->out[0]) || (in->kind == COPY && in->in[0] == in->out[0]))
        return false;
    tick(m, in->stream);
    for (int i = 0; i < inputs; i++)
        note_read(m, in->stream, in->in[i]);
    note_write(m, in->stream, in->out[0]);
    has(m, HAS_PLAIN_CUDA);
    return true;
}

/* Bare events know nothing of breaks: they live in one segment, and between streams that take part. */
static bool step_bare_event(model *m, const instruction *in)
{
    if (in->kind == RECORD_BARE) {
        m->bare[in->event].recorded = true;
        m->bare[in->event].plain = m->plain[in->stream];
        m->bare[in->event].broken = m->broken[in->stream];
        return true;
    }
    if (!m->bare[in->event].recorded)
        return false;
    merge(&m->plain[in->stream], &m->bare[in->event].plain);
    merge(&m->broken[in->stream], &m->bare[in->event].broken);
    has(m, HAS_PLAIN_EVENT);
    return true;
}

/* Whether the event tells of a body's work that the origin does not wait for. */
static bool is_untold(const model *m, int event)
{
    return m->events[event].recorded && m->events[event].body &&
           m->broken[0].seen[TELLER] < m->events[event].broken.seen[TELLER];
}

/* An event that alone tells of a body's work may not be recorded again before that is waited for. */
static bool step_record(model *m, int event, const clock *plain, const clock *broken, bool body)
{
    if (is_untold(m, event))
        return false;
    if (m->events[event].recorded)
        has(m, HAS_EVENT_AGAIN);
    m->events[event].recorded = true;
    m->events[event].body = body;
    m->events[event].segment = m->segment;
    m->events[event].plain = *plain;
    m->events[event].broken = *broken;
    return true;
}

static bool step_wait_event(model *m, const instruction *in)
{
    bool crosses = m->events[in->event].segment < m->segment;

    if (!m->events[in->event].recorded || (m->events[in->event].body && !m->member[in->stream]))
        return false;
    has(m, m->events[in->event].body ? HAS_BODY_RECORDS : crosses ? HAS_EVENT_CROSSES : HAS_EVENT);
    if (!m->member[in->stream])
        has(m, crosses ? HAS_EVENT_FORKS_LATER : HAS_EVENT_FORKS);
    m->member[in->stream] = true;
    m->idle[in->stream] = false;
    merge(&m->plain[in->stream], &m->events[in->event].plain);
    merge(&m->broken[in->stream], &m->events[in->event].broken);
    if (is_external(in->event) && m->events[in->event].body) /* a node */
        tick(m, in->stream);
    return true;
}

/* What the pool gives is filled at once, so that nobody reads what was there. */
static bool step_take(model *m, const instruction *in)
{
    int slot = in->out[0] - BUFFERS;

    if (!m->program->pool || slot < 0)
        return false;
    has(m, HAS_TAKEN);
    if (m->released)
        has(m, HAS_TAKEN_AGAIN);
    tick(m, in->stream);
    m->cells[in->out[0]] = (history){.writer = -1};
    note_write(m, in->stream, in->out[0]);
    m->slot_set[slot] = m->slot_taken[slot] = true;
    m->slot_segment[slot] = -1;
    return true;
}

/* Whether work of the stream on the cell is not ordered before the origin's next. */
static bool uses(const model *m, int stream, const history *h)
{
    uint8_t seen = m->broken[0].seen[stream];
    return h->read[stream] > seen || (h->writer == stream && h->written > seen);
}

/* The pool waits for the streams of the pass, but not for what a body has left on one of its own. */
static bool step_release(model *m, const instruction *in)
{
    int slot = in->out[0] - BUFFERS;

    if (slot < 0 || !m->slot_set[slot] || !m->slot_taken[slot] || uses(m, TELLER, &m->cells[in->out[0]]))
        return false;
    has(m, HAS_RELEASED);
    for (int s = 1; s < STREAMS; s++)
        if (uses(m, s, &m->cells[in->out[0]]))
            has(m, HAS_RELEASED_IN_USE);
    m->slot_set[slot] = m->slot_taken[slot] = false;
    m->released = true;
    return true;
}

static bool call_is_ordered(const model *m, const instruction *in)
{
    const op_shape *shape = &op_shapes[in->op];
    for (int i = 0; i < shape->in; i++)
        if (!may_read(m, in->stream, in->in[i]))
            return false;
    if (in->change_input >= 0 && !may_read(m, in->stream, in->change_input))
        return false;
    for (int i = 0; i < shape->out; i++)
        if (in->given[i] == GIVEN_MEMORY && !may_write(m, in->stream, in->out[i]))
            return false;
    return true;
}

/* No two outputs in one place, and no output in an input of an op that reads it again. */
static bool operands_are_apart(const instruction *in)
{
    const op_shape *shape = &op_shapes[in->op];
    for (int i = 0; i < shape->out; i++) {
        if (in->op == OP_TELL && (in->given[i] == GIVEN_NOTHING || in->place != PLACE_HERE || in->shorter))
            return false; /* the body's copies would not wait for its other stream */
        if (in->given[i] != GIVEN_MEMORY && (in->out[i] < BUFFERS || shape->in_place || in->shorter))
            return false; /* a bridge buffer has no rows of its own to leave */
        for (int j = 0; j < i; j++)
            if (in->out[i] == in->out[j])
                return false;
        for (int j = 0; j < shape->in && shape->keeps_out; j++)
            if (in->given[i] == GIVEN_MEMORY && (in->out[i] == in->in[j] || in->out[i] == in->change_input))
                return false;
    }
    return in->change_input < 0 || (shape->in > 0 && in->in[0] < BUFFERS);
}

/* What a listening body reads on its other stream comes before the event. Bodies must run at capture to be seen. */
bool model_may_listen(const model *m, const instruction *in)
{
    int inputs[] = {in->in[0], in->change_input};
    const clock *before = m->program->barriers ? &m->events[in->event].broken : &m->events[in->event].plain;

    if (!m->events[in->event].recorded || !m->program->launch)
        return false;
    for (int i = 0; i < 2; i++) {
        const history *h = inputs[i] < 0 ? NULL : &m->cells[inputs[i]];
        if (h != NULL && h->writer >= 0 && before->seen[h->writer] < h->written)
            return false;
    }
    return true;
}

/* The output of a telling body is its other stream's work, which only the event tells of. */
static bool tell(model *m, const instruction *in)
{
    merge(&m->plain[TELLER], &m->plain[in->stream]);
    merge(&m->broken[TELLER], &m->broken[in->stream]);
    m->now[TELLER]++;
    m->plain[TELLER].seen[TELLER] = m->broken[TELLER].seen[TELLER] = m->now[TELLER];
    return step_record(m, in->event, &m->plain[TELLER], &m->broken[TELLER], true);
}

static void note_call_features(model *m, const instruction *in, bool eager, int inner)
{
    static const feature placed[] = {
        [PLACE_SCRATCH] = HAS_SCRATCH, [PLACE_OWN] = HAS_OWN, [PLACE_SOME] = HAS_IN_TURN, [PLACE_ROUND] = HAS_IN_TURN};
    const op_shape *shape = &op_shapes[in->op];

    has(m, eager ? HAS_EAGER_OP : HAS_CAPTURED_OP);
    has(m, shape->in_place ? HAS_IN_PLACE : HAS_OUT_OF_PLACE);
    if (shape->out > 1)
        has(m, in->op == OP_SPLIT ? HAS_OUTS : HAS_SEVERAL_OUTPUTS);
    for (int i = 0; i < shape->out; i++)
        if (in->given[i] != GIVEN_MEMORY)
            has(m, in->given[i] == GIVEN_SHAPE ? HAS_BRIDGE : HAS_OPEN);
    if (in->place != PLACE_HERE)
        has(m, eager ? placed[in->place] : HAS_CAPTURED_ELSEWHERE);
    if (eager && in->change_value)
        has(m, HAS_CHANGED_VALUE);
    if (eager && in->change_input >= 0)
        has(m, HAS_CHANGED_INPUT);
    if (eager && in->stream != 0)
        has(m, HAS_EAGER_ON_FORK);
    if (eager != in->eager && m->program->breakable && m->program->debug != BG_DEBUG_OPS)
        has(m, eager ? HAS_MADE_EAGER : HAS_MADE_CAPTURED);
    if (in->shorter)
        has(m, HAS_SHORTER);
    if (in->shorter == SHORTER_SOME)
        has(m, HAS_SHORTER_SOMETIMES);
    if (in->shorter && m->program->zero_tail)
        has(m, HAS_ZEROED);
    if (in->op == OP_NEST)
        has(m, HAS_NESTED);
    if (inner > 0)
        has(m, HAS_NESTED_BREAK);
    if (in->op == OP_LISTEN)
        has(m, HAS_BODY_WAITS);
    if (in->op == OP_ASIDE || in->op == OP_AMBIENT || in->op == OP_INSPECT)
        has(m, in->op == OP_ASIDE ? HAS_BODY_FORKS : in->op == OP_AMBIENT ? HAS_AMBIENT : HAS_INSPECT);
    if (eager && m->after_eager)
        has(m, HAS_CALL_BESIDE_CALL);
}

static void note_faults(model *m, const instruction *in)
{
    if (in->op == OP_NEST && (in->variant & NEST_FAILS))
        has(m, HAS_FAULT_HANDLED);
    if (in->failing == FAILING_NEVER)
        return;
    has(m, in->failing == FAILING_LATER ? HAS_FAULT_LATER : HAS_FAULT_AT_CAPTURE);
    has(m, m->program->faults == FAULTS_RETURNED ? HAS_FAULT_RETURNED : HAS_FAULT_IGNORED);
}

static void note_helper(model *m, const instruction *in)
{
    bool *before = &m->bridged[in->op][in->eager], bridges = false;
    for (int i = 0; i < op_shapes[in->op].out; i++)
        bridges |= in->given[i] != GIVEN_MEMORY;
    if (in->line != HELPER_LINE || !bridges)
        return;
    if (*before)
        has(m, HAS_HELPER);
    *before = true;
}

static void note_bridge_read(model *m, int cell)
{
    int made = cell < BUFFERS ? -1 : m->slot_segment[cell - BUFFERS];
    if (made >= 0 && made < m->segment)
        has(m, HAS_BRIDGE_CROSSES);
}

static void note_accesses(model *m, const instruction *in, bool eager)
{
    const op_shape *shape = &op_shapes[in->op];
    int stream = in->op == OP_TELL ? TELLER : in->stream;
    for (int i = 0; i < shape->in; i++) {
        note_bridge_read(m, in->in[i]);
        note_read(m, stream, in->in[i]);
    }
    if (in->change_input >= 0)
        note_read(m, stream, in->change_input);
    for (int i = 0; i < shape->out; i++) {
        if (in->given[i] != GIVEN_MEMORY) {
            m->cells[in->out[i]] = (history){.writer = -1};
            m->slot_set[in->out[i] - BUFFERS] = true;
            m->slot_taken[in->out[i] - BUFFERS] = false;
            m->slot_segment[in->out[i] - BUFFERS] = eager ? m->segment : -1;
        }
        note_write(m, stream, in->out[i]);
    }
}

/* A body that handles a failure must be eager: in a captured one it would be the capture's. Where such a body fails
 * itself, nobody knows whether it only passes the failure on. */
static bool faults_are_legal(const program *p, const instruction *in, bool eager)
{
    bool handles = in->op == OP_NEST && (in->variant & NEST_FAILS), fails = in->failing != FAILING_NEVER;

    if (handles && (p->faults == FAULTS_NONE || fails || !in->eager || !eager))
        return false;
    return !fails || p->faults >= FAULTS_RETURNED;
}

static bool step_call(model *m, const instruction *in)
{
    const program *p = m->program;
    char name[24];
    call_name top = {op_name(in->op, in->eager, name, sizeof name), m->calls[in->op][in->eager], NULL, 0};
    bool forward = p->debug == BG_DEBUG_FORWARD, eager = model_is_eager(p, &top, in->eager);
    int inner = eager ? 0 : nested_breaks(p, in, name, top.index);
    bool inner_joins = !in->eager && in->op == OP_NEST && (in->variant & NEST_EAGER);

    if (op_shapes[in->op].only_eager && !eager)
        return false;
    if (!operands_are_apart(in) || (in->shorter == SHORTER_SOME && !eager))
        return false;
    if (!faults_are_legal(p, in, eager))
        return false;
    m->breaks += eager;
    barrier(m, in->eager, eager);
    if (!call_is_ordered(m, in) || (in->op == OP_LISTEN && !model_may_listen(m, in)))
        return false;
    if (inner > 0 || inner_joins) {
        tick(m, in->stream);
        m->breaks += inner;
        barrier(m, inner_joins, inner > 0);
    }
    note_call_features(m, in, eager, forward ? 0 : inner);
    note_faults(m, in);
    note_helper(m, in);
    tick(m, in->stream);
    if (in->op == OP_TELL && !tell(m, in))
        return false;
    note_accesses(m, in, eager);
    barrier(m, in->eager, eager);
    m->calls[in->op][in->eager]++;
    m->after_eager = eager;
    return true;
}

static bool step(model *m, const instruction *in)
{
    if (in->kind != WAIT && in->kind != WAIT_EVENT && !m->member[in->stream])
        return false;
    if (in->kind != CALL)
        m->after_eager = false;
    switch (in->kind) {
    case CALL: return step_call(m, in);
    case WAIT: return step_wait(m, in);
    case BREAK: return step_break(m, in);
    case RECORD:
        if (is_external(in->event))
            tick(m, in->stream);
        return step_record(m, in->event, &m->plain[in->stream], &m->broken[in->stream], false);
    case WAIT_EVENT: return step_wait_event(m, in);
    case RECORD_BARE:
    case WAIT_BARE: return step_bare_event(m, in);
    case TAKE: return step_take(m, in);
    case RELEASE: return step_release(m, in);
    default: return step_plain(m, in);
    }
}

bool model_step(model *m, const instruction *in)
{
    model before = *m;
    if (step(m, in))
        return true;
    *m = before;
    return false;
}

/* ---- whole programs ---- */

void model_start(model *m, const program *p)
{
    *m = (model){.program = p, .member = {true}};
    for (int c = 0; c < CELLS; c++)
        m->cells[c].writer = -1;
}

int model_unjoined(const model *m)
{
    for (int s = 1; s < STREAMS; s++)
        if (m->broken[0].seen[s] < m->work[s])
            return s;
    return -1;
}

int model_untold(const model *m)
{
    for (int e = 0; e < EVENTS; e++)
        if (is_untold(m, e))
            return e;
    return -1;
}

void model_end(model *m)
{
    const program *p = m->program;

    if (m->after_eager)
        has(m, HAS_EAGER_LAST);
    if (p->pattern_count > 0 && p->patterns_from_environment)
        has(m, HAS_PATTERN_ENVIRONMENT);
    if (!p->breakable)
        has(m, HAS_NOT_BREAKABLE);
    if (p->debug != BG_DEBUG_OFF)
        has(m, p->debug == BG_DEBUG_FORWARD ? HAS_DEBUG_FORWARD
               : p->debug == BG_DEBUG_OPS   ? HAS_DEBUG_OPS
                                            : HAS_DEBUG_SYNC);
    if (p->barriers)
        has(m, HAS_BARRIERS);
    if (!p->launch)
        has(m, HAS_NO_LAUNCH);
    if (p->state)
        has(m, HAS_STATE);
    if (p->join_at_end && model_unjoined(m) >= 0)
        has(m, HAS_JOIN_AT_END);
    if (p->workers > 0)
        has(m, HAS_WORKERS);
    if (p->upload && !p->launch)
        has(m, HAS_UPLOAD);
    if (p->whole)
        has(m, HAS_WHOLE);
    if (p->mode != cudaStreamCaptureModeThreadLocal)
        has(m, HAS_OTHER_MODE);
    if (p->move > 1)
        has(m, HAS_MOVES);
    if (p->queued)
        has(m, HAS_QUEUED);
    if (p->churn)
        has(m, HAS_CHURN);
    if (p->pool)
        has(m, HAS_POOL);
}

/* One more, with an id of its own. */
static bool append(program *p, model *m, instruction in)
{
    if (p->length == LENGTH)
        return false;
    in.change_input = -1;
    for (int i = 0; i < p->length; i++)
        if (in.id <= p->list[i].id)
            in.id = p->list[i].id + 1;
    in.line = in.id;
    p->list[p->length++] = in;
    return model_step(m, &in);
}

bool repair(program *p)
{
    program out = *p;
    bool good = true;
    model m;
    int at;

    out.length = 0;
    model_start(&m, &out);
    for (int i = 0; i < p->length; i++)
        if (model_step(&m, &p->list[i]))
            out.list[out.length++] = p->list[i];
    while (good && !out.join_at_end && (at = model_unjoined(&m)) >= 0)
        good = append(&out, &m, (instruction){.kind = WAIT, .on = at});
    while (good && (at = model_untold(&m)) >= 0)
        good = append(&out, &m, (instruction){.kind = WAIT_EVENT, .event = at});
    if (good)
        *p = out;
    return good;
}

/* ---- ways ---- */

bool model_is_legal(const program *p)
{
    model m;

    model_start(&m, p);
    for (int i = 0; i < p->length; i++)
        if (!model_step(&m, &p->list[i]))
            return false;
    return (p->join_at_end || model_unjoined(&m) < 0) && model_untold(&m) < 0;
}

static bool has_failing(const program *p)
{
    for (int i = 0; i < p->length; i++)
        if (p->list[i].kind == CALL && p->list[i].failing != FAILING_NEVER)
            return true;
    return false;
}

static bool has_op(const program *p, op_kind op)
{
    for (int i = 0; i < p->length; i++)
        if (p->list[i].kind == CALL && p->list[i].op == op)
            return true;
    return false;
}

/* A runner's captures launch nothing and join nothing at the end; it shows no graph whose arguments could change. */
static void suit_runner(program *p)
{
    p->whole = p->pool = true;
    p->launch = p->state = p->join_at_end = p->zero_tail = p->upload = false;
    p->mode = cudaStreamCaptureModeThreadLocal;
    for (int i = 0; i < p->length; i++) {
        p->list[i].change_value = false;
        p->list[i].change_input = -1;
    }
}

static void set_debug(program *p, bg_debug debug)
{
    p->debug = debug;
    p->breakable = true;
    p->whole |= debug == BG_DEBUG_FORWARD;
}

static void override_anew(program *p)
{
    dice d = {~p->seed};
    p->breakable = true;
    p->debug = BG_DEBUG_OFF;
    throw_patterns(&d, p);
}

/* A shadow runs the pass beside the graph. What a body records there is not the graph's to wait for; and outputs are
 * compared when the pass is over, those in blocks that it has released, too. */
static bool can_be_shadowed(const program *p)
{
    return !has_failing(p) && !has_op(p, OP_TELL);
}

/* It puts back what the pass changed: tensors of op calls, and options.state. */
static void suit_shadow(program *p, bool tool)
{
    p->debug = BG_DEBUG_OFF;
    p->whole = p->state = true;
    if (!tool)
        return;
    p->launch = p->join_at_end = p->zero_tail = p->pool = false;
}

bool model_way(const program *p, way w, program *result)
{
    enum { FEW_REPLAYS = 8 }; /* one more than settle it, that does not fail */

    *result = *p;
    if (result->replays > FEW_REPLAYS)
        result->replays = FEW_REPLAYS;
    switch (w) {
    case WAY_FORWARD_RUN: result->debug = BG_DEBUG_OFF; break;
    case WAY_RUNNER:
    case WAY_RUNNER_FULL:
    case WAY_RUNNER_NONE:
    case WAY_RUNNER_FORWARD:
        set_debug(result, w == WAY_RUNNER_FORWARD ? BG_DEBUG_FORWARD : BG_DEBUG_OFF);
        suit_runner(result);
        result->inline_eager = w == WAY_RUNNER_FULL;
        break;
    case WAY_DEBUG_FORWARD: set_debug(result, BG_DEBUG_FORWARD); break;
    case WAY_DEBUG_OPS: set_debug(result, BG_DEBUG_OPS); break;
    case WAY_DEBUG_SYNC: set_debug(result, BG_DEBUG_SYNC); break;
    case WAY_DEBUG_STEP: set_debug(result, BG_DEBUG_STEP); break;
    case WAY_UNBREAKABLE:
        result->debug = BG_DEBUG_OFF;
        result->breakable = false;
        break;
    case WAY_INLINE:
        result->debug = BG_DEBUG_OFF;
        result->inline_eager = true;
        break;
    case WAY_OVERRIDE: override_anew(result); break;
    case WAY_SHADOWED:
    case WAY_SHADOW:
        suit_shadow(result, w == WAY_SHADOW);
        if (!can_be_shadowed(p))
            return false;
        break;
    case WAY_COUNT: break;
    }
    return model_is_legal(result);
}
