#!/usr/bin/env python3
"""What --attach costs a program of PyTorch: the same program plain, listed and checked by turns, each in processes of its
own. overhead.py [--turns N]; OUT (build/cuda): where breakgraph was built. Exit status 1: a limit is exceeded."""
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time

SMALL, LARGE = 16, 400  # nodes
TOOL_TURNS = 3
WAYS = {"plain": None, "listed": "report", "checked": "check"}
START_TORCH = "import torch; torch.cuda.init()"
START_DRIVER = "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)"
# What is measured: in which ways beside the plain one, and the largest ratio (a number) or difference in ms (a text).
ROWS = {
    "a replay of 16 nodes, one after the other": {"listed": 1.01, "checked": 1.03},
    "a replay of 400 nodes, one after the other": {"listed": 1.01, "checked": 1.03},
    "a replay of 16 nodes, waited for": {"listed": None, "checked": None},
    "a replay of 400 nodes, waited for": {"listed": None, "checked": None},
    "400 nodes, a tensor of PyTorch allocated and one freed before each": {"listed": None, "checked": 1.2},
    "400 nodes, cuMemAlloc and cuMemFree before each": {"listed": None, "checked": 1.2},
    "capture and instantiation of 400 nodes": {"listed": None, "checked": None},
}
# The tools that launch in the program's place: 400 nodes in two branches, the first three launches, which some look at, and
# later ones. The largest ratio of a later one; None: there is no limit.
TOOLS = {"a node outside": (["run", "--break=[200]"], None), "a probe": (["run", "--probe=[200]"], 1.10),
         "ten probes": (["run", "--probe=[200-209]"], None), "nodes outside": (["run", "--nodes"], None),
         "shadow": (["run", "--shadow"], None), "orders": (["check", "--what=orders"], None),
         "poison": (["check", "--what=poison"], None), "padding": (["check", "--what=padding"], None),
         "inputs": (["check", "--what=inputs"], None), "timeout": (["check", "--timeout=300"], None)}
STARTS = {"start and end, cuInit (least)": START_DRIVER, "start and end, PyTorch with CUDA (least)": START_TORCH}
START_LIMIT = 10  # ms


# ---- in the measured process: microseconds --------------------------------------------------------------------------

def measure(path):
    import torch

    x = torch.zeros(256, device="cuda")
    driver = ctypes.CDLL("libcuda.so.1")

    def capture(nodes):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(nodes):
                x.add_(1)
        return graph

    def each(action, count, rounds=5):
        """The median of some rounds; without pause within each, and the device idle before."""
        times = []
        for _ in range(rounds + 1):
            torch.cuda.synchronize()
            began = time.perf_counter()
            for _ in range(count):
                action()
            torch.cuda.synchronize()
            times.append((time.perf_counter() - began) / count * 1e6)
        return statistics.median(times[1:])

    def waited(graph):
        graph.replay()
        torch.cuda.synchronize()

    def torch_moves(graph, held=[]):
        held.append(torch.empty(1 << 14, device="cuda"))
        if len(held) > 1:
            held.pop(0)
        graph.replay()

    def driver_moves(graph, held=[]):
        address = ctypes.c_uint64()
        if driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1 << 16)) != 0:
            sys.exit("cuMemAlloc fails")
        held.append(address)
        if len(held) > 1 and driver.cuMemFree_v2(held.pop(0)) != 0:
            sys.exit("cuMemFree fails")
        graph.replay()

    small, large = capture(SMALL), capture(LARGE)
    each(large.replay, 200, 1)  # clocks
    found = [each(small.replay, 5000), each(large.replay, 300), each(lambda: waited(small), 2000),
             each(lambda: waited(large), 200), each(lambda: torch_moves(large), 200), each(lambda: driver_moves(large), 100),
             each(lambda: capture(LARGE), 1)]
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join("%f" % one for one in found))


