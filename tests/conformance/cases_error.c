/* Conformance: errors, their names, how long they are kept; and user objects. */
#include "case_gate.h"
#include "cases.h"

#include <limits.h>

/* ---- the last error ---------------------------------------------------------------------------------------------- */

CASE(error_kept, {
    ASK(cudaMalloc(NULL, 64));
    ASK(cudaDeviceSynchronize());
    ASK(cudaPeekAtLastError());
    ASK(cudaPeekAtLastError());
    ASK(cudaGetLastError());
    ASK(cudaGetLastError());
});

CASE(error_last_of_two, {
    ASK(cudaMalloc(NULL, 64));
    ASK(cudaSetDevice(-1));
    ASK(cudaPeekAtLastError());
    ASK(cudaLaunchKernel(NULL, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, s->a));
    ASK(cudaGetLastError());
    ASK(cudaGetLastError());
});

CASE(error_not_ready, {
    HOLD(s->a);
    RECORD(s->e, s->a);
    ASK(cudaStreamQuery(s->a));
    ASK(cudaPeekAtLastError());
    ASK(cudaGetLastError());
    ASK(cudaEventQuery(s->e));
    ASK(cudaPeekAtLastError());
    ASK(cudaGetLastError());
    OPEN_GATE();
});

CASE(error_not_ready_after_error, {
    HOLD(s->a);
    ASK(cudaMalloc(NULL, 64));
    ASK(cudaStreamQuery(s->a));
    ASK(cudaGetLastError());
    ASK(cudaGetLastError());
    OPEN_GATE();
});

CASE(error_of_memory, {
    ASK(cudaMalloc(&s->memory, (size_t)1 << 50));
    ASK(cudaPeekAtLastError());
    ASK_LAUNCH(s->a);
    ASK(cudaPeekAtLastError());
    ASK(cudaGetLastError());
    VALUE("x", case_read_x(s));
});

CASE(error_of_free, {
    int host = 0;
    ASK(cudaFree(&host));
    ASK(cudaGetLastError());
    ASK(cudaFreeHost(&host));
    ASK(cudaGetLastError());
    ASK(cudaFree(NULL));
    ASK(cudaFreeHost(NULL));
    ASK(cudaGetLastError());
});

CASE(error_of_driver, {
    CUdeviceptr memory = 0;
    ASK_CU(cuMemAlloc, 3020, NULL, 64);
    ASK_CU(cuMemAlloc, 3020, &memory, 0);
    ASK_CU(cuMemAlloc, 3020, &memory, (size_t)1 << 50);
    ASK(cudaPeekAtLastError());
    ASK(cudaMalloc(NULL, 64));
    ASK_CU(cuStreamSynchronize, 2000, s->a);
    ASK(cudaGetLastError());
});

CALL(thread_last_error, cudaGetLastError());
CALL(thread_makes_error, cudaMalloc(NULL, 64));

CASE(error_of_other_thread, {
    ASK(cudaMalloc(NULL, 64));
    case_ask_thread(s, &thread_last_error);
    ASK(cudaGetLastError());
    case_ask_thread(s, &thread_makes_error);
    ASK(cudaGetLastError());
    case_ask_thread(s, &thread_last_error);
    case_ask_thread(s, &thread_last_error);
});

CASE(error_of_last_error_calls, {
    unsigned flags = 0;
    int version = 0;
    ASK(cudaMalloc(NULL, 64));
    ASK(cudaGetDeviceFlags(&flags));
    ASK(cudaRuntimeGetVersion(&version));
    ASK(cudaStreamQuery(s->a));
    ASK_LAUNCH(s->a);
    ASK(cudaStreamSynchronize(s->a));
    ASK(cudaGetLastError());
});

/* ---- names and texts --------------------------------------------------------------------------------------------- */

