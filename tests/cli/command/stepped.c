/* A program against the installed library that is stepped, and stopped by a signal between two nodes.
 *   stepped CALLS EVERY [CALL SIGNAL [group]]
 * copies a row of numbers from call to call; each EVERY-th call is eager. The eager call of that number, from 0, sends
 * SIGNAL (a number) in a replay: to the program, or to its process group. STEPPED_HANDLER=print: the program has a
 * handler for it, which prints "handled"; ignore: it ignores the signal. STEPPED_TIMES=N: it is sent N times.
 * STEPPED_NUMBERS=N: tensors have the first N of a row's. STEPPED_REPLAYS=N: there are so many, and it is sent in the
 * last. STEPPED_NAME: the graph's. STEPPED_PRINT: eager calls print in a replay. STEPPED_PATIENT: a replay that fails
 * does not end the program. STEPPED_SENT: a file that is made when the signal has been sent. Prints "row right" where
 * the last row is what it must be. */
#include <breakgraph/breakgraph.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NUMBERS = 16, BYTES = NUMBERS * 4 }; /* of a row */

static struct {
    int calls, numbers, every, at, signal, times;
    bool group, last; /* it is the last replay */
    char *rows;
} plan;

static bg_status checked(cudaError_t error)
{
    return error == cudaSuccess ? BG_OK : BG_ERROR_CUDA;
}

BG_OP(copy, BG_IN(x), BG_OUT(y))
{
    return checked(cudaMemcpyAsync(args->y.data, args->x.data, BYTES, cudaMemcpyDeviceToDevice, stream));
}

BG_EAGER_OP(send, BG_IN(x), BG_OUT(y), BG_VALUE(int, number))
{
    if (plan.last && getenv("STEPPED_PRINT") != NULL)
        puts("sent");
    for (int i = 0; plan.last && args->number == plan.at && i < plan.times; i++)
        (void)kill(plan.group ? 0 : getpid(), plan.signal);
    if (plan.last && args->number == plan.at && getenv("STEPPED_SENT") != NULL) {
        (void)close(creat(getenv("STEPPED_SENT"), 0600));
        (void)usleep(200000); /* a second signal, if one comes of it, ends the program here */
    }
    return checked(cudaMemcpyAsync(args->y.data, args->x.data, BYTES, cudaMemcpyDeviceToDevice, stream));
}

static bg_status pass(void *user, cudaStream_t stream)
{
    bg_status status = BG_OK;
    (void)user;
    for (int i = 0; i < plan.calls && status == BG_OK; i++) {
        bg_tensor x = bg_tensor_1d(plan.rows + (size_t)i * BYTES, BG_F32, plan.numbers);
        bg_tensor y = bg_tensor_1d(plan.rows + (size_t)(i + 1) * BYTES, BG_F32, plan.numbers);
        if (i % plan.every == plan.every - 1)
            status = BG_CALL(send, stream, .x = x, .y = y, .number = i);
        else
            status = BG_CALL(copy, stream, .x = x, .y = y);
    }
    return status;
}

static void print_handled(int signal)
{
    static const char text[] = "handled\n";
    (void)signal;
    (void)!write(STDOUT_FILENO, text, sizeof text - 1);
}

static bool is_right(void)
{
    float last[NUMBERS];
    return cudaMemcpy(last, plan.rows + (size_t)plan.calls * BYTES, BYTES, cudaMemcpyDefault) == cudaSuccess &&
           last[0] == 0 && last[1] == 1 && last[2] == 2;
}

static void (*choose_handler(void))(int)
{
    const char *handler = getenv("STEPPED_HANDLER");
    if (handler == NULL)
        return SIG_DFL;
    return strcmp(handler, "ignore") == 0 ? SIG_IGN : print_handled;
}

int main(int count, char **arguments)
{
    const char *times = getenv("STEPPED_TIMES"), *more = getenv("STEPPED_REPLAYS"),
               *numbers = getenv("STEPPED_NUMBERS");
    const int replays = more != NULL ? atoi(more) : 1;
    float row[NUMBERS] = {0, 1, 2};
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg_graph *graph = NULL;
    cudaStream_t stream = NULL;
    bg_status status;

    if (count < 3)
        return 2;
    plan.calls = atoi(arguments[1]);
    plan.numbers = numbers != NULL ? atoi(numbers) : NUMBERS;
    plan.every = atoi(arguments[2]);
    plan.at = count > 4 ? atoi(arguments[3]) : -1;
    plan.signal = count > 4 ? atoi(arguments[4]) : 0;
    plan.group = count > 5;
    plan.times = times != NULL ? atoi(times) : 1;
    if (count > 4) /* it may be ignored where a script runs in the background */
        (void)signal(plan.signal, choose_handler());
    if (cudaMalloc((void **)&plan.rows, (size_t)(plan.calls + 1) * BYTES) != cudaSuccess ||
        cudaMemcpy(plan.rows, row, BYTES, cudaMemcpyDefault) != cudaSuccess || cudaStreamCreate(&stream) != cudaSuccess)
        return 2;
    options.name = getenv("STEPPED_NAME");
    status = bg_capture_forward(&graph, pass, NULL, stream, &options);
    for (int i = 0; i < replays && status == BG_OK; i++) {
        plan.last = i + 1 == replays;
        status = bg_replay(graph, stream);
        if (getenv("STEPPED_PATIENT") != NULL)
            status = BG_OK;
    }
    if (status == BG_OK)
        status = checked(cudaStreamSynchronize(stream));
    if (status != BG_OK)
        fprintf(stderr, "stepped: %s\n", bg_last_error());
    else
        puts(is_right() ? "row right" : "row wrong");
    bg_graph_destroy(graph);
    return status == BG_OK ? 0 : 1;
}
