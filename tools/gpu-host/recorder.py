"""What a recording is made of: a started engine, raw HTTP exchanges, processes and GPU memory over time."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

try:
    import pynvml

    pynvml.nvmlInit()
    GPU = pynvml.nvmlDeviceGetHandleByIndex(0)
except Exception:  # a machine without a GPU: dry run
    GPU = None

HOST = '127.0.0.1'


def gpu_used_mib():
    return pynvml.nvmlDeviceGetMemoryInfo(GPU).used >> 20 if GPU else 0


def processes(group):
    """Every process of a session (a daemon keeps its session id): pid, parent, state, title, resident MiB."""
    found = []
    for entry in Path('/proc').iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / 'stat').read_text()
            title = (entry / 'cmdline').read_bytes().replace(b'\0', b' ').decode(errors='replace').strip()
            after = stat[stat.rindex(')') + 2 :].split()
            if int(after[3]) != group:
                continue
            resident = int((entry / 'statm').read_text().split()[1]) * 4096 >> 20
        except (OSError, ValueError, IndexError):
            continue
        name = stat[stat.index('(') + 1 : stat.rindex(')')]
        found.append(
            {
                'pid': int(entry.name),
                'ppid': int(after[1]),
                'pgrp': int(after[2]),
                'state': after[0],
                'comm': name,
                'title': title[:160],
                'rssMiB': resident,
            }
        )
    return sorted(found, key=lambda p: p['pid'])


def exchange(port, method, path, body=None, timeout_s=60, headers=None, cut_after=None):
    """One HTTP exchange over a bare socket: what came, byte for byte, and when each read returned."""
    payload = b'' if body is None else (body if isinstance(body, bytes) else json.dumps(body).encode())
    lines = [f'{method} {path} HTTP/1.1', f'Host: {HOST}:{port}', 'Connection: close']
    if body is not None:
        lines += ['Content-Type: application/json', f'Content-Length: {len(payload)}']
    lines += [f'{k}: {v}' for k, v in (headers or {}).items()]
    began = time.monotonic()
    reads, raw, failed = [], b'', None
    try:
        with socket.create_connection((HOST, port), timeout=timeout_s) as connection:
            connection.sendall('\r\n'.join(lines).encode() + b'\r\n\r\n' + payload)
            while block := connection.recv(1 << 20):
                reads.append((round(time.monotonic() - began, 4), len(block)))
                raw += block
                if cut_after and len(reads) >= cut_after:
                    failed = 'client closed'
                    break
                if time.monotonic() - began > timeout_s:
                    failed = 'recorder timed out'
                    break
    except OSError as error:
        failed = f'{type(error).__name__}: {error}'
    return {
        'request': {'method': method, 'path': path, 'body': body.decode(errors='replace') if isinstance(body, bytes) else body},
        'raw': raw.decode(errors='replace'),
        'reads': reads,
        'tookS': round(time.monotonic() - began, 4),
        'failed': failed,
    }


def status_of(answer):
    match = re.match(r'HTTP/1\.\d (\d+)', answer['raw'])
    return int(match[1]) if match else (answer['failed'] or 'closed without answer')


class Engine:
    """A started engine: its log with times, and every change of what its endpoints answer until it is ready."""

    def __init__(self, name, command, env, port, out, ready_path='/health', probe_s=25):
        self.name, self.command, self.port, self.ready_path, self.probe_s = name, command, port, ready_path, probe_s
        self.out = Path(out)
        self.lines = []
        self.began = time.monotonic()
        self.memory_before = gpu_used_mib()
        self.log = (self.out / f'{name}.log').open('w', buffering=1)
        self.log.write(f'# {" ".join(command)}\n')
        self.process = subprocess.Popen(
            command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            at = time.monotonic() - self.began
            text = line.decode(errors='replace').rstrip('\n')
            self.lines.append((at, text))
            self.log.write(f'{at:8.3f} {text}\n')

    def probe(self, path):
        answer = exchange(self.port, 'GET', path, timeout_s=self.probe_s)
        head, _, body = answer['raw'].partition('\r\n\r\n')
        return status_of(answer), body[:300], answer['tookS']

    def wait_ready(self, limit_s, paths):
        """Polls every path until ready_path answers 200; records each change of status. None when it died."""
        changes, last = [], {}
        memory = []
        taken_at = None
        while time.monotonic() - self.began < limit_s:
            if self.process.poll() is not None:
                break
            now = round(time.monotonic() - self.began, 2)
            memory.append((now, gpu_used_mib()))
            for path in (self.ready_path, *(p for p in paths if p != self.ready_path)):
                status, body, took = self.probe(path)
                if last.get(path) != status:
                    last[path] = status
                    changes.append({'atS': round(time.monotonic() - self.began, 2), 'path': path, 'status': status,
                                    'body': body if not isinstance(status, str) and len(body) < 300 else body[:80], 'tookS': took})
                if isinstance(status, str) and 'refused' in status:
                    if taken_at is None and not port_free(self.port):
                        taken_at = now
                    break
            if last.get(self.ready_path) == 200:
                break
            time.sleep(0.2)
        ready = last.get(self.ready_path) == 200
        return {
            'ready': ready,
            'readyS': round(time.monotonic() - self.began, 2) if ready else None,
            'exitCode': self.process.poll(),
            'portTakenWhileRefusedS': taken_at,
            'changes': changes,
            'gpuMemory': thin(memory),
            'gpuMemoryBeforeMiB': self.memory_before,
            'gpuMemoryReadyMiB': gpu_used_mib(),
            'processes': processes(self.process.pid),
        }

    def watch_end(self, limit_s, base_mib):
        """Follows processes and GPU memory after a signal until nothing is left or the limit has passed."""
        began = time.monotonic()
        events, last = [], None
        memory = []
        exit_at = gone_at = free_at = None
        while time.monotonic() - began < limit_s:
            now = round(time.monotonic() - began, 2)
            if exit_at is None and self.process.poll() is not None:
                exit_at = now
            alive = [p for p in processes(self.process.pid) if p['state'] != 'Z']
            used = gpu_used_mib()
            memory.append((now, used))
            seen = [(p['pid'], p['comm']) for p in alive]
            if seen != last:
                last = seen
                events.append({'atS': now, 'alive': [{k: p[k] for k in ('pid', 'ppid', 'comm', 'title')} for p in alive]})
            if not alive and gone_at is None:
                gone_at = now
            if free_at is None and used <= base_mib + 64:
                free_at = now
            if gone_at is not None and exit_at is not None and free_at is not None:
                break
            time.sleep(0.05)
        return {
            'exitCode': self.process.poll(),
            'leaderGoneS': exit_at,
            'allGoneS': gone_at,
            'gpuMemoryBackS': free_at,
            'portFree': port_free(self.port),
            'events': events[:40],
            'gpuMemory': thin(memory),
        }

    def end(self):
        """Kills whatever is left of this engine's session."""
        for left in processes(self.process.pid):
            try:
                os.kill(left['pid'], signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait(20)
        self.reader.join(5)
        self.log.close()


def thin(samples):
    """Keeps a sample when the value changed by at least 64 MiB, and the last."""
    kept = []
    for sample in samples:
        if not kept or abs(sample[1] - kept[-1][1]) >= 64:
            kept.append(sample)
    return kept + samples[-1:]


def port_free(port):
    with socket.socket() as test:
        test.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            test.bind((HOST, port))
            return True
        except OSError:
            return False


def load(port, model, count, prompt_tokens, output_tokens, concurrency, limit_s, seed=1):
    """Sends completions of random token ids, streamed, through threads; per request: times and token events."""
    import random

    rng = random.Random(seed)
    prompts = [[rng.randrange(1000, 150000) for _ in range(prompt_tokens)] for _ in range(count)]
    results = [None] * count
    lock, cursor = threading.Lock(), iter(range(count))
    start = time.monotonic()

    def one(index):
        body = json.dumps({
            'model': model, 'prompt': prompts[index], 'max_tokens': output_tokens, 'temperature': 0, 'stream': True,
            'ignore_eos': True, 'stream_options': {'include_usage': True},
        })
        sent = time.monotonic()
        record = {'sentS': round(sent - start, 4)}
        try:
            connection = http.client.HTTPConnection(HOST, port, timeout=limit_s)
            connection.request('POST', '/v1/completions', body, {'Content-Type': 'application/json'})
            answer = connection.getresponse()
            record['status'] = answer.status
            first = last = None
            events = 0
            done = False
            for line in answer:
                if not line.startswith(b'data: '):
                    if line.strip():
                        record.setdefault('other', line[:200].decode(errors='replace'))
                    continue
                if line.startswith(b'data: [DONE]'):
                    done = True
                    continue
                last = time.monotonic()
                event = json.loads(line[6:])
                if event.get('choices'):
                    events += 1
                    first = first or last
                    final = last
                if event.get('usage'):
                    record['usage'] = event['usage']
                if 'error' in event:
                    record['error'] = event
            if first:
                record.update(ttftS=round(first - sent, 4), latencyS=round(final - sent, 4), events=events)
            record['done'] = done
            connection.close()
        except Exception as error:
            record['failed'] = f'{type(error).__name__}: {error}'[:200]
        results[index] = record

    def work():
        while True:
            with lock:
                index = next(cursor, None)
            if index is None or time.monotonic() - start > limit_s:
                return
            one(index)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(concurrency, count))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.1, limit_s - (time.monotonic() - start)))
    took = time.monotonic() - start
    return summarize(list(results), took, prompt_tokens, output_tokens, concurrency)