#define NAMES(code)                                                                                                    \
    do {                                                                                                               \
        case_note(s, "cudaGetErrorName(" #code ")", "%s", cudaGetErrorName((cudaError_t)(code)));                      \
        case_note(s, "cudaGetErrorString(" #code ")", "%s", cudaGetErrorString((cudaError_t)(code)));                  \
    } while (0)

CASE(error_names_unknown, {
    NAMES(-1);
    NAMES(15);
    NAMES(5555);
    NAMES(10000);
    NAMES(0x7fffffff);
    ASK(cudaPeekAtLastError());
});

CASE(error_names_of_launches, {
    NAMES(cudaErrorInvalidConfiguration);
    NAMES(cudaErrorLaunchOutOfResources);
    NAMES(cudaErrorCooperativeLaunchTooLarge);
    NAMES(cudaErrorInvalidDeviceFunction);
    NAMES(cudaErrorInvalidKernelImage);
    NAMES(cudaErrorNotPermitted);
    NAMES(cudaErrorNotReady);
    NAMES(cudaErrorInvalidResourceHandle);
    NAMES(cudaErrorIllegalState);
    NAMES(cudaErrorNotSupported);
});

/* What the driver's call says, and what it writes. */
#define NAMES_CU(code)                                                                                                 \
    do {                                                                                                               \
        text = "untouched";                                                                                            \
        ASK_CU(cuGetErrorName, 6000, (CUresult)(code), &text);                                                         \
        case_note(s, "text", "%s", text ? text : "NULL");                                                              \
        text = "untouched";                                                                                            \
        ASK_CU(cuGetErrorString, 6000, (CUresult)(code), &text);                                                       \
        case_note(s, "text", "%s", text ? text : "NULL");                                                              \
    } while (0)

CASE(error_names_in_driver, {
    const char *text = NULL;
    NAMES_CU(0);
    NAMES_CU(1);
    NAMES_CU(600);
    NAMES_CU(15);
    NAMES_CU(5555);
    NAMES_CU(-1);
});

/* ---- user objects ------------------------------------------------------------------------------------------------ */

static int destroyed;

static void CUDART_CB count_destroyed(void *user)
{
    ++*(int *)user;
}

CASE(object_refused, {
    const unsigned sync = cudaUserObjectNoDestructorSync;
    ASK(cudaUserObjectCreate(NULL, &destroyed, count_destroyed, 1, sync));
    ASK(cudaUserObjectCreate(&s->object, &destroyed, NULL, 1, sync));
    ASK(cudaUserObjectCreate(&s->object, &destroyed, count_destroyed, 0, sync));
    ASK(cudaUserObjectCreate(&s->object, &destroyed, count_destroyed, (unsigned)INT_MAX + 1, sync));
    ASK(cudaUserObjectCreate(&s->object, &destroyed, count_destroyed, 1, 0));
    ASK(cudaUserObjectCreate(&s->object, &destroyed, count_destroyed, 1, 2));
    ASK(cudaUserObjectCreate(&s->object, &destroyed, count_destroyed, 1, 3));
    ANSWERED("an object was written", s->object != NULL);
});

CASE(object_counts, {
    STEP(cudaUserObjectCreate(&s->object, &destroyed, count_destroyed, 1, cudaUserObjectNoDestructorSync));
    ASK(cudaUserObjectRetain(s->object, 0));
    ASK(cudaUserObjectRetain(s->object, (unsigned)INT_MAX + 1));
    ASK(cudaUserObjectRelease(s->object, 0));
    ASK(cudaUserObjectRelease(s->object, (unsigned)INT_MAX + 1));
    ASK(cudaUserObjectRetain(NULL, 1));
    ASK(cudaUserObjectRelease(NULL, 1));
});

CASE(object_of_graph, {
    STEP(cudaGraphCreate(&s->other, 0));
    STEP(cudaUserObjectCreate(&s->object, &destroyed, count_destroyed, 2, cudaUserObjectNoDestructorSync));
    ASK(cudaGraphRetainUserObject(s->other, s->object, 0, 0));
    ASK(cudaGraphRetainUserObject(s->other, s->object, (unsigned)INT_MAX + 1, 0));
    ASK(cudaGraphRetainUserObject(s->other, s->object, 1, 2));
    ASK(cudaGraphRetainUserObject(NULL, s->object, 1, 0));
    ASK(cudaGraphRetainUserObject(s->other, NULL, 1, 0));
    ASK(cudaGraphReleaseUserObject(s->other, s->object, 0));
    ASK(cudaGraphReleaseUserObject(s->other, s->object, (unsigned)INT_MAX + 1));
    ASK(cudaGraphReleaseUserObject(NULL, s->object, 1));
    ASK(cudaGraphReleaseUserObject(s->other, NULL, 1));
    ASK(cudaGraphRetainUserObject(s->other, s->object, 1, cudaGraphUserObjectMove));
    ASK(cudaGraphReleaseUserObject(s->other, s->object, 1));
});

static const struct case_rule error_rules[] = {
    {&error_kept, "An error is kept until `cudaGetLastError` takes it; calls that succeed do not clear it."},
    {&error_last_of_two, "It is the last one."},
    {&error_not_ready, "`cudaErrorNotReady` is an answer, which is not kept."},
    {&error_not_ready_after_error, "It leaves an earlier error as it is."},
    {&error_of_memory, "Too little memory is an error that leaves everything usable."},
    {&error_of_free, "Freeing what is no device memory."},
    {&error_of_driver, "The driver keeps no errors, and leaves the runtime's alone."},
    {&error_of_other_thread, "Each thread has a last error of its own."},
    {&error_of_last_error_calls, "No other call clears it."},
};

const struct case_topic topic_error =
    CASE_TOPIC("The last error", "What `cudaGetLastError` and `cudaPeekAtLastError` give.", error_rules);

static const struct case_rule name_rules[] = {
    {&error_names_unknown, "Codes that do not exist have one name and one text; 10000 marks the end of the codes."},
    {&error_names_of_launches, "Some names and texts."},
    {&error_names_in_driver, "The driver refuses codes that do not exist."},
};

const struct case_topic topic_error_name = CASE_TOPIC("Names of errors", "Names and texts of codes.", name_rules);

static const struct case_rule object_rules[] = {
    {&object_refused,
     "A user object needs a destructor, references (also more than `INT_MAX`), and the one flag there is."},
    {&object_counts, "References are counted from 1 to INT_MAX."},
    {&object_of_graph, "So are those of a graph."},
};

const struct case_topic topic_object =
    CASE_TOPIC("User objects", "Objects of the program that graphs keep alive.", object_rules);
