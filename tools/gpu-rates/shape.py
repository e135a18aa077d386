"""The shape of the model whose matrices are measured, as one rank of a tensor-parallel group sees it."""
from __future__ import annotations

import json
from typing import NamedTuple


class Shape(NamedTuple):
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int

    def rank(self, tp):
        """Heads and sizes of one of `tp` ranks. KV heads are copied when there are fewer than ranks."""
        return self._replace(
            heads=self.heads // tp,
            kv_heads=max(1, self.kv_heads // tp),
            intermediate=self.intermediate // tp,
            vocab=-(-self.vocab // tp),
        )

    def linear(self):
        """The matrices of one layer: name -> (k, n)."""
        return {
            'qkv': (self.hidden, (self.heads + 2 * self.kv_heads) * self.head_dim),
            'o': (self.heads * self.head_dim, self.hidden),
            'gate_up': (self.hidden, 2 * self.intermediate),
            'down': (self.intermediate, self.hidden),
        }


QWEN3_14B = Shape(layers=40, hidden=5120, heads=40, kv_heads=8, head_dim=128, intermediate=17408, vocab=151936)

# For `--device cpu`: small enough to run every part in moments.
TINY = Shape(layers=2, hidden=128, heads=4, kv_heads=2, head_dim=32, intermediate=256, vocab=512)

# Our name -> the names under which a file may give it: Hugging Face's config.json first.
NAMES = {
    'layers': ('num_hidden_layers', 'n_layer', 'layers'),
    'hidden': ('hidden_size', 'n_embd', 'hiddenSize', 'hidden'),
    'heads': ('num_attention_heads', 'n_head', 'attentionHeads', 'heads'),
    'kv_heads': ('num_key_value_heads', 'kvHeads', 'kv_heads'),
    'head_dim': ('head_dim', 'headDim'),
    'intermediate': ('intermediate_size', 'n_inner', 'intermediateSize', 'intermediate'),
    'vocab': ('vocab_size', 'vocabularySize', 'vocab'),
}
EXPERTS = ('num_experts', 'num_local_experts', 'n_routed_experts', 'experts')


def read_shape(path):
    """The fields that a file gives, and notes on what of the model is left out. Raises ValueError."""
    with open(path, encoding='utf-8') as file:
        content = json.load(file)
    if not isinstance(content, dict):
        raise ValueError(f'{path}: holds no JSON object')
    content = content.get('text_config', content)
    fields = {}
    for field, names in NAMES.items():
        value = next((content[name] for name in names if content.get(name) is not None), None)
        if value is not None:
            fields[field] = value
    notes = []
    if any(isinstance(content.get(name), int) and content[name] > 1 for name in EXPERTS):
        notes.append('mixture of experts: its expert matrices are not measured, only dense ones of intermediate_size')
    return fields, notes


def shape_of(fields, tp):
    """Checks the fields, fills in what follows from others, and returns the whole model's shape. Raises ValueError."""
    fields = dict(fields)
    if 'heads' in fields:
        fields.setdefault('kv_heads', fields['heads'])
        if isinstance(fields.get('hidden'), int) and isinstance(fields['heads'], int) and fields['heads'] > 0:
            fields.setdefault('head_dim', fields['hidden'] // fields['heads'])
    problems = [f'{name} is missing' for name in Shape._fields if name not in fields]
    problems += [
        f'{name} is no positive whole number: {value!r}'
        for name, value in fields.items()
        if isinstance(value, bool) or not isinstance(value, int) or value < 1
    ]
    if not problems:
        if fields['heads'] % fields['kv_heads']:
            problems.append(f"{fields['heads']} heads do not divide by {fields['kv_heads']} KV heads")
        for name in ('heads', 'intermediate'):
            if fields[name] % tp:
                problems.append(f'{name} ({fields[name]}) does not divide by --tp {tp}')
        if max(tp, fields['kv_heads']) % min(tp, fields['kv_heads']):
            problems.append(f"{fields['kv_heads']} KV heads and --tp {tp} do not divide")
    if problems:
        raise ValueError('; '.join(problems))
    return Shape(**fields)
