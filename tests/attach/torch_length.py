"""A maximum length that the host knows, frozen in a graph, as huggingface/transformers#45323 has it: it is the loop bound and
the grid of the kernels, and a longer sequence is cut off at the length of the capture.
torch_length.py [--correct]: the kernels go over all positions, and take the length from device memory. LENGTH: that of the
first sequence."""
import os

from results import correct, need_torch

POSITIONS = 1 << 16

torch = need_torch()
length = int(os.environ.get("LENGTH", "1024"))
keys = torch.ones(POSITIONS, device="cuda")
scores = torch.zeros_like(keys)
places = torch.arange(POSITIONS, device="cuda")
device_length = torch.zeros((), dtype=torch.long, device="cuda")


def attend():
    if correct:
        torch.mul(keys, places < device_length, out=scores)
    else:
        torch.mul(keys[:length], 1, out=scores[:length])  # launched


def prepare():
    device_length.fill_(length)
    scores.zero_()


prepare()
attend()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    attend()
for turn in range(2):
    prepare()
    graph.replay()
    torch.cuda.synchronize()
    print("turn%d" % turn, "as expected" if scores.sum().item() == length else "wrong values", flush=True)
    length *= 2
