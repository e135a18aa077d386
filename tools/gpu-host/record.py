"""Brings a real engine up and records what it says and does.

usage: record.py ENGINE SITE MODELS OUT [--limit S] PHASE...   (ENGINE: vllm or sglang; PHASE: see PHASES)

Every recording is written under OUT as it is made, with the command that made it; OUT is packed to $OUT/recordings.tar.gz
after each phase, so that a call that is killed still brings back what it had.
"""
import json
import os
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time
import traceback
from pathlib import Path

from recorder import HOST, Engine, exchange, gpu_used_mib, load, processes, status_of

PORT = 18000


class Run:
    def __init__(self, engine, site, models, out, limit_s):
        self.engine, self.site, self.models, self.out = engine, site, Path(models), Path(out)
        self.out.mkdir(parents=True, exist_ok=True)
        self.until = time.monotonic() + limit_s
        home = Path('/tmp/gpu-host/home')
        home.mkdir(parents=True, exist_ok=True)
        self.env = {
            'PATH': os.environ['PATH'], 'HOME': str(home), 'LANG': 'C.UTF-8', 'PYTHONPATH': site, 'HF_HUB_OFFLINE': '1',
            'VLLM_NO_USAGE_STATS': '1', 'DO_NOT_TRACK': '1', 'VLLM_SERVER_DEV_MODE': '1', 'PYTHONUNBUFFERED': '1',
        } | {k: v for k, v in os.environ.items() if k.startswith(('LD_', 'CUDA', 'NVIDIA', 'NCCL', 'TORCH', 'FAKE'))}

    def left(self):
        return self.until - time.monotonic()

    def note(self, name, value):
        (self.out / name).write_text(value if isinstance(value, str) else json.dumps(value, indent=1) + '\n')

    def pack(self):
        target = Path(os.environ.get('OUT', '/tmp')) / f'recordings-{self.engine}.tar.gz'
        part = target.with_suffix('.part')
        with tarfile.open(part, 'w:gz') as archive:
            archive.add(self.out, self.engine)
        part.rename(target)

    def serve(self, model, *flags, port=PORT):
        if self.engine == 'vllm':
            head = [sys.executable, '-m', 'vllm.entrypoints.cli.main', 'serve', str(self.models / model)]
        else:
            head = [sys.executable, '-m', 'sglang.launch_server', '--model-path', str(self.models / model), '--enable-metrics']
        if 'FAKE' in self.env:
            head = [sys.executable, self.env['FAKE']]
        return [*head, '--host', HOST, '--port', str(port), '--load-format', 'dummy', '--served-model-name', model, *flags]

    def start(self, name, model, *flags, limit_s=240, port=PORT, env=None):
        engine = Engine(name, self.serve(model, *flags, port=port), self.env | (env or {}), port, self.out, probe_s=3 if name.startswith('fail') else 25)
        paths = ['/v1/models', '/version', '/get_server_info', '/server_info', '/metrics', '/health_generate']
        ready = engine.wait_ready(min(limit_s, max(5, self.left())), paths[: 6 if self.engine == 'sglang' else 5])
        self.note(f'{name}.start.json', {'command': engine.command} | ready)
        print(f'{name}: ready {ready["ready"]} at {ready["readyS"]} s, exit {ready["exitCode"]}', flush=True)
        return engine, ready

    def run(self, name, command, limit_s=120):
        began = time.monotonic()
        try:
            done = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=limit_s, stdin=subprocess.DEVNULL)
            out, err, code = done.stdout, done.stderr, done.returncode
        except subprocess.TimeoutExpired as error:
            out, err, code = str(error.stdout), str(error.stderr), 'timed out'
        took = round(time.monotonic() - began, 2)
        head = f'# {" ".join(command)}\n# exit {code} after {took} s\n'
        self.note(f'{name}.txt', head + out + ('\n# stderr\n' + err if err else ''))
        print(f'{name}: exit {code} after {took} s', flush=True)
        if code != 0:
            print((err or out)[-1500:], flush=True)
        return code

    def ask(self, name, method, path, body=None, **more):
        answer = exchange(PORT, method, path, body, **more)
        self.note(f'http-{name}.json', answer)
        return answer


