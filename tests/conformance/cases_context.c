/* Conformance: primary contexts, and the functions of the driver by name. */
#include "cases.h"

/* An answer of the driver that was taken before: a call of the runtime makes its context current, and there is one in
 * ASK_CU. */
#define ANSWER_CU(call, result)                                                                                        \
    do {                                                                                                               \
        if (s->wrong[0] || !case_ask_cu(s, call, result))                                                              \
            return;                                                                                                    \
    } while (0)

static PFN_cuCtxGetCurrent_v4000 get_current;
static PFN_cuCtxSetCurrent_v4000 set_current;
static PFN_cuCtxGetDevice_v2000 get_device;
static PFN_cuStreamQuery_v2000 query;
static PFN_cuCtxSynchronize_v2000 synchronize;

static void find_calls(struct scene *s)
{
    (void)(case_driver(s, "cuCtxGetCurrent", 4000, &get_current) &&
           case_driver(s, "cuCtxSetCurrent", 4000, &set_current) &&
           case_driver(s, "cuCtxGetDevice", 2000, &get_device) && case_driver(s, "cuStreamQuery", 2000, &query) &&
           case_driver(s, "cuCtxSynchronize", 2000, &synchronize));
}
#define FIND_CALLS()                                                                                                   \
    find_calls(s);                                                                                                     \
    if (s->wrong[0])                                                                                                   \
    return

/* ---- primary contexts -------------------------------------------------------------------------------------------- */

CASE(context_state, {
    unsigned flags = 77;
    int active = 77;
    ASK_CU(cuDevicePrimaryCtxGetState, 7000, 0, &flags, &active);
    VALUE("active", active);
    ASK_CU(cuDevicePrimaryCtxGetState, 7000, 1000, &flags, &active);
    ASK_CU(cuDevicePrimaryCtxGetState, 7000, -1, &flags, &active);
    ASK_CU(cuDevicePrimaryCtxGetState, 7000, 0, NULL, &active);
    ASK_CU(cuDevicePrimaryCtxGetState, 7000, 0, &flags, NULL);
});

CASE(context_flags, {
    unsigned first = 0;
    unsigned flags = 77;
    int active = 0;
    ASK_CU(cuDevicePrimaryCtxGetState, 7000, 0, &first, &active);
    ASK_CU(cuDevicePrimaryCtxSetFlags, 11000, 0, CU_CTX_SCHED_YIELD);
    ASK_CU(cuDevicePrimaryCtxGetState, 7000, 0, &flags, &active);
    VALUE("flags", flags);
    ASK(cudaGetDeviceFlags(&flags));
    VALUE("flags", flags);
    ASK_CU(cuDevicePrimaryCtxSetFlags, 11000, 0, 3);
    ASK_CU(cuDevicePrimaryCtxSetFlags, 11000, 0, 0xffff);
    ASK_CU(cuDevicePrimaryCtxSetFlags, 11000, 1000, 0);
    ASK_CU(cuDevicePrimaryCtxGetState, 7000, 0, &flags, &active);
    VALUE("flags", flags);
    ASK_CU(cuDevicePrimaryCtxSetFlags, 11000, 0, first);
});

CASE(context_retained, {
    CUcontext context = NULL;
    CUcontext again = NULL;
    CUcontext current = NULL;
    ASK_CU(cuDevicePrimaryCtxRetain, 7000, &context, 0);
    ASK_CU(cuDevicePrimaryCtxRetain, 7000, &again, 0);
    ASK_CU(cuCtxGetCurrent, 4000, &current);
    ANSWERED("both are one context", context == again);
    ANSWERED("it is the current one", context == current);
    ASK_CU(cuDevicePrimaryCtxRelease, 11000, 0);
    ASK_CU(cuDevicePrimaryCtxRelease, 11000, 0);
    ASK_CU(cuDevicePrimaryCtxRetain, 7000, NULL, 0);
    ASK_CU(cuDevicePrimaryCtxRetain, 7000, &again, 1000);
    ASK_CU(cuDevicePrimaryCtxRelease, 11000, 1000);
    ASK_LAUNCH(s->a);
    VALUE("x", case_read_x(s));
});

/* ---- the current context ----------------------------------------------------------------------------------------- */

CASE(context_current, {
    CUdevice device = 77;
    FIND_CALLS();
    ASK_CU(cuCtxGetCurrent, 4000, NULL);
    ASK_CU(cuCtxGetDevice, 2000, &device);
    VALUE("device", device);
    ASK_CU(cuCtxGetDevice, 2000, NULL);
    ANSWER_CU("cuCtxSynchronize()", synchronize());
});

CASE(context_none, {
    CUcontext none = NULL;
    CUdevice device = 77;
    FIND_CALLS();
    CUresult set = set_current(NULL);
    CUresult asked = get_current(&none);
    CUresult of_device = get_device(&device);
    CUresult of_stream = query(NULL);
    CUresult wait = synchronize();
    ASK(cudaSetDevice(0));
    ANSWER_CU("cuCtxSetCurrent(NULL)", set);
    ANSWER_CU("cuCtxGetCurrent(&context)", asked);
    ANSWERED("the context is NULL", none == NULL);
    ANSWER_CU("cuCtxGetDevice(&device)", of_device);
    ANSWER_CU("cuStreamQuery(NULL)", of_stream);
    ANSWER_CU("cuCtxSynchronize()", wait);
});

