#include "hostcuda/src/stream/host_function.h"

#include "hostcuda/src/stream/progress_timeout.h"
#include "hostcuda/src/stream/stream_thread.h"

/* The function that was requested last. */
static struct {
    enum { NONE, ASKED, RUNNING, RETURNED } state;
    const void *owner; /* NULL: nobody waits for its end */
    struct hc_op *op;
} call;
static pthread_cond_t call_requested = PTHREAD_COND_INITIALIZER, call_returned = PTHREAD_COND_INITIALIZER;
static struct hc_own_thread function_thread;

static void clear_call(void)
{
    hc_op_release(call.op);
    call.op = NULL;
    call.owner = NULL;
    call.state = NONE;
}

static void *run_functions(void *unused)
{
    (void)unused;
    hc_lock();
    while (!function_thread.over) {
        if (call.state != ASKED) {
            (void)hc_wait_on_condition(&call_requested, 0);
            continue;
        }
        call.state = RUNNING;
        hc_unlock();
        (void)hc_op_run(call.op); /* a host function returns no error */
        hc_lock();
        call.state = RETURNED;
        if (!call.owner)
            clear_call();
        (void)pthread_cond_broadcast(&call_returned);
        hc_notify_change();
    }
    hc_unlock();
    return NULL;
}

static bool is_current_call(const void *owner, const struct hc_op *op)
{
    return call.state != NONE && call.owner == owner && call.op == op;
}

bool hc_host_function_ready(const void *owner, const struct hc_op *op)
{
    return call.state == NONE || (call.state == RETURNED && is_current_call(owner, op));
}

void hc_host_function_forget(const void *owner, const struct hc_op *op)
{
    if (!is_current_call(owner, op))
        return;
    call.owner = NULL;
    if (call.state == RETURNED)
        clear_call();
}

static void run_on_this_thread(const struct hc_op *op)
{
    hc_unlock();
    (void)hc_op_run(op);
    hc_lock();
}

cudaError_t hc_host_function_run(const void *owner, struct hc_op *op, cudaError_t before)
{
    if (call.state == NONE)
        hc_op_set_error(op, before);
    if (call.state == NONE && !hc_own_thread_start(&function_thread, run_functions)) {
        run_on_this_thread(op);
        return cudaSuccess;
    }
    if (call.state == NONE) {
        call.state = ASKED;
        call.owner = owner;
        call.op = hc_op_retain(op);
        (void)pthread_cond_signal(&call_requested);
    }
    while (call.state != RETURNED)
        if (!hc_wait_on_condition(&call_returned, hc_progress_timeout()))
            break;
    if (call.state != RETURNED)
        return cudaErrorNotReady;
    clear_call();
    return cudaSuccess;
}

void hc_host_functions_stop(void)
{
    if (call.state == RUNNING || call.state == ASKED)
        return;
    hc_own_thread_stop(&function_thread, &call_requested);
}

void hc_host_functions_reset_in_child(void)
{
    call.state = NONE;
    call.owner = NULL;
    call.op = NULL; /* the reference stays with the parent process */
    call_requested = call_returned = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    function_thread = (struct hc_own_thread){0};
}
