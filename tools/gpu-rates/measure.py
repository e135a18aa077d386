#!/usr/bin/env python3
"""Sustained rates of one GPU at a model's own shapes, for `servetune predict --calibrate --gpu-rates FILE`.

    python tools/gpu-rates/measure.py --model-shape config.json --out gpu-rates.json
    python tools/gpu-rates/measure.py --layers 40 --hidden 5120 --heads 40 --kv-heads 8 --head-dim 128 \\
        --intermediate 17408 --vocab 151936 [--tp N] [--seconds 5] [--out FILE]

Needs Python 3.9 and PyTorch. Without a shape it takes Qwen3-14B's. Each rate is taken from work repeated without pause
for `--seconds`: the power cap pulls clocks down within the first second or two, and a serving engine works below it.
The rate of the first second stands beside it as `burst_...`. `--dry-run` prints the plan. `--device cpu` runs all parts
at tiny sizes and so tests this program; its figures mean nothing. Ctrl-C writes what is there. Progress goes to
standard error, the JSON to `--out` (rewritten after each part) or to standard output.

The JSON (format `servetune-gpu-rates`, version 1; null is what does not apply or could not be read):
    complete       every part was run or skipped; false of a run that was cut
    started_at     UTC, ISO 8601;  elapsed_s: of the whole run
    device         {kind: cuda|hip|cpu, name, memory_bytes, multiprocessors, compute_capability, driver, power_cap_w,
                   max_clock_mhz}
    software       {python, torch, cuda, hip}
    shape          {layers, hidden, heads, kv_heads, head_dim, intermediate, vocab, tp}: the whole model. The matrices
                   that were measured are those of one of `tp` ranks; communication between ranks is not measured
    settings       {seconds}
    notes          sentences
    measurements   rows, each with all of these keys:
        what           qkv, o, gate_up, down (the layer's matrices, run in turn in one run), lm_head, layer_pass (all
                       four and causal attention over prompts of `context` tokens), hbm_read, hbm_copy,
                       prefill_attention, decode_attention, kernel_launch
        dtype          bf16, fp8 (one scale a tensor), fp8_row (one a row), fp32, none. Inputs are quantized beforehand
        m, k, n        tokens, inner size, columns of a matrix product;  batch, context: of attention
        kernel         the way of several that was fastest and was measured;  graph: launched as a CUDA graph
        seconds        of work without pause;  counted_s, windows: its last part, whose median window is the rate
        sustained      `seconds` was 5 or more; else even `tflops` is a burst
        call_s         of one product, one read, one attention, one layer, one launch, in the counted part
        tflops, bytes_per_s, tokens_per_s               in the counted part. Copying counts bytes read and written;
                                                        tokens pass through all layers, without the LM head
        burst_tflops, burst_bytes_per_s, burst_tokens_per_s    in the first second
        clocks_mhz, power_w, temperature_c              medians over the counted part;  burst_clocks_mhz: first second
        throttle       {reason: share of the samples in which it was active}
    skipped        [{part, dtype, reason}]
    errors         [{part, dtype, error}]

Exit codes: 0 done, 1 some part failed, 2 wrong arguments or no such device, 130 interrupted.
"""
from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import signal
import sys
import time
from pathlib import Path

# Nothing is left beside the program: it may lie in a package that somebody else installed.
sys.dont_write_bytecode = True

import parts
from shape import QWEN3_14B, TINY, Shape, read_shape, shape_of
from smi import Monitor

DEVICE_KEYS = 'kind name memory_bytes multiprocessors compute_capability driver power_cap_w max_clock_mhz'

# Preparing, warming up and resting, for each part; and starting.
BETWEEN_S, START_S = 1.2, 8


