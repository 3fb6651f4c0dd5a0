"""Two branches of a graph that the plan of the memory gave one buffer, as ROCm/xla#839 has it: nothing orders the kernels that
write it, and one branch reads what the other one wrote.
torch_alias.py [--correct]: each branch has a buffer of its own."""
from results import correct, need_torch, show

COUNT, CYCLES = 1 << 16, 5_000_000

torch = need_torch()
x = torch.rand(COUNT, device="cuda")
buffers = [torch.zeros_like(x) for _ in range(2)]
left, right = torch.zeros_like(x), torch.zeros_like(x)
side = torch.cuda.Stream()


def step():
    here, mine, other = torch.cuda.current_stream(), buffers[0], buffers[1 if correct else 0]
    side.wait_stream(here)
    with torch.cuda.stream(side):
        torch.cuda._sleep(CYCLES // 2)
        torch.mul(x, 3, out=other)  # second
        torch.neg(other, out=right)  # negated
    torch.mul(x, 2, out=mine)  # first
    torch.cuda._sleep(CYCLES)  # kernels that take some milliseconds, so that the other branch comes between
    torch.add(mine, 1, out=left)  # read
    here.wait_stream(side)


step()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    step()
for turn in range(3):
    x.copy_(torch.rand_like(x))
    graph.replay()
    torch.cuda.synchronize()
    show("turn%d" % turn, left, right)
    as_expected = torch.equal(left, x * 2 + 1) and torch.equal(right, -(x * 3))
    print("as expected" if as_expected else "wrong values", flush=True)
