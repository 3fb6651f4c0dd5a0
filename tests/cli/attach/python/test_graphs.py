# For pytest, as docs/attach.md has it: breakgraph check --attach -- python3 -m pytest test_graphs.py
import breakgraph
from asks import Graph, Tensor


def replay(free):
    source = Tensor(32, 32)
    breakgraph.name_tensor(source, "input")
    with breakgraph.graph("decode"):
        graph = Graph(Tensor(32, 32), source)
    graph.replay()
    if free:
        source.free()


def test_kept():
    replay(free=False)
    assert not breakgraph.check()


def test_freed():
    replay(free=True)
    assert not breakgraph.check()
