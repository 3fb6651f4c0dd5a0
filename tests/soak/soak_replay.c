/* soak_replay: the quickstart's graph, replayed a million times on a GPU, with the inputs reset before each replay.
 * Neither host nor device memory may grow, nor a result differ. Prints its figures. */

/* The quickstart itself, with its main function under another name. */
#define main quickstart_main
#include "examples/quickstart.c" /* NOLINT(bugprone-suspicious-include) */
#undef main

#include "soak.h"

#include "base/base.h"
#include "tests/support/growth.h"

/* The smallest block of malloc, lost in each of 18,000 replays, is 576,000 bytes. */
enum { PATTERNS = 7 };

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

static bg_status replay_once(soak *s, long replay)
{
    float input[N], expected[N], found[N] = {0};
    bg_status status;

    reset(replay, input, expected);
    BG__TRY_CUDA(cudaMemcpyAsync(s->m.x.data, input, sizeof input, cudaMemcpyHostToDevice, s->stream));
    BG__TRY(bg_replay(s->graph, s->stream));
    BG__TRY_CUDA(cudaMemcpyAsync(found, s->m.y.data, sizeof found, cudaMemcpyDeviceToHost, s->stream));
    BG__TRY_CUDA(cudaStreamSynchronize(s->stream));
    if (s->plant != NULL)
        plant(s, replay, found);
    for (int i = 0; i < N; i++) {
        float off = found[i] - expected[i];
        if (!(off < 1e-4f && off > -1e-4f))
            BG__FAIL(BG_ERROR_MISMATCH, "replay %ld: y[%d] is %.6f, expected %.6f", replay, i, found[i], expected[i]);
    }
done:
    return status;
}

static bool run(soak *s)
{
    growth_look first = {0}, last = {0};

    for (long i = 0; i < s->replays; i++)
        if (soak_fails("a replay", i, replay_once(s, i)) || (i + 1 == s->replays / LOOKS && !growth_take(&first)))
            return false;
    if (!growth_take(&last))
        return false;
    printf("%ld replays of the quickstart's graph, each with other inputs: all results as computed on the host\n",
           s->replays);
    return !growth_tell(&first, &last);
}

static bool setup(soak *s)
{
    const float ones[N] = {1, 1, 1, 1};
    bg_status status;

    BG__TRY_CUDA(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    BG__TRY_CUDA(cudaMalloc((void **)&s->memory, 2 * sizeof ones));
    s->m = (model){bg_tensor_1d(s->memory, BG_F32, N), bg_tensor_1d(s->memory + N, BG_F32, N)};
    BG__TRY_CUDA(cudaMemcpyAsync(s->m.x.data, ones, sizeof ones, cudaMemcpyHostToDevice, s->stream));
    status = bg_capture_forward(&s->graph, forward, &s->m, s->stream, NULL);
done:
    return !soak_fails("the setup", 0, status);
}

int main(int argc, char **argv)
{
    static const char *const plants[] = {"host", "device", "result", NULL};
    soak s = {.replays = strcmp(bg_device_kind(), "cuda") == 0 ? 1000000 : 20000};
    bool good;

    if (!soak_parse(argc, argv, plants, &s.plant, &s.replays)) {
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