def parallel(*tasks):
    threads = [threading.Thread(target=task) for task in tasks]
    for thread in threads:
        thread.start()
    return threads


def texts(run):
    """Version and help texts, at the same time (the start of Python is most of it)."""
    py = sys.executable
    if run.engine == 'vllm':
        cli = [py, '-m', 'vllm.entrypoints.cli.main']
        jobs = {
            'version': [*cli, '--version'], 'help': [*cli, '--help'], 'serve-help': [*cli, 'serve', '--help'],
            'serve-help-all': [*cli, 'serve', '--help=all'], 'serve-help-one': [*cli, 'serve', '--help=max-num-seqs'],
            'bench-help': [*cli, 'bench', 'serve', '--help=all'],
        }
    else:
        jobs = {
            'version': [py, '-c', 'import sglang; print(sglang.__version__)'],
            'launch-help': [py, '-m', 'sglang.launch_server', '--help'],
            'serve-help': [py, '-m', 'sglang.cli.main', 'serve', '--help'],
            'bench-help': [py, '-m', 'sglang.bench_serving', '--help'],
        }
    for thread in parallel(*(lambda n=n, c=c: run.run(f'text-{n}', c) for n, c in jobs.items())):
        thread.join()


CHAT = [{'role': 'user', 'content': 'Say hello.'}]


