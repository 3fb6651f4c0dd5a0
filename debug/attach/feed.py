# Runs in a program that uses PyTorch, when it has instantiated a graph: tells the tools which blocks of PyTorch's
# caching allocator are live, and from then on which are freed and allocated. The tools' functions come by address.
import ctypes, sys


class breakgraph_feed:
    def __init__(self, block, taken, freed, allocated):
        self.block = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)(block)
        self.taken = ctypes.CFUNCTYPE(None)(taken)
        self.freed = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(freed)
        self.allocated = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(allocated)
        self.torch = None

    # Events first: what is freed while the snapshot is taken is not missed.
    def begin(self):
        torch = sys.modules.get("torch")
        if self.torch or torch is None or not getattr(getattr(torch, "cuda", None), "is_initialized", bool)():
            return
        from torch.cuda import _gpu_trace as trace
        torch._C._activate_gpu_trace()
        trace.register_callback_for_memory_deallocation(self.freed)
        trace.register_callback_for_memory_allocation(self.allocated)
        self.torch = torch

    def snapshot(self):
        self.begin()
        if self.torch is None:
            return
        for segment in self.torch.cuda.memory_snapshot():
            private = tuple(segment.get("segment_pool_id", (0, 0))) != (0, 0)
            address = segment["address"]
            for block in segment["blocks"]:
                if block["state"] == "active_allocated":
                    self.block(block.get("address", address), block["size"], private)
                address += block["size"]
        self.taken()
