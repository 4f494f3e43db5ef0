"""The models of the workloads as a PyTorch user writes them, with Loop's parameter names."""
import torch
from torch import nn
from torch.nn import functional as F


class Mlp(nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)


class EmbeddingClassifier(Mlp):
    def __init__(self, vocabulary, width, hidden, outputs):
        super().__init__([width, *hidden, outputs])
        self.embedding = nn.Embedding(vocabulary, width)

    def forward(self, tokens):
        return super().forward(self.embedding(tokens).mean(1))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)

    def forward(self, x):
        rows, length, width = x.shape
        q, k, v = self.qkv(x).view(rows, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.projection(mixed.transpose(1, 2).reshape(rows, length, width))


class FeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.expand = nn.Linear(width, 4 * width)
        self.contract = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.contract(F.gelu(self.expand(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = FeedForward(width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    def __init__(self, vocabulary, layers, heads, width, context):
        super().__init__()
        self.token_embedding = nn.Embedding(vocabulary, width)
        self.position_embedding = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.final_norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        x = self.token_embedding(tokens) + self.position_embedding.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.final_norm(x))


def make_model(workload):
    """`workload`: the contents of workload.json."""
    shape = workload["model"]
    if workload["kind"] == "mlp":
        return Mlp(shape["widths"])
    if workload["kind"] == "gpt":
        return Gpt(**shape)
    if workload["kind"] == "embedding":
        return EmbeddingClassifier(shape["vocabulary"], shape["width"], shape["hidden"], shape["outputs"])
    raise SystemExit(f"error: no model of the kind {workload['kind']}")


def summed_loss(model, x, y):
    """Summed over all targets."""
    outputs = model(x)
    return F.cross_entropy(outputs.view(-1, outputs.shape[-1]), y.view(-1), reduction="sum")
