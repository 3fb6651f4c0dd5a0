"""A tensor that a captured function makes of a list, as PaddlePaddle/Paddle#78568 has it: the graph copies it from host memory
that Python gives back at the end of the function.
torch_host_copy.py [--correct]: the tensor is in pinned memory, and kept."""
from results import correct, need_torch, show

torch = need_torch()
x = torch.rand(4, 1024, device="cuda")
kept = torch.tensor([1.0, 2.0, 3.0, 4.0]).pin_memory()


def step():
    factors = torch.zeros(4, device="cuda")
    if correct:
        factors.copy_(kept, non_blocking=True)
    else:
        factors.copy_(torch.tensor([1.0, 2.0, 3.0, 4.0]), non_blocking=True)  # copied
    return x * factors.view(4, 1)


step()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = step()
for turn in range(2):
    other = [torch.tensor([9.0] * 4) for _ in range(100)]  # one of these gets the memory
    x.copy_(torch.rand_like(x))
    graph.replay()
    torch.cuda.synchronize()
    show("turn%d" % turn, y)