CASE(context_none_then_runtime, {
    CUcontext first = NULL;
    CUcontext last = NULL;
    FIND_CALLS();
    CUresult asked = get_current(&first);
    CUresult set = set_current(NULL);
    cudaError_t allocated = cudaMalloc(&s->memory, 64);
    CUresult again = get_current(&last);
    ANSWER_CU("cuCtxGetCurrent(&first)", asked);
    ANSWER_CU("cuCtxSetCurrent(NULL)", set);
    ASK_AS("cudaMalloc(&memory, 64)", allocated);
    ANSWER_CU("cuCtxGetCurrent(&last)", again);
    ANSWERED("the first is the last", first == last);
    ASK_LAUNCH(s->a);
    VALUE("x", case_read_x(s));
    ASK(cudaSetDevice(0));
});

CASE(context_none_then_device, {
    CUcontext first = NULL;
    CUcontext last = NULL;
    FIND_CALLS();
    CUresult asked = get_current(&first);
    CUresult set = set_current(NULL);
    cudaError_t chosen = cudaSetDevice(0);
    CUresult again = get_current(&last);
    ANSWER_CU("cuCtxGetCurrent(&first)", asked);
    ANSWER_CU("cuCtxSetCurrent(NULL)", set);
    ASK_AS("cudaSetDevice(0)", chosen);
    ANSWER_CU("cuCtxGetCurrent(&last)", again);
    ANSWERED("the first is the last", first == last);
});

static CUcontext of_thread;
static CUresult asked_by_thread;

static cudaError_t ask_in_thread(struct scene *s)
{
    (void)s;
    asked_by_thread = get_current(&of_thread);
    return cudaSuccess;
}
static const struct case_call thread_context = {ask_in_thread, "cuCtxGetCurrent(&context)"};

CASE(context_of_new_thread, {
    FIND_CALLS();
    case_step_thread(s, &thread_context);
    ANSWER_CU("/* what thread 2 was told */", asked_by_thread);
    ANSWERED("the context is NULL", of_thread == NULL);
});

/* ---- functions of the driver by name ----------------------------------------------------------------------------- */

static const char *name_of(enum cudaDriverEntryPointQueryResult status)
{
    static const char *const names[] = {"success", "symbol not found", "version not sufficient"};
    return (size_t)status < sizeof names / sizeof names[0] ? names[status] : "unwritten";
}
#define UNWRITTEN (enum cudaDriverEntryPointQueryResult)9

CASE(entry_by_version, {
    enum cudaDriverEntryPointQueryResult status = UNWRITTEN;
    void *function = NULL;
    ASK(cudaGetDriverEntryPointByVersion("cuDoesNotExist", &function, 12000, cudaEnableDefault, &status));
    case_note(s, "status", "%s", name_of(status));
    ANSWERED("a function was written", function != NULL);
    ASK(cudaGetDriverEntryPointByVersion("cuGraphAddNode", &function, 11000, cudaEnableDefault, &status));
    case_note(s, "status", "%s", name_of(status));
    ANSWERED("a function was written", function != NULL);
    ASK(cudaGetDriverEntryPointByVersion("cuDoesNotExist", &function, 12000, cudaEnableDefault, NULL));
    ASK(cudaPeekAtLastError());
});

CASE(entry_arguments, {
    enum cudaDriverEntryPointQueryResult status = UNWRITTEN;
    void *function = NULL;
    ASK(cudaGetDriverEntryPointByVersion("", &function, 12000, cudaEnableDefault, &status));
    ASK(cudaGetDriverEntryPointByVersion("cuInit", &function, 12000, 64, &status));
    ASK(cudaGetDriverEntryPointByVersion("cuInit", &function, 0, cudaEnableDefault, &status));
    ASK(cudaGetDriverEntryPointByVersion("cuInit", &function, 99000, cudaEnableDefault, &status));
    case_note(s, "status", "%s", name_of(status));
});

CASE(entry_by_driver, {
    CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)9;
    void *function = NULL;
    ASK_CU(cuGetProcAddress, 12000, "cuDoesNotExist", &function, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status);
    VALUE("status", status);
    ASK_CU(cuGetProcAddress, 12000, "cuGraphAddNode", &function, 11000, CU_GET_PROC_ADDRESS_DEFAULT, &status);
    VALUE("status", status);
    ASK_CU(cuGetProcAddress, 12000, "cuInit", &function, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status);
    VALUE("status", status);
    ASK_CU(cuGetProcAddress, 12000, "cuInit", &function, 12000, CU_GET_PROC_ADDRESS_DEFAULT, NULL);
    ASK_CU(cuGetProcAddress, 12000, "cuInit", &function, 12000, 64, &status);
});

static const struct case_rule context_rules[] = {
    {&context_state, "A program that uses the runtime has an active primary context."},
    {&context_flags,
     "Its flags are those of the device, and can be set while it is active; of the ways to wait, only one."},
    {&context_retained, "Retained again, it is the same, and the runtime's current one."},
    {&context_current, "The current context has a device."},
    {&context_none, "A thread can do without a current context. Then the driver has no device and no default streams."},
    {&context_none_then_runtime, "A call of the runtime makes the primary context current again."},
    {&context_none_then_device, "So does choosing the device."},
    {&context_of_new_thread, "A thread that has not called the runtime has none."},
};

const struct case_topic topic_context =
    CASE_TOPIC("Contexts", "The driver's primary context, which the runtime works in.", context_rules);

static const struct case_rule entry_rules[] = {
    {&entry_by_version, "A name that does not exist, or not yet in that version, is no error of the runtime."},
    {&entry_arguments, "Arguments that make no sense."},
    {&entry_by_driver, "The same by the driver."},
};

const struct case_topic topic_entry =
    CASE_TOPIC("Functions of the driver", "How the driver's functions are found by name.", entry_rules);
