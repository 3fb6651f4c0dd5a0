"""Two buckets of a model, each captured in two parts around an eager function, as sgl-project/sglang#37606 has them: all
parts share one pool, and what the first part leaves for the later ones is held by its address alone. The allocator
takes it for free, and gives it to the next bucket that is captured.
torch_pool.py [--correct]: the bucket holds the tensor."""
from results import correct, need_torch, show

WIDTH = 1024

torch = need_torch()
pool = torch.cuda.graph_pool_handle()
weight = torch.rand(WIDTH, WIDTH, device="cuda")


class Bucket:
    """The largest is captured first, so that later ones fit into its memory."""

    def __init__(self, rows):
        self.x = torch.rand(rows, WIDTH, device="cuda")
        self.scale = torch.ones(rows, 1, device="cuda")
        self.first, self.second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.first, pool=pool):
            bridge = self.x.neg()  # written
        self.eager()
        with torch.cuda.graph(self.second, pool=pool):
            self.y = bridge * self.scale  # read
        self.held = bridge if correct else None

    def eager(self):
        """What no graph can have: here the scale is looked up by the host."""
        self.scale.fill_(1 + self.x.shape[0] % 7)

    def begin(self):
        self.first.replay()
        self.eager()

    def end(self):
        self.second.replay()
        return self.y


large = Bucket(4096)
small = Bucket(2048)
for turn in range(3):
    for bucket in large, small:
        bucket.x.copy_(torch.rand_like(bucket.x))
    # A request of the small bucket comes between the two parts of one of the large bucket.
    large.begin()
    small.begin()
    small.end()
    large.end()
    torch.cuda.synchronize()
    show("turn%d" % turn, large.y, small.y)
    print("as expected" if torch.equal(large.y, -large.x * large.scale) else "wrong values", flush=True)
