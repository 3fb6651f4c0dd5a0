import torch

x = torch.rand(4 << 20, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x * 2
graph.replay()
del x  # the graph still reads it
graph.replay()
torch.cuda.synchronize()
