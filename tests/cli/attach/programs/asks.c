/* A program that asks the tools itself (breakgraph/attach.h). asks FILE WHAT...: writes into FILE what they answer. */
#include <breakgraph/attach.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CUDA(call)                                                                                                     \
    do {                                                                                                               \
        cudaError_t error_ = (call);                                                                                   \
        if (error_ != cudaSuccess) {                                                                                   \
            fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, (int)error_);                                \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

enum { BYTES = 4096 };

static FILE *answers;
static cudaStream_t stream;
static char *from, *to;

static cudaGraph_t capture(const void *source)
{
    cudaGraph_t graph;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA(cudaMemcpyAsync(to, source, BYTES, cudaMemcpyDeviceToDevice, stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    return graph;
}

static cudaGraphExec_t instantiate(const void *source)
{
    cudaGraph_t graph = capture(source);
    cudaGraphExec_t exec;
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphDestroy(graph));
    return exec;
}

static void launch(cudaGraphExec_t exec)
{
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
}

static void begin_cuda(void)
{
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc((void **)&from, 4 * BYTES));
    CUDA(cudaMalloc((void **)&to, BYTES));
}

/* ---- what is asked ---- */

static void tell(const char *what, bg_status status)
{
    fprintf(answers, "%s: %d\n", what, (int)status);
    if (status != BG_OK)
        fprintf(answers, "  %s\n", bg_attach_last_error());
}

static void tell_check(bg_format format)
{
    int findings = -1;
    char *text = NULL;
    bg_status status = bg_attach_check(format, &findings, &text);
    tell("check", status);
    if (status == BG_OK)
        fprintf(answers, "findings: %d\n%s", findings, text);
    bg_attach_free(text);
}

static void tell_graphs(void)
{
    bg_attach_graph graph = BG_ATTACH_GRAPH_INIT;
    int count = bg_attach_graph_count();
    fprintf(answers, "graphs: %d\n", count);
    for (int i = 0; i < count && bg_attach_get_graph(i, &graph) == BG_OK; i++)
        fprintf(answers, "%s: %d node, launches %d, updates %d\n", graph.name, (int)graph.nodes, (int)graph.launches,
                (int)graph.updates);
}

static void ask_names(void)
{
    cudaGraphExec_t first, other;
    cudaGraphExecUpdateResultInfo info;

    tell("name_next", bg_attach_name_next("decode"));
    tell("early", bg_attach_name_memory(&first, 1, "early"));
    begin_cuda();
    first = instantiate(from);
    launch(first);
    launch(first);
    (void)instantiate(from + BYTES);
    tell("end", bg_attach_name_next(NULL));
    other = instantiate(from);
    CUDA(cudaGraphExecUpdate(other, capture(from + BYTES), &info));
    (void)instantiate(from);
    tell("name_graph", bg_attach_name_graph(other, "prefill"));
    tell_graphs();
}

static void ask_wrong(void)
{
    static const char long_name[] = "a name of 64 bytes, which is one more than there is room for....";
    bg_attach_graph graph = BG_ATTACH_GRAPH_INIT;
    cudaGraphExec_t exec;
    int findings;

    begin_cuda();
    exec = instantiate(from);
    tell("long", bg_attach_name_graph(exec, long_name));
    tell("shorter", bg_attach_name_graph(exec, long_name + 1));
    tell("empty", bg_attach_name_graph(exec, ""));
    tell("long next", bg_attach_name_next(long_name + 1));
    tell("none", bg_attach_name_graph(NULL, "x"));
    tell("no memory", bg_attach_name_memory(NULL, 8, "x"));
    tell("no bytes", bg_attach_name_memory(from, 0, "x"));
    tell("no name", bg_attach_forget_memory(from));
    tell("no block", bg_attach_ledger_alloc(from, 0));
    tell("no rows", bg_attach_rows(from, 4, 0, 0, true));
    tell("wide rows", bg_attach_rows(from, SIZE_MAX / 2, 4, 4, true));
    tell("more live", bg_attach_rows(from, 4, 4, 5, true));
    tell("rows", bg_attach_rows(from, 4, 4, 2, true));
    tell("other rows", bg_attach_forget_rows(from + 4));
    tell("forget rows", bg_attach_forget_rows(from));
    tell("index", bg_attach_get_graph(1, &graph));
    tell("negative", bg_attach_get_graph(-1, &graph));
    graph.struct_size = 1;
    tell("size", bg_attach_get_graph(0, &graph));
    tell("count", bg_attach_check(BG_TEXT, NULL, NULL));
    tell("format", bg_attach_check(BG_HTML, &findings, NULL));
    tell("good", bg_attach_check(BG_TEXT, &findings, NULL));
}

/* The graph's input is freed; with a name, or one that is forgotten, or two. */
static void ask_freed(const char *how)
{
    cudaGraphExec_t exec;

    begin_cuda();
    (void)bg_attach_name_next("step");
    exec = instantiate(from + 256);
    if (strcmp(how, "formerly") == 0)
        tell("name", bg_attach_name_memory(from, 2 * BYTES, "old"));
    tell("name", bg_attach_name_memory(from, 4 * BYTES, "weights"));
    if (strcmp(how, "forgotten") == 0)
        tell("forget", bg_attach_forget_memory(from));
    launch(exec);
    tell_check(BG_TEXT);
    if (strcmp(how, "none") == 0)
        return;
    CUDA(cudaFree(from));
    if (strcmp(how, "launched") == 0) { /* the launch finds it, and the graph is gone when the program asks */
        (void)cudaGraphLaunch(exec, stream);
        (void)cudaStreamSynchronize(stream);
        CUDA(cudaGraphExecDestroy(exec));
    }
    tell_check(strcmp(how, "json") == 0 ? BG_JSON : BG_TEXT);
    tell_check(BG_TEXT);
}

static __attribute__((noinline)) void free_block(const void *block)
{
    tell("free", bg_attach_ledger_free(block));
}

/* Blocks of an allocator in one allocation of CUDA's; the graph reads the first. */
static void ask_blocks(const char *how)
{
    cudaGraphExecUpdateResultInfo info;
    cudaGraphExec_t exec;

    begin_cuda();
    tell("alloc", bg_attach_ledger_alloc(from, BYTES));
    tell("alloc", bg_attach_ledger_alloc(from + BYTES, BYTES));
    if (strcmp(how, "moved") == 0 || strcmp(how, "renamed") == 0)
        tell("name", bg_attach_name_memory(from, BYTES, "cache"));
    exec = instantiate(from);
    launch(exec);
    if (strcmp(how, "renamed") == 0) { /* to a slice of it, and to another block; all are live */
        tell("name", bg_attach_name_memory(from, BYTES, "cache"));
        tell("name", bg_attach_name_memory(from + 256, 256, "cache"));
        tell("name", bg_attach_name_memory(from + BYTES, BYTES, "cache"));
    } else {
        free_block(strcmp(how, "other") == 0 ? from + BYTES : from);
    }
    if (strcmp(how, "moved") == 0)
        tell("name", bg_attach_name_memory(from + BYTES, BYTES, "cache"));
    if (strcmp(how, "reused") == 0)
        tell("alloc", bg_attach_ledger_alloc(from, 256));
    launch(exec);
    tell_check(BG_TEXT);
    if (strcmp(how, "mended") == 0) {
        CUDA(cudaGraphExecUpdate(exec, capture(from + BYTES), &info));
        tell_check(BG_TEXT);
    }
}

/* The graph reads the first block until another one is set in it; then which is freed? */
static void ask_set(const char *freed)
{
    size_t count = 1;
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    cudaGraph_t graph;

    begin_cuda();
    tell("alloc", bg_attach_ledger_alloc(from, BYTES));
    tell("alloc", bg_attach_ledger_alloc(from + BYTES, BYTES));
    graph = capture(from);
    CUDA(cudaGraphGetNodes(graph, &node, &count));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    launch(exec);
    CUDA(cudaGraphExecMemcpyNodeSetParams1D(exec, node, to, from + BYTES, BYTES, cudaMemcpyDeviceToDevice));
    if (strcmp(freed, "second, launched") == 0)
        launch(exec);
    free_block(strcmp(freed, "first") == 0 ? from : from + BYTES);
    tell_check(BG_TEXT);
}

static void *check_in_thread(void *unused)
{
    CUDA(cudaSetDevice(0)); /* without a call of CUDA, a thread has no context */
    tell_check(BG_TEXT);
    return unused;
}

/* During a capture of the thread, with an error of the program's pending, in another thread, in a child. */
static void ask_anywhere(void)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    pthread_t thread;

    begin_cuda();
    exec = instantiate(from);
    launch(exec);
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA(cudaMemcpyAsync(to, from, BYTES, cudaMemcpyDeviceToDevice, stream));
    tell_check(BG_TEXT);
    CUDA(cudaStreamEndCapture(stream, &graph));
    (void)cudaMemcpy(NULL, NULL, 1, (enum cudaMemcpyKind)99);
    tell_check(BG_TEXT);
    fprintf(answers, "pending: %d\n", (int)cudaGetLastError());
    if (pthread_create(&thread, NULL, check_in_thread, NULL) != 0 || pthread_join(thread, NULL) != 0)
        exit(1);
    (void)fflush(answers);
    if (fork() == 0) {
        fprintf(answers, "attached, in a child: %d\n", bg_attached());
        (void)fflush(answers);
        _exit(0);
    }
    (void)wait(NULL);
    fprintf(answers, "attached: %d\n", bg_attached());
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[2] : "";
    answers = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (answers == NULL)
        return 2;
    fprintf(answers, "attached: %d\n", bg_attached());
    if (strcmp(what, "names") == 0)
        ask_names();
    else if (strcmp(what, "wrong") == 0)
        ask_wrong();
    else if (strcmp(what, "freed") == 0)
        ask_freed(argc > 3 ? argv[3] : "");
    else if (strcmp(what, "blocks") == 0)
        ask_blocks(argc > 3 ? argv[3] : "");
    else if (strcmp(what, "set") == 0)
        ask_set(argc > 3 ? argv[3] : "");
    else if (strcmp(what, "anywhere") == 0)
        ask_anywhere();
    return fclose(answers);
}
