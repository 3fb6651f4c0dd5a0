# A program whose allocator keeps what is freed, as PyTorch's and CuPy's do: modules of their names, as far as the tools
# ask them, over one allocation of CUDA's. allocator.py CASE
import ctypes, sys, types

POOL, TENSOR = 1 << 20, 4096
runtime = ctypes.CDLL("libhostcuda.so.1")


def call(name, *arguments):
    error = getattr(runtime, name)(*arguments)  # launched
    if error:
        sys.exit("%s: %d" % (name, error))


class Pool:
    def __init__(self, pool):
        self.id, self.live, address = pool, {}, ctypes.c_void_p()
        call("cudaMalloc", ctypes.byref(address), ctypes.c_size_t(POOL))
        self.base = address.value

    def allocate(self, offset, size=TENSOR):
        self.live[self.base + offset] = size
        tell_allocated(self.base + offset, size)
        return self.base + offset

    def free(self, pointer):
        tell_freed(pointer, self.live.pop(pointer))

    def segment(self):
        blocks, at = [], self.base
        for pointer in sorted(self.live):
            blocks.append(dict(size=pointer - at, state="inactive"))
            blocks.append(dict(size=self.live[pointer], state="active_allocated"))
            at = pointer + self.live[pointer]
        return dict(address=self.base, total_size=POOL, segment_pool_id=self.id, blocks=blocks)


# PyTorch tells addresses alone.
def pretend_torch():
    callbacks = {"alloc": [], "free": []}
    torch, cuda, trace = (types.ModuleType(name) for name in ("torch", "torch.cuda", "torch.cuda._gpu_trace"))
    torch.cuda, cuda._gpu_trace = cuda, trace
    torch._C = types.SimpleNamespace(_activate_gpu_trace=lambda: None)
    cuda.is_initialized = lambda: True
    cuda.memory_snapshot = lambda: [p.segment() for p in (shared, private)]
    trace.register_callback_for_memory_allocation = callbacks["alloc"].append
    trace.register_callback_for_memory_deallocation = callbacks["free"].append
    sys.modules.update({module.__name__: module for module in (torch, cuda, trace)})

    def tell(kind, base):
        for callback in callbacks[kind]:
            callback(base)  # torch-freed

    return lambda base, size: tell("alloc", base), lambda base, size: tell("free", base)


# CuPy tells sizes, too; what was allocated before only the objects that hold it know.
def pretend_cupy():
    hooks, held = {}, {}

    class MemoryHook:
        def __enter__(self):
            hooks[self.name] = self

    class PooledMemory:
        def __init__(self, ptr, size):
            self.ptr, self.size = ptr, size

    class MemoryPointer:
        def __init__(self, mem):
            self.mem = mem

    def allocated(base, size):
        held[base] = MemoryPointer(PooledMemory(base, size))
        for hook in hooks.values():
            hook.malloc_postprocess(device_id=0, size=size, mem_size=size, mem_ptr=base, pmem_id=1)

    def freed(base, size):
        del held[base]
        for hook in hooks.values():
            hook.free_preprocess(device_id=0, mem_size=size, mem_ptr=base, pmem_id=1)  # cupy-freed

    cupy, cuda, memory = (types.ModuleType(name) for name in ("cupy", "cupy.cuda", "cupy.cuda.memory"))
    cupy.cuda, cuda.memory, cuda.MemoryHook = cuda, memory, MemoryHook
    memory.PooledMemory, memory.MemoryPointer = PooledMemory, MemoryPointer
    sys.modules.update({module.__name__: module for module in (cupy, cuda, memory)})
    return allocated, freed


def copy(target, source):
    call("cudaMemcpyAsync", ctypes.c_void_p(target), ctypes.c_void_p(source), ctypes.c_size_t(TENSOR), 3, stream)