def requests(run, model):
    """Each kind of answer, byte for byte."""
    chat = {'model': model, 'messages': CHAT, 'max_tokens': 8, 'temperature': 0, 'stream': True}
    text = {'model': model, 'prompt': 'Say hello.', 'max_tokens': 8, 'temperature': 0, 'stream': True}
    usage = {'stream_options': {'include_usage': True}}
    cases = {
        'health': ('GET', '/health'), 'models': ('GET', '/v1/models'), 'version': ('GET', '/version'),
        'get-server-info': ('GET', '/get_server_info'), 'server-info': ('GET', '/server_info'),
        'get-model-info': ('GET', '/get_model_info'), 'model-info': ('GET', '/model_info'), 'load': ('GET', '/load'),
        'get-load': ('GET', '/get_load'), 'ping': ('GET', '/ping'), 'health-generate': ('GET', '/health_generate'),
        'metrics-before': ('GET', '/metrics'), 'openapi': ('GET', '/openapi.json'),
        'chat-stream': ('POST', '/v1/chat/completions', chat),
        'chat-stream-usage-ignore-eos': ('POST', '/v1/chat/completions', chat | usage | {'ignore_eos': True}),
        'chat-plain': ('POST', '/v1/chat/completions', chat | {'stream': False}),
        'completion-stream': ('POST', '/v1/completions', text),
        'completion-stream-usage-ignore-eos': ('POST', '/v1/completions', text | usage | {'ignore_eos': True}),
        'completion-continuous-usage': (
            'POST', '/v1/completions',
            text | {'stream_options': {'include_usage': True, 'continuous_usage_stats': True}, 'ignore_eos': True},
        ),
        'completion-plain': ('POST', '/v1/completions', text | {'stream': False, 'ignore_eos': True}),
        'completion-one-token': ('POST', '/v1/completions', text | usage | {'max_tokens': 1}),
        'completion-min-tokens': ('POST', '/v1/completions', text | usage | {'min_tokens': 8}),
        'completion-eos-stop': ('POST', '/v1/completions', text | usage | {'logit_bias': {'151645': 100}}),
        'completion-eos-ignored': ('POST', '/v1/completions', text | usage | {'logit_bias': {'151645': 100}, 'ignore_eos': True}),
        'completion-token-ids': ('POST', '/v1/completions', text | usage | {'prompt': [9707, 11, 1879, 13]}),
        'completion-sampling': ('POST', '/v1/completions', text | usage | {'temperature': 0.7, 'seed': 3}),
        'completion-logprobs': ('POST', '/v1/completions', text | usage | {'logprobs': 1, 'max_tokens': 2}),
        'prompt-too-long': ('POST', '/v1/completions', text | {'prompt': [9707] * 45000}),
        'prompt-too-long-plain': ('POST', '/v1/completions', text | {'prompt': [9707] * 45000, 'stream': False}),
        'prompt-and-output-too-long': ('POST', '/v1/completions', text | {'prompt': [9707] * 40000, 'max_tokens': 4000}),
        'prompt-empty': ('POST', '/v1/completions', text | {'prompt': ''}),
        'unknown-model': ('POST', '/v1/completions', text | {'model': 'no-such-model'}),
        'unknown-model-chat': ('POST', '/v1/chat/completions', chat | {'model': 'no-such-model', 'stream': False}),
        'unknown-field': ('POST', '/v1/completions', text | {'no_such_field': 1}),
        'bad-value': ('POST', '/v1/completions', text | {'temperature': -1}),
        'max-tokens-zero': ('POST', '/v1/completions', text | {'max_tokens': 0}),
        'bad-json': ('POST', '/v1/completions', b'{"model": '),
        'unknown-path': ('GET', '/no-such-path'),
        'tokenize': ('POST', '/tokenize', {'model': model, 'prompt': 'Say hello.'}),
        'reset-prefix-cache': ('POST', '/reset_prefix_cache'),
        'flush-cache': ('POST', '/flush_cache'),
    }
    for name, case in cases.items():
        answer = run.ask(name, *case)
        print(name, status_of(answer), answer['tookS'], answer['failed'] or '', flush=True)
    long = {'model': model, 'prompt': 'one two three four ' * 250, 'max_tokens': 4, 'temperature': 0, 'ignore_eos': True}
    seen = []
    for step in ('cold', 'warm', 'reset', 'after-reset'):
        if step == 'reset':
            path = '/reset_prefix_cache' if run.engine == 'vllm' else '/flush_cache'
            answer = exchange(PORT, 'POST', path)
        else:
            answer = exchange(PORT, 'POST', '/v1/completions', long)
        metrics = exchange(PORT, 'GET', '/metrics')['raw']
        kept = [l for l in metrics.splitlines() if ('cache' in l or 'prompt_tokens' in l) and not l.startswith('#') and 'bucket' not in l]
        seen.append({'step': step, 'status': status_of(answer), 'body': answer['raw'].partition('\r\n\r\n')[2][-600:], 'metrics': kept})
    run.note('prefix-cache.json', seen)
    run.ask('client-hangs-up', 'POST', '/v1/completions', text | {'max_tokens': 2000, 'ignore_eos': True}, cut_after=5)
    time.sleep(0.5)
    after = exchange(PORT, 'GET', '/metrics')['raw']
    run.note('metrics-after-hang-up.txt', '\n'.join(l for l in after.splitlines() if 'running' in l or 'waiting' in l or 'queue_reqs' in l))


def loaded(run, model):
    """Counters before, during and after a load."""
    run.note('metrics-before-load.txt', exchange(PORT, 'GET', '/metrics')['raw'])
    result = {}
    worker = threading.Thread(target=lambda: result.update(load(PORT, model, 400, 512, 128, 400, 60)))
    worker.start()
    time.sleep(1.5)
    during = exchange(PORT, 'GET', '/metrics')
    run.note('metrics-during-load.txt', during['raw'])
    health = exchange(PORT, 'GET', '/health')
    loads = exchange(PORT, 'GET', '/load' if run.engine == 'vllm' else '/get_load')
    worker.join(70)
    time.sleep(1)
    run.note('metrics-after-load.txt', exchange(PORT, 'GET', '/metrics')['raw'])
    run.note('load-small.json', {'result': result, 'healthUnderLoad': [status_of(health), health['tookS']],
                                 'loadUnderLoad': loads['raw'][-200:], 'metricsTookS': during['tookS']})
    print('load small', {k: result.get(k) for k in ('finished', 'durationS', 'totalTokensPerS', 'ttftS', 'tpotS')}, flush=True)


