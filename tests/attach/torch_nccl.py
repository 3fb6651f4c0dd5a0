"""Two processes with a GPU each: a graph of matrix products with a sum over the processes after each. It starts itself with
torchrun. Without a bug."""
import os
import sys

from results import SEED, need_torch, show, skip

RANKS, LAYERS, WIDTH = 2, 4, 512
# NVLink multicast can put GPUs that others share out of service.
os.environ.setdefault("NCCL_NVLS_ENABLE", "0")

torch = need_torch()
if "RANK" not in os.environ:
    if torch.cuda.device_count() < RANKS:
        skip("there are fewer than %d GPUs" % RANKS)
    os.execv(sys.executable, [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=%d" % RANKS,
                              __file__])

import torch.distributed as dist

rank = int(os.environ["RANK"])
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
dist.init_process_group("nccl", device_id=device)
torch.manual_seed(SEED + rank)
weights = [torch.rand(WIDTH, WIDTH, device=device) / WIDTH for _ in range(LAYERS)]
x = torch.rand(256, WIDTH, device=device)


def forward():
    h = x
    for weight in weights:
        h = h @ weight
        dist.all_reduce(h)
        h = torch.tanh(h)
    return h


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        forward()
torch.cuda.current_stream().wait_stream(side)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph, capture_error_mode="thread_local"):  # other threads are NCCL's and the watchdog
    y = forward()
for turn in range(3):
    x.copy_(torch.rand_like(x))
    graph.replay()
    torch.cuda.synchronize()
    parts = [torch.empty_like(y) for _ in range(RANKS)]
    dist.all_gather(parts, y)
    torch.cuda.synchronize()
    if rank == 0:  # alone, so that the lines have one order
        show("turn%d" % turn, *parts)
graph.reset()  # before the communicator, which waits for graphs that use it
dist.destroy_process_group()
