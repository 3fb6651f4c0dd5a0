/* Conformance: functions of the host that a stream calls. */
#include "case_gate.h"
#include "cases.h"

#include <string.h>

/* What the functions of a case have seen. */
static struct {
    int count, order[4];
    int value;
    cudaError_t error, inside[3];
    cudaStream_t stream;
    volatile int flag;
    cudaStream_t asked;
    cudaEvent_t event;
    int *device;
    struct scene *scene;
} seen;

static cudaError_t forget(struct scene *s)
{
    memset(&seen, 0, sizeof seen);
    seen.asked = s->b;
    seen.event = s->e;
    seen.device = s->x;
    seen.scene = s;
    return cudaSuccess;
}
#define FORGET() (void)forget(s)

static void CUDART_CB note_one(void *user)
{
    (void)user;
    seen.order[seen.count++ & 3] = 1;
}

static void CUDART_CB note_two(void *user)
{
    (void)user;
    seen.order[seen.count++ & 3] = 2;
}

static void CUDART_CB read_int(void *user)
{
    seen.value = *(int *)user;
}

static void CUDART_CB write_int(void *user)
{
    *(int *)user = 5;
}

static void CUDART_CB set_flag(void *user)
{
    (void)user;
    seen.flag = 1;
}

static void CUDART_CB call_back(cudaStream_t stream, cudaError_t error, void *user)
{
    seen.stream = stream;
    seen.error = error;
    seen.value = user ? *(int *)user : 0;
    seen.order[seen.count++ & 3] = 3;
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

CASE(host_functions_in_order, {
    FORGET();
    ASK(cudaLaunchHostFunc(s->a, note_one, NULL));
    ASK(cudaLaunchHostFunc(s->a, note_two, NULL));
    ASK(cudaStreamAddCallback(s->a, call_back, NULL, 0));
    ASK(cudaStreamSynchronize(s->a));
    VALUE("calls", seen.count);
    VALUE("the first", seen.order[0]);
    VALUE("the second", seen.order[1]);
    VALUE("the third", seen.order[2]);
});

CASE(host_function_after_work, {
    FORGET();
    LAUNCH(s->a);
    STEP(cudaMemcpyAsync(s->y, s->x, sizeof *s->y, cudaMemcpyDeviceToHost, s->a));
    ASK(cudaLaunchHostFunc(s->a, read_int, s->y));
    ASK(cudaStreamSynchronize(s->a));
    VALUE("what the function read", seen.value);
});

CASE(work_after_host_function, {
    ASK(cudaLaunchHostFunc(s->a, write_int, s->y));
    STEP(cudaMemcpyAsync(s->x, s->y, sizeof *s->y, cudaMemcpyHostToDevice, s->a));
    LAUNCH(s->a);
    ASK(cudaStreamSynchronize(s->a));
    VALUE("x", case_read_x(s));
});

CASE(host_function_holds_back_its_stream, {
    HOLD(s->a);
    LAUNCH(s->a);
    LAUNCH(s->b);
    ASK(cudaStreamSynchronize(s->b));
    ASK(cudaStreamQuery(s->a));
    RETURNED();
    OPEN_GATE();
    ASK(cudaStreamSynchronize(s->a));
    VALUE("x", case_read_x(s));
});

CASE(host_function_on_default_streams, {
    FORGET();
    ASK(cudaLaunchHostFunc(NULL, note_one, NULL));
    ASK(cudaStreamSynchronize(NULL));
    VALUE("calls", seen.count);
    ASK(cudaLaunchHostFunc(cudaStreamLegacy, note_one, NULL));
    ASK(cudaLaunchHostFunc(cudaStreamPerThread, note_two, NULL));
    ASK(cudaStreamSynchronize(cudaStreamPerThread));
    VALUE("calls", seen.count);
    VALUE("the last", seen.order[2]);
});

CASE(host_function_of_graph, {
    FORGET();
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    STEP(cudaMemcpyAsync(s->y, s->x, sizeof *s->y, cudaMemcpyDeviceToHost, s->a));
    ASK(cudaLaunchHostFunc(s->a, read_int, s->y));
    END(s->a);
    VALUE("what the function read", seen.value);
    VALUE("x after a launch of the graph", case_run_graph(s));
    VALUE("what the function read", seen.value);
});

/* ---- arguments --------------------------------------------------------------------------------------------------- */

CASE(host_function_null, {
    ASK(cudaLaunchHostFunc(s->a, NULL, NULL));
    ASK(cudaStreamAddCallback(s->a, NULL, NULL, 0));
    ASK(cudaStreamAddCallback(s->a, NULL, NULL, 1));
    ASK(cudaStreamQuery(s->a));
});

CASE(host_function_null_captured, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaLaunchHostFunc(s->a, NULL, NULL));
    STATUS(s->a);
    END(s->a);
});

CASE(callback_flags, {
    FORGET();
    ASK(cudaStreamAddCallback(s->a, call_back, NULL, 1));
    ASK(cudaStreamAddCallback(s->a, call_back, NULL, 0xffffffff));
    ASK(cudaStreamSynchronize(s->a));
    VALUE("calls", seen.count);
});

