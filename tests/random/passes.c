/* Passes: a program's instructions, issued; and its results, one instruction after the other. */
#include <stdarg.h>
#include <string.h>

#include "bugs.h"
#include "machine.h"
#include "ops.h"
#include "session.h"

bool fails(session *s, failure_kind kind, int pass, const char *format, ...)
{
    va_list list;
    if (s->failure->kind != PASSED)
        return false;
    s->failure->kind = kind;
    s->failure->pass = pass;
    va_start(list, format);
    vsnprintf(s->failure->text, sizeof s->failure->text, format, list);
    va_end(list);
    return false;
}

bool cuda_ok(session *s, cudaError_t error, const char *call)
{
    return error == cudaSuccess || FAILS(FAILED_CALL, "%s: %s", call, cudaGetErrorName(error));
}

bool bg_ok(session *s, bg_status status, const char *call)
{
    return status == BG_OK || FAILS(FAILED_CALL, "%s: %s: %s", call, bg_status_name(status), bg_last_error());
}

/* ---- passes ---- */

static bool is_open(const instruction *in)
{
    for (int i = 0; i < op_shapes[in->op].out; i++)
        if (in->given[i] == GIVEN_NOTHING)
            return true;
    return false;
}

/* Whether the body of the i-th instruction, a call, runs. */
static bool body_runs(const session *s, int i, bodies run)
{
    const program *p = s->program;
    bool whole = p->debug == BG_DEBUG_FORWARD;

    if (run == ALL_BODIES || (run == REPLAYED_BODIES && whole) || (run == CAPTURED_BODIES && p->launch))
        return true;
    if (run == REPLAYED_BODIES)
        return s->calls.eager[i];
    return !whole && (!s->calls.eager[i] || is_open(&p->list[i]));
}

void begin_pass(session *s, int number, bodies run)
{
    this_pass.number = number;
    this_pass.ambient = scramble((uint64_t)number);
    s->expects = -1;
    s->broken = false;
    for (int i = s->program->length - 1; i >= 0 && !this_pass.sound; i--)
        if (s->program->list[i].kind == CALL && fails_now(s->program->list[i].failing) && body_runs(s, i, run))
            s->expects = i;
    s->failed[number] = s->expects >= 0;
}

/* The sentence is about that call: by its name and its place. */
static bool tells_of(const session *s, int i, const char *sentence)
{
    char place[40];
    snprintf(place, sizeof place, " at %s:%d", PROGRAM_FILE, s->program->list[i].line);
    return strstr(sentence, s->calls.names[i]) != NULL && strstr(sentence, place) != NULL;
}

bool check_outcome(session *s, bg_status status, const char *call)
{
    bg_status fault;

    if (s->failure->kind != PASSED)
        return false;
    if (s->expects < 0)
        return bg_ok(s, status, call);
    fault = fault_of(s->program->list[s->expects].id);
    if (status != fault)
        return FAILS(FAILED_FAULT, "%s: %s (%s), though %s at line %d has failed with %s", call, bg_status_name(status),
                     status == BG_OK ? "" : bg_last_error(), s->calls.names[s->expects],
                     s->program->list[s->expects].line, bg_status_name(fault));
    if (!tells_of(s, s->expects, bg_last_error()))
        return FAILS(FAILED_FAULT, "%s: the sentence is not about %s at line %d: %s", call, s->calls.names[s->expects],
                     s->program->list[s->expects].line, bg_last_error());
    return true;
}

/* The program's events have no record yet: a capture refuses to wait for one from before it. */
bool renew_events(session *s)
{
    for (int i = 0; i < EVENTS; i++) {
        if (this_pass.events[i] != NULL)
            TRY_CUDA(cudaEventDestroy(this_pass.events[i]));
        this_pass.events[i] = NULL;
        TRY_CUDA(cudaEventCreateWithFlags(&this_pass.events[i], cudaEventDisableTiming));
    }
    return true;
}

static uint32_t input_bits(uint32_t number)
{
    float value = (float)(number >> 8) / (1 << 24);
    if (this_pass.floats)
        memcpy(&number, &value, sizeof number);
    return number;
}

