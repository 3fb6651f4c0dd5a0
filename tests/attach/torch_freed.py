"""A graph whose input is deleted after the capture, while the graph is still replayed.
torch_freed.py [--correct] [--empty-cache | --reuse]: after that, the allocator gives the memory back to CUDA, or to
another tensor."""
from results import correct, need_torch, options, show

COUNT = 4 << 20  # floats: the allocator has a segment for this tensor alone, and can give it back

torch = need_torch()
x = torch.rand(COUNT, device="cuda")
graph = torch.cuda.CUDAGraph()
torch.cuda.synchronize()
with torch.cuda.graph(graph):
    y = x * 2  # launched
graph.replay()
torch.cuda.synchronize()
show("first", y)
if not correct:
    del x  # freed
if "--empty-cache" in options:
    torch.cuda.empty_cache()  # emptied
if "--reuse" in options:
    other = torch.ones(COUNT, device="cuda")
graph.replay()
torch.cuda.synchronize()
show("second", y)
