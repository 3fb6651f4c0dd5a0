"""A float of Python in a graph, as tracel-ai/burn#5779 has it: a parameter of the kernel keeps the value that it had at the
capture, and what the schedule of the learning rate makes of it later is not seen.
torch_frozen_float.py [--correct]: the value is in device memory, and written before each launch. SCALE: the first value, a
power of two, so that all results are exact."""
import os

from results import correct, need_torch

torch = need_torch()
scale = float(os.environ.get("SCALE", "0.5"))
x = torch.ones(1 << 16, device="cuda")
device_scale = torch.full((), scale, device="cuda")


def step():
    if correct:
        x.mul_(device_scale)
    else:
        x.mul_(scale)  # launched


step()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    step()
x.fill_(1)
expected = torch.ones_like(x)
for turn in range(3):
    device_scale.fill_(scale)
    graph.replay()
    expected = expected * scale
    torch.cuda.synchronize()
    print("turn%d" % turn, "as expected" if torch.equal(x, expected) else "wrong values", flush=True)
    scale /= 2
