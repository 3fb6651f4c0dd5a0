"""A small model of Llama's kind with random weights: its decode steps over a static cache, captured in a graph."""
import inspect

from results import need, need_torch, show

SLOTS, EAGER, REPLAYS = 64, 3, 24

torch = need_torch()
transformers = need("transformers")
config = transformers.LlamaConfig(vocab_size=512, hidden_size=256, intermediate_size=512, num_hidden_layers=4,
                                  num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=SLOTS)
model = transformers.LlamaForCausalLM(config).to("cuda", torch.bfloat16).eval()
cache = transformers.StaticCache(config=config, max_cache_len=SLOTS)
token = torch.full((1, 1), 7, device="cuda")
position = torch.zeros(1, dtype=torch.long, device="cuda")
slots = torch.arange(SLOTS, device="cuda")
logits = torch.zeros(1, config.vocab_size, device="cuda")
# Caches count their tokens themselves in newer versions.
place = {"cache_position": position} if "cache_position" in inspect.signature(model.forward).parameters else {}


@torch.no_grad()
def step():
    mask = (slots <= position).view(1, 1, 1, SLOTS)
    out = model(input_ids=token, position_ids=position.view(1, 1), attention_mask=mask, past_key_values=cache,
                use_cache=True, **place)
    logits.copy_(out.logits[:, -1])
    token.copy_(logits.argmax(-1, keepdim=True))
    position.add_(1)


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(EAGER):
        step()
torch.cuda.current_stream().wait_stream(side)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    step()
tokens = []
for _ in range(REPLAYS):
    graph.replay()
    tokens.append(token.item())
print("tokens", *tokens)
show("logits", logits)
