"""A graph with a matrix product whose workspace is taken away, as pytorch/pytorch#193402 has it: PyTorch keeps cuBLAS's
workspace for each stream, and clearing these frees what graphs that were captured on the stream still use.
torch_workspace.py [--correct]: they are not cleared."""
from results import correct, need_torch, show

# Few results of long sums: cuBLAS splits the sums, and adds their parts up in the workspace.
ROWS, LONG = 64, 1 << 17

torch = need_torch()
a = torch.rand(ROWS, LONG, device="cuda").half()
b = torch.rand(LONG, ROWS, device="cuda").half()
stream = torch.cuda.Stream()
torch.cuda.synchronize()
with torch.cuda.stream(stream):
    c = a @ b  # the stream's workspace is not of the graph's pool then
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph, stream=stream):
    c = a @ b  # launched
graph.replay()
torch.cuda.synchronize()
show("first", c)
if not correct:
    torch._C._cuda_clearCublasWorkspaces()  # cleared
torch.cuda.empty_cache()  # emptied
graph.replay()
torch.cuda.synchronize()
show("second", c)