def arguments():
    parser = argparse.ArgumentParser(description='Sustained rates of one GPU at a model\'s own shapes.')
    parser.add_argument('--model-shape', metavar='FILE', help="a model's config.json, or the fields named below")
    for field in Shape._fields:
        parser.add_argument('--' + field.replace('_', '-'), type=int, metavar='N')
    parser.add_argument('--tp', type=int, default=1, metavar='N', help='measure the share of one of N ranks')
    parser.add_argument('--seconds', type=float, metavar='S', help='work without pause for each rate; default 5')
    parser.add_argument('--device', choices=('cuda', 'cpu'), default='cuda', help='cpu: tiny sizes, a test')
    parser.add_argument('--out', metavar='FILE')
    parser.add_argument('--dry-run', action='store_true', help='print the plan and how long it takes')
    given = parser.parse_args()
    notes = []
    try:
        if given.tp < 1:
            raise ValueError('--tp must be 1 or more')
        if given.seconds is not None and not 0.05 <= given.seconds <= 600:
            raise ValueError('--seconds must be between 0.05 and 600')
        fields, notes = read_shape(given.model_shape) if given.model_shape else ({}, [])
        fields.update({f: getattr(given, f) for f in Shape._fields if getattr(given, f) is not None})
        if given.device == 'cpu':
            shape, given.tp = TINY, 1
            notes.append('tiny sizes on a CPU: a test of the program, no figures of a GPU')
        else:
            shape = shape_of(fields, given.tp) if fields else shape_of(QWEN3_14B._asdict(), given.tp)
            if not fields:
                notes.append("no shape was given: Qwen3-14B's")
    except (OSError, ValueError) as error:
        parser.error(str(error))
    return given, shape, notes


def say(text):
    print(text, file=sys.stderr, flush=True)


def visible_names(torch, device):
    """By what nvidia-smi may know the device: CUDA's numbers are not its numbers when only some GPUs are visible."""
    names = []
    uuid = getattr(torch.cuda.get_device_properties(device), 'uuid', None)
    if uuid is not None:
        names.append(f'GPU-{uuid}')
    visible = [v.strip() for v in os.environ.get('CUDA_VISIBLE_DEVICES', '').split(',') if v.strip()]
    return [*names, *visible[:1], '0']


def environment(torch, device, monitor):
    software = {
        'python': platform.python_version(),
        'torch': torch.__version__,
        'cuda': torch.version.cuda,
        'hip': getattr(torch.version, 'hip', None),
    }
    if device.type == 'cpu':
        told = {'kind': 'cpu', 'name': platform.processor() or platform.machine()}
        return told, software
    properties = torch.cuda.get_device_properties(device)
    told = {
        'kind': 'hip' if software['hip'] else 'cuda',
        'name': properties.name,
        'memory_bytes': properties.total_memory,
        'multiprocessors': properties.multi_processor_count,
        'compute_capability': f'{properties.major}.{properties.minor}',
        **monitor.identity(),
    }
    return told, software


def write(result, out):
    """Puts the JSON in its place at once, so that a run that is killed leaves the last whole one."""
    text = json.dumps(result, indent=1) + '\n'
    if out is None:
        return text
    path = Path(out)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + '.new')
    beside.write_text(text, encoding='utf-8')
    beside.replace(path)
    return text


def figures(rows):
    """One line for people: each rate with its burst."""
    found = []
    for r in rows:
        what = r['what'] if r['what'] in ('qkv', 'o', 'gate_up', 'down') else ''
        if r['tokens_per_s'] is not None:
            found.append(f"{r['tokens_per_s']} tok/s (first second {r['burst_tokens_per_s']})")
        elif r['tflops'] is not None:
            found.append(f"{what} {r['tflops']:.1f} TFLOP/s ({r['burst_tflops']:.1f})".strip())
        elif r['bytes_per_s'] is not None:
            found.append(f"{r['bytes_per_s'] / 1e12:.3f} TB/s ({r['burst_bytes_per_s'] / 1e12:.3f})")
        else:
            found.append(f"{r['call_s'] * 1e6:.2f} us{' in a graph' if r['graph'] else ''}")
    last = rows[-1] if rows else {}
    state = [f'{last[key]:.0f} {unit}' for key, unit in (('clocks_mhz', 'MHz'), ('power_w', 'W')) if last.get(key)]
    return ', '.join([*found, *state, *(last.get('throttle') or {})])