# The graph of what a function launches.
def capture(launches):
    graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
    call("cudaStreamBeginCapture", stream, 1)
    launches()
    call("cudaStreamEndCapture", stream, ctypes.byref(graph))
    call("cudaGraphInstantiate", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
    call("cudaGraphDestroy", graph)
    return executable


def launch(*graphs):
    for graph in graphs:
        call("cudaGraphLaunch", graph, stream)


# ---- one graph ------------------------------------------------------------------------------------------------------

def plain():
    copy(target, source)


def none():
    launch(graph := capture(plain), graph)


def freed(after=lambda: None, freed=lambda: shared.free(source)):
    launch(graph := capture(plain))
    freed()
    after()
    launch(graph)


def inside():
    freed(lambda: shared.allocate(8 * TENSOR + 256, 512))


def covered():
    freed(lambda: shared.allocate(7 * TENSOR, 3 * TENSOR))


def below():
    freed(lambda: shared.allocate(7 * TENSOR, TENSOR))


def elsewhere():
    freed(freed=lambda: shared.free(other))


def private_input():
    block = private.allocate(0)
    graph = capture(lambda: copy(target, block))
    private.free(block)
    launch(graph)


def destroyed():
    launch(graph := capture(plain))
    call("cudaGraphExecDestroy", graph)
    shared.free(source)
    launch(capture(lambda: copy(target, other)))


def set_in_graph():
    graph, executable, node = ctypes.c_void_p(), ctypes.c_void_p(), (ctypes.c_void_p * 1)()
    call("cudaStreamBeginCapture", stream, 1)
    plain()
    call("cudaStreamEndCapture", stream, ctypes.byref(graph))
    call("cudaGraphInstantiate", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
    call("cudaGraphGetNodes", graph, node, ctypes.byref(ctypes.c_size_t(1)))
    launch(executable)
    call("cudaGraphExecMemcpyNodeSetParams1D", executable, ctypes.c_void_p(node[0]), ctypes.c_void_p(target),
         ctypes.c_void_p(other), ctypes.c_size_t(TENSOR), 3)
    shared.free(source)
    launch(executable)
    if case == "set-freed":
        shared.free(other)
        launch(executable)


# ---- freed while it is captured -------------------------------------------------------------------------------------

def replaced():
    global source
    copy(target, source)
    shared.free(source)


def scratch(pool):
    block = pool.allocate(16 * TENSOR)
    copy(block, source)
    copy(target, block)
    pool.free(block)


def before_use():
    shared.free(source)
    copy(target, shared.allocate(8 * TENSOR))


def given_out():
    copy(target, source)
    shared.free(source)
    copy(target, shared.allocate(8 * TENSOR))


def given_later():
    graph = capture(replaced)
    shared.allocate(8 * TENSOR)
    launch(graph)


# ---- graphs of one pool: fill writes a block that read reads; take is captured when it is freed ---------------------

def pooled(order, keep=False, outside=False):
    block = {}

    def fill():
        block["x"] = block.get("x") or private.allocate(0)
        copy(block["x"], source)

    if outside:
        block["x"] = private.allocate(0)
    graphs = {"fill": capture(fill), "read": capture(lambda: copy(target, block["x"]))}
    if not keep:
        private.free(block["x"])
    graphs["take"] = capture(lambda: copy(private.allocate(2 * TENSOR if keep else 1024, 2 * TENSOR), other))
    launch(*(graphs[name] for name in order.split()))


def after_failure():
    call("cudaStreamBeginCapture", stream, 1)
    graph = ctypes.byref(ctypes.c_void_p())
    if runtime.cudaStreamSynchronize(stream) == 0 or runtime.cudaStreamEndCapture(stream, graph) == 0:
        sys.exit("the capture does not fail")
    runtime.cudaGetLastError()
    pooled("fill take read")


# ---- what holds nothing when a graph begins: in a pool of graphs, what the capture itself has allocated and freed ------


def unwritten(pool, kept=False, written=False):
    call("cudaMemset", ctypes.c_void_p(pool.base), 7, ctypes.c_size_t(POOL))

    def launches():
        block = pool.allocate(16 * TENSOR)
        if written:
            copy(block + TENSOR // 2, source)
            copy(block, source)
        copy(other, target)
        copy(target, block + 64)
        if not kept:
            pool.free(block)

    launch(graph := capture(launches), graph)


# A graph reads what another one has left in its own block, which nobody holds any more.
def left_by_another():
    call("cudaMemset", ctypes.c_void_p(source), 7, ctypes.c_size_t(TENSOR))
    pooled("fill read")


cases = {
    "none": none, "freed": freed, "inside": inside, "covered": covered, "below": below, "elsewhere": elsewhere,
    "private-input": private_input, "destroyed": destroyed, "set": set_in_graph, "set-freed": set_in_graph,
    "replaced": lambda: launch(capture(replaced)), "scratch": lambda: launch(capture(lambda: scratch(shared))),
    "private-scratch": lambda: launch(capture(lambda: scratch(private))),
    "before-use": lambda: launch(capture(before_use)), "given-out": lambda: launch(capture(given_out)),
    "given-later": given_later,
    "alias": lambda: pooled("fill take read"), "alias-again": lambda: pooled("fill read take fill read"),
    "alias-before": lambda: pooled("take fill read read"), "alias-kept": lambda: pooled("fill take read", keep=True),
    "alias-outside": lambda: pooled("fill take read", outside=True),
    "alias-late": lambda: pooled("fill read take fill read take read"), "alias-after-failure": after_failure,
    "unwritten": lambda: unwritten(private), "unwritten-shared": lambda: unwritten(shared),
    "written": lambda: unwritten(private, written=True), "unwritten-kept": lambda: unwritten(private, kept=True),
    "left": left_by_another,
}

module, case = sys.argv[1:]
tell_allocated, tell_freed = pretend_torch() if module == "torch" else pretend_cupy()
stream = ctypes.c_void_p()
shared, private = Pool((0, 0)), Pool((0, 1))
call("cudaStreamCreate", ctypes.byref(stream))
source, target, other = (shared.allocate(place * TENSOR) for place in (8, 2, 4))
cases[case]()
call("cudaStreamSynchronize", stream)
print("done")
