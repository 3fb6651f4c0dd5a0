/* A program against the installed library whose ops compute otherwise when they are captured: what breakgraph bisect
 * must find.
 *   faulty MODE CALLS [CULPRIT...]
 * copies a row of bytes from call to call; culprits are numbers of calls from 0, 1000 + N: the op inside call N. Exit
 * status 1: the last row is not what it must be.
 *   MODE  wrong; two: a graph of every other call before the one of all; always: the model is wrong; outside: what is
 *         captured between ops; frozen: the last op has another value in each pass; flaky: every other start is good;
 * crash, hang: after the replay; plain: no capture; unreplayed; silent: prints nothing FAULTY_STARTS names a file that
 * gets a line, the process id, for each start. FAULTY_HANG=N: the N-th start hangs. FAULTY_RANK=N: there are culprits
 * on that rank alone. */
#include <breakgraph/breakgraph.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 64, RIGHT = 0x11, WRONG = 0x22, INNER = 1000, MOST = 4096 };

static struct {
    const char *mode;
    int calls;
    int every; /* so manieth call is made */
    int passes;
    bool culprit[2 * MOST];
    char *rows;
} plan;

static bg_status checked(cudaError_t error)
{
    if (error != cudaSuccess)
        fprintf(stderr, "faulty: %s\n", cudaGetErrorString(error));
    return error == cudaSuccess ? BG_OK : BG_ERROR_CUDA;
}

static bool is_captured(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    return cudaStreamIsCapturing(stream, &status) == cudaSuccess && status == cudaStreamCaptureStatusActive;
}

static bg_status copy(void *to, const void *from, int number, cudaStream_t stream)
{
    bg_status status = checked(cudaMemcpyAsync(to, from, BYTES, cudaMemcpyDeviceToDevice, stream));
    if (status == BG_OK && plan.culprit[number] && is_captured(stream))
        status = checked(cudaMemsetAsync(to, WRONG, BYTES, stream));
    return status;
}

BG_OP(step, BG_IN(x), BG_OUT(y), BG_VALUE(int, number))
{
    return copy(args->y.data, args->x.data, args->number, stream);
}

BG_OP(twist, BG_IN(x), BG_OUT(y), BG_VALUE(int, number))
{
    return copy(args->y.data, args->x.data, args->number, stream);
}

BG_OP(block, BG_IN(x), BG_OUT(y), BG_VALUE(int, number))
{
    bg_status status = BG_CALL(step, stream, .x = args->x, .y = args->y, .number = args->number + INNER); /* inner */
    if (status == BG_OK && plan.culprit[args->number] && is_captured(stream))
        status = checked(cudaMemsetAsync(args->y.data, WRONG, BYTES, stream));
    return status;
}

static bg_tensor row(int index)
{
    return bg_tensor_1d(plan.rows + (size_t)index * BYTES, BG_U8, BYTES);
}

static bool is_mode(const char *mode)
{
    return strcmp(plan.mode, mode) == 0;
}

BG_OP(fill, BG_OUT(y), BG_VALUE(int, value))
{
    return checked(cudaMemsetAsync(args->y.data, args->value, BYTES, stream));
}

static bg_status forward(void *user, cudaStream_t stream)
{
    bg_status status = checked(cudaMemsetAsync(plan.rows, RIGHT, BYTES, stream));
    (void)user;
    plan.passes++;
    for (int i = 0; i < plan.calls && status == BG_OK; i += plan.every) {
        if (i % 4 == 3)
            status = BG_CALL(block, stream, .x = row(i), .y = row(i + 1), .number = i); /* block */
        else if (i % 2 == 1)
            status = BG_CALL(twist, stream, .x = row(i), .y = row(i + 1), .number = i); /* twist */
        else
            status = BG_CALL(step, stream, .x = row(i), .y = row(i + 1), .number = i); /* step */
    }
    if (status == BG_OK && is_mode("frozen"))
        status = BG_CALL(fill, stream, .y = row(0), .value = plan.passes);
    if (status == BG_OK && (is_mode("always") || (is_mode("outside") && is_captured(stream))))
        status = checked(cudaMemsetAsync(row(plan.calls).data, WRONG, BYTES, stream));
    return status;
}

/* How many starts there have been, this one too. */
static long note_start(void)
{
    const char *path = getenv("FAULTY_STARTS");
    FILE *file = path != NULL ? fopen(path, "a+") : NULL;
    long starts = 0;
    if (file == NULL)
        return 0;
    fprintf(file, "%ld\n", (long)getpid());
    rewind(file);
    for (int c; (c = fgetc(file)) != EOF;)
        starts += c == '\n';
    return fclose(file) == 0 ? starts : 0;
}

static bool is_faulty_rank(void)
{
    const char *faulty = getenv("FAULTY_RANK"), *rank = getenv("RANK");
    return faulty == NULL || (rank != NULL && strcmp(faulty, rank) == 0);
}

static void hang(void)
{
    for (;;)
        pause();
}

static bg_status run_first(cudaStream_t stream)
{
    bg_graph *graph = NULL;
    bg_status status;

    plan.every = 2;
    status = bg_capture_forward(&graph, forward, NULL, stream, NULL);
    if (status == BG_OK)
        status = bg_replay(graph, stream);
    plan.every = 1;
    bg_graph_destroy(graph);
    return status;
}

static bg_status run(cudaStream_t stream, unsigned char *last)
{
    bg_graph *graph = NULL;
    bg_status status = is_mode("two") ? run_first(stream) : BG_OK;

    if (is_mode("plain"))
        status = forward(NULL, stream);
    else if (status == BG_OK)
        status = bg_capture_forward(&graph, forward, NULL, stream, NULL);
    if (status == BG_OK && graph != NULL && !is_mode("unreplayed"))
        status = bg_replay(graph, stream);
    if (status == BG_OK)
        status = checked(cudaMemcpyAsync(last, row(plan.calls).data, 1, cudaMemcpyDeviceToHost, stream));
    if (status == BG_OK)
        status = checked(cudaStreamSynchronize(stream));
    if (status == BG_OK && is_mode("crash"))
        raise(SIGSEGV);
    if (status == BG_OK && is_mode("hang"))
        hang();
    if (status != BG_OK)
        fprintf(stderr, "faulty: %s\n", bg_last_error());
    bg_graph_destroy(graph);
    return status;
}

int main(int argc, char **argv)
{
    const char *hangs = getenv("FAULTY_HANG");
    long starts = note_start();
    unsigned char last = 0;
    cudaStream_t stream = NULL;
    bg_status status;

    if (hangs != NULL && starts == atol(hangs))
        hang();
    if (argc < 3 || atoi(argv[2]) < 1 || atoi(argv[2]) >= MOST)
        return 2;
    plan.mode = argv[1];
    plan.every = 1;
    plan.calls = atoi(argv[2]);
    for (int i = 3; i < argc && is_faulty_rank(); i++)
        plan.culprit[atoi(argv[i]) % MOST] = true;
    status = checked(cudaStreamCreate(&stream));
    if (status == BG_OK)
        status = checked(cudaMalloc((void **)&plan.rows, (size_t)(plan.calls + 1) * BYTES));
    if (status == BG_OK)
        status = run(stream, &last);
    if (!is_mode("silent"))
        printf("last row: %02x\n", last);
    if (checked(cudaFree(plan.rows)) != BG_OK || checked(cudaStreamDestroy(stream)) != BG_OK || status != BG_OK)
        return 3;
    if (is_mode("flaky"))
        return (int)(starts % 2);
    return last == RIGHT ? 0 : 1;
}
