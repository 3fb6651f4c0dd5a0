"""A capture that a call breaks. torch_capture.py [--correct] item|synchronize|malloc: a value is fetched, the device is
waited for, or another thread allocates, in the capture; --correct: before it."""
import threading

from results import correct, need_torch, options, show

torch = need_torch()
x = torch.rand(1 << 16, device="cuda")
held = []


def fetch():
    print("sum %.3f" % x.sum().item())  # item


def wait():
    torch.cuda.synchronize()  # synchronize


def allocate():
    try:
        held.append(torch.empty(1 << 28, device="cuda"))  # malloc
        print("allocated")
    except (RuntimeError, torch.cuda.OutOfMemoryError) as error:
        print("not allocated:", type(error).__name__)


def allocate_elsewhere():
    thread = threading.Thread(target=allocate)
    thread.start()
    thread.join()


breaks = {"item": fetch, "synchronize": wait, "malloc": allocate_elsewhere}[options[-1]]
y = x.sum()
good, bad = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
torch.cuda.synchronize()
with torch.cuda.graph(good):
    y = x.sum()
good.replay()
torch.cuda.synchronize()
show("good", y)
if correct:
    breaks()
try:
    with torch.cuda.graph(bad):
        z = x * 2
        if not correct:
            breaks()
        z = z + 1
    bad.replay()
    torch.cuda.synchronize()
    show("other", z)
except RuntimeError as error:
    print("the capture fails:", type(error).__name__, flush=True)
