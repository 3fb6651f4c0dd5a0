/* A program that knows nothing of breakgraph, and what its graphs hold of its environment. frozen CASE [correct]. */
#include "tests/cli/attach/programs/program.h"

#include <time.h>
#include <unistd.h>

static cudaStream_t stream;
static float *x, *y;

static float number(const char *name, float otherwise)
{
    const char *value = getenv(name);
    return value != NULL ? strtof(value, NULL) : otherwise;
}

static void *make_buffer(void)
{
    void *buffer;
    CUDA(cudaMalloc(&buffer, BYTES));
    CUDA(cudaMemset(buffer, 0, BYTES));
    return buffer;
}

static cudaGraphExec_t instantiate(cudaGraph_t graph)
{
    cudaGraphExec_t exec;
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    return exec;
}

static void replay(cudaGraphExec_t exec)
{
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
}

static cudaError_t launch_scale(float **data, float *factor)
{
    void *parameters[] = {data, factor};
    return cudaLaunchKernel(scale_kernel(), (dim3){FLOATS / 128, 1, 1}, (dim3){128, 1, 1}, parameters, 0, stream);
}

static cudaGraph_t capture_scale(float factor)
{
    cudaGraph_t graph;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA(launch(&y, &x, stream));
    CUDA(launch_scale(&y, &factor));
    CUDA(cudaStreamEndCapture(stream, &graph));
    return graph;
}