def terminate_loaded(run, engine, model, name, sign):
    """A signal to the leader while requests run: what the clients see, what stays, when memory is back."""
    base = engine.memory_before
    answers = []
    body = {'model': model, 'prompt': [9707] * 64, 'max_tokens': 4000, 'ignore_eos': True, 'stream': True, 'temperature': 0}
    threads = parallel(*[lambda: answers.append(exchange(PORT, 'POST', '/v1/completions', body, timeout_s=90)) for _ in range(8)])
    time.sleep(2.0)
    before = processes(engine.process.pid)
    os.kill(engine.process.pid, sign)
    end = engine.watch_end(40, base)
    left = processes(engine.process.pid)
    engine.end()
    for thread in threads:
        thread.join(5)
    clients = [{'status': status_of(a), 'reads': len(a['reads']), 'lastReadS': a['reads'][-1][0] if a['reads'] else None,
                'failed': a['failed'], 'tookS': a['tookS'], 'end': a['raw'][-400:]} for a in answers]
    run.note(f'{name}.json', {'signal': sign.name, 'before': before, 'end': end, 'left': left, 'clients': clients,
                              'gpuMemoryAfterKillMiB': gpu_used_mib()})
    print(name, {k: end[k] for k in ('exitCode', 'leaderGoneS', 'allGoneS', 'gpuMemoryBackS', 'portFree')}, flush=True)


def terminate_idle(run, engine, name, sign):
    before = processes(engine.process.pid)
    os.kill(engine.process.pid, sign)
    end = engine.watch_end(25, engine.memory_before)
    left = processes(engine.process.pid)
    after_kill = None
    if left:
        base, began = engine.memory_before, time.monotonic()
        engine.end()
        while gpu_used_mib() > base + 64 and time.monotonic() - began < 30:
            time.sleep(0.05)
        after_kill = round(time.monotonic() - began, 2)
    else:
        engine.end()
    run.note(f'{name}.json', {'signal': sign.name, 'before': before, 'end': end, 'left': left,
                              'gpuMemoryBackAfterKillingTheRestS': after_kill})
    print(name, {k: end[k] for k in ('exitCode', 'leaderGoneS', 'allGoneS', 'gpuMemoryBackS', 'portFree')}, 'left', len(left), flush=True)


def small(run):
    """First start, all answers, counters, SIGTERM under load."""
    engine, ready = run.start('start-small', 'small')
    try:
        if ready['ready']:
            requests(run, 'small')
            run.pack()
            loaded(run, 'small')
            terminate_loaded(run, engine, 'small', 'sigterm-under-load', signal.SIGTERM)
    finally:
        engine.end()


def ends(run):
    """SIGTERM when idle, SIGKILL of the leader, SIGTERM while loading, SIGINT."""
    for name, sign in (('sigterm-idle', signal.SIGTERM), ('sigkill-leader', signal.SIGKILL), ('sigint-idle', signal.SIGINT)):
        if run.left() < 60:
            return
        engine, ready = run.start(f'start-{name}', 'small')
        try:
            if ready['ready']:
                terminate_idle(run, engine, name, sign)
        finally:
            engine.end()
        run.pack()


def sigterm_loading(run):
    engine = Engine('start-sigterm-loading', run.serve('small'), run.env, PORT, run.out)
    base = engine.memory_before
    began = time.monotonic()
    while gpu_used_mib() < base + 600 and time.monotonic() - began < 90 and engine.process.poll() is None:
        time.sleep(0.1)
    terminate_idle(run, engine, 'sigterm-loading', signal.SIGTERM)


