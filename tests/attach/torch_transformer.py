"""A transformer of twelve layers in a graph. In each, the keys and values are computed on a side stream; in one, the main
stream does not wait for them. Exit status 1: what a replay computes is not what the model computes without a graph.
torch_transformer.py [--correct] [--pointer]: --correct has the wait. --pointer: all waits are there, but a weight is given
another tensor after the capture, and the graph has the address of the old one; with --correct, its values are copied."""
import sys

from results import correct, need_torch, options, show

LAYERS, WITHOUT_WAIT, RELOADED = 12, 7, 5
TOKENS, WIDTH, HEADS, CYCLES = 64, 128, 4, 5_000_000
pointer = "--pointer" in options

torch = need_torch()
from torch.nn import functional as F

side = torch.cuda.Stream()


class Layer:
    def __init__(self, index):
        self.index = index
        shapes = {"q": (WIDTH, WIDTH), "k": (WIDTH, WIDTH), "v": (WIDTH, WIDTH), "out": (WIDTH, WIDTH),
                  "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
        self.weights = {name: torch.randn(shape, device="cuda") / shape[0] ** 0.5 for name, shape in shapes.items()}
        self.biases = {name: torch.randn(shape[1], device="cuda") / 8 for name, shape in shapes.items()}
        self.k, self.v = (torch.zeros(TOKENS, WIDTH, device="cuda") for _ in range(2))

    def linear(self, name, h):
        return h @ self.weights[name] + self.biases[name]

    def project(self, h):
        """On the side stream. In one layer a kernel of some milliseconds comes before, and the attention is earlier."""
        if self.index == WITHOUT_WAIT:
            torch.cuda._sleep(CYCLES)
        torch.add(h @ self.weights["k"], self.biases["k"], out=self.k)  # keys
        torch.add(h @ self.weights["v"], self.biases["v"], out=self.v)  # values

    def attend(self, q):
        q, k, v = (part.view(TOKENS, HEADS, -1).transpose(0, 1) for part in (q, self.k, self.v))
        scores = q @ k.transpose(1, 2)  # scores
        weights = torch.softmax(scores / (WIDTH // HEADS) ** 0.5, 2)
        return (weights @ v).transpose(0, 1).reshape(TOKENS, WIDTH)  # weighted

    def forward(self, x, waits, held):
        here, h = torch.cuda.current_stream(), F.layer_norm(x, (WIDTH,))
        held.append(h)  # both streams use it; its memory is nobody else's before the end of the step
        side.wait_stream(here)
        with torch.cuda.stream(side):
            self.project(h)
        q = self.linear("q", h)
        if waits or self.index != WITHOUT_WAIT:
            here.wait_stream(side)
        x = x + self.linear("out", self.attend(q))
        h = F.gelu(self.linear("up", F.layer_norm(x, (WIDTH,))))
        return x + self.linear("down", h)


def step(waits):
    h, held = x, []
    for layer in layers:
        h = layer.forward(h, waits, held)
    return h


torch.set_grad_enabled(False)
layers = [Layer(index) for index in range(LAYERS)]
x = torch.randn(TOKENS, WIDTH, device="cuda")
step(waits=True)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = step(waits=correct or pointer)
if pointer:
    old, new = layers[RELOADED].weights["up"], torch.randn(WIDTH, 4 * WIDTH, device="cuda") / WIDTH ** 0.5
    if correct:
        old.copy_(new)
    else:
        layers[RELOADED].weights["up"] = new  # who loaded the old one still holds it
wrong = 0
for turn in range(3):
    x.copy_(torch.randn_like(x))
    graph.replay()
    torch.cuda.synchronize()
    replayed = y.clone()
    wrong += not torch.allclose(replayed, step(waits=True), rtol=1e-3, atol=1e-3)
    torch.cuda.synchronize()
    show("turn%d" % turn, replayed)
print("wrong in %d of 3 turns" % wrong, flush=True)
sys.exit(wrong > 0)
