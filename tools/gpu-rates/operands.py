"""Random operands and the calls over them: matrix products in bf16 and FP8, attention, memory traffic."""
from __future__ import annotations

import contextlib

# Operands that are read once a call are held so often that the copies together outgrow every cache (bytes).
BEYOND_CACHES = 1 << 30
MOST_COPIES = 64


class Gpu:
    """The device with the sizes that suit it, and its FP8 type if it has one."""

    def __init__(self, torch, device):
        self.torch = torch
        self.device = device
        self.cuda = device.type == 'cuda'
        self.memory = torch.cuda.get_device_properties(device).total_memory if self.cuda else 1 << 30
        # On a CPU nothing is measured that a cache could spoil.
        self.beyond_caches = min(BEYOND_CACHES, self.memory // 16) if self.cuda else 1

    def random(self, *size):
        """Normally distributed bf16: zeros would draw less power and run faster than real data."""
        return self.torch.randn(*size, device=self.device, dtype=self.torch.bfloat16)

    def copies(self, size_bytes, enough=None):
        wanted = -(-self.beyond_caches // size_bytes)
        return max(1, min(wanted, MOST_COPIES, enough or MOST_COPIES))

    @property
    def fp8(self):
        """AMD's MI300 has an E4M3 of its own; everything later and NVIDIA's has the OCP one."""
        torch = self.torch
        if self.cuda and torch.version.hip and 'gfx94' in torch.cuda.get_device_properties(self.device).gcnArchName:
            return torch.float8_e4m3fnuz
        return torch.float8_e4m3fn

    def quantized(self, x, rows):
        """FP8 of a matrix with its scale: one for all of it, or one a row (a column vector)."""
        amax = x.abs().amax(dim=1, keepdim=True) if rows else x.abs().amax()
        limit = self.torch.finfo(self.fp8).max
        scale = amax.float().clamp(min=1e-12) / limit
        return (x.float() / scale).clamp(-limit, limit).to(self.fp8), scale

    def products(self, dtype, m, k, n):
        """Calls of x[m, k] times w[k, n] over copies of w, of which each call takes the next."""
        torch = self.torch
        # Long calls outrun the caches by themselves.
        enough = 2 if m >= 1024 else None
        x = self.random(m, k)
        if dtype == 'bf16':
            first = self.random(n, k)
            weights = [first, *(first.clone() for _ in range(self.copies(2 * n * k, enough) - 1))]
            return [lambda w=w: torch.mm(x, w.t()) for w in weights]
        rows = dtype == 'fp8_row'
        xq, x_scale = self.quantized(x, rows)
        wq, w_scale = self.quantized(self.random(n, k), rows)
        weights = [wq, *(wq.clone() for _ in range(self.copies(n * k, enough) - 1))]
        w_scale = w_scale.t().contiguous() if rows else w_scale
        more = dict(scale_a=x_scale, scale_b=w_scale, out_dtype=torch.bfloat16, use_fast_accum=self.cuda)
        return [lambda w=w: torch._scaled_mm(xq, w.t(), **more) for w in weights]

    def why_no_fp8(self, dtype):
        """Why FP8 products cannot run here, or None when a small one does."""
        if not hasattr(self.torch, '_scaled_mm') or not hasattr(self.torch, 'float8_e4m3fn'):
            return f'PyTorch {self.torch.__version__} has no FP8 matrix product'
        try:
            self.products(dtype, 16, 64, 32)[0]()
            if self.cuda:
                self.torch.cuda.synchronize()
        except Exception as error:
            return first_line(error)
        return None

    def backends(self):
        """Ways of PyTorch's attention by name: what it takes by itself, and what it can be told to take."""
        ways = {'default': contextlib.nullcontext}
        if self.cuda:
            with contextlib.suppress(ImportError, AttributeError):
                from torch.nn.attention import SDPBackend, sdpa_kernel

                for name in ('CUDNN_ATTENTION', 'FLASH_ATTENTION'):
                    if hasattr(SDPBackend, name):
                        ways[name.lower()] = lambda backend=getattr(SDPBackend, name): sdpa_kernel(backend)
        return ways

    def prefill_attention(self, shape, batch, tokens):
        """`{way: calls}` of causal attention over whole prompts, query heads sharing KV heads."""
        attend = self.torch.nn.functional.scaled_dot_product_attention
        q = self.random(batch, shape.heads, tokens, shape.head_dim)
        k, v = (self.random(batch, shape.kv_heads, tokens, shape.head_dim) for _ in range(2))
        group = shape.heads // shape.kv_heads
        wide = [t.repeat_interleave(group, dim=1) for t in (k, v)]

        def shared(way):
            with way():
                return attend(q, k, v, is_causal=True, enable_gqa=True)

        def repeated(way):
            with way():
                return attend(q, *wide, is_causal=True)

        ways = self.backends()
        return {
            **{f'{name}, shared KV heads': [lambda way=way: shared(way)] for name, way in ways.items()},
            **{f'{name}, repeated KV heads': [lambda way=way: repeated(way)] for name, way in ways.items()},
        }

    def decode_attention(self, shape, batch, context):
        """`{way: calls}` of one query token a sequence over its whole context, over copies of the KV cache."""
        attend = self.torch.nn.functional.scaled_dot_product_attention
        group = shape.heads // shape.kv_heads
        q = self.random(batch, shape.heads, 1, shape.head_dim)
        # The heads that share a KV head as rows of one query: the same sums, and each KV is read once.
        folded = q.view(batch, shape.kv_heads, group, shape.head_dim)
        size = (2, batch, shape.kv_heads, context, shape.head_dim)
        caches = [self.random(*size)]
        caches += [caches[0].clone() for _ in range(self.copies(caches[0].numel() * 2) - 1)]

        def over(cache, query, way, **more):
            with way():
                return attend(query, cache[0], cache[1], **more)

        ways = self.backends()
        return {
            **{f'{n}, folded': [lambda c=c, w=w: over(c, folded, w) for c in caches] for n, w in ways.items()},
            **{
                f'{n}, shared KV heads': [lambda c=c, w=w: over(c, q, w, enable_gqa=True) for c in caches]
                for n, w in ways.items()
            },
        }

    def reads(self):
        """`{way: calls}` that read a buffer of several GiB, and its bytes."""
        torch = self.torch
        size = min(4 << 30, self.memory // 8) if self.cuda else 1 << 20
        x = torch.randn(size // 4 // 4096, 4096, device=self.device)
        ways = {'sum': lambda: torch.sum(x), 'row sums': lambda: torch.sum(x, 1), 'maximum': lambda: torch.amax(x)}
        return {name: [call] for name, call in ways.items()}, x.numel() * 4

    def copying(self):
        """
        A call that reads a buffer and writes it elsewhere, and the bytes of both. It negates on the way: a mere copy
        becomes a copy node of the CUDA graph, and on an H200 that reached 2.8 TB/s where it reaches 4.3 outside a graph.
        """
        size = min(4 << 30, self.memory // 8) if self.cuda else 1 << 20
        source = self.torch.randn(size // 4, device=self.device)
        target = self.torch.empty_like(source)
        return [lambda: self.torch.neg(source, out=target)], source.numel() * 4 * 2


def first_line(error):
    return f'{type(error).__name__}: {error}'.split('\n')[0][:300]