bool upload_inputs(session *s)
{
    uint64_t at = s->program->seed;
    for (int pass = 0; pass < PASSES; pass++)
        for (int b = 0; b < BUFFERS; b++)
            for (int i = 0; i < ELEMENTS; i++)
                the_machine.host_inputs[pass][b][i] = input_bits(scramble(at++));
    TRY_CUDA(cudaMemcpy(the_machine.inputs, the_machine.host_inputs, sizeof the_machine.host_inputs,
                        cudaMemcpyHostToDevice));
    return CUDA_OK(cudaDeviceSynchronize());
}

/* Buffers hold the pass's inputs. */
bool reset(session *s, cudaStream_t stream)
{
    return CUDA_OK(cudaMemcpyAsync(the_machine.buffers, the_machine.inputs[this_pass.number],
                                   sizeof the_machine.inputs[0], cudaMemcpyDeviceToDevice, stream));
}

/* Buffers and slots are kept as what the pass made. */
bool gather(session *s, cudaStream_t stream)
{
    tensor_data *to = the_machine.found[this_pass.number];
    TRY_CUDA(cudaMemcpyAsync(to, the_machine.buffers, BUFFERS * sizeof(tensor_data), cudaMemcpyDeviceToDevice, stream));
    for (int i = 0; i < s->cells - BUFFERS; i++) {
        if (s->slots[i] == NULL || s->taken[i])
            TRY_CUDA(cudaMemsetAsync(to[BUFFERS + i], 0, sizeof(tensor_data), stream));
        else
            TRY_CUDA(
                cudaMemcpyAsync(to[BUFFERS + i], s->slots[i], sizeof(tensor_data), cudaMemcpyDeviceToDevice, stream));
    }
    return true;
}

static bool download(session *s, results *to)
{
    TRY_CUDA(cudaDeviceSynchronize());
    return CUDA_OK(cudaMemcpy(to, the_machine.found, sizeof *to, cudaMemcpyDeviceToHost));
}

bool compare(session *s, failure_kind kind, int first, int last)
{
    if (!download(s, &the_machine.seen))
        return false;
    for (int pass = first; pass <= last; pass++)
        for (int c = 0; c < s->cells && !s->failed[pass]; c++)
            for (int i = 0; i < ELEMENTS; i++)
                if (the_machine.seen[pass][c][i] != the_machine.expected[pass][c][i])
                    return fails(s, kind, pass, "%s%d[%d] is 0x%08x, expected 0x%08x", c < BUFFERS ? "buffer" : "slot",
                                 c < BUFFERS ? c : c - BUFFERS, i, the_machine.seen[pass][c][i],
                                 the_machine.expected[pass][c][i]);
    return true;
}

/* ---- instructions ---- */

static void *memory_of(const session *s, int c)
{
    return c < BUFFERS ? the_machine.buffers[c] : s->slots[c - BUFFERS];
}

bg_tensor tensor_at(void *data)
{
    return bg_tensor_1d(data, pass_dtype(), ELEMENTS);
}

uint32_t value_of(const session *s, int i)
{
    const instruction *in = &s->program->list[i];
    return in->k + (in->change_value && s->calls.eager[i] ? 1000 * (uint32_t)this_pass.number : 0);
}

int input_of(const session *s, int i)
{
    const instruction *in = &s->program->list[i];
    return in->change_input >= 0 && s->calls.eager[i] && this_pass.number % 2 ? in->change_input : in->in[0];
}

static bg_tensor output_for(const session *s, const instruction *in, int ordinal)
{
    if (in->given[ordinal] == GIVEN_NOTHING)
        return (bg_tensor){.dtype = pass_dtype()};
    return tensor_at(in->given[ordinal] == GIVEN_SHAPE ? NULL : memory_of(s, in->out[ordinal]));
}

static how how_of(const instruction *in)
{
    return (how){in->place, in->id, in->shorter, in->failing};
}

static void fill_args(const session *s, int i, const bg_op *op, unsigned char *args)
{
    const instruction *in = &s->program->list[i];
    const op_shape *shape = &op_shapes[in->op];

    memset(args, 0, op->args_size);
    for (int k = 0; k < shape->in; k++)
        *tensor_of(op, args, k) = tensor_at(memory_of(s, k == 0 ? input_of(s, i) : in->in[1]));
    for (int k = 0; k < shape->out; k++)
        *tensor_of(op, args, shape->in + k) = output_for(s, in, k);
    *(uint32_t *)field_named(op, args, "k") = value_of(s, i);
    *(int *)field_named(op, args, "variant") = in->variant;
    *(int *)field_named(op, args, "event") = in->event;
    *(how *)field_named(op, args, "how") = how_of(in);
}

