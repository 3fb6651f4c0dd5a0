"""Programs with graphs, as PyTorch's documentation has them, without a bug. torch_programs.py NAME | --list
Each returns tensors, of which digests are printed. Wherever the documentation asks for runs before the capture on
another stream, these are there."""
import os
import sys
import threading

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # no pool of processes that import PyTorch, too

from results import need_torch, options, show

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


if options == ["--list"]:
    torch = F = nn = triton = tl = None
else:
    torch = need_torch()
    from torch import nn
    from torch.nn import functional as F
    try:
        import triton
        import triton.language as tl
    except ModuleNotFoundError:
        triton = None


def rand(*shape, dtype=None):
    return torch.rand(*shape, device="cuda", dtype=dtype)


def warm(step, count=3):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(count):
            step()
    torch.cuda.current_stream().wait_stream(side)


def capture(step, count=3, **arguments):
    """The graph, and what the captured step returned."""
    warm(step, count)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, **arguments):
        results = step()
    return graph, results


def replay(graph, x, results, turns=3):
    """Replays the graph with new values in x. Copies of the results of each turn."""
    copies = []
    for _ in range(turns):
        x.copy_(torch.rand_like(x))
        graph.replay()
        copies += [result.clone() for result in results]
    return copies


def follow(step, x, turns=3, **arguments):
    """A graph of step, which returns tensors and reads x."""
    graph, results = capture(step, **arguments)
    return replay(graph, x, results, turns)


# ---- graphs and pools ------------------------------------------------------------------------------------------------

@program
def plain():
    x, w = rand(64, 128), rand(128, 32)
    return follow(lambda: [torch.relu(x @ w - 30)], x)


@program
def two_graphs():
    """The second graph reads what the first one wrote, and has its pool."""
    x, w = rand(64, 128), rand(128, 128)
    first, (y,) = capture(lambda: [torch.sin(x @ w)])
    second, (z,) = capture(lambda: [(y * 2).cos() + (y - 1).exp()], pool=first.pool())
    copies = []
    for _ in range(3):
        copies += replay(first, x, [y], turns=1)
        second.replay()
        copies.append(z.clone())
    return copies


@program
def pool_handle():
    """One graph for each size of a batch, the largest first, in one pool."""
    pool, w, graphs = torch.cuda.graph_pool_handle(), rand(256, 256), {}
    x = rand(64, 256)
    for rows in 64, 32, 16:
        graphs[rows] = capture(lambda: [torch.softmax(torch.tanh(x[:rows] @ w / 64) @ w, 1)], pool=pool)
    return sum((replay(graphs[rows][0], x, graphs[rows][1], turns=1) for rows in (16, 64, 32, 16, 64)), [])


@program
def raw_capture():
    x, w, stream, graph = rand(64, 64), rand(64, 64), torch.cuda.Stream(), torch.cuda.CUDAGraph()
    warm(lambda: x @ w)
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        graph.capture_begin(capture_error_mode="relaxed")
        y = (x @ w).sqrt()
        graph.capture_end()
    torch.cuda.current_stream().wait_stream(stream)
    return replay(graph, x, [y])


@program
def keep_graph():
    """Instantiated twice, and the graph that it was made of stays."""
    x, graph = rand(256, 256), torch.cuda.CUDAGraph(keep_graph=True)
    warm(lambda: x.softmax(1))
    with torch.cuda.graph(graph):
        y = x.softmax(1)
    graph.instantiate()
    copies = replay(graph, x, [y])
    graph.instantiate()
    return copies + replay(graph, x, [y])


@program
def profiler():
    """Under PyTorch's profiler, which looks at the driver, too."""
    x, w = rand(64, 64), rand(64, 64)
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    graph, results = capture(lambda: [torch.sigmoid(x @ w)])
    with torch.profiler.profile(activities=activities) as profile:
        copies = replay(graph, x, results)
        torch.cuda.synchronize()
    launches = [event for event in profile.events() if "GraphLaunch" in event.name]
    return copies + [torch.tensor([len(launches)])]


@program
def thread():
    """Captured in another thread than the main one, and replayed in both."""
    x, w, made = rand(64, 64), rand(64, 64), []

    def work():
        made.append(capture(lambda: [torch.sigmoid(x @ w)], capture_error_mode="thread_local"))
        graph, results = made[0]
        made.append(replay(graph, x, results))
        torch.cuda.synchronize()

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    (graph, results), copies = made
    return copies + replay(graph, x, results)