/* The twin keeps the factor in device memory. */
static void scalar(bool correct)
{
    float factor = number("SCALE", 1), *device = make_buffer();
    cudaGraph_t graph;

    if (!correct) {
        replay(instantiate(capture_scale(factor)));
        return;
    }
    CUDA(cudaMemcpy(device, &factor, sizeof factor, cudaMemcpyHostToDevice));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA(launch(&y, &device, stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    replay(instantiate(graph));
}

/* Two ways to do it right: the parameters are set before each launch, or the graph is updated. */
static void updated(bool whole)
{
    float factor = number("SCALE", 1);
    cudaGraph_t graph = capture_scale(factor);
    cudaGraphExec_t exec = instantiate(graph);
    cudaGraphExecUpdateResultInfo result;
    cudaGraphNode_t nodes[2];
    size_t count = 2;

    CUDA(cudaGraphGetNodes(graph, nodes, &count));
    for (int i = 0; i < 2; i++) {
        void *parameters[] = {&y, &factor};
        struct cudaKernelNodeParams node = node_of(parameters);
        node.func = (void *)(size_t)scale_kernel();
        factor += 1;
        if (whole)
            CUDA(cudaGraphExecUpdate(exec, capture_scale(factor), &result));
        else
            CUDA(cudaGraphExecKernelNodeSetParams(exec, nodes[1], &node));
        replay(exec);
    }
}

/* The graph holds the buffer of the request that was captured. The twin copies it to one that stays. */
static void pointer(bool correct)
{
    float *requests[2], *input = make_buffer();
    const int request = (int)number("REQUEST", 0);
    cudaGraph_t graph;

    for (int i = 0; i < 2; i++)
        requests[i] = make_buffer();
    if (correct)
        CUDA(cudaMemcpy(input, requests[request], BYTES, cudaMemcpyDeviceToDevice));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA(launch(&y, correct ? &input : &requests[request], stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    replay(instantiate(graph));
}

/* An input decides on the host which kernels are captured. The twin has a graph for each case, and chooses. */
static void flow(bool correct)
{
    const bool twice = number("TWICE", 0) != 0;
    float half = 0.5F;
    cudaGraphExec_t execs[2];

    for (int i = 0; i < (correct ? 2 : 1); i++) {
        cudaGraph_t graph;
        CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        CUDA(launch(&y, &x, stream));
        if (correct ? i == 1 : twice)
            CUDA(launch_scale(&y, &half));
        CUDA(cudaStreamEndCapture(stream, &graph));
        execs[i] = instantiate(graph);
    }
    replay(execs[correct && twice ? 1 : 0]);
}

/* An input decides which node waits for which: in the graph, or in a child graph of it. */
static void order(bool child, bool correct)
{
    const bool other = !correct && number("ORDER", 0) != 0;
    void *parameters[] = {&y, &x};
    struct cudaKernelNodeParams params = node_of(parameters);
    cudaGraphNode_t nodes[3];
    cudaGraph_t graph, around;

    CUDA(cudaGraphCreate(&graph, 0));
    for (int i = 0; i < 3; i++)
        CUDA(cudaGraphAddKernelNode(&nodes[i], graph, i > 0 ? &nodes[other ? 0 : i - 1] : NULL, i > 0, &params));
    CUDA(cudaGraphCreate(&around, 0));
    CUDA(cudaGraphAddChildGraphNode(&nodes[0], around, NULL, 0, graph));
    replay(instantiate(child ? around : graph));
}

/* One value in many nodes. */
static void many(bool correct)
{
    float factor = correct ? 2 : number("SCALE", 1);
    cudaGraph_t graph;

    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 10; i++)
        CUDA(launch_scale(&y, &factor));
    CUDA(cudaStreamEndCapture(stream, &graph));
    replay(instantiate(graph));
}

/* Nothing is varied: the value is another one in each run. */
static void chance(bool correct)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    replay(instantiate(capture_scale(correct ? 2.5F : (float)(now.tv_nsec % 1000000) + (float)getpid())));
}

/* Other bytes in each run. */
static void fill_padding(void *memory, size_t bytes)
{
    FILE *random = fopen("/dev/urandom", "re");
    if (random == NULL || fread(memory, 1, bytes, random) != bytes)
        exit(4);
    (void)fclose(random);
}

/* A factor in a struct, and padding that nobody has set. The twin has a constant there. */
static void structs(bool correct)
{
    blend_inputs in;
    blend_factor by;
    void *parameters[] = {&in, &by};
    cudaGraph_t graph;

    fill_padding(&in, sizeof in);
    fill_padding(&by, sizeof by);
    in.count = FLOATS;
    in.y = y;
    in.unused = 7;
    by.kind = 1;
    by.factor = correct ? 2 : number("SCALE", 1);
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA(cudaLaunchKernel(blend_kernel(), (dim3){FLOATS / 128, 1, 1}, (dim3){128, 1, 1}, parameters, 0, stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    replay(instantiate(graph));
}

/* How often it ran: each run adds a byte to the file RUNS. */
static unsigned count_runs(void)
{
    FILE *runs = fopen(getenv("RUNS"), "ae");
    long count;

    if (runs == NULL || fputc('.', runs) == EOF || fseek(runs, 0, SEEK_END) != 0)
        exit(4);
    count = ftell(runs);
    (void)fclose(runs);
    return (unsigned)count;
}

/* A parameter of one byte. The twin never sets it, as C++ does with an empty struct: it is another one in each run. */
static void byte(bool correct)
{
    unsigned char value = (unsigned char)(correct ? 2 + count_runs() : (unsigned)number("BYTE", 1));
    void *parameters[] = {&y, &value};
    cudaGraph_t graph;

    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA(cudaLaunchKernel(fill_kernel(), (dim3){FLOATS / 128, 1, 1}, (dim3){128, 1, 1}, parameters, 0, stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    replay(instantiate(graph));
}

/* Rows of which all lie in as many bytes. The twin has one, which needs no pitch. */
static void rows(bool copy, bool correct)
{
    const bool other = number("OTHER", 0) != 0;
    const size_t pitch = other ? 32 : 64, count = correct ? 1 : other ? 5 : 3;
    cudaGraph_t graph;

    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    if (copy)
        CUDA(cudaMemcpy2DAsync(y, pitch, x, pitch, 32, count, cudaMemcpyDeviceToDevice, stream));
    else
        CUDA(cudaMemset2DAsync(y, pitch, 0, 32, count, stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    replay(instantiate(graph));
}

static void CUDART_CB first_function(void *user)
{
    (void)user;
}

static void CUDART_CB second_function(void *user)
{
    (void)user;
}

/* Another function; or another argument of it, a number. The twin's is an address of the host. */
static void function(bool argument, bool correct)
{
    const bool other = number("OTHER", 0) != 0;
    void *user = correct ? malloc(other ? 32 : 1 << 20) : argument && other ? (void *)6 : (void *)3; /* NOLINT */
    cudaGraph_t graph;

    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA(cudaLaunchHostFunc(stream, other && !correct && !argument ? second_function : first_function, user));
    CUDA(cudaStreamEndCapture(stream, &graph));
    replay(instantiate(graph));
    if (correct)
        free(user);
}

/* Which event is recorded. The twin always records the same. */
static void event(bool correct)
{
    const bool other = number("OTHER", 0) != 0;
    cudaEvent_t events[3];
    cudaGraph_t graph;

    for (int i = 0; i < 3; i++)
        CUDA(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming));
    if (correct && other)
        CUDA(cudaEventDestroy(events[0]));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA(cudaEventRecordWithFlags(events[correct || !other ? 2 : 1], stream, cudaEventRecordExternal));
    CUDA(cudaStreamEndCapture(stream, &graph));
    replay(instantiate(graph));
}

/* Another variable of the device. */
static void variable(bool correct)
{
    float *to;
    cudaGraph_t graph;

    CUDA(get_variable(!correct && number("OTHER", 0) != 0, &to));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA(launch(&to, &x, stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    replay(instantiate(graph));
}

/* Blocks of which two make a cluster, or all run at once. The twin asks for clusters of one, which is what there is. */
static void blocks(bool cluster, bool correct)
{
    void *parameters[] = {&y, &x};
    struct cudaKernelNodeParams params = node_of(parameters);
    const cudaLaunchAttributeID id = cluster ? cudaLaunchAttributeClusterDimension : cudaLaunchAttributeCooperative;
    cudaLaunchAttributeValue value = {0};
    cudaGraphNode_t node;
    cudaGraph_t graph;

    if (cluster) {
        value.clusterDim.x = correct ? 1 : 2;
        value.clusterDim.y = value.clusterDim.z = 1;
    } else {
        value.cooperative = !correct;
    }
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphAddKernelNode(&node, graph, NULL, 0, &params));
    if (number("OTHER", 0) != 0)
        CUDA(cudaGraphKernelNodeSetAttribute(node, id, &value));
    replay(instantiate(graph));
}

/* It has a graph only with a certain input; with another it crashes, fails, or does not end. */
static void odd(const char *value)
{
    if (is_case(value, "crash"))
        abort();
    if (is_case(value, "fail"))
        exit(5);
    while (is_case(value, "hang"))
        (void)pause();
    if (!is_case(value, "none"))
        replay(instantiate(capture_scale(2)));
}

/* One graph for each size, made in one place: which is which, nobody can tell. */
static void sizes(void)
{
    for (int i = 0; i < (int)number("SIZES", 2); i++)
        replay(instantiate(capture_scale((float)i)));
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    const bool correct = argc > 2;

    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    x = make_buffer();
    y = make_buffer();
    CUDA(cudaDeviceSynchronize());
    if (is_case(name, "scalar"))
        scalar(correct);
    else if (is_case(name, "updated"))
        updated(correct);
    else if (is_case(name, "pointer"))
        pointer(correct);
    else if (is_case(name, "flow"))
        flow(correct);
    else if (is_case(name, "order"))
        order(false, correct);
    else if (is_case(name, "child"))
        order(true, correct);
    else if (is_case(name, "many"))
        many(correct);
    else if (is_case(name, "chance"))
        chance(correct);
    else if (is_case(name, "structs"))
        structs(correct);
    else if (is_case(name, "copy") || is_case(name, "fill"))
        rows(is_case(name, "copy"), correct);
    else if (is_case(name, "function") || is_case(name, "argument"))
        function(is_case(name, "argument"), correct);
    else if (is_case(name, "event"))
        event(correct);
    else if (is_case(name, "variable"))
        variable(correct);
    else if (is_case(name, "cluster") || is_case(name, "cooperative"))
        blocks(is_case(name, "cluster"), correct);
    else if (is_case(name, "byte"))
        byte(correct);
    else if (is_case(name, "sizes"))
        sizes();
    else
        odd(getenv("ODD") != NULL ? getenv("ODD") : "none");
    return 0;
}