static void set_slot(session *s, int c, void *data, bool taken)
{
    s->slots[c - BUFFERS] = data;
    s->taken[c - BUFFERS] = taken;
}

static void take_slots(session *s, const instruction *in, const bg_op *op, void *args)
{
    for (int k = 0; k < op_shapes[in->op].out; k++)
        if (in->given[k] != GIVEN_MEMORY)
            set_slot(s, in->out[k], tensor_of(op, args, op_shapes[in->op].in + k)->data, false);
}

/* What options.zero_tail does in a capture. */
static bool zero_tails(session *s, const instruction *in, cudaStream_t stream)
{
    int rows = rows_of(how_of(in));
    for (int i = 0; i < op_shapes[in->op].out && s->program->zero_tail && rows < ELEMENTS; i++)
        TRY_CUDA(cudaMemsetAsync((uint32_t *)memory_of(s, in->out[i]) + rows, 0,
                                 (size_t)(ELEMENTS - rows) * sizeof(uint32_t), stream));
    return true;
}

/* What comes of a failure: the call returns it, and so does every call after it, since it sticks. */
static bool check_fault(session *s, int i, bg_status status)
{
    bg_status fault = fault_of(s->program->list[s->expects].id);

    s->broken = true;
    if (status == fault)
        return true;
    return FAILS(FAILED_FAULT, "%s at line %d returns %s, though %s has failed with %s", s->calls.names[i],
                 s->program->list[i].line, bg_status_name(status), s->calls.names[s->expects], bg_status_name(fault));
}

static bool issue_call(session *s, int i, cudaStream_t stream)
{
    const instruction *in = &s->program->list[i];
    const bg_op *op = the_machine.ops[in->op][in->eager];
    /* A plain call keeps its bridge buffers by its place in the program: there each has one of its own. */
    const bg_site site = {PROGRAM_FILE, s->plain ? in->id : in->line};
    bg_status status;
    _Alignas(16) unsigned char args[1024];

    if (op->args_size > sizeof args)
        return FAILS(FAILED_CALL, "the arguments of %s have %u bytes", op->name, op->args_size);
    if (bug_skips(in->id))
        return true;
    fill_args(s, i, op, args);
    bug_spoil(in->id, op, args);
    status = bg_op_call(op, stream, args, &site);
    if (s->expects >= 0 && i >= s->expects)
        return check_fault(s, i, status);
    if (!bg_ok(s, status, s->calls.names[i]))
        return false;
    take_slots(s, in, op, args);
    return !s->plain || zero_tails(s, in, stream);
}

static cudaStream_t stream_of(const session *s, int number)
{
    return number == 0 ? s->origin : the_machine.streams[number];
}

/* A plain run has a block of its own for each. */
static bool take_block(session *s, const instruction *in, cudaStream_t stream)
{
    void *block = the_machine.blocks[in->id];
    if (!s->plain && !bg_ok(s, bg_pool_alloc(s->pool, sizeof(tensor_data), &block), "bg_pool_alloc"))
        return false;
    set_slot(s, in->out[0], block, true);
    return CUDA_OK(cudaMemsetAsync(block, (int)in->k, sizeof(tensor_data), stream));
}

static bool issue_plain(session *s, const instruction *in, cudaStream_t stream)
{
    switch (in->kind) {
    case KERNEL:
        return CUDA_OK(pass_mix(memory_of(s, in->out[0]), memory_of(s, in->in[0]), memory_of(s, in->in[1]), in->k,
                                ELEMENTS, stream));
    case COPY:
        return CUDA_OK(cudaMemcpyAsync(memory_of(s, in->out[0]), memory_of(s, in->in[0]), sizeof(tensor_data),
                                       cudaMemcpyDeviceToDevice, stream));
    case FILL: return CUDA_OK(cudaMemsetAsync(memory_of(s, in->out[0]), (int)in->k, sizeof(tensor_data), stream));
    case RECORD_BARE: return CUDA_OK(cudaEventRecord(the_machine.bare[in->event], stream));
    case WAIT_BARE: return CUDA_OK(cudaStreamWaitEvent(stream, the_machine.bare[in->event], 0));
    case TAKE: return take_block(s, in, stream);
    default:
        if (!s->plain)
            bg_pool_release(s->pool, memory_of(s, in->out[0]));
        set_slot(s, in->out[0], NULL, false);
        return true;
    }
}

