/* Random programs that know nothing of breakgraph but names and rows, each with a fault, or without. random KIND SEED
 * COUNT FILE: KIND is clean, order, source, clean-rows or rows. Writes to FILE what must be found, a line for each:
 *   KIND OF FINDING, tab, node, tab, the program's name, which the finding's text has
 * The programs of a process are told apart by the names of their graphs and memory, "program-SEED". */
#include "kernels/device.h"
#include "tests/cli/attach/programs/cuda_check.h"

#include <bitset>
#include <breakgraph/attach.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

enum { N = 256, BYTES = N * sizeof(float), STREAMS = 3, ROWS = 8, SLOTS = 16 };

__global__ void fill(float *y, float value)
{
    y[threadIdx.x] = value;
}

__global__ void scale(float *y, const float *x)
{
    y[threadIdx.x] = 0.5F * x[threadIdx.x];
}

__global__ void add(float *y, const float *a, const float *b)
{
    y[threadIdx.x] = 0.5F * (a[threadIdx.x] + b[threadIdx.x]);
}

/* Rows: the next one's; the sum of the first `rows`; one that is written to a slot. */
__global__ void shift(float *y, const float *x)
{
    y[threadIdx.x] = x[(threadIdx.x + 1) % ROWS];
}

__global__ void sum(float *y, const float *x, int rows)
{
    *y = 0;
    for (int i = 0; i < rows; i++)
        *y += x[i];
}

__global__ void put(float *cache, const float *x, const int *slots)
{
    if (slots[threadIdx.x] >= 0)
        cache[slots[threadIdx.x]] = x[threadIdx.x];
}

static uint64_t state; /* of the program's random numbers: splitmix64 */
static int below(int n)
{
    uint64_t z = state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return static_cast<int>((z ^ (z >> 31)) % static_cast<uint64_t>(n));
}

static cudaStream_t streams[STREAMS];
static FILE *wanted;
static std::string name; /* of the program */

static void want(const char *kind, const std::string &node)
{
    fprintf(wanted, "%s\t%s\t%s\n", kind, node.c_str(), name.c_str());
}

template <typename T>
static T *allocate(size_t bytes)
{
    T *memory;
    CUDA(cudaMalloc(reinterpret_cast<void **>(&memory), bytes));
    CUDA(cudaMemset(memory, 0, bytes));
    return memory;
}

