"""The parts of a run: what each measures, for how long, and the rows of the result that it gives."""
from __future__ import annotations

import statistics
import time
from typing import Callable, NamedTuple

import timing
from timing import Task

# Below this, clocks have not come down to what the power cap allows: such a rate is a burst.
SUSTAINED_S = 5.0
TOKENS = (8192, 2048, 1024, 256, 64, 16, 1)
ROW_SCALED_TOKENS = (8192, 1024, 64)
HEAD_TOKENS = (1024, 256, 64)
PREFILL_TOKENS = (1024, 4096, 16384, 32768)
# (sequences, tokens of context)
DECODE = ((32, 1024), (128, 1024), (64, 4096), (16, 16384))
# Prompts of 4096 tokens, two a pass.
PASS_TOKENS, PASS_PROMPT = 8192, 4096


class Part(NamedTuple):
    name: str
    dtype: str
    seconds: float
    measure: Callable[[Context], list[dict]]


class Context(NamedTuple):
    gpu: object
    clock: object
    monitor: object
    # As one rank sees it.
    shape: object


def plan(seconds, tiny):
    """All parts in order: what matters most first, should the run be cut."""
    tokens, rows, heads = (TOKENS, ROW_SCALED_TOKENS, HEAD_TOKENS) if not tiny else ((16, 1), (16,), (16,))
    prefill, decode = (PREFILL_TOKENS, DECODE) if not tiny else ((64, 128), ((2, 64),))
    whole = (PASS_TOKENS, PASS_PROMPT) if not tiny else (64, 32)
    parts = [
        Part('kernel_launch', 'none', 1.0, kernel_launch),
        Part('hbm_read', 'fp32', seconds, hbm_read(seconds)),
        Part('hbm_copy', 'fp32', seconds, hbm_copy(seconds)),
    ]
    parts += [Part(f'linear m={m}', 'bf16', seconds, linear('bf16', m, seconds)) for m in tokens]
    parts += [Part(f'linear m={m}', 'fp8', seconds, linear('fp8', m, seconds)) for m in tokens]
    # Twice as long: the figure that the others are held against.
    parts += [Part('layer_pass', d, 2 * seconds, layer_pass(d, *whole, 2 * seconds)) for d in ('bf16', 'fp8')]
    parts += [Part(f'prefill_attention {t}', 'bf16', seconds, prefill_attention(t, seconds)) for t in prefill]
    parts += [Part(f'decode_attention {b}x{c}', 'bf16', seconds, decode_attention(b, c, seconds)) for b, c in decode]
    parts += [Part(f'lm_head m={m}', 'bf16', seconds, lm_head(m, seconds)) for m in heads]
    parts += [Part(f'linear m={m}', 'fp8_row', seconds, linear('fp8_row', m, seconds)) for m in rows]
    return parts


def row(what, dtype, **given):
    """One measurement: every row has every key, null where it does not apply."""
    keys = 'm k n batch context kernel graph seconds counted_s windows sustained call_s tflops burst_tflops bytes_per_s'
    keys += ' burst_bytes_per_s tokens_per_s burst_tokens_per_s clocks_mhz burst_clocks_mhz power_w temperature_c'
    keys += ' throttle'
    return {'what': what, 'dtype': dtype, **{key: given.get(key) for key in keys.split()}}


def measured(context, tasks, seconds):
    """Runs tasks in turn; for each its course and what every row of the run has in common."""
    run = timing.run(context.clock, tasks, seconds)
    counted = context.monitor.between(run.ended - run.counted_s, run.ended)
    common = {
        'graph': run.graph,
        'seconds': round(run.seconds, 3),
        'counted_s': round(run.counted_s, 3),
        'windows': run.windows,
        'sustained': run.seconds >= SUSTAINED_S - 0.01,
        'burst_clocks_mhz': context.monitor.between(run.started, run.started + 1)['clocks_mhz'],
        **counted,
    }
    return run.courses, common


def rates(course, unit):
    """The two rates of a course under their keys."""
    per = 1e12 if unit == 'tflops' else 1
    return {
        unit: significant(course.sustained / per),
        f'burst_{unit}': significant(course.burst / per),
        'call_s': significant(course.call_s),
    }


def significant(value):
    return float(f'{value:.6g}')


def linear(dtype, m, seconds):
    """The four matrices of one layer in turn, as a layer uses them: one run, a row for each."""

    def measure(context):
        sizes = context.shape.linear()
        tasks = [
            Task(name, context.gpu.products(dtype, m, k, n), 2.0 * m * k * n) for name, (k, n) in sizes.items()
        ]
        courses, common = measured(context, tasks, seconds)
        return [
            row(name, dtype, m=m, k=k, n=n, **common, **rates(courses[name], 'tflops'))
            for name, (k, n) in sizes.items()
        ]

    return measure


