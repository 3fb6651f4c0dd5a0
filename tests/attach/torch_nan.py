"""Forty layers in a graph, of which one makes a NaN of numbers that are none. torch_nan.py [--correct]"""
from results import correct, need_torch, show

LAYERS, BAD, WIDTH = 40, 23, 256

torch = need_torch()
weights = [torch.rand(WIDTH, WIDTH, device="cuda") / WIDTH for _ in range(LAYERS)]
x = torch.rand(64, WIDTH, device="cuda")


def layer(index, h):
    h = torch.relu(h @ weights[index])
    if index == BAD and not correct:
        h = torch.log(h - 1e9)  # logarithm
    return torch.tanh(h) + 1


def forward():
    h = x
    for index in range(LAYERS):
        h = layer(index, h)
    return h


forward()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = forward()
for turn in range(2):
    x.copy_(torch.rand_like(x))
    graph.replay()
    torch.cuda.synchronize()
    show("turn%d" % turn, y)