CASE(callback_arguments, {
    FORGET();
    *s->y = 6;
    ASK(cudaStreamAddCallback(s->a, call_back, s->y, 0));
    ASK(cudaStreamSynchronize(s->a));
    ANSWERED("it was told the stream", seen.stream == s->a);
    ASK_AS("/* the error that it was told */", seen.error);
    VALUE("*user", seen.value);
});

CASE(callback_stream_null, {
    FORGET();
    seen.stream = s->a;
    ASK(cudaStreamAddCallback(NULL, call_back, NULL, 0));
    ASK(cudaStreamSynchronize(NULL));
    ANSWERED("it was told NULL", seen.stream == NULL);
    ANSWERED("it was told cudaStreamLegacy", seen.stream == cudaStreamLegacy);
});

CASE(callback_stream_legacy, {
    FORGET();
    seen.stream = s->a;
    ASK(cudaStreamAddCallback(cudaStreamLegacy, call_back, NULL, 0));
    ASK(cudaStreamSynchronize(cudaStreamLegacy));
    ANSWERED("it was told NULL", seen.stream == NULL);
    ANSWERED("it was told cudaStreamLegacy", seen.stream == cudaStreamLegacy);
});

CASE(callback_stream_per_thread, {
    FORGET();
    seen.stream = s->a;
    ASK(cudaStreamAddCallback(cudaStreamPerThread, call_back, NULL, 0));
    ASK(cudaStreamSynchronize(cudaStreamPerThread));
    ANSWERED("it was told NULL", seen.stream == NULL);
    ANSWERED("it was told cudaStreamPerThread", seen.stream == cudaStreamPerThread);
});

/* ---- calls of CUDA in the function ------------------------------------------------------------------------------- */

static void CUDART_CB use_memory(void *user)
{
    void *memory = NULL;
    (void)user;
    seen.inside[0] = cudaMalloc(&memory, 64);
    seen.inside[1] = cudaMemcpyAsync(seen.device, seen.device, 0, cudaMemcpyDeviceToDevice, seen.asked);
    seen.inside[2] = cudaPeekAtLastError();
}

static void CUDART_CB use_streams(void *user)
{
    (void)user;
    seen.inside[0] = cudaStreamQuery(seen.asked);
    seen.inside[1] = cudaEventRecord(seen.event, seen.asked);
    seen.inside[2] = cudaEventQuery(seen.event);
}

static void CUDART_CB use_kernel(void *user)
{
    (void)user;
    seen.inside[0] = kernel(seen.scene, seen.asked);
    seen.inside[1] = cudaLaunchHostFunc(seen.asked, note_one, NULL);
    seen.inside[2] = cudaStreamBeginCapture(seen.asked, cudaStreamCaptureModeRelaxed);
}

static void CUDART_CB use_device(void *user)
{
    int value = 0;
    (void)user;
    seen.inside[0] = cudaGetDevice(&value);
    seen.inside[1] = cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0);
    seen.inside[2] = cudaRuntimeGetVersion(&value);
}

static void CUDART_CB use_nothing(void *user)
{
    void *memory = NULL;
    (void)user;
    seen.inside[0] = cudaMalloc(NULL, 64);
    seen.inside[1] = cudaGetLastError();
    seen.inside[2] = cudaMalloc(&memory, 0);
}

static void CUDART_CB call_back_using_memory(cudaStream_t stream, cudaError_t error, void *user)
{
    (void)stream;
    (void)error;
    use_memory(user);
}

CASE(memory_in_host_function, {
    FORGET();
    STEP(cudaLaunchHostFunc(s->a, use_memory, NULL));
    ASK(cudaStreamSynchronize(s->a));
    ASK_AS("/* in the function: */ cudaMalloc(&memory, 64)", seen.inside[0]);
    ASK_AS("/* in the function: */ cudaMemcpyAsync(x, x, 0, cudaMemcpyDeviceToDevice, b)", seen.inside[1]);
    ASK_AS("/* in the function: */ cudaPeekAtLastError()", seen.inside[2]);
    ASK(cudaPeekAtLastError());
});

CASE(memory_in_callback, {
    FORGET();
    STEP(cudaStreamAddCallback(s->a, call_back_using_memory, NULL, 0));
    ASK(cudaStreamSynchronize(s->a));
    ASK_AS("/* in the function: */ cudaMalloc(&memory, 64)", seen.inside[0]);
    ASK_AS("/* in the function: */ cudaMemcpyAsync(x, x, 0, cudaMemcpyDeviceToDevice, b)", seen.inside[1]);
    ASK_AS("/* in the function: */ cudaPeekAtLastError()", seen.inside[2]);
    ASK(cudaPeekAtLastError());
});

CASE(streams_in_host_function, {
    FORGET();
    STEP(cudaLaunchHostFunc(s->a, use_streams, NULL));
    ASK(cudaStreamSynchronize(s->a));
    ASK_AS("/* in the function: */ cudaStreamQuery(b)", seen.inside[0]);
    ASK_AS("/* in the function: */ cudaEventRecord(e, b)", seen.inside[1]);
    ASK_AS("/* in the function: */ cudaEventQuery(e)", seen.inside[2]);
});

