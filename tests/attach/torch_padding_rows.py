"""Two buckets of an encoder in one pool, as vllm-project/vllm#57136 has them: an operator of variable length leaves the rows of
the padding unwritten. These have what the graph of another bucket left in the pool, and the next operator mixes all rows.
torch_padding_rows.py [--correct]: the rows of the padding are filled with zeros."""
from results import correct, need_torch, show

WIDTH = 256

torch = need_torch()
pool = torch.cuda.graph_pool_handle()
graphs = {}


def encode(x, rows):
    """Of a bucket, x has only some rows: the rest is padding."""
    hidden = torch.empty(rows, WIDTH, device="cuda")
    torch.mul(x, 2, out=hidden[:x.shape[0]])  # partial
    if correct:
        hidden[x.shape[0]:].zero_()
    return hidden.sum(0)  # mixed


def capture(count, rows):
    x = torch.rand(count, WIDTH, device="cuda")
    encode(x, rows)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        y = encode(x, rows)
    graphs[rows] = graph, x, y


# The larger first, of which all rows are filled: the smaller one gets its memory.
capture(1024, 1024)
capture(100, 512)
for turn in range(2):
    for rows, (graph, x, y) in graphs.items():
        x.copy_(torch.rand_like(x))
        graph.replay()
        torch.cuda.synchronize()
        right = torch.allclose(y, (x * 2).sum(0), rtol=1e-3)
        show("turn%d-rows%d" % (turn, rows), y)
        print("as expected" if right else "wrong values", flush=True)
