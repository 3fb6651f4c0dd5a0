#include "model.h"

#include <string.h>

const char *const feature_texts[FEATURE_COUNT] = {FEATURES(TEXT_OF)};

enum { TELLER = STREAMS };

static void has(model *m, feature f)
{
    m->features[f] = true;
}

static void has_if(model *m, bool there, feature f)
{
    m->features[f] |= there;
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

static void merge_clocks(clock into, const clock other)
{
    for (int s = 0; s <= STREAMS; s++)
        if (into[s] < other[s])
            into[s] = other[s];
}

static void merge(order *into, const order *other)
{
    merge_clocks(into->plain, other->plain);
    merge_clocks(into->broken, other->broken);
}

/* Where the default capture breaks, all streams are joined in every way to run the pass. */
static void join_all(model *m)
{
    for (int s = 1; s < STREAMS; s++)
        merge_clocks(m->orders[0].broken, m->orders[s].broken);
    for (int s = 0; s < STREAMS; s++) {
        memcpy(m->orders[s].broken, m->orders[0].broken, sizeof(clock));
        m->idle[s] = s != 0 && m->member[s];
        has_if(m, m->work[s] > 0 && s != 0, HAS_OPEN_FORK_AT_BREAK);
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

/* Of the clocks, the one that the program relies on. */
static const uint8_t *relied_on(const model *m, const order *o)
{
    return m->program->barriers ? o->broken : o->plain;
}

static bool written_before(const model *m, const order *o, int cell)
{
    const history *h = &m->cells[cell];
    return h->writer < 0 || relied_on(m, o)[h->writer] >= h->written;
}

static bool may_read(const model *m, int stream, int cell)
{
    if (cell >= BUFFERS && !m->slot_set[cell - BUFFERS])
        return false;
    return written_before(m, &m->orders[stream], cell);
}

static bool may_write(const model *m, int stream, int cell)
{
    if (!may_read(m, stream, cell))
        return false;
    for (int s = 0; s <= STREAMS; s++)
        if (m->cells[cell].read[s] > relied_on(m, &m->orders[stream])[s])
            return false;
    return true;
}

static void count_one(model *m, int stream)
{
    order *o = &m->orders[stream];
    o->plain[stream] = o->broken[stream] = ++m->now[stream];
}

/* One more piece of work on the stream. */
static void tick(model *m, int stream)
{
    count_one(m, stream);
    m->work[stream] = m->now[stream];
    has_if(m, m->idle[stream], HAS_USED_AFTER_BREAK);
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
        has_if(m, in->on != 0, HAS_FORK_OF_FORK);
    } else if (m->work[in->on] > 0 && m->orders[in->stream].broken[in->on] < m->work[in->on]) {
        has(m, in->stream == 0 ? HAS_JOIN : in->on == 0 ? HAS_FORK_AGAIN : HAS_JOIN_FORKS);
    }
    m->member[in->stream] = true;
    m->idle[in->stream] = false;
    merge(&m->orders[in->stream], &m->orders[in->on]);
    return true;
}

static bool step_break(model *m, const instruction *in)
{
    bool broken = m->program->breakable && !m->program->inline_eager;

    has(m, HAS_BARE_BREAK);
    has_if(m, in->stream != 0, HAS_BREAK_ON_FORK);
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
        m->bare[in->event].order = m->orders[in->stream];
        return true;
    }
    if (!m->bare[in->event].recorded)
        return false;
    merge(&m->orders[in->stream], &m->bare[in->event].order);
    has(m, HAS_PLAIN_EVENT);
    return true;
}

/* Whether the event tells of a body's work that the origin does not wait for. */
static bool is_untold(const model *m, int event)
{
    return m->events[event].recorded && m->events[event].body &&
           m->orders[0].broken[TELLER] < m->events[event].order.broken[TELLER];
}

/* An event that alone tells of a body's work may not be recorded again before that is waited for. */
static bool step_record(model *m, int event, int stream)
{
    if (is_untold(m, event))
        return false;
    has_if(m, m->events[event].recorded, HAS_EVENT_AGAIN);
    m->events[event].recorded = true;
    m->events[event].body = stream == TELLER;
    m->events[event].segment = m->segment;
    m->events[event].order = m->orders[stream];
    return true;
}

static bool step_wait_event(model *m, const instruction *in)
{
    bool crosses = m->events[in->event].segment < m->segment;

    if (!m->events[in->event].recorded || (m->events[in->event].body && !m->member[in->stream]))
        return false;
    has(m, m->events[in->event].body ? HAS_BODY_RECORDS : crosses ? HAS_EVENT_CROSSES : HAS_EVENT);
    has_if(m, !m->member[in->stream], crosses ? HAS_EVENT_FORKS_LATER : HAS_EVENT_FORKS);
    m->member[in->stream] = true;
    m->idle[in->stream] = false;
    merge(&m->orders[in->stream], &m->events[in->event].order);
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
    has_if(m, m->released, HAS_TAKEN_AGAIN);
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
    uint8_t seen = m->orders[0].broken[stream];
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
        has_if(m, uses(m, s, &m->cells[in->out[0]]), HAS_RELEASED_IN_USE);
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
    const order *before = &m->events[in->event].order;

    return m->events[in->event].recorded && m->program->launch && written_before(m, before, in->in[0]) &&
           (in->change_input < 0 || written_before(m, before, in->change_input));
}

/* The output of a telling body is its other stream's work, which only the event tells of. */
static bool tell(model *m, const instruction *in)
{
    merge(&m->orders[TELLER], &m->orders[in->stream]);
    count_one(m, TELLER);
    return step_record(m, in->event, TELLER);
}

static void note_call_features(model *m, const instruction *in, bool eager, int inner)
{
    static const feature placed[] = {
        [PLACE_SCRATCH] = HAS_SCRATCH, [PLACE_OWN] = HAS_OWN, [PLACE_SOME] = HAS_IN_TURN, [PLACE_ROUND] = HAS_IN_TURN};
    const op_shape *shape = &op_shapes[in->op];

    has(m, eager ? HAS_EAGER_OP : HAS_CAPTURED_OP);
    has(m, shape->in_place ? HAS_IN_PLACE : HAS_OUT_OF_PLACE);
    has_if(m, shape->out > 1, in->op == OP_SPLIT ? HAS_OUTS : HAS_SEVERAL_OUTPUTS);
    for (int i = 0; i < shape->out; i++)
        has_if(m, in->given[i] != GIVEN_MEMORY, in->given[i] == GIVEN_SHAPE ? HAS_BRIDGE : HAS_OPEN);
    has_if(m, in->place != PLACE_HERE, eager ? placed[in->place] : HAS_CAPTURED_ELSEWHERE);
    has_if(m, eager && in->change_value, HAS_CHANGED_VALUE);
    has_if(m, eager && in->change_input >= 0, HAS_CHANGED_INPUT);
    has_if(m, eager && in->stream != 0, HAS_EAGER_ON_FORK);
    has_if(m, eager != in->eager && m->program->breakable && m->program->debug != BG_DEBUG_OPS,
           eager ? HAS_MADE_EAGER : HAS_MADE_CAPTURED);
    has_if(m, in->shorter, HAS_SHORTER);
    has_if(m, in->shorter == SHORTER_SOME, HAS_SHORTER_SOMETIMES);
    has_if(m, in->shorter && m->program->zero_tail, HAS_ZEROED);
    has_if(m, in->op == OP_NEST, HAS_NESTED);
    has_if(m, inner > 0, HAS_NESTED_BREAK);
    has_if(m, in->op == OP_LISTEN, HAS_BODY_WAITS);
    has_if(m, in->op == OP_ASIDE, HAS_BODY_FORKS);
    has_if(m, in->op == OP_AMBIENT, HAS_AMBIENT);
    has_if(m, in->op == OP_INSPECT, HAS_INSPECT);
    has_if(m, eager && m->after_eager, HAS_CALL_BESIDE_CALL);
}

static void note_faults(model *m, const instruction *in)
{
    has_if(m, in->op == OP_NEST && (in->variant & NEST_FAILS), HAS_FAULT_HANDLED);
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
    has_if(m, *before, HAS_HELPER);
    *before = true;
}

static void note_bridge_read(model *m, int cell)
{
    int made = cell < BUFFERS ? -1 : m->slot_segment[cell - BUFFERS];
    has_if(m, made >= 0 && made < m->segment, HAS_BRIDGE_CROSSES);
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
        return step_record(m, in->event, in->stream);
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
        if (m->orders[0].broken[s] < m->work[s])
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

    has_if(m, m->after_eager, HAS_EAGER_LAST);
    has_if(m, p->pattern_count > 0 && p->patterns_from_environment, HAS_PATTERN_ENVIRONMENT);
    has_if(m, !p->breakable, HAS_NOT_BREAKABLE);
    has_if(m, p->debug == BG_DEBUG_FORWARD, HAS_DEBUG_FORWARD);
    has_if(m, p->debug == BG_DEBUG_OPS, HAS_DEBUG_OPS);
    has_if(m, p->debug == BG_DEBUG_SYNC, HAS_DEBUG_SYNC);
    has_if(m, p->barriers, HAS_BARRIERS);
    has_if(m, !p->launch, HAS_NO_LAUNCH);
    has_if(m, p->state, HAS_STATE);
    has_if(m, p->join_at_end && model_unjoined(m) >= 0, HAS_JOIN_AT_END);
    has_if(m, p->workers > 0, HAS_WORKERS);
    has_if(m, p->upload && !p->launch, HAS_UPLOAD);
    has_if(m, p->whole, HAS_WHOLE);
    has_if(m, p->mode != cudaStreamCaptureModeThreadLocal, HAS_OTHER_MODE);
    has_if(m, p->move > 1, HAS_MOVES);
    has_if(m, p->queued, HAS_QUEUED);
    has_if(m, p->churn, HAS_CHURN);
    has_if(m, p->pool, HAS_POOL);
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

void model_list_calls(const program *p, call_list *list)
{
    int calls[OP_KINDS][2] = {{0}};
    char name[24];

    memset(list, 0, sizeof *list);
    for (int i = 0; i < p->length; i++) {
        const instruction *in = &p->list[i];
        call_name call = {NULL, 0, NULL, 0};
        if (in->kind != CALL)
            continue;
        call.name = op_name(in->op, in->eager, name, sizeof name);
        call.index = calls[in->op][in->eager]++;
        list->eager[i] = model_is_eager(p, &call, in->eager);
        snprintf(list->names[i], sizeof list->names[i], "%s#%d", name, call.index);
    }
}

/* False: one of them is illegal, *at. */
bool model_run(model *m, const program *p, int *at)
{
    model_start(m, p);
    for (*at = 0; *at < p->length; ++*at)
        if (!model_step(m, &p->list[*at]))
            return false;
    return true;
}

bool model_is_legal(const program *p)
{
    model m;
    int at;
    return model_run(&m, p, &at) && (p->join_at_end || model_unjoined(&m) < 0) && model_untold(&m) < 0;
}

static bool has_failing(const program *p)
{
    for (int i = 0; i < p->length; i++)
        if (p->list[i].kind == CALL && p->list[i].failing != FAILING_NEVER)
            return true;
    return false;
}

bool model_has_op(const program *p, op_kind op, int length)
{
    for (int i = 0; i < length; i++)
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
    return !has_failing(p) && !model_has_op(p, OP_TELL, p->length);
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
    case WAY_INLINE:
        result->debug = BG_DEBUG_OFF;
        result->breakable &= w != WAY_UNBREAKABLE;
        result->inline_eager |= w == WAY_INLINE;
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