def failures(run):
    """Starts that must fail: exit codes, how long it took and the last lines."""
    vllm = run.engine == 'vllm'
    share = '--gpu-memory-utilization' if vllm else '--mem-fraction-static'
    blocked = socket.socket()
    blocked.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    blocked.bind((HOST, PORT + 3))
    blocked.listen()
    eager = '--enforce-eager' if vllm else '--disable-cuda-graph'
    first = {
        'unknown-flag': ('small', ['--no-such-flag', '1'], {}),
        'bad-value': ('small', ['--max-num-seqs' if vllm else '--max-running-requests', 'many'], {}),
        'tp2-on-one-gpu': ('small', ['--tensor-parallel-size' if vllm else '--tp-size', '2', eager], {}),
        'impossible-backend': ('small', ['--attention-backend', 'FLASHMLA' if vllm else 'trtllm_mha', share, '0.15', eager], {}),
        'unknown-backend': ('small', ['--attention-backend', 'NO_SUCH'], {}),
        'port-in-use': ('small', [share, '0.15', eager], {'port': PORT + 3}),
        'no-such-model': ('missing', [], {}),
    }
    second = {
        'kv-too-small': ('small', ['--kv-cache-memory-bytes', '16M', eager] if vllm else ['--max-total-tokens', '64', eager], {}),
        'fraction-too-small': ('Qwen3-14B', [share, '0.1', eager], {}),
    }
    third = {
        'fraction-099-huge-context': (
            'Qwen3-14B',
            [share, '0.99', '--max-model-len' if vllm else '--context-length', '4000000'],
            {'env': {'VLLM_ALLOW_LONG_MAX_MODEL_LEN': '1', 'SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN': '1'}},
        ),
    }
    context = {
        'context-beyond-model': ('small', ['--max-model-len' if vllm else '--context-length', '100000', share, '0.15', eager], {}),
    }

    def attempt(name, model, flags, more):
        port = more.get('port') or PORT + 10 + 7 * list({**first, **second, **third, **context}).index(name)
        engine, ready = run.start(f'fail-{name}', model, *flags, limit_s=100, port=port, env=more.get('env'))
        if ready['ready']:
            answer = exchange(port, 'POST', '/v1/completions', {'model': model, 'prompt': 'hi ' * 300, 'max_tokens': 500, 'ignore_eos': True, 'temperature': 0}, timeout_s=30)
            run.note(f'fail-{name}.answer.json', answer)
        elif engine.process.poll() is None:
            run.note(f'fail-{name}.processes.json', processes(engine.process.pid))
        else:
            time.sleep(0.5)
            run.note(f'fail-{name}.left.json', processes(engine.process.pid))
        engine.end()

    for group in ({**first, **context}, second, third):
        if run.left() < 45:
            print('no time for', list(group), flush=True)
            return
        for thread in parallel(*[lambda n=n, c=c: attempt(n, *c) for n, c in group.items()]):
            thread.join()
        time.sleep(1)
        run.pack()
    blocked.close()


def bench(run, name, model, prompt_tokens, output_tokens, count):
    """The engine's own load generator against it: random prompts of one length, everything at once."""
    label = f'{name}-{prompt_tokens}-{output_tokens}'
    tool = {
        'vllm': ['vllm.entrypoints.cli.main', 'bench', 'serve', '--backend', 'openai', '--ignore-eos', '--save-result',
                 '--result-dir', str(run.out), '--result-filename', f'bench-{label}.json', '--dataset-name', 'random'],
        'sglang': ['sglang.bench_serving', '--backend', 'sglang-oai', '--random-range-ratio', '1.0', '--output-file',
                   str(run.out / f'bench-{label}.jsonl'), '--dataset-name', 'random-ids'],
    }[run.engine]
    run.run(f'text-bench-{label}', [
        sys.executable, '-m', *tool, '--host', HOST, '--port', str(PORT), '--model', model, '--tokenizer',
        str(run.models / model), '--num-prompts', str(count), '--random-input-len', str(prompt_tokens),
        '--random-output-len', str(output_tokens),
    ], limit_s=min(110, run.left() - 15))