template <typename Pass>
static cudaGraphExec_t capture(const Pass &pass)
{
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    CUDA(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
    pass(streams[0]);
    CUDA(cudaStreamEndCapture(streams[0], &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    (void)bg_attach_name_graph(exec, name.c_str());
    return exec;
}

/* ---- order around graphs ----------------------------------------------------------------------------------------- */

enum { BUFFERS = 5, GRAPHS = 2, ACTIONS = 40, MOST = 512 };

/* A kernel, copy or memset that uses whole buffers. */
struct use {
    int what; /* fill, scale, add, memcpy, memset */
    int y, a, b;
    std::string node;
    unsigned reads() const
    {
        return what == 1 || what == 3 ? 1u << a : what == 2 ? 1u << a | 1u << b : 0u;
    }
    unsigned writes() const
    {
        return 1u << y;
    }
};

struct action {
    enum { LAUNCH, WORK, EDGE, WAIT_STREAM, WAIT_ALL } kind;
    int stream, other; /* EDGE: other waits for stream */
    int graph;
    use work;
};

static float *buffers[BUFFERS];

static use throw_use()
{
    return {below(5), below(BUFFERS), below(BUFFERS), below(BUFFERS), ""};
}

static void issue(const use &u, cudaStream_t s)
{
    float *y = buffers[u.y];
    switch (u.what) {
    case 0: fill<<<1, N, 0, s>>>(y, 1); break;
    case 1: scale<<<1, N, 0, s>>>(y, buffers[u.a]); break;
    case 2: add<<<1, N, 0, s>>>(y, buffers[u.a], buffers[u.b]); break;
    case 3: CUDA(cudaMemcpyAsync(y, buffers[u.a], BYTES, cudaMemcpyDeviceToDevice, s)); break;
    default: CUDA(cudaMemsetAsync(y, 0, BYTES, s));
    }
}

/* What comes behind what. */
using known = std::bitset<MOST>; /* of actions */
struct order {
    known stream[STREAMS], host, of_graph[GRAPHS], before[MOST];

    /* What a piece of work comes behind. */
    known behind(const action &a) const
    {
        return stream[a.stream] | host | (a.kind == action::LAUNCH ? of_graph[a.graph] : known());
    }

    void apply(const action &a, int index, bool is_left_out)
    {
        if (is_left_out)
            return;
        if (a.kind == action::EDGE)
            stream[a.other] |= stream[a.stream];
        else if (a.kind == action::WAIT_STREAM)
            host |= stream[a.stream];
        else if (a.kind == action::WAIT_ALL)
            for (const known &of_stream : stream)
                host |= of_stream;
        else {
            before[index] = behind(a);
            stream[a.stream] = before[index];
            stream[a.stream].set(static_cast<size_t>(index));
            if (a.kind == action::LAUNCH)
                of_graph[a.graph] = stream[a.stream];
        }
    }
};

struct around {
    std::vector<use> nodes[GRAPHS];
    std::vector<action> actions;

    std::vector<use> uses_of(const action &a) const
    {
        return a.kind == action::LAUNCH ? nodes[a.graph] : std::vector<use>{a.work};
    }
    static bool is_work(const action &a)
    {
        return a.kind == action::LAUNCH || a.kind == action::WORK;
    }
    static bool conflict(const use &one, const use &other)
    {
        return (one.writes() & (other.writes() | other.reads())) != 0 || (one.reads() & other.writes()) != 0;
    }
    bool conflict(const action &one, const action &other) const
    {
        for (const use &u : uses_of(one))
            for (const use &v : uses_of(other))
                if (conflict(u, v))
                    return true;
        return false;
    }

    /* The nodes that may be told, where one action is left out. */
    std::vector<std::string> unordered(size_t left_out) const
    {
        std::vector<std::string> found;
        order o;
        for (size_t i = 0; i < actions.size(); i++) {
            o.apply(actions[i], static_cast<int>(i), i == left_out);
            for (size_t k = 0; is_work(actions[i]) && k < i; k++) {
                const action &node_of = actions[i].kind == action::LAUNCH ? actions[i] : actions[k];
                const action &other = &node_of == &actions[i] ? actions[k] : actions[i];
                if (!is_work(actions[k]) || o.before[i][k] || node_of.kind != action::LAUNCH)
                    continue;
                for (const use &u : nodes[node_of.graph])
                    for (const use &v : uses_of(other))
                        if (conflict(u, v))
                            found.push_back(u.node);
            }
        }
        return found;
    }

    void throw_nodes()
    {
        static const char *const names[] = {"fill", "scale", "add", "memcpy", "memset"};
        for (std::vector<use> &of_graph : nodes) {
            int counts[5] = {0};
            for (int i = 0, count = 1 + below(4); i < count; i++) {
                use u = throw_use();
                u.node = std::string(names[u.what]) + "#" + std::to_string(counts[u.what]++);
                of_graph.push_back(u);
            }
        }
    }

    /* Behind what it conflicts with, by events. */
    void add_work(order &o, const action &a)
    {
        for (size_t k = 0; k < actions.size(); k++) {
            if (is_work(actions[k]) && !o.behind(a)[k] && conflict(a, actions[k]))
                push(o, {action::EDGE, actions[k].stream, a.stream, 0, {}});
        }
        push(o, a);
    }

    void push(order &o, const action &a)
    {
        actions.push_back(a);
        o.apply(a, static_cast<int>(actions.size() - 1), false);
    }

    void throw_actions()
    {
        order o;
        while (actions.size() < ACTIONS) {
            const int kind = below(10), stream = below(STREAMS);
            if (kind < 4)
                add_work(o, {action::LAUNCH, stream, 0, below(GRAPHS), {}});
            else if (kind < 8)
                add_work(o, {action::WORK, stream, 0, 0, throw_use()});
            else if (kind == 8)
                push(o, {action::EDGE, stream, below(STREAMS), 0, {}});
            else
                push(o, {below(4) == 0 ? action::WAIT_ALL : action::WAIT_STREAM, stream, 0, 0, {}});
        }
    }

    /* The wait that is left out: of those that matter, any. */
    size_t choose_fault() const
    {
        const size_t first = static_cast<size_t>(below(static_cast<int>(actions.size())));
        for (size_t i = 0; i < actions.size(); i++) {
            const size_t at = (first + i) % actions.size();
            if (!is_work(actions[at]) && !unordered(at).empty())
                return at;
        }
        return actions.size();
    }

    void run(size_t left_out) const
    {
        cudaGraphExec_t execs[GRAPHS];
        for (float *&buffer : buffers)
            buffer = allocate<float>(BYTES);
        CUDA(cudaDeviceSynchronize());
        for (int i = 0; i < GRAPHS; i++)
            execs[i] = capture([&](cudaStream_t s) {
                for (const use &u : nodes[i])
                    issue(u, s);
            });
        for (size_t i = 0; i < actions.size(); i++) {
            const action &a = actions[i];
            if (i == left_out)
                continue;
            switch (a.kind) {
            case action::LAUNCH: CUDA(cudaGraphLaunch(execs[a.graph], streams[a.stream])); break;
            case action::WORK: issue(a.work, streams[a.stream]); break;
            case action::EDGE: wait_for(streams[a.other], streams[a.stream]); break;
            case action::WAIT_STREAM: CUDA(cudaStreamSynchronize(streams[a.stream])); break;
            case action::WAIT_ALL: CUDA(cudaDeviceSynchronize());
            }
        }
        CUDA(cudaDeviceSynchronize());
    }
};

/* false: the program has no wait that matters. */
static bool run_around(bool has_fault)
{
    around program;
    size_t left_out;

    program.throw_nodes();
    program.throw_actions();
    left_out = has_fault ? program.choose_fault() : program.actions.size();
    if (has_fault && left_out == program.actions.size())
        return false;
    for (const std::string &node : program.unordered(left_out))
        want("unordered", node);
    program.run(left_out);
    return true;
}

/* ---- staging memory ---------------------------------------------------------------------------------------------- */

static bool run_sources(bool has_fault)
{
    const int sources = 1 + below(3), steps = 3 + below(4), early = has_fault ? below(steps - 1) : steps;
    const int changed = below(sources);
    std::vector<float *> staging, copies;
    cudaEvent_t event;
    cudaGraphExec_t exec;

    CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (int i = 0; i < sources; i++) {
        float *memory;
        CUDA(cudaMallocHost(reinterpret_cast<void **>(&memory), BYTES));
        memset(memory, 0, BYTES);
        staging.push_back(memory);
        copies.push_back(allocate<float>(BYTES));
    }
    CUDA(cudaDeviceSynchronize());
    exec = capture([&](cudaStream_t s) {
        for (int i = 0; i < sources; i++)
            CUDA(cudaMemcpyAsync(copies[i], staging[i], BYTES, cudaMemcpyHostToDevice, s));
    });
    for (int step = 0; step < steps; step++) {
        const cudaStream_t stream = streams[below(STREAMS)];
        for (int i = 0; i < sources; i++)
            if (i == changed || step != early + 1)
                staging[i][below(N)] += 1;
        CUDA(cudaGraphLaunch(exec, stream));
        if (step == early)
            continue;
        switch (below(3)) {
        case 0: CUDA(cudaStreamSynchronize(stream)); break;
        case 1:
            CUDA(cudaEventRecord(event, stream));
            CUDA(cudaEventSynchronize(event));
            break;
        default: CUDA(cudaDeviceSynchronize());
        }
    }
    CUDA(cudaDeviceSynchronize());
    if (has_fault)
        want("host-source-changed", "memcpy#" + std::to_string(changed));
    return true;
}

/* ---- rows of batches --------------------------------------------------------------------------------------------- */

static void tell(const void *memory, int rows, int live, bool floats, const char *what)
{
    (void)bg_attach_rows(memory, sizeof(float), rows, live, floats);
    (void)bg_attach_name_memory(memory, static_cast<size_t>(rows) * sizeof(float), (name + "." + what).c_str());
}

static bool run_rows(bool has_fault)
{
    const int live = 1 + below(ROWS - 1), tensors = 2 + below(4), place = has_fault ? below(tensors) : tensors;
    const int fault = below(3);
    std::vector<float *> t;
    float *cache = allocate<float>(SLOTS * sizeof(float)), *totals = allocate<float>(ROWS * sizeof(float));
    int *slots = allocate<int>(ROWS * sizeof(int)), list[ROWS], scales = 0, puts = 0, sums = 0;
    float values[ROWS];
    std::string node;
    cudaGraphExec_t exec;

    for (int i = 0; i <= tensors + 1; i++)
        t.push_back(allocate<float>(ROWS * sizeof(float)));
    for (int i = 0; i < ROWS; i++) {
        values[i] = static_cast<float>(1 + below(100));
        list[i] = i < live ? i : place < tensors && fault == 2 ? below(SLOTS - 1) : below(2) == 0 ? -1 : SLOTS - 1;
    }
    CUDA(cudaMemcpy(t[0], values, sizeof values, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(slots, list, sizeof list, cudaMemcpyHostToDevice));
    CUDA(cudaDeviceSynchronize());
    exec = capture([&](cudaStream_t s) {
        for (int i = 0; i < tensors; i++) {
            if (i == place && fault == 0) {
                shift<<<1, ROWS, 0, s>>>(t[i + 1], t[i]);
                node = "shift#0";
                continue;
            }
            if (i == place && fault == 1) {
                sum<<<1, 1, 0, s>>>(totals + i, t[i], ROWS);
                node = "sum#" + std::to_string(sums++);
            } else if (below(3) == 0) {
                sum<<<1, 1, 0, s>>>(totals + i, t[i], live);
                sums++;
            }
            if ((i == place && fault == 2) || (fault != 2 && below(3) == 0)) {
                put<<<1, ROWS, 0, s>>>(cache, t[i], slots);
                node = i == place && fault == 2 ? "put#" + std::to_string(puts) : node;
                puts++;
            }
            if (below(2) == 0) {
                scale<<<1, ROWS, 0, s>>>(t[i + 1], t[i]);
                scales++;
            } else {
                add<<<1, ROWS, 0, s>>>(t[i + 1], t[i], t[below(i + 1)]);
            }
        }
    });
    for (size_t i = 0; i < t.size(); i++)
        tell(t[i], ROWS, live, true, ("t" + std::to_string(i)).c_str());
    tell(slots, ROWS, live, false, "slots");
    tell(cache, SLOTS - 1, SLOTS - 1, true, "cache"); /* the last slot is for padding */
    tell(totals, ROWS, ROWS, true, "totals");
    CUDA(cudaGraphLaunch(exec, streams[0]));
    CUDA(cudaDeviceSynchronize());
    for (float *memory : t)
        (void)bg_attach_forget_rows(memory);
    (void)bg_attach_forget_rows(slots);
    if (has_fault)
        want("padding", node);
    return true;
}

int main(int argc, char **argv)
{
    const std::string kind = argc > 4 ? argv[1] : "";
    const uint64_t seed = argc > 4 ? strtoull(argv[2], nullptr, 10) : 0;

    if (kind.empty() || (wanted = fopen(argv[4], "w")) == nullptr) {
        fprintf(stderr, "usage: %s KIND SEED COUNT FILE\n", argv[0]);
        return 2;
    }
    for (cudaStream_t &stream : streams)
        CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int done = 0, at = 0; done < atoi(argv[3]); at++) {
        bool ran;
        state = seed + static_cast<uint64_t>(at) * 1000003;
        name = "program-" + std::to_string(seed) + "-" + std::to_string(at) + ":";
        if (kind == "order" || (kind == "clean" && at % 2 == 0))
            ran = run_around(kind == "order");
        else if (kind == "source" || kind == "clean")
            ran = run_sources(kind == "source");
        else
            ran = run_rows(kind == "rows");
        done += ran;
        if (ran)
            printf("%s\n", name.c_str());
    }
    return fclose(wanted) == 0 ? 0 : 2;
}