# ---- streams, events, random numbers ---------------------------------------------------------------------------------

@program
def streams():
    x, w, sides = rand(64, 64), rand(64, 64), [torch.cuda.Stream() for _ in range(3)]

    def step():
        here, parts = torch.cuda.current_stream(), []
        y = x @ w
        for i, side in enumerate(sides):
            side.wait_stream(here)
            with torch.cuda.stream(side):
                parts.append(torch.sin(y * (i + 1)))
        for side in sides:
            here.wait_stream(side)
        return [parts[0] + parts[1] * parts[2]]

    return follow(step, x)


@program
def events():
    """An event that the graph waits for, and one that it records: nodes of the graph, since the events are external."""
    x, y = rand(1 << 16), rand(1 << 16)
    begun, ended = torch.cuda.Event(external=True), torch.cuda.Event(external=True)

    def step():
        begun.wait()
        y.copy_(x * 2)
        ended.record()
        return [y + 1]

    begun.record()  # an event that never was is not waited for
    graph, results = capture(step)
    copies = []
    for _ in range(3):
        begun.record()
        copies += [*replay(graph, x, results, turns=1), y.clone()]
        ended.synchronize()
    return copies


@program
def dropout():
    """Random numbers of the default generator, and of one that the graph is told of."""
    x, generator, graph = rand(256, 256), torch.Generator(device="cuda"), torch.cuda.CUDAGraph()
    generator.manual_seed(7)
    graph.register_generator_state(generator)

    def step():
        return [F.dropout(x, 0.5), torch.rand(256, 256, device="cuda", generator=generator) + x]

    warm(step)
    with torch.cuda.graph(graph):
        results = step()
    return replay(graph, x, results)


# ---- training --------------------------------------------------------------------------------------------------------

def network(*widths):
    layers = []
    for before, after in zip(widths, widths[1:]):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1]).cuda()


def parameters(model):
    return [p.detach().clone() for p in model.parameters()]


@program
def graphed_callables():
    """Two modules, forward and backward in graphs of their own; what is between them is not."""
    first, second = network(32, 64, 64), network(64, 64, 8)
    sample, between = rand(16, 32), rand(16, 64).requires_grad_()
    first, second = torch.cuda.make_graphed_callables((first, second), ((sample,), (between,)))
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    losses = []
    for _ in range(4):
        optimizer.zero_grad(set_to_none=True)
        loss = F.mse_loss(second(torch.tanh(first(rand(16, 32)))), rand(16, 8))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach().clone())
    return losses + parameters(first) + parameters(second)


def train(model, optimizer, x, target, loss_of):
    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model(x), target)
        loss.backward()
        optimizer.step()
        return [loss.detach()]

    return follow(step, x, turns=5) + parameters(model)


@program
def training_step():
    model = network(32, 64, 10)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, capturable=True)
    return train(model, optimizer, rand(16, 32), torch.randint(10, (16,), device="cuda"), F.cross_entropy)


@program
def batch_norm():
    model = nn.Sequential(nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 8)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    return train(model, optimizer, rand(64, 32), rand(64, 8), F.mse_loss) + [model[1].running_mean, model[1].running_var]


@program
def grad_scaler():
    """Forward and backward are captured, what the scaler does is not."""
    model, x, target = network(32, 64, 8), rand(16, 32), rand(16, 8)
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cuda", init_scale=256.0)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.float16, cache_enabled=False):
            loss = F.mse_loss(model(x), target)
        scaler.scale(loss).backward()
        return [loss.detach()]

    graph, results = capture(step)
    losses = []
    for _ in range(4):
        losses += replay(graph, x, results, turns=1)
        scaler.step(optimizer)
        scaler.update()
    return losses + parameters(model)


# ---- operators ---------------------------------------------------------------------------------------------------------

@program
def autocast():
    model, x = network(64, 128, 64), rand(32, 64)

    @torch.no_grad()
    def step():
        with torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
            y = model(x)
        return [y, torch.softmax(y.float(), 1)]

    return follow(step, x)


@program
def convolution():
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 8, 3)).cuda()
    model, x = model.to(memory_format=torch.channels_last), rand(4, 3, 32, 32).to(memory_format=torch.channels_last)
    return follow(torch.no_grad()(lambda: [model(x)]), x)


