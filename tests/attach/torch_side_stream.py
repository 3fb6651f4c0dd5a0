"""A side stream in a graph, without a wait at the place where one is needed, as AMD-Ecosystem/llama.cpp#71 has it: the stream
is forked from the captured one and joined at the end, but reads y before the captured stream has written it.
torch_side_stream.py [--correct]: the side stream waits before it reads."""
from results import correct, need_torch, show

COUNT, CYCLES = 1 << 16, 5_000_000

torch = need_torch()
x = torch.rand(COUNT, device="cuda")
y, z = torch.zeros_like(x), torch.zeros_like(x)
side = torch.cuda.Stream()


def step():
    here = torch.cuda.current_stream()
    side.wait_stream(here)
    torch.cuda._sleep(CYCLES)  # a kernel that takes some milliseconds, so that the side stream is earlier
    torch.mul(x, 2, out=y)  # written
    if correct:
        side.wait_stream(here)
    with torch.cuda.stream(side):
        torch.add(y, 1, out=z)  # read
    here.wait_stream(side)


step()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    step()
right = True
for turn in range(3):
    x.copy_(torch.rand_like(x))
    graph.replay()
    torch.cuda.synchronize()
    right = right and torch.equal(z, x * 2 + 1)
    show("turn%d" % turn, y, z)
print("as expected" if right else "wrong values", flush=True)
