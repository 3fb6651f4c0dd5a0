#include "run.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bugs.h"
#include "machine.h"
#include "model.h"
#include "ops.h"

/* Only the host device has it. */
void hostcuda_seed(unsigned long long seed);
#pragma weak hostcuda_seed

static const char file_name[] = "program";

/* One program's run. */
typedef struct session {
    const program *program;
    failure *failure;
    bool plain;  /* outside a capture */
    bool serial; /* and one instruction after the other */
    bool eager[LENGTH];
    int breaks;
    void *slots[SLOTS];
    cudaStream_t origin;
    bg_graph *graph;
    void (*change)(void); /* between the two captures of bg_check_twice */
} session;

static bool fails(session *s, failure_kind kind, int pass, const char *format, ...)
{
    va_list list;
    s->failure->kind = kind;
    s->failure->pass = pass;
    va_start(list, format);
    vsnprintf(s->failure->text, sizeof s->failure->text, format, list);
    va_end(list);
    return false;
}

static bool cuda_ok(session *s, cudaError_t error, const char *call)
{
    return error == cudaSuccess || fails(s, FAILED_CALL, this_pass.number, "%s: %s", call, cudaGetErrorName(error));
}

#define TRY_CUDA(call)                                                                                                 \
    do {                                                                                                               \
        if (!cuda_ok(s, call, #call))                                                                                  \
            return false;                                                                                              \
    } while (0)

static bool bg_ok(session *s, bg_status status, const char *call)
{
    return status == BG_OK ||
           fails(s, FAILED_CALL, this_pass.number, "%s: %s: %s", call, bg_status_name(status), bg_last_error());
}

/* ---- passes ---- */

static void begin_pass(int number)
{
    this_pass.number = number;
    this_pass.ambient = scramble((uint64_t)number);
}

static uint32_t input_bits(uint32_t number)
{
    float value = (float)(number >> 8) / (1 << 24);
    if (this_pass.floats)
        memcpy(&number, &value, sizeof number);
    return number;
}

static bool upload_inputs(session *s)
{
    uint64_t at = s->program->seed;
    for (int pass = 0; pass < PASSES; pass++)
        for (int b = 0; b < BUFFERS; b++)
            for (int i = 0; i < ELEMENTS; i++)
                the_machine.host_inputs[pass][b][i] = input_bits(scramble(at++));
    TRY_CUDA(cudaMemcpy(the_machine.inputs, the_machine.host_inputs, sizeof the_machine.host_inputs,
                        cudaMemcpyHostToDevice));
    TRY_CUDA(cudaDeviceSynchronize());
    return true;
}

/* Buffers hold the pass's inputs. */
static bool reset(session *s, cudaStream_t stream)
{
    TRY_CUDA(cudaMemcpyAsync(the_machine.buffers, the_machine.inputs[this_pass.number], sizeof the_machine.inputs[0],
                             cudaMemcpyDeviceToDevice, stream));
    return true;
}

/* Buffers and slots are kept as what the pass made. */
static bool gather(session *s, cudaStream_t stream)
{
    tensor_data *to = the_machine.found[this_pass.number];
    TRY_CUDA(cudaMemcpyAsync(to, the_machine.buffers, BUFFERS * sizeof(tensor_data), cudaMemcpyDeviceToDevice, stream));
    for (int i = 0; i < SLOTS; i++) {
        if (s->slots[i] == NULL)
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
    TRY_CUDA(cudaMemcpy(to, the_machine.found, sizeof *to, cudaMemcpyDeviceToHost));
    return true;
}

static bool compare(session *s, failure_kind kind, int first, int last)
{
    if (!download(s, &the_machine.seen))
        return false;
    for (int pass = first; pass <= last; pass++)
        for (int c = 0; c < CELLS; c++)
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

static bg_tensor tensor_at(void *data)
{
    return bg_tensor_1d(data, pass_dtype(), ELEMENTS);
}

static uint32_t value_of(const session *s, int i)
{
    const instruction *in = &s->program->list[i];
    return in->k + (in->change_value && s->eager[i] ? 1000 * (uint32_t)this_pass.number : 0);
}

static int input_of(const session *s, int i)
{
    const instruction *in = &s->program->list[i];
    return in->change_input >= 0 && s->eager[i] && this_pass.number % 2 ? in->change_input : in->in[0];
}

static bg_tensor output_for(const session *s, const instruction *in, int ordinal)
{
    if (in->given[ordinal] == GIVEN_NOTHING)
        return (bg_tensor){.dtype = pass_dtype()};
    return tensor_at(in->given[ordinal] == GIVEN_SHAPE ? NULL : memory_of(s, in->out[ordinal]));
}

static how how_of(const instruction *in)
{
    return (how){in->place, in->id, in->shorter};
}

static void set_value(const session *s, int i, const bg_field *field, void *at)
{
    const instruction *in = &s->program->list[i];
    if (strcmp(field->name, "k") == 0)
        *(uint32_t *)at = value_of(s, i);
    else if (strcmp(field->name, "variant") == 0)
        *(int *)at = in->variant;
    else if (strcmp(field->name, "event") == 0)
        *(int *)at = in->event;
    else
        *(how *)at = how_of(in);
}

static void fill_args(const session *s, int i, const bg_op *op, unsigned char *args)
{
    const instruction *in = &s->program->list[i];
    int inputs = 0, outputs = 0;

    memset(args, 0, op->args_size);
    for (uint32_t f = 0; f < op->field_count; f++) {
        const bg_field *field = &op->fields[f];
        bg_tensor *tensors = (bg_tensor *)(void *)(args + field->offset);
        if (field->role == BG_ROLE_VALUE)
            set_value(s, i, field, tensors);
        else if (field->role == BG_ROLE_IN)
            *tensors = tensor_at(memory_of(s, inputs++ == 0 ? input_of(s, i) : in->in[1]));
        else
            for (uint32_t t = 0; t < field->size / sizeof *tensors; t++, outputs++)
                tensors[t] = output_for(s, in, outputs);
    }
}

static void take_slots(session *s, const instruction *in, const bg_op *op, const unsigned char *args)
{
    int outputs = 0;
    for (uint32_t f = 0; f < op->field_count; f++) {
        const bg_field *field = &op->fields[f];
        const bg_tensor *tensors = (const bg_tensor *)(const void *)(args + field->offset);
        if (field->role == BG_ROLE_VALUE || field->role == BG_ROLE_IN)
            continue;
        for (uint32_t t = 0; t < field->size / sizeof *tensors; t++, outputs++)
            if (in->given[outputs] != GIVEN_MEMORY)
                s->slots[in->out[outputs] - BUFFERS] = tensors[t].data;
    }
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

static bool issue_call(session *s, int i, cudaStream_t stream)
{
    const instruction *in = &s->program->list[i];
    const bg_op *op = the_machine.ops[in->op][in->eager];
    const bg_site site = {file_name, in->id};
    _Alignas(16) unsigned char args[1024];

    if (op->args_size > sizeof args)
        return fails(s, FAILED_CALL, this_pass.number, "the arguments of %s have %u bytes", op->name, op->args_size);
    if (bug_skips(in->id))
        return true;
    fill_args(s, i, op, args);
    bug_spoil(in->id, op, args);
    if (!bg_ok(s, bg_op_call(op, stream, args, &site), op->name))
        return false;
    take_slots(s, in, op, args);
    return !s->plain || zero_tails(s, in, stream);
}

static cudaStream_t stream_of(const session *s, int number)
{
    return number == 0 ? s->origin : the_machine.streams[number];
}

static bool issue(session *s, int i)
{
    const instruction *in = &s->program->list[i];
    const bg_site site = {file_name, in->id};
    cudaStream_t stream = stream_of(s, in->stream);

    switch (in->kind) {
    case CALL: return issue_call(s, i, stream);
    case WAIT: return bg_ok(s, bg_stream_wait_stream_at(stream, stream_of(s, in->on), &site), "bg_stream_wait_stream");
    case BREAK: return bg_ok(s, bg_break_at(stream, &site), "bg_break");
    case KERNEL:
        TRY_CUDA(pass_mix(memory_of(s, in->out[0]), memory_of(s, in->in[0]), memory_of(s, in->in[1]), in->k, ELEMENTS,
                          stream));
        return true;
    case COPY:
        TRY_CUDA(cudaMemcpyAsync(memory_of(s, in->out[0]), memory_of(s, in->in[0]), sizeof(tensor_data),
                                 cudaMemcpyDeviceToDevice, stream));
        return true;
    case FILL:
        TRY_CUDA(cudaMemsetAsync(memory_of(s, in->out[0]), (int)in->k, sizeof(tensor_data), stream));
        return true;
    case RECORD: return bg_ok(s, bg_event_record_at(this_pass.events[in->event], stream, 0, &site), "bg_event_record");
    case WAIT_EVENT:
        return bg_ok(s, bg_stream_wait_event_at(stream, this_pass.events[in->event], 0, &site), "bg_stream_wait_event");
    case RECORD_BARE: TRY_CUDA(cudaEventRecord(the_machine.bare[in->event], stream)); return true;
    case WAIT_BARE: TRY_CUDA(cudaStreamWaitEvent(stream, the_machine.bare[in->event], 0)); return true;
    }
    return true;
}

static bg_status forward(void *user, cudaStream_t stream)
{
    session *s = user;
    s->origin = stream;
    memset(s->slots, 0, sizeof s->slots);
    for (int i = 0; i < s->program->length; i++) {
        if (!issue(s, i))
            return BG_ERROR_OP;
        if (s->serial && !cuda_ok(s, cudaDeviceSynchronize(), "cudaDeviceSynchronize"))
            return BG_ERROR_CUDA;
    }
    return BG_OK;
}

/* ---- plain runs ---- */

static bool run_plainly(session *s, bool serial, int passes)
{
    s->plain = true;
    s->serial = serial;
    for (int pass = 0; pass < passes; pass++) {
        begin_pass(pass);
        if (!reset(s, the_machine.streams[0]))
            return false;
        TRY_CUDA(cudaDeviceSynchronize());
        if (forward(s, the_machine.streams[0]) != BG_OK)
            return false;
        TRY_CUDA(cudaDeviceSynchronize());
        if (!gather(s, the_machine.streams[0]))
            return false;
    }
    s->plain = s->serial = false;
    return true;
}

/* ---- the capture ---- */

static void list_patterns(const program *p, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < p->pattern_count; i++) {
        if (i > 0)
            used += (size_t)snprintf(text + used, bytes - used, ", ");
        pattern_text(&p->patterns[i], text + used, bytes - used);
        used += strlen(text + used);
    }
}

/* What the program sets around its capture, and takes back. */
static bool set_environment(session *s, bool on)
{
    static const char *const names[] = {NULL, "off", "forward", "ops", "sync"};
    const program *p = s->program;
    char patterns[PATTERNS * 80];
    bool bad = false;

    list_patterns(p, patterns, sizeof patterns);
    bad |= unsetenv("BG_DEBUG") || unsetenv("BG_EAGER_OPS") || unsetenv("BG_BREAKABLE");
    if (on && p->debug_from_environment)
        bad |= setenv("BG_DEBUG", names[p->debug], 1) != 0;
    if (on && p->patterns_from_environment && p->pattern_count > 0)
        bad |= setenv("BG_EAGER_OPS", patterns, 1) != 0;
    if (on && !p->breakable)
        bad |= setenv("BG_BREAKABLE", "0", 1) != 0;
    if (bad)
        return fails(s, FAILED_CALL, 0, "the environment cannot be changed");
    return bg_ok(s, bg_override_eager(on && !p->patterns_from_environment ? patterns : NULL), "bg_override_eager");
}

static bool capture_with(session *s, const bg_capture_options *options)
{
    bg_capture *capture = NULL;
    bg_status status, ended;

    if (s->program->whole)
        return bg_ok(s, bg_capture_forward(&s->graph, forward, s, the_machine.streams[0], options),
                     "bg_capture_forward");
    if (!bg_ok(s, bg_capture_begin(&capture, the_machine.streams[0], options), "bg_capture_begin"))
        return false;
    status = forward(s, the_machine.streams[0]);
    ended = bg_capture_end(capture, &s->graph);
    return status == BG_OK && bg_ok(s, ended, "bg_capture_end");
}

/* The program's events have no record yet: a capture refuses to wait for one from before it. */
static bool renew_events(session *s)
{
    for (int i = 0; i < EVENTS; i++) {
        if (this_pass.events[i] != NULL)
            TRY_CUDA(cudaEventDestroy(this_pass.events[i]));
        this_pass.events[i] = NULL;
        TRY_CUDA(cudaEventCreateWithFlags(&this_pass.events[i], cudaEventDisableTiming));
    }
    return true;
}

static bool capture(session *s)
{
    const program *p = s->program;
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_tensor state[BUFFERS];
    bool good;

    for (int i = 0; i < BUFFERS; i++)
        state[i] = tensor_at(the_machine.buffers[i]);
    options.name = file_name;
    options.mode = p->mode;
    options.debug = p->debug_from_environment ? BG_DEBUG_FROM_ENV : p->debug;
    options.launch_segments = p->launch;
    options.join_at_end = p->join_at_end;
    options.worker_threads = p->workers;
    options.upload = p->upload;
    options.zero_tail = p->zero_tail;
    options.state = p->state ? state : NULL;
    options.state_count = p->state ? BUFFERS : 0;
    begin_pass(0);
    if (!reset(s, the_machine.streams[0]))
        return false;
    TRY_CUDA(cudaDeviceSynchronize());
    good = renew_events(s) && set_environment(s, true) && capture_with(s, &options);
    return set_environment(s, false) && good;
}

/* What a capture pass leaves behind. */
static bool check_capture_pass(session *s)
{
    TRY_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < EVENTS; i++)
        TRY_CUDA(cudaEventQuery(this_pass.events[i]));
    if (s->program->launch)
        return gather(s, the_machine.streams[0]) && compare(s, FAILED_CAPTURE, 0, 0);
    if (!s->program->state)
        return true;
    TRY_CUDA(cudaMemcpy(the_machine.seen[0], the_machine.buffers, sizeof the_machine.host_inputs[0],
                        cudaMemcpyDeviceToHost));
    if (memcmp(the_machine.seen[0], the_machine.host_inputs[0], sizeof the_machine.host_inputs[0]) != 0)
        return fails(s, FAILED_STATE, 0, "a buffer of options.state is not what it was before the capture");
    return true;
}

/* The call that an instruction made; false: there is none. */
static bool find_call(const session *s, int i, bg_call_info *info)
{
    *info = (bg_call_info)BG_CALL_INFO_INIT;
    for (int c = 0; bg_graph_get_call(s->graph, c, info) == BG_OK; c++)
        if (strcmp(info->file, file_name) == 0 && info->line == s->program->list[i].id)
            return true;
    return false;
}

static bool check_calls(session *s)
{
    const program *p = s->program;
    bg_graph_info graph = BG_GRAPH_INFO_INIT;
    bg_call_info call;

    if (!bg_ok(s, bg_graph_get_info(s->graph, &graph), "bg_graph_get_info"))
        return false;
    if (p->debug == BG_DEBUG_FORWARD)
        return true;
    if (graph.breaks != s->breaks)
        return fails(s, FAILED_CALLS, 0, "the graph has %d breaks, expected %d", graph.breaks, s->breaks);
    for (int i = 0; i < p->length; i++) {
        if (p->list[i].kind != CALL)
            continue;
        if (!find_call(s, i, &call))
            return fails(s, FAILED_CALLS, 0, "the graph has no call of instruction %d", p->list[i].id);
        if (call.eager != s->eager[i])
            return fails(s, FAILED_CALLS, 0, "%s is %s", call.name, call.eager ? "eager" : "captured");
    }
    return true;
}

/* ---- replays ---- */

static void *field_of(const bg_op *op, void *args, const char *name)
{
    for (uint32_t f = 0; f < op->field_count; f++)
        if (strcmp(op->fields[f].name, name) == 0)
            return (char *)args + op->fields[f].offset;
    return NULL;
}

/* This pass's arguments of the calls whose arguments change. */
static bool change_args(session *s)
{
    const program *p = s->program;
    bg_call_info call;

    for (int i = 0; i < p->length && p->debug != BG_DEBUG_FORWARD; i++) {
        const instruction *in = &p->list[i];
        const bg_op *op = the_machine.ops[in->op][in->eager];
        void *args;
        if (in->kind != CALL || !s->eager[i] || (!in->change_value && in->change_input < 0))
            continue;
        if (!find_call(s, i, &call) || (args = bg_graph_args(s->graph, call.name, op->args_size)) == NULL)
            return fails(s, FAILED_CALL, this_pass.number, "instruction %d has no arguments: %s", in->id,
                         bg_last_error());
        *(uint32_t *)field_of(op, args, "k") = value_of(s, i);
        if (in->change_input >= 0)
            ((bg_tensor *)field_of(op, args, "a"))->data = the_machine.buffers[input_of(s, i)];
    }
    return true;
}

/* Gives fresh memory back with other contents: what was freed too early is overwritten. */
static bool churn(session *s)
{
    void *memory[4] = {NULL};
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < 4 && error == cudaSuccess; i++) {
        error = cudaMalloc(&memory[i], (size_t)(i + 1) * sizeof(tensor_data));
        if (error == cudaSuccess)
            error = cudaMemset(memory[i], 0xa5, (size_t)(i + 1) * sizeof(tensor_data));
    }
    for (int i = 0; i < 4; i++)
        released(cudaFree(memory[i]), "cudaFree");
    return cuda_ok(s, error, "cudaMalloc or cudaMemset");
}

/* No program here has a fault that bg_check looks for, whatever it does. */
static bool is_clean(session *s)
{
    bg_report *report = NULL;
    bg_finding finding = BG_FINDING_INIT;
    bool clean;
    if (!bg_ok(s, bg_check(s->graph, BG_CHECK_ALL, &report), "bg_check"))
        return false;
    clean = bg_report_count(report) == 0;
    if (!clean && bg_report_get(report, 0, &finding) == BG_OK)
        fails(s, FAILED_CALL, this_pass.number, "bg_check found [%s] %s: %s", finding.kind, finding.call,
              finding.message);
    bg_report_destroy(report);
    return clean;
}

static bool replay(session *s, cudaStream_t stream)
{
    const program *p = s->program;
    if (!p->queued)
        TRY_CUDA(cudaDeviceSynchronize());
    else if (this_pass.number > 1)
        TRY_CUDA(cudaStreamWaitEvent(stream, the_machine.order, 0));
    if ((p->churn && !churn(s)) || !reset(s, stream) || !change_args(s))
        return false;
    if (!p->queued)
        TRY_CUDA(cudaDeviceSynchronize());
    if (!is_clean(s) || !bg_ok(s, bg_replay(s->graph, stream), "bg_replay"))
        return false;
    if (!p->queued)
        TRY_CUDA(cudaDeviceSynchronize());
    if (!gather(s, stream))
        return false;
    TRY_CUDA(cudaEventRecord(the_machine.order, stream));
    return true;
}

static bool replay_all(session *s)
{
    const cudaStream_t streams[] = {the_machine.streams[0], the_machine.extra, the_machine.streams[1],
                                    cudaStreamPerThread};
    for (int pass = 1; pass <= s->program->replays; pass++) {
        begin_pass(pass);
        if (!replay(s, streams[pass % s->program->move]))
            return false;
    }
    return compare(s, FAILED_REPLAY, 1, s->program->replays);
}

/* ---- all of it ---- */

static bool plan(session *s)
{
    int calls[OP_KINDS][2] = {{0}};
    char name[24];
    model m;

    model_start(&m, s->program);
    for (int i = 0; i < s->program->length; i++) {
        const instruction *in = &s->program->list[i];
        if (!model_step(&m, in))
            return fails(s, FAILED_CALL, 0, "instruction %d is illegal", in->id);
        if (in->kind == CALL) {
            call_name call = {op_name(in->op, in->eager, name, sizeof name), calls[in->op][in->eager]++, NULL, 0};
            s->eager[i] = model_is_eager(s->program, &call, in->eager);
        }
    }
    s->breaks = m.breaks;
    return true;
}

/* Nothing captures any more, whatever went wrong. */
static bool check_streams(session *s)
{
    enum cudaStreamCaptureStatus status;
    TRY_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < STREAMS; i++) {
        TRY_CUDA(cudaStreamIsCapturing(the_machine.streams[i], &status));
        if (status != cudaStreamCaptureStatusNone)
            return fails(s, FAILED_CALL, 0, "stream s%d still captures after the end", i);
    }
    return true;
}

static bool run_all(session *s)
{
    const program *p = s->program;
    if (!plan(s) || !upload_inputs(s) || !renew_events(s))
        return false;
    if (!run_plainly(s, true, p->replays + 1) || !download(s, &the_machine.expected))
        return false;
    if (!p->barriers && (!run_plainly(s, false, 2) || !compare(s, FAILED_PLAIN, 0, 1)))
        return false;
    return capture(s) && check_streams(s) && check_capture_pass(s) && check_calls(s) && replay_all(s);
}

bool run_program(const program *p, failure *f)
{
    session s = {.program = p, .failure = f};
    bool passed;

    *f = (failure){PASSED, 0, ""};
    if (hostcuda_seed != NULL)
        hostcuda_seed(p->schedule);
    passed = run_all(&s);
    bg_graph_destroy(s.graph);
    return check_streams(&s) && passed;
}

/* ---- for the debugging tools ---- */

bool run_captured(const program *p, bool (*look)(void *user, bg_graph *graph, cudaStream_t stream), void *user,
                  failure *f)
{
    session s = {.program = p, .failure = f};
    bool good;

    *f = (failure){PASSED, 0, ""};
    if (hostcuda_seed != NULL)
        hostcuda_seed(p->schedule);
    good = plan(&s) && upload_inputs(&s) && capture(&s) && check_streams(&s);
    begin_pass(1);
    good = good && reset(&s, the_machine.streams[0]) && cuda_ok(&s, cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    good = good && look(user, s.graph, the_machine.streams[0]);
    bg_graph_destroy(s.graph);
    return check_streams(&s) && good;
}

static void between(void *user)
{
    session *s = user;
    (void)renew_events(s); /* the failure tells of it */
    if (s->change != NULL)
        s->change();
}

bool run_twice(const program *p, void (*change)(void), bg_report **report, failure *f)
{
    session s = {.program = p, .failure = f, .change = change};
    bool good;

    *f = (failure){PASSED, 0, ""};
    *report = NULL;
    if (hostcuda_seed != NULL)
        hostcuda_seed(p->schedule);
    begin_pass(0);
    good = plan(&s) && upload_inputs(&s) && renew_events(&s) && set_environment(&s, true);
    good = good && bg_ok(&s, bg_check_twice(forward, &s, between, the_machine.streams[0], report), "bg_check_twice");
    good = set_environment(&s, false) && good && f->kind == PASSED;
    return check_streams(&s) && good;
}

/* Buffers and a body's own memory are what passes change, by plain CUDA calls, too. */
bool run_shadowed(const program *p, bg_report **report, failure *f)
{
    const bg_tensor state[] = {
        bg_tensor_1d(the_machine.buffers, BG_I32, BUFFERS * ELEMENTS),
        bg_tensor_1d(this_pass.own, BG_I32, LENGTH * OUTPUTS * 2 * ELEMENTS),
    };
    bg_compare_options options = BG_COMPARE_OPTIONS_INIT;
    session s = {.program = p, .failure = f};
    bool good;

    *f = (failure){PASSED, 0, ""};
    *report = NULL;
    options.state = state;
    options.state_count = sizeof state / sizeof *state;
    if (hostcuda_seed != NULL)
        hostcuda_seed(p->schedule);
    begin_pass(0);
    good = plan(&s) && upload_inputs(&s) && reset(&s, the_machine.streams[0]) && renew_events(&s) &&
           set_environment(&s, true);
    good = good && bg_ok(&s, bg_shadow(forward, &s, the_machine.streams[0], &options, report), "bg_shadow");
    good = set_environment(&s, false) && good && f->kind == PASSED;
    return check_streams(&s) && good;
}