@program
def attention():
    from torch.nn.attention import SDPBackend, sdpa_kernel
    q, k, v = (rand(2, 4, 128, 64, dtype=torch.float16) for _ in range(3))

    def step():
        plain_math = torch.softmax(q.float() @ k.float().transpose(-1, -2) / 8, -1) @ v.float()
        with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
            efficient = F.scaled_dot_product_attention(q, k, v)
        return [F.scaled_dot_product_attention(q, k, v, is_causal=True), efficient, plain_math]

    return follow(step, q)


@program
def embedding():
    table, source = nn.Embedding(1000, 64).cuda(), rand(256, 64)
    index = torch.randint(1000, (32, 8), device="cuda")
    order = torch.randperm(256, device="cuda")

    @torch.no_grad()
    def step():
        rows = source.index_select(0, order)
        placed = torch.zeros_like(source).index_copy_(0, order, rows * 2)
        return [table(index).sum(1), placed, rows.gather(1, rows.argsort(1)), torch.where(rows > 0.5, rows, -rows)]

    return follow(step, source)


@program
def recurrent():
    lstm, gru, x = nn.LSTM(32, 64, 2).cuda().eval(), nn.GRU(64, 32).cuda().eval(), rand(12, 8, 32)

    @torch.no_grad()
    def step():
        y, _ = lstm(x)
        return [y, gru(y)[0]]

    return follow(step, x)


@program
def transformer_layer():
    model = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, activation="gelu", batch_first=True).cuda()
    x = rand(4, 16, 64)
    return follow(torch.no_grad()(lambda: [model(x)]), x)


@program
def products():
    """cuBLAS and cuBLASLt in several types."""
    x, y = rand(64, 128), rand(128, 64)
    whole = torch.randint(-8, 8, (64, 64), device="cuda", dtype=torch.int8)
    batch, bias = rand(4, 32, 32), rand(64)

    def step():
        results = [x.to(kind) @ y.to(kind) for kind in (torch.float16, torch.bfloat16, torch.float32, torch.float64)]
        return results + [torch._int_mm(whole, whole.t()), batch @ batch, torch.addmm(bias, x, y)]

    return follow(step, x)


@program
def transforms():
    x = rand(16, 1024)

    def step():
        spectrum = torch.fft.rfft(x)
        return [torch.fft.irfft(spectrum * 2), *x.topk(8), x.sort(1).values, x.cumsum(1)]

    return follow(step, x)


@program
def triton_kernel():
    if triton is None:
        from results import skip
        skip("there is no module triton")

    @triton.jit
    def add_scaled(x, y, out, count, factor, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = at < count
        tl.store(out + at, tl.load(x + at, inside) + factor * tl.load(y + at, inside), inside)

    count = 10000
    x, y, out = rand(count), rand(count), rand(count)

    def step():
        add_scaled[(triton.cdiv(count, 1024),)](x, y, out, count, 0.5, BLOCK=1024)
        return [out, out * 2]

    return follow(step, x)


# ---- torch.compile -----------------------------------------------------------------------------------------------------

@program
def compile_forward():
    model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 32)).cuda()
    fast, copies = torch.compile(model, mode="reduce-overhead"), []
    with torch.no_grad():
        for _ in range(5):
            torch.compiler.cudagraph_mark_step_begin()
            copies.append(fast(rand(16, 64)).clone())
    return copies


@program
def compile_backward():
    model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 8)).cuda()
    fast, optimizer, losses = torch.compile(model, mode="reduce-overhead"), torch.optim.SGD(model.parameters(), 0.1), []
    for _ in range(5):
        torch.compiler.cudagraph_mark_step_begin()
        optimizer.zero_grad(set_to_none=True)
        loss = F.mse_loss(fast(rand(16, 64)), rand(16, 8))
        loss.backward()
        optimizer.step()
        losses.append(loss.detach().clone())
    return losses + parameters(model)


@program
def compile_shapes():
    w, copies = rand(64, 64), []

    @torch.compile(mode="reduce-overhead")
    def fast(x):
        return torch.softmax(torch.relu(x @ w - 10), 1)

    for rows in (8, 16, 24) * 4:
        torch.compiler.cudagraph_mark_step_begin()
        copies.append(fast(rand(rows, 64)).clone())
    return copies


if __name__ == "__main__":
    if options == ["--list"]:
        print("\n".join(PROGRAMS))
    elif len(options) != 1 or options[0] not in PROGRAMS:
        sys.exit("torch_programs.py NAME; NAME: " + " ".join(PROGRAMS))
    else:
        for place, result in enumerate(PROGRAMS[options[0]]()):
            show("%s-%d" % (options[0], place), result)