def occupied(run):
    """A start while another process holds 60 GiB of the GPU."""
    code = 'import torch, sys; held = torch.empty(60 << 30, dtype=torch.uint8, device="cuda"); print("held", flush=True); sys.stdin.read()'
    holder = subprocess.Popen([sys.executable, '-c', code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    holder.stdout.readline()
    engine, ready = run.start('fail-memory-taken', 'small', limit_s=90, port=PORT + 300)
    run.note('fail-memory-taken.left.json', processes(engine.process.pid))
    engine.end()
    holder.kill()
    holder.wait()


def timed(run, name='start-14b', *flags):
    """The 14B shape with the engine's defaults: start time and a first load."""
    engine, ready = run.start(name, 'Qwen3-14B', *flags, limit_s=300)
    model = 'Qwen3-14B'
    try:
        if not ready['ready']:
            return
        results = {}
        for label, shape in {
            'warm-up': (32, 128, 16, 32), 'alone-128-128': (3, 128, 128, 1), '1000-300-of-64': (192, 1000, 300, 64),
        }.items():
            if run.left() < 40:
                break
            results[label] = load(PORT, model, *shape, min(120, run.left() - 15), seed=len(results))
            run.note(f'load-{name}.json', results)
            print(label, {k: results[label][k] for k in ('finished', 'durationS', 'totalTokensPerS', 'ttftS', 'tpotS')}, flush=True)
        for shape in ((2000, 100, 500), (128, 4, 1000)):
            if run.left() > 50:
                bench(run, name, model, *shape)
        run.note(f'metrics-after-{name}.txt', exchange(PORT, 'GET', '/metrics')['raw'])
        run.pack()
    finally:
        if ready['ready'] and engine.process.poll() is None:
            terminate_idle(run, engine, f'sigterm-{name}', signal.SIGTERM)
        engine.end()


def timed_fp8(run):
    timed(run, 'start-14b-fp8', '--quantization', 'fp8')


def backends(run):
    """The same small start with each attention backend: which is chosen, how it is said."""
    names = ['FLASH_ATTN', 'TRITON_ATTN', 'FLEX_ATTENTION', 'FLASHINFER'] if run.engine == 'vllm' else ['fa3', 'triton', 'flashinfer', 'torch_native']
    share = '--gpu-memory-utilization' if run.engine == 'vllm' else '--mem-fraction-static'

    def attempt(index, name):
        engine, ready = run.start(f'backend-{name}', 'small', '--attention-backend', name, share, '0.15', limit_s=120, port=PORT + 100 + 9 * index)
        engine.end()

    for thread in parallel(*[lambda i=i, n=n: attempt(i, n) for i, n in enumerate(names)]):
        thread.join()


PHASES = {f.__name__: f for f in (texts, small, ends, sigterm_loading, failures, timed, timed_fp8, backends, occupied)}


def main():
    engine, site, models, out, *rest = sys.argv[1:]
    limit_s = 560.0
    if rest[0] == '--limit':
        limit_s, rest = float(rest[1]), rest[2:]
    run = Run(engine, site, models, out, limit_s)
    for name in rest:
        began = time.monotonic()
        if run.left() < 30:
            print('no time for', name, flush=True)
            continue
        try:
            PHASES[name](run)
        except Exception:
            traceback.print_exc()
            run.note(f'recorder-error-{name}.txt', traceback.format_exc())
        run.pack()
        print(f'== {name} took {time.monotonic() - began:.1f} s, {run.left():.0f} s left', flush=True)


if __name__ == '__main__':
    main()