def lm_head(m, seconds):
    def measure(context):
        k, n = context.shape.hidden, context.shape.vocab
        task = Task('lm_head', context.gpu.products('bf16', m, k, n), 2.0 * m * k * n)
        courses, common = measured(context, [task], seconds)
        return [row('lm_head', 'bf16', m=m, k=k, n=n, **common, **rates(courses['lm_head'], 'tflops'))]

    return measure


def hbm_read(seconds):
    def measure(context):
        candidates, size = context.gpu.reads()
        kernel = timing.fastest(context.clock, candidates)
        courses, common = measured(context, [Task('read', candidates[kernel], size)], seconds)
        return [row('hbm_read', 'fp32', kernel=kernel, **common, **rates(courses['read'], 'bytes_per_s'))]

    return measure


def hbm_copy(seconds):
    def measure(context):
        calls, size = context.gpu.copying()
        courses, common = measured(context, [Task('copy', calls, size)], seconds)
        return [row('hbm_copy', 'fp32', **common, **rates(courses['copy'], 'bytes_per_s'))]

    return measure


def causal_flop(shape, batch, tokens):
    """Two products of 2 head_dim operations for each query head and each (query, key) pair below the diagonal."""
    return 4.0 * shape.heads * shape.head_dim * batch * tokens * (tokens + 1) / 2


def prefill_attention(tokens, seconds):
    def measure(context):
        shape, batch = context.shape, max(1, 8192 // tokens) if context.gpu.cuda else 1
        candidates = context.gpu.prefill_attention(shape, batch, tokens)
        kernel = timing.fastest(context.clock, candidates)
        task = Task('attention', candidates[kernel], causal_flop(shape, batch, tokens))
        courses, common = measured(context, [task], seconds)
        size = {'batch': batch, 'context': tokens, 'kernel': kernel}
        return [row('prefill_attention', 'bf16', **size, **common, **rates(courses['attention'], 'tflops'))]

    return measure


def decode_attention(batch, tokens, seconds):
    def measure(context):
        shape = context.shape
        candidates = context.gpu.decode_attention(shape, batch, tokens)
        kernel = timing.fastest(context.clock, candidates)
        # Keys and values, 2 bytes each.
        size = 2.0 * 2 * batch * shape.kv_heads * tokens * shape.head_dim
        courses, common = measured(context, [Task('attention', candidates[kernel], size)], seconds)
        what = {'batch': batch, 'context': tokens, 'kernel': kernel}
        return [row('decode_attention', 'bf16', **what, **common, **rates(courses['attention'], 'bytes_per_s'))]

    return measure


def layer_pass(dtype, tokens, prompt, seconds):
    """One layer's four matrices in `dtype` and causal attention in bf16 over whole prompts, again and again."""

    def measure(context):
        shape, batch = context.shape, tokens // prompt
        sizes = context.shape.linear()
        products = [context.gpu.products(dtype, tokens, k, n) for k, n in sizes.values()]
        candidates = context.gpu.prefill_attention(shape, batch, prompt)
        kernel = timing.fastest(context.clock, candidates)
        attend = candidates[kernel][0]
        first, *others = products

        def layer(i):
            first[i % len(first)]()
            attend()
            for calls in others:
                calls[i % len(calls)]()

        flop = sum(2.0 * tokens * k * n for k, n in sizes.values()) + causal_flop(shape, batch, prompt)
        task = Task('layer', [lambda: layer(0), lambda: layer(1)], flop)
        courses, common = measured(context, [task], seconds)
        course = courses['layer']
        per_flop = tokens / flop / shape.layers
        passed = {
            'tokens_per_s': significant(course.sustained * per_flop),
            'burst_tokens_per_s': significant(course.burst * per_flop),
        }
        what = {'m': tokens, 'batch': batch, 'context': prompt, 'kernel': kernel}
        return [row('layer_pass', dtype, **what, **passed, **common, **rates(course, 'tflops'))]

    return measure


def kernel_launch(context):
    """Seconds that one more kernel of next to no work takes: launched by PyTorch, and inside a CUDA graph."""
    torch, clock, repeats = context.gpu.torch, context.clock, 1000
    x = torch.zeros(1, device=context.gpu.device)
    rows = []
    for graph in (False, True):
        launch, captured = timing.launcher(clock, Task('add', [lambda: x.add_(1)], 1), repeats, graph)
        if captured != graph:
            continue

        def many(launch=launch):
            launch()
            clock.idle()

        many()
        times = []
        for _ in range(7):
            start = time.perf_counter()
            many()
            times.append((time.perf_counter() - start) / repeats)
        rows.append(row('kernel_launch', 'none', graph=graph, call_s=significant(statistics.median(times))))
    return rows
