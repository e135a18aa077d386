"""Turns recordings into fixtures: small, without paths, addresses or identifiers of the machine they were made on.

usage: trim.py RECORDINGS FIXTURES   (RECORDINGS: what record.py packed for one engine, unpacked)
"""
import json
import re
import sys
from pathlib import Path

MAX_LINES = 200
SCRUB = [
    (re.compile(r'/opt/torch/\.venv/bin/python3'), 'python3'),
    (re.compile(r'/opt/torch/\.venv/lib/python3\.12/site-packages'), 'SITE-PACKAGES'),
    (re.compile(r'/tmp/gpu-host/models'), 'MODELS'),
    (re.compile(r'/tmp/gpu-host/home'), 'HOME'),
    (re.compile(r'/tmp/gpu-host/recordings-\w+'), 'OUT'),
    (re.compile(r'/tmp/gpu-host/(vllm|sglang)(?=[/:\'" ]|$)'), 'SITE'),
    (re.compile(r'/tmp/gpu-host[\w./-]*'), 'HOST'),
    (re.compile(r'\b(?!127\.0\.0\.1|0\.0\.0\.0)\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b(?=:\d)'), 'ADDRESS'),
    (re.compile(r'GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'), 'GPU-UUID'),
]
ACCESS = re.compile(r'"(GET|POST) [^"]* HTTP/1\.1" \d+')


def scrub(text):
    for pattern, word in SCRUB:
        text = pattern.sub(word, text)
    return text


def log(text):
    """At most MAX_LINES lines: progress bars cut short, repeated access lines dropped, the middle left out last."""
    lines, seen = [], {}
    for line in scrub(text).splitlines():
        if '\r' in line or 'it/s]' in line:
            line = line.split('\r')[0][:60] + ' ... ' + re.split(r'\r|(?<=\])(?=Captur)', line)[-1][-140:]
        kind = ACCESS.search(line)
        key = re.sub(r'[\d.]+', '#', line) if kind or 'batch,' in line or 'deprecated' in line else None
        if key:
            key = kind[0] if kind else key
            seen[key] = seen.get(key, 0) + 1
            if seen[key] > 2:
                continue
        lines.append(line[:1200])
    if len(lines) > MAX_LINES:
        head = MAX_LINES * 2 // 3
        left_out = len(lines) - MAX_LINES + 1
        lines = lines[:head] + [f'... {left_out} lines left out ...'] + lines[-(MAX_LINES - head - 1) :]
    return '\n'.join(lines) + '\n'


def shorten(value):
    """Long prompts of one repeated token become a note."""
    if isinstance(value, dict):
        return {k: shorten(v) for k, v in value.items()}
    if isinstance(value, list) and len(value) > 200 and len(set(map(str, value))) == 1:
        return f'{len(value)} times {value[0]}'
    return [shorten(v) for v in value] if isinstance(value, list) else value


def write(path, value):
    path.write_text(scrub(json.dumps(value, indent=1, ensure_ascii=False)) + '\n')


def main(source, target):
    target.mkdir(parents=True, exist_ok=True)
    (target / 'logs').mkdir(exist_ok=True)
    (target / 'help').mkdir(exist_ok=True)
    load = lambda file: json.loads(file.read_text())
    exchanges = {}
    for file in sorted(source.glob('http-*.json')):
        answer = load(file)
        name = file.stem.removeprefix('http-')
        if name == 'openapi':
            head, _, body = answer['raw'].partition('\r\n\r\n')
            paths = json.loads(body[body.index('{') : body.rindex('}') + 1] if 'chunked' not in head.lower() else '{}').get('paths', {})
            answer['raw'] = f'{head}\r\n\r\n... paths: {json.dumps({p: sorted(m) for p, m in paths.items()})}'
        elif name in ('metrics-before', 'server-info', 'get-server-info'):
            answer['raw'] = answer['raw'][:4000] + f'... {len(answer["raw"])} characters in all'
            answer['reads'] = answer['reads'][:20]
        elif name == 'client-hangs-up':
            answer['reads'] = answer['reads'][:20]
        exchanges[name] = shorten(answer)
    write(target / 'exchanges.json', exchanges)

    starts, commands = {}, {}
    for file in sorted(source.glob('*.start.json')):
        start = load(file)
        name = file.name.removesuffix('.start.json')
        commands[f'logs/{name}.log'] = ' '.join(start['command'])
        start['processes'] = start['processes'][:6]
        text = (source / f'{name}.log').read_text().splitlines()
        answer = source / f'{name}.answer.json'
        if not start['ready']:
            start['lastLineS'] = float(text[-1].split()[0]) if text[-1].split() and text[-1].split()[0].replace('.', '').isdigit() else None
            start['lastLines'] = [line[9:700] for line in text[-4:]]
        if answer.exists():
            start['answerAfterStart'] = load(answer)['raw'][:800]
        starts[name] = start
    write(target / 'starts.json', starts)
    for file in sorted(source.glob('*.log')):
        (target / 'logs' / file.name).write_text(log(file.read_text()))
    ends = {f.stem: load(f) for f in sorted(source.glob('sig*.json'))}
    for end in ends.values():
        end['end']['events'] = end['end']['events'][:12]
        end['clients'] = end.get('clients', [])[:3]
    write(target / 'ends.json', ends)
    loads = {f.stem: load(f) for f in sorted(source.glob('load-*.json'))}
    for file in sorted([*source.glob('bench-*.json'), *source.glob('bench-*.jsonl')]):
        result = load(file)
        loads[file.stem] = {k: v for k, v in result.items() if not (isinstance(v, (list, dict)) and len(str(v)) > 400)}
    write(target / 'loads.json', loads)
    for file in sorted(source.glob('text-bench-start*.txt')):
        text = file.read_text().partition('# stderr')[0]
        commands[f'{file.stem}.txt'] = text.splitlines()[0].removeprefix('# ')
        (target / f'{file.stem.removeprefix("text-")}.txt').write_text(log(text))
    for file in sorted(source.glob('text-*.txt')):
        if 'bench-start' not in file.name:
            commands[f'help/{file.stem.removeprefix("text-")}.txt'] = file.read_text().splitlines()[0].removeprefix('# ')
            (target / 'help' / file.name.removeprefix('text-')).write_text(scrub(file.read_text().partition('\n# stderr')[0]).rstrip() + '\n')
    if (source / 'prefix-cache.json').exists():
        write(target / 'prefix-cache.json', load(source / 'prefix-cache.json'))
    for file in sorted(source.glob('metrics-*.txt')):
        keep = file.stem == 'metrics-during-load'
        lines = [
            line
            for line in scrub(file.read_text()).splitlines()
            if keep or (line.startswith(('vllm:', 'sglang:')) and '_bucket' not in line and '_created' not in line)
        ]
        (target / file.name).write_text('\n'.join(lines) + '\n')
    write(target / 'commands.json', commands)


if __name__ == '__main__':
    main(Path(sys.argv[1]), Path(sys.argv[2]))
