#include "tests/zoo/zoo.h"

#include <breakgraph/attach.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

struct zoo zoo;

/* ---- begin and end ---- */

static void end_hang(int signal)
{
    static const char text[] = "the program hangs\n";
    (void)signal;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(ZOO_HANG);
}

void zoo_begin(int argc, char **argv)
{
    const char *seconds = getenv("ZOO_SECONDS");
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--correct") == 0) {
            zoo.correct = true;
        } else if (strcmp(argv[i], "--eager") == 0) {
            zoo.eager = true;
        } else {
            fprintf(stderr, "usage: %s [--correct] [--eager]\n", argv[0]);
            exit(ZOO_ERROR);
        }
    }
    (void)signal(SIGALRM, end_hang);
    (void)alarm(seconds != NULL ? (unsigned)strtoul(seconds, NULL, 10) : 60);
    CHECK(cudaStreamCreateWithFlags(&zoo.stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&zoo.side, cudaStreamNonBlocking));
}

int zoo_value(int usual)
{
    const char *value = getenv("ZOO_VALUE");
    return value != NULL ? (int)strtol(value, NULL, 10) : usual;
}

static int compare(const float *y, const float *expected, int n, float value)
{
    float *found = calloc((size_t)n, sizeof *found);
    int wrong = 0;

    if (found == NULL) {
        fprintf(stderr, "out of host memory\n");
        exit(ZOO_ERROR);
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(found, y, (size_t)n * sizeof *found, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) {
        const float wanted = expected != NULL ? expected[i] : value;
        if (!(found[i] == wanted) && wrong++ == 0) /* NaN is wrong, too */
            printf("wrong: y[%d] is %g, and must be %g\n", i, (double)found[i], (double)wanted);
    }
    if (wrong == 0)
        printf("right\n");
    free(found);
    return wrong == 0 ? ZOO_RIGHT : ZOO_WRONG;
}

int zoo_end(const float *y, int n, float value)
{
    return compare(y, NULL, n, value);
}

int zoo_end_with(const float *y, const float *expected, int n)
{
    return compare(y, expected, n, 0);
}

/* ---- the caching allocator ---- */

enum { BLOCKS = 256, ARENA_BYTES = 1 << 20, ALIGNMENT = 512 };

static struct {
    char *arena;
    size_t used;
    int count;
    struct {
        void *memory;
        size_t bytes;
        bool is_free;
        int freed; /* when: the block that was given back last is given out first */
    } blocks[BLOCKS];
    int frees;
    void (*on_alloc)(void *memory, size_t bytes, const char *name);
    void (*on_free)(void *memory);
} cache;

/* As PyTorch's allocator does, of whose programs the reports are: the tools see what it keeps. */
static void tell_alloc(void *memory, size_t bytes, const char *name)
{
    (void)name;
    (void)bg_attach_ledger_alloc(memory, bytes); /* without --attach it does nothing */
}

static void tell_free(void *memory)
{
    (void)bg_attach_ledger_free(memory);
}

void zoo_allocator_reports(void (*alloc)(void *memory, size_t bytes, const char *name), void (*free)(void *memory))
{
    cache.on_alloc = alloc;
    cache.on_free = free;
}

void *zoo_alloc(size_t bytes, const char *name)
{
    int found = -1;

    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (cache.arena == NULL)
        CHECK(cudaMalloc((void **)&cache.arena, ARENA_BYTES));
    for (int i = 0; i < cache.count; i++)
        if (cache.blocks[i].is_free && cache.blocks[i].bytes == bytes &&
            (found < 0 || cache.blocks[i].freed > cache.blocks[found].freed))
            found = i;
    if (found < 0) {
        if (cache.count == BLOCKS || cache.used + bytes > ARENA_BYTES) {
            fprintf(stderr, "zoo_alloc: the arena is full\n");
            exit(ZOO_ERROR);
        }
        found = cache.count++;
        cache.blocks[found].memory = cache.arena + cache.used;
        cache.blocks[found].bytes = bytes;
        cache.used += bytes;
    }
    cache.blocks[found].is_free = false;
    if (cache.on_alloc == NULL)
        zoo_allocator_reports(tell_alloc, tell_free);
    cache.on_alloc(cache.blocks[found].memory, bytes, name);
    return cache.blocks[found].memory;
}

void zoo_free(void *memory)
{
    for (int i = 0; i < cache.count; i++)
        if (cache.blocks[i].memory == memory) {
            cache.blocks[i].is_free = true;
            cache.blocks[i].freed = ++cache.frees;
        }
    cache.on_free(memory);
}

void zoo_rows(const void *memory, size_t row_bytes, int rows, int live, bool floats)
{
    (void)bg_attach_rows(memory, row_bytes, rows, live, floats); /* without --attach it does nothing */
}

/* ---- graphs ---- */

void zoo_capture(zoo_graph *graph, zoo_pass *pass, void *user)
{
    cudaGraph_t captured;

    *graph = (zoo_graph){pass, user, NULL};
    if (zoo.eager)
        return;
    CHECK(cudaStreamBeginCapture(zoo.stream, cudaStreamCaptureModeGlobal));
    pass(user, zoo.stream);
    CHECK(cudaStreamEndCapture(zoo.stream, &captured));
    CHECK(cudaGraphInstantiate(&graph->exec, captured, 0));
    CHECK(cudaGraphDestroy(captured));
}

void zoo_replay(const zoo_graph *graph)
{
    if (zoo.eager)
        graph->pass(graph->user, zoo.stream);
    else
        CHECK(cudaGraphLaunch(graph->exec, zoo.stream));
}

void zoo_destroy(zoo_graph *graph)
{
    if (graph->exec != NULL)
        CHECK(cudaGraphExecDestroy(graph->exec));
    graph->exec = NULL;
}
