/* soak_replay: the quickstart's graph, replayed a million times on a GPU, with the inputs reset before each replay.
 * Neither host nor device memory may grow, nor a result differ. Prints its figures. */

/* The quickstart itself, with its main function under another name. */
#define main quickstart_main
#include "examples/quickstart.c" /* NOLINT(bugprone-suspicious-include) */
#undef main

#include "tests/support/growth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Growth is from the first look, a tenth into the run, to the last: the smallest block of malloc, lost in each of
 * 18,000 replays, is 576,000 bytes. */
enum { LOOKS = 10, PATTERNS = 7 };

typedef struct soak {
    cudaStream_t stream;
    bg_graph *graph;
    float *memory;
    model m;
    long replays;
    const char *plant;   /* a defect, to see that it is found; NULL: none */
    void *volatile lost; /* volatile: the compiler must not see that nobody wants it */
} soak;

/* The percentages of the quickstart, by another way. */
static void reset(long replay, float *input, float *expected)
{
    float sum = 0;
    for (int i = 0; i < N; i++) {
        input[i] = (float)(1 + (replay * (i + 1) + i) % PATTERNS);
        sum += input[i];
    }
    for (int i = 0; i < N; i++)
        expected[i] = 100 * input[i] / sum;
}

/* Loses memory in each replay, or spoils one result. */
static void plant(soak *s, long replay, float *result)
{
    void *memory = NULL;
    if (strcmp(s->plant, "host") == 0)
        s->lost = malloc(1);
    else if (strcmp(s->plant, "result") == 0 && replay == s->replays / 2)
        result[N - 1] += 0.01f;
    else if (strcmp(s->plant, "device") == 0 && cudaMalloc(&memory, 1) == cudaSuccess)
        s->lost = memory;
}

static bool replay_once(soak *s, long replay)
{
    float input[N], expected[N], found[N] = {0};
    bg_status status;

    reset(replay, input, expected);
    status = checked(cudaMemcpyAsync(s->m.x.data, input, sizeof input, cudaMemcpyHostToDevice, s->stream));
    if (status == BG_OK)
        status = bg_replay(s->graph, s->stream);
    if (status == BG_OK)
        status = checked(cudaMemcpyAsync(found, s->m.y.data, sizeof found, cudaMemcpyDeviceToHost, s->stream));
    if (status == BG_OK)
        status = checked(cudaStreamSynchronize(s->stream));
    if (status != BG_OK) {
        fprintf(stderr, "soak_replay: replay %ld: %s: %s\n", replay, bg_status_name(status), bg_last_error());
        return false;
    }
    if (s->plant != NULL)
        plant(s, replay, found);
    for (int i = 0; i < N; i++) {
        float off = found[i] - expected[i];
        if (!(off < 1e-4f && off > -1e-4f)) {
            fprintf(stderr, "soak_replay: replay %ld: y[%d] is %.6f, expected %.6f\n", replay, i, found[i],
                    expected[i]);
            return false;
        }
    }
    return true;
}

static bool run(soak *s)
{
    growth_look first = {0}, last = {0};
    bool good = true;

    for (long i = 0; i < s->replays && good; i++) {
        good = replay_once(s, i);
        if (good && i + 1 == s->replays / LOOKS)
            good = growth_take(&first);
    }
    if (!good || !growth_take(&last))
        return false;
    printf("%ld replays of the quickstart's graph, each with other inputs: all results as computed on the host\n",
           s->replays);
    return !growth_tell(&first, &last);
}

static bool setup(soak *s)
{
    const float ones[N] = {1, 1, 1, 1};
    bg_status status = checked(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));

    if (status == BG_OK)
        status = checked(cudaMalloc((void **)&s->memory, 2 * sizeof ones));
    if (status == BG_OK) {
        s->m = (model){bg_tensor_1d(s->memory, BG_F32, N), bg_tensor_1d(s->memory + N, BG_F32, N)};
        status = checked(cudaMemcpyAsync(s->m.x.data, ones, sizeof ones, cudaMemcpyHostToDevice, s->stream));
    }
    if (status == BG_OK)
        status = bg_capture_forward(&s->graph, forward, &s->m, s->stream, NULL);
    if (status != BG_OK)
        fprintf(stderr, "soak_replay: %s: %s %s\n", bg_status_name(status), bg_last_error(),
                cudaGetErrorString(cudaPeekAtLastError()));
    return status == BG_OK;
}

static bool parse(int argc, char **argv, soak *s)
{
    for (int i = 1; i < argc; i++) {
        char *end = NULL;
        if (strcmp(argv[i], "--plant") == 0 && i + 1 < argc) {
            s->plant = argv[++i];
            if (strcmp(s->plant, "host") != 0 && strcmp(s->plant, "device") != 0 && strcmp(s->plant, "result") != 0)
                return false;
            continue;
        }
        errno = 0;
        s->replays = strtol(argv[i], &end, 10);
        if (errno != 0 || end == argv[i] || *end != '\0' || s->replays < LOOKS)
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    soak s = {.replays = strcmp(bg_device_kind(), "cuda") == 0 ? 1000000 : 20000};
    bool good;

    if (!parse(argc, argv, &s)) {
        fprintf(stderr,
                "usage: soak_replay [--plant host|device|result] [REPLAYS]   REPLAYS: from %d on; --plant: a defect "
                "that must be found\n",
                LOOKS);
        return 2;
    }
    good = setup(&s) && run(&s);
    bg_graph_destroy(s.graph);
    cudaFree(s.memory);
    if (s.stream != NULL)
        cudaStreamDestroy(s.stream);
    return good ? 0 : 1;
}
