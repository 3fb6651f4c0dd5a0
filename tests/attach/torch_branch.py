"""An algorithm that the host chooses by the length of the sequence, frozen in a graph that is kept by the size of the batch
alone, as paiml/aprender#2030 has it.
torch_branch.py [--correct]: there is a graph for each choice. LENGTH: that of the first sequence."""
import os

from results import correct, need_torch

POSITIONS, LONG = 1 << 14, 1024

torch = need_torch()
length = int(os.environ.get("LENGTH", "512"))
x = torch.ones(POSITIONS, device="cuda")
y = torch.zeros_like(x)


def is_long():
    return length >= LONG


def attend(split):
    if split:
        y.copy_(x)
        y.mul_(3)  # split
    else:
        torch.add(x, 1, out=y)  # whole


for split in False, True:
    attend(split)
torch.cuda.synchronize()
choices = (False, True) if correct else (is_long(),)
graphs = {}
for split in choices:
    graphs[split] = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graphs[split]):
        attend(split)
for turn in range(2):
    y.zero_()
    graphs[is_long() if correct else choices[0]].replay()
    torch.cuda.synchronize()
    print("turn%d" % turn, "as expected" if torch.equal(y, x * (3 if is_long() else 2)) else "wrong values", flush=True)
    length *= 4
