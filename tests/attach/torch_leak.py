"""A launch in a capture that goes to a stream which the capture does not have: it runs once, then, and is in no graph.
torch_leak.py [--correct]: the stream waits for the captured one, and the captured one for it."""
from results import correct, need_torch, show

torch = need_torch()
x, y, z = (torch.rand(1 << 16, device="cuda") for _ in range(3))
side = torch.cuda.Stream()


def step():
    torch.mul(x, 2, out=y)
    if correct:
        side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.add(x, 1, out=z)  # leaked
    if correct:
        torch.cuda.current_stream().wait_stream(side)


step()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    step()
for turn in range(2):
    x.copy_(torch.rand_like(x))
    graph.replay()
    torch.cuda.synchronize()
    show("turn%d" % turn, y, z)
