"""Attention over a batch with rows of padding, as vllm-project/vllm#38436 has it: a row without a key is 0/0, and the scale
that all rows share for quantisation takes its NaN to the rows of live requests.
torch_padding_nan.py [--correct]: rows of padding have one key."""
from results import correct, need_torch, show

ROWS, LIVE, KEYS = 8, 5, 64

torch = need_torch()
x = torch.rand(ROWS, KEYS, device="cuda")
places = torch.arange(KEYS, device="cuda")
lengths = torch.full((ROWS, 1), 1 if correct else 0, device="cuda")
lengths[:LIVE] = 20


def attend():
    scores = torch.where(places < lengths, x, float("-inf"))
    weights = torch.softmax(scores, 1)  # weights
    scale = weights.abs().max() / 127
    return (weights / scale).round()


attend()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = attend()
for turn in range(2):
    x.copy_(torch.rand_like(x))
    graph.replay()
    torch.cuda.synchronize()
    show("turn%d" % turn, y[:LIVE])
    print("NaN in live rows" if y[:LIVE].isnan().any().item() else "as expected", flush=True)