def summarize(results, took, prompt_tokens, output_tokens, concurrency):
    finished = [r for r in results if r and r.get('done') and 'ttftS' in r]

    def spread(values):
        values = sorted(values)
        if not values:
            return None
        pick = lambda q: round(values[min(len(values) - 1, int(q * len(values)))], 5)
        return {'mean': round(sum(values) / len(values), 5), 'p50': pick(0.5), 'p99': pick(0.99), 'max': round(values[-1], 5)}

    out_tokens = sum((r.get('usage') or {}).get('completion_tokens', r['events']) for r in finished)
    in_tokens = sum((r.get('usage') or {}).get('prompt_tokens', prompt_tokens) for r in finished)
    return {
        'requests': len(results), 'finished': len(finished), 'promptTokens': prompt_tokens, 'outputTokens': output_tokens,
        'concurrency': concurrency, 'durationS': round(took, 3), 'inputTokens': in_tokens, 'generatedTokens': out_tokens,
        'totalTokensPerS': round((in_tokens + out_tokens) / took, 1), 'outputTokensPerS': round(out_tokens / took, 1),
        'ttftS': spread([r['ttftS'] for r in finished]),
        'tpotS': spread([(r['latencyS'] - r['ttftS']) / (output_tokens - 1) for r in finished]) if output_tokens > 1 else None,
        'eventsPerRequest': spread([r['events'] for r in finished]),
        'unfinished': [r for r in results if r and not (r.get('done') and 'ttftS' in r)][:5],
        'unfinishedCount': sum(1 for r in results if not (r and r.get('done') and 'ttftS' in r)),
    }
