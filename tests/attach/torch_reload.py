"""A model whose weights are loaded anew after the capture, as vllm-project/vllm#48941 has it: the loader gives the parameter
other storage, the old one is freed, and the graph goes on to read it.
torch_reload.py [--correct]: the loader copies the values into the storage that is there."""
from results import correct, need_torch, show

WIDTH = 1 << 20

torch = need_torch()


class Norm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(WIDTH, device="cuda"))

    def forward(self, x):
        return x * self.weight  # launched

    def load(self, values):
        if correct:
            self.weight.copy_(values)
        else:
            self.weight = torch.nn.Parameter(values)  # replaced


torch.set_grad_enabled(False)
model = Norm()
x = torch.rand(4, WIDTH, device="cuda")
model(x)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = model(x)
for turn in range(2):
    x.copy_(torch.rand_like(x))
    graph.replay()
    torch.cuda.synchronize()
    show("turn%d" % turn, y)
    print("as expected" if torch.equal(y, x * model.weight) else "wrong values", flush=True)
    if turn == 0:
        model.load(torch.rand(WIDTH, device="cuda"))
