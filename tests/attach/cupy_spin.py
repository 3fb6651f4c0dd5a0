"""A graph that hangs, as flashinfer-ai/flashinfer#3053 has it: a kernel waits for a flag, which was set while the graph was
captured, and which nobody sets for the replay. So that no test hangs, the kernel gives up after SPIN_SECONDS (30), and the
exit status is 3. cupy_spin.py [--correct]: the flag is set before the launch."""
import os
import sys

from results import correct, need, show

GAVE_UP = 3
SOURCE = r"""
extern "C" __global__ void spin(volatile const int *flag, int *seen, long long nanoseconds)
{
    unsigned long long began, now;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(began));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (*flag == 0 && now - began < (unsigned long long)nanoseconds);
    *seen = *flag;
}
"""

cupy = need("cupy")
spin = cupy.RawKernel(SOURCE, "spin")
limit = cupy.int64(float(os.environ.get("SPIN_SECONDS", "30")) * 1e9)
flag, seen = cupy.ones(1, dtype=cupy.int32), cupy.zeros(1, dtype=cupy.int32)
spin((1,), (1,), (flag, seen, limit))  # compiled before the capture
cupy.cuda.Device().synchronize()
stream = cupy.cuda.Stream(non_blocking=True)
with stream:
    stream.begin_capture()
    spin((1,), (1,), (flag, seen, limit))  # launched
    graph = stream.end_capture()
flag.fill(1 if correct else 0)
seen.fill(0)
cupy.cuda.Device().synchronize()
graph.launch(stream=stream)
stream.synchronize()
show("seen", seen)
print("the flag was set" if int(seen[0]) else "the kernel gave up", flush=True)
sys.exit(0 if int(seen[0]) else GAVE_UP)