CASE(work_in_host_function, {
    FORGET();
    STEP(cudaLaunchHostFunc(s->a, use_kernel, NULL));
    ASK(cudaStreamSynchronize(s->a));
    ASK_AS("/* in the function: */ kernel<<<1, 1, 0, b>>>(x)", seen.inside[0]);
    ASK_AS("/* in the function: */ cudaLaunchHostFunc(b, note_one, NULL)", seen.inside[1]);
    ASK_AS("/* in the function: */ cudaStreamBeginCapture(b, cudaStreamCaptureModeRelaxed)", seen.inside[2]);
    VALUE("x", case_read_x(s));
});

CASE(device_in_host_function, {
    FORGET();
    STEP(cudaLaunchHostFunc(s->a, use_device, NULL));
    ASK(cudaStreamSynchronize(s->a));
    ASK_AS("/* in the function: */ cudaGetDevice(&device)", seen.inside[0]);
    ASK_AS("/* in the function: */ cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0)", seen.inside[1]);
    ASK_AS("/* in the function: */ cudaRuntimeGetVersion(&version)", seen.inside[2]);
});

CASE(errors_in_host_function, {
    FORGET();
    STEP(cudaLaunchHostFunc(s->a, use_nothing, NULL));
    ASK(cudaStreamSynchronize(s->a));
    ASK_AS("/* in the function: */ cudaMalloc(NULL, 64)", seen.inside[0]);
    ASK_AS("/* in the function: */ cudaGetLastError()", seen.inside[1]);
    ASK_AS("/* in the function: */ cudaMalloc(&memory, 0)", seen.inside[2]);
    ASK(cudaPeekAtLastError());
});

/* ---- waiting without calls --------------------------------------------------------------------------------------- */

CASE(flag_set_by_host_function, {
    FORGET();
    LAUNCH(s->a);
    STEP(cudaLaunchHostFunc(s->a, set_flag, NULL));
    ANSWERED("the flag was set while the program only looked at it", gate_wait_until(&seen.flag, 1));
});

CASE(memory_written_by_the_device, {
    LAUNCH(s->a);
    STEP(cudaMemcpyAsync(s->y, s->x, sizeof *s->y, cudaMemcpyDeviceToHost, s->a));
    ANSWERED("the int came while the program only looked at it", gate_wait_until(s->y, 1));
});

CASE(flag_set_behind_another_stream, {
    FORGET();
    LAUNCH(s->a);
    ORDER(s->a, s->b);
    STEP(cudaLaunchHostFunc(s->b, set_flag, NULL));
    ANSWERED("the flag was set while the program only looked at it", gate_wait_until(&seen.flag, 1));
});

static const struct case_rule order_rules[] = {
    {&host_functions_in_order, "The functions of a stream are called in order."},
    {&host_function_after_work, "A function sees what the work before it has done."},
    {&work_after_host_function, "And the work after it sees what it did."},
    {&host_function_holds_back_its_stream, "A function holds back its own stream, and no other."},
    {&host_function_on_default_streams, "The default streams call functions, too."},
    {&host_function_of_graph, "In a capture, a function becomes a node, and is called at each launch."},
    {&flag_set_by_host_function, "A program may wait for a flag that a function sets, without any call."},
    {&flag_set_behind_another_stream, "Also where the function's stream waits for another one."},
    {&memory_written_by_the_device, "It may wait for pinned memory that the device writes."},
};

const struct case_topic topic_callback =
    CASE_TOPIC("Host functions",
               "Functions of the program that a stream calls: `cudaLaunchHostFunc`, and the older "
               "`cudaStreamAddCallback`.",
               order_rules);

static const struct case_rule inside_rules[] = {
    {&host_function_null, "A function is needed."},
    {&host_function_null_captured, "In a capture, too."},
    {&callback_flags, "`cudaStreamAddCallback` has no flags."},
    {&callback_arguments, "Its function is told the stream, and whether an error came before."},
    {&callback_stream_null, "The stream is the one that the program named."},
    {&callback_stream_legacy, "That holds for the legacy stream by its other name,"},
    {&callback_stream_per_thread, "and for the per-thread stream."},
    {&memory_in_host_function, "A function must not call CUDA: memory is refused. The error is not seen by the "
                               "program's thread."},
    {&memory_in_callback, "The same holds for `cudaStreamAddCallback`."},
    {&streams_in_host_function,
     "Streams are refused, and to record an event; an event that was never recorded is done."},
    {&work_in_host_function, "So is work, and a capture."},
    {&device_in_host_function, "Questions about the device are refused, those about the library are not."},
    {&errors_in_host_function,
     "The missing place of an allocation is found first. The thread of the function has a last error of its own."},
};

const struct case_topic topic_inside =
    CASE_TOPIC("Arguments and calls of host functions",
               "What a host function is given, and what CUDA answers when it calls CUDA.", inside_rules);