class Stopping:
    """
    Ctrl-C and SIGTERM raise KeyboardInterrupt where the program stands. PyTorch can turn that into an error of its own
    on the way up, so it is also remembered.
    """

    def __init__(self):
        self.asked = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.stop)

    def stop(self, _number, _frame):
        self.asked = True
        raise KeyboardInterrupt

    def check(self):
        if self.asked:
            raise KeyboardInterrupt

    def no_more(self):
        """From here on the result is being written."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)


def run(result, plan, context, save, stopping):
    """Every part in a try of its own; an FP8 that is not there is skipped with the reason."""
    no_fp8 = {}
    for i, part in enumerate(plan):
        label = {'part': part.name, 'dtype': part.dtype}
        try:
            if part.dtype.startswith('fp8'):
                if part.dtype not in no_fp8:
                    no_fp8[part.dtype] = context.gpu.why_no_fp8(part.dtype)
                if no_fp8[part.dtype]:
                    result['skipped'].append({**label, 'reason': no_fp8[part.dtype]})
                    say(f"[{i + 1}/{len(plan)}] {part.name} {part.dtype}: skipped, {no_fp8[part.dtype]}")
                    continue
            rows = part.measure(context)
            result['measurements'] += rows
            say(f'[{i + 1}/{len(plan)}] {part.name} {part.dtype}: {figures(rows)}')
        except Exception as error:
            stopping.check()
            said = f'{type(error).__name__}: {error}'[:500]
            result['errors'].append({**label, 'error': said})
            say(f'[{i + 1}/{len(plan)}] {part.name} {part.dtype}: failed, {said}')
        free(context)
        stopping.check()
        try:
            save()
        except OSError as error:
            say(f'--out cannot be written now: {error}')


def free(context):
    """Gives the operands of a part back before the next; a device that is broken fails here as well."""
    gc.collect()
    if context.gpu.cuda:
        try:
            context.gpu.torch.cuda.empty_cache()
        except RuntimeError:
            pass


def new_result(shape, tp, seconds, notes):
    return {
        'format': 'servetune-gpu-rates',
        'version': 1,
        'complete': False,
        'started_at': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime()),
        'elapsed_s': 0.0,
        'device': dict.fromkeys(DEVICE_KEYS.split()),
        'software': {},
        'shape': {**shape._asdict(), 'tp': tp},
        'settings': {'seconds': seconds},
        'notes': notes,
        'measurements': [],
        'skipped': [],
        'errors': [],
    }


def main():
    given, shape, notes = arguments()
    tiny = given.device == 'cpu'
    seconds = given.seconds or (0.2 if tiny else parts.SUSTAINED_S)
    plan = parts.plan(seconds, tiny)
    if seconds < parts.SUSTAINED_S and not tiny:
        notes.append(f'{seconds} s without pause are too short for sustained rates: these are bursts')
    estimate = START_S + sum(part.seconds + BETWEEN_S for part in plan)
    say(f'{len(plan)} parts, about {estimate:.0f} s; {shape}, tp {given.tp}')
    if given.dry_run:
        for part in plan:
            say(f'  {part.seconds:5.1f} s  {part.name} {part.dtype}')
        return 0

    try:
        import torch
    except ImportError as error:
        say(f'PyTorch cannot be imported ({error}): run this with the Python that has it')
        return 2
    if not tiny and not torch.cuda.is_available():
        say('PyTorch sees no GPU here; --device cpu tests the program without one')
        return 2

    from operands import Gpu
    from timing import Clock

    if tiny:
        torch.set_num_threads(1)
    device = torch.device('cpu') if tiny else torch.device('cuda', 0)
    torch.manual_seed(0)
    started = time.monotonic()
    result = new_result(shape, given.tp, seconds, notes)

    def save():
        result['elapsed_s'] = round(time.monotonic() - started, 1)
        return write(result, given.out)

    try:
        save()
    except OSError as error:
        say(f'--out cannot be written: {error}')
        return 2
    stopping = Stopping()
    monitor = Monitor([] if tiny else visible_names(torch, device), 0)
    try:
        told, result['software'] = environment(torch, device, monitor)
        result['device'].update(told)
        if not tiny:
            monitor.start()
        context = parts.Context(Gpu(torch, device), Clock(torch, device), monitor, shape.rank(given.tp))
        run(result, plan, context, save, stopping)
        result['complete'] = True
    except KeyboardInterrupt:
        say('interrupted: writing what is there')
    stopping.no_more()
    monitor.end()
    try:
        text, written = save(), given.out is not None
    except OSError as error:
        say(f'--out cannot be written: {error}; standard output has it')
        text, written = json.dumps(result, indent=1) + '\n', False
    if written:
        say(f'wrote {given.out}')
    else:
        sys.stdout.write(text)
    return 0 if result['complete'] and not result['errors'] else 1 if result['complete'] else 130


if __name__ == '__main__':
    sys.exit(main())