/* CUDA takes the flags for external events only in a capture. */
static unsigned flag_of(const instruction *in, unsigned flag)
{
    return is_external(in->event) && bg_current_phase() == BG_PHASE_CAPTURE ? flag : 0;
}

/* After a failed call these may fail, too. */
static bool issue_order(session *s, const instruction *in, cudaStream_t stream)
{
    const bg_site site = {PROGRAM_FILE, in->line};
    bg_status status;

    if (in->kind == WAIT)
        status = bg_stream_wait_stream_at(stream, stream_of(s, in->on), &site);
    else if (in->kind == BREAK)
        status = bg_break_at(stream, &site);
    else if (in->kind == RECORD)
        status = bg_event_record_at(this_pass.events[in->event], stream, flag_of(in, cudaEventRecordExternal), &site);
    else
        status =
            bg_stream_wait_event_at(stream, this_pass.events[in->event], flag_of(in, cudaEventWaitExternal), &site);
    return s->broken || bg_ok(s, status, "a wait, a break or a record");
}

static bool is_unset(const session *s, int c)
{
    return c >= BUFFERS && s->slots[c - BUFFERS] == NULL;
}

/* Whether it needs what a failed call was to give. */
static bool lacks_memory(const session *s, const instruction *in)
{
    const op_shape *shape = &op_shapes[in->op];
    for (int i = 0; i < shape->in; i++)
        if (is_unset(s, in->in[i]))
            return true;
    for (int i = 0; i < shape->out; i++)
        if (in->given[i] == GIVEN_MEMORY && is_unset(s, in->out[i]))
            return true;
    return false;
}

static bool issue(session *s, int i)
{
    const instruction *in = &s->program->list[i];
    cudaStream_t stream = stream_of(s, in->stream);

    switch (in->kind) {
    case CALL: return (s->broken && lacks_memory(s, in)) || issue_call(s, i, stream);
    case WAIT:
    case BREAK:
    case RECORD:
    case WAIT_EVENT: return issue_order(s, in, stream);
    default: return s->broken || issue_plain(s, in, stream); /* a capture that has failed may be over */
    }
}

bg_status forward(void *user, cudaStream_t stream)
{
    session *s = user;
    s->origin = stream;
    s->broken = false;
    memset(s->slots, 0, sizeof s->slots);
    memset(s->taken, 0, sizeof s->taken);
    for (int i = 0; i < s->program->length; i++) {
        if (!issue(s, i))
            return BG_ERROR_MISMATCH;
        if (s->broken && s->program->faults == FAULTS_RETURNED)
            return fault_of(s->program->list[s->expects].id);
        if (s->serial && !cuda_ok(s, cudaDeviceSynchronize(), "cudaDeviceSynchronize"))
            return BG_ERROR_CUDA;
    }
    return BG_OK;
}

bool plan(session *s)
{
    model m;
    int at;

    if (!model_run(&m, s->program, &at))
        return fails(s, FAILED_CALL, 0, "instruction %d is illegal", s->program->list[at].id);
    model_list_calls(s->program, &s->calls);
    s->breaks = m.breaks;
    return true;
}

/* ---- plain runs ---- */

static bool run_passes(session *s, bool serial, int passes)
{
    s->plain = this_pass.sound = true;
    s->serial = serial;
    for (int pass = 0; pass < passes; pass++) {
        begin_pass(s, pass, ALL_BODIES);
        if (!reset(s, the_machine.streams[0]))
            return false;
        TRY_CUDA(cudaDeviceSynchronize());
        if (forward(s, the_machine.streams[0]) != BG_OK)
            return false;
        TRY_CUDA(cudaDeviceSynchronize());
        if (!gather(s, the_machine.streams[0]))
            return false;
    }
    return true;
}

static bool run_plainly(session *s, bool serial, int passes)
{
    bool good = run_passes(s, serial, passes);
    s->plain = s->serial = this_pass.sound = false;
    return good;
}

bool run_serially(session *s)
{
    return upload_inputs(s) && run_plainly(s, true, s->program->replays + 1) && download(s, &the_machine.expected);
}

bool run_freely(session *s)
{
    return run_plainly(s, false, 2) && compare(s, FAILED_PLAIN, 0, 1);
}
