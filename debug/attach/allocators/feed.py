# Runs in a program that uses PyTorch or CuPy after it has begun a capture or instantiated a graph. Reports the live
# blocks of these allocators, and from then on each allocation and free. The tools' functions (python.c): allocated,
# freed, begin, segment, live, end, note.
import gc, sys


class breakgraph_feed:
    PYTORCH, CUPY = 1, 2
    torch = cupy = hook = None

    # Registers the callbacks before it reads the blocks, so that no free is missed meanwhile.
    def watch(self):
        torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
        if not self.torch and getattr(getattr(torch, "cuda", None), "is_initialized", bool)():
            self.watch_torch(torch)
            self.ask_torch()
        if not self.cupy and hasattr(getattr(getattr(cupy, "cuda", None), "memory", None), "PooledMemory"):
            self.watch_cupy(cupy)
            self.ask_cupy()

    def snapshot(self):
        known = self.torch
        self.watch()
        if known:
            self.ask_torch()
        note()

    def watch_torch(self, torch):
        from torch.cuda import _gpu_trace as trace

        def allocate(base):
            if allocated(self.PYTORCH, base, 0):
                self.ask_torch()

        torch._C._activate_gpu_trace()
        trace.register_callback_for_memory_deallocation(lambda base: freed(self.PYTORCH, base, 0))
        trace.register_callback_for_memory_allocation(allocate)
        self.torch = torch

    def ask_torch(self):
        begin()
        for row in self.torch.cuda.memory_snapshot():
            address = row["address"]
            segment(address, row["total_size"], tuple(row.get("segment_pool_id", (0, 0))) != (0, 0))
            for block in row["blocks"]:
                if block["state"] == "active_allocated":
                    live(self.PYTORCH, block.get("address", address), block["size"])
                address += block["size"]
        end(self.PYTORCH)

    # A hook of CuPy covers one thread, here the main thread.
    def watch_cupy(self, cupy):
        class hook(cupy.cuda.MemoryHook):
            name = "breakgraph"

            def malloc_postprocess(self, mem_ptr, mem_size, **others):
                if mem_ptr:
                    allocated(breakgraph_feed.CUPY, mem_ptr, mem_size)

            def free_preprocess(self, mem_ptr, mem_size, **others):
                freed(breakgraph_feed.CUPY, mem_ptr, mem_size)

        self.hook = hook()
        self.hook.__enter__()
        self.cupy = cupy

    # CuPy's pool does not list its live blocks, but the garbage collector has the pointers into them.
    def ask_cupy(self):
        memory = self.cupy.cuda.memory
        begin()
        for item in gc.get_objects():
            block = getattr(item, "mem", None) if issubclass(type(item), memory.MemoryPointer) else None
            if issubclass(type(block), memory.PooledMemory) and block.ptr:
                live(self.CUPY, block.ptr, block.size)
        end(self.CUPY)


feed = breakgraph_feed()