def measure_tools(path):
    """The first three launches, each waited for, and the median of later ones, one after the other."""
    import torch

    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
    import breakgraph

    x, y, side = torch.zeros(4096, device="cuda"), torch.zeros(4096, device="cuda"), torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        here = torch.cuda.current_stream()
        side.wait_stream(here)
        for _ in range(LARGE // 2):
            x.add_(1)
        with torch.cuda.stream(side):
            for _ in range(LARGE // 2):
                y.add_(1)
        here.wait_stream(side)

    def each(count):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(count):
            graph.replay()
        torch.cuda.synchronize()
        return (time.perf_counter() - began) / count * 1e6

    breakgraph.rows(x, 4000)
    breakgraph.rows(y, 4000)
    first = sum(each(1) for _ in range(3))
    found = [first, statistics.median(each(20) for _ in range(7))]
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join("%f" % one for one in found))


# ---- all processes ---------------------------------------------------------------------------------------------------

def command(way):
    name = os.path.join(os.environ.get("OUT", "build/cuda"), "breakgraph")
    if way in TOOLS:
        return [name, TOOLS[way][0][0], "--attach", *TOOLS[way][0][1:], "--"]
    return [name, WAYS[way], "--attach", "--"] if WAYS[way] else []


def run_measured(way, folder, what="--measure"):
    path = os.path.join(folder, "times")
    done = subprocess.run([*command(way), sys.executable, __file__, what, path], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 14):  # a check may have nothing to look at
        sys.exit("overhead: the program fails, %s: exit status %d\n%s%s" % (way, done.returncode, done.stdout, done.stderr))
    with open(path, encoding="ascii") as file:
        return [float(line) for line in file]


def time_start(way, script):
    """Milliseconds. Without a graph, the command itself ends with a status."""
    began = time.perf_counter()
    subprocess.run([*command(way), sys.executable, "-c", script], capture_output=True, check=False)
    return (time.perf_counter() - began) * 1e3


def show(what, way, plain, found, figure, limit, exceeded):
    print("| %s | %s | %.2f (%.2f to %.2f) | %.2f (%.2f to %.2f) | %s | %s |" %
          (what, way, statistics.median(plain), min(plain), max(plain), statistics.median(found), min(found), max(found),
           figure, "" if limit is None else limit + (" EXCEEDED" if exceeded else "")))


def main():
    turns = int(sys.argv[sys.argv.index("--turns") + 1]) if "--turns" in sys.argv else 7
    available = subprocess.run([sys.executable, "-c", "import torch; exit(not torch.cuda.is_available())"],
                               capture_output=True, check=False)
    if available.returncode != 0:
        print("overhead skipped: there is no PyTorch with a GPU")
        return 0
    times, tools = {way: [] for way in WAYS}, {way: [] for way in ("plain", *TOOLS)}
    starts = {(what, way): [] for what in STARTS for way in ("plain", "listed")}
    began, bad = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(turns):
            for way in WAYS:
                times[way].append(run_measured(way, folder))
            for way in tools if len(tools["plain"]) < TOOL_TURNS else ():
                tools[way].append(run_measured(way, folder, "--measure-tools"))
            for what, way in starts:
                starts[what, way].append(time_start(way, STARTS[what]))
    print("Medians (least to greatest) of %d processes each, by turns; replays and captures in microseconds, starts in"
          " milliseconds; %.0f s in all\n" % (turns, time.monotonic() - began))
    print("| what | way | plain | with --attach | ratio, or difference | limit |\n| --- | --- | ---: | ---: | ---: | --- |")
    for place, (what, limits) in enumerate(ROWS.items()):
        for way, limit in limits.items():
            plain, found = ([run[place] for run in times[one]] for one in ("plain", way))
            ratio = statistics.median(found) / statistics.median(plain)
            exceeded = limit is not None and ratio > limit
            bad += exceeded
            show(what, way, plain, found, "%.3f" % ratio, None if limit is None else "%.2f" % limit, exceeded)
    for way, (_, limit) in TOOLS.items():
        for place, what in enumerate(("the first three launches of 400 nodes, together", "a later replay of 400 nodes")):
            plain, found = ([run[place] for run in tools[one]] for one in ("plain", way))
            ratio = statistics.median(found) / statistics.median(plain)
            exceeded = place == 1 and limit is not None and ratio > limit
            bad += exceeded
            show(what, way, plain, found, "%.3f" % ratio, None if place == 0 or limit is None else "%.2f" % limit, exceeded)
    for what in STARTS:
        plain, found = starts[what, "plain"], starts[what, "listed"]
        more = min(found) - min(plain)  # what else the machine does only ever adds
        spread, limit = max(plain) - min(plain), "+%d ms" % START_LIMIT
        exceeded = more > max(START_LIMIT, spread)
        bad += exceeded
        if not exceeded and spread > START_LIMIT:  # neither kept nor exceeded
            limit += " CANNOT BE TOLD: plain differs by %.0f from plain" % spread
        show(what, "listed", plain, found, "%+.1f ms" % more, limit, exceeded)
    return 1 if bad else 0


if __name__ == "__main__":
    if "--measure" in sys.argv:
        measure(sys.argv[sys.argv.index("--measure") + 1])
    elif "--measure-tools" in sys.argv:
        measure_tools(sys.argv[sys.argv.index("--measure-tools") + 1])
    else:
        sys.exit(main())
