"""Makes the pieces that carry a serving engine to a GPU machine without a network.

usage: pack.py SPEC.json TREE PIECES
  TREE    work folder: packages are installed there (`uv pip install --target`), trimmed and slimmed
  PIECES  folder for the pieces: NNN.bin of at most pieceMiB each and manifest.json

SPEC.json: {"name", "arch": 90, "requirements": [...], "drop": [globs below TREE], "pieceMiB": 42, "preset": 6}

Big libraries are compressed one by one (they unpack in parallel there), everything else as one archive.
"""
import fnmatch
import hashlib
import json
import lzma
import os
import subprocess
import sys
import tarfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from slim import slim

BIG_BYTES = 2 << 20


def compress(source, target, preset):
    """Writes target (.xz); keeps a finished one of the same source size and time."""
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        part = target.with_suffix('.part')
        with source.open('rb') as raw, lzma.open(part, 'wb', preset=preset) as packed:
            while block := raw.read(1 << 20):
                packed.write(block)
        part.rename(target)
    return target


def trim(tree, patterns):
    for path in sorted(tree.rglob('*'), reverse=True):
        name = str(path.relative_to(tree))
        if path.is_dir() and not path.is_symlink():
            if path.name == '__pycache__' or not any(path.iterdir()):
                subprocess.run(['rm', '-rf', str(path)], check=True)
        elif any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
            path.unlink()


def main(spec_path, tree, pieces):
    spec = json.loads(Path(spec_path).read_text())
    tree, pieces = Path(tree), Path(pieces)
    pieces.mkdir(parents=True, exist_ok=True)
    if not (tree / '.installed').exists():
        subprocess.run(
            ['uv', 'pip', 'install', '-q', '--no-deps', '--python-version', '3.12', '--python-platform']
            + ['x86_64-manylinux_2_39', '--only-binary', ':all:', '--target', str(tree), *spec['requirements']],
            check=True,
        )
        trim(tree, spec['drop'])
        for library in tree.rglob('*.so'):
            if library.stat().st_size > BIG_BYTES:
                subprocess.run(['strip', '--strip-unneeded', str(library)], check=False)
                print(library.name, *slim(str(library), spec['arch']))
        (tree / '.installed').touch()

    packed = pieces.parent / f'{spec["name"]}-packed'
    packed.mkdir(exist_ok=True)
    big = [f for f in tree.rglob('*') if f.is_file() and not f.is_symlink() and f.stat().st_size > BIG_BYTES]
    rest = packed / 'rest.tar'
    with tarfile.open(rest, 'w') as archive:
        for file in sorted(tree.rglob('*')):
            if file not in big and (file.is_symlink() or file.is_file()):
                archive.add(file, str(file.relative_to(tree)), recursive=False)
    jobs = {'': rest} | {str(f.relative_to(tree)): f for f in big}
    with ProcessPoolExecutor() as pool:
        running = {
            where: pool.submit(compress, file, packed / f'{where.replace("/", "__") or "rest.tar"}.xz', spec['preset'])
            for where, file in jobs.items()
        }
        done = {where: task.result() for where, task in running.items()}

    limit = int(spec['pieceMiB'] * (1 << 20))
    parts, number, used = [], 0, 0
    out = None
    for where, file in sorted(done.items(), key=lambda item: -item[1].stat().st_size):
        mode = 'tar' if where == '' else oct((tree / where).stat().st_mode & 0o777)
        data = file.read_bytes()
        at = 0
        while at < len(data):
            if out is None or used >= limit:
                if out:
                    out.close()
                number, used = number + 1, 0
                out = (pieces / f'{number:03d}.bin').open('wb')
            take = data[at : at + limit - used]
            parts.append({'file': where, 'mode': mode, 'piece': number, 'offset': used, 'size': len(take), 'at': at})
            out.write(take)
            used += len(take)
            at += len(take)
    if out:
        out.close()
    hashes = {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in sorted(pieces.glob('*.bin'))}
    (pieces / 'manifest.json').write_text(json.dumps({'name': spec['name'], 'parts': parts, 'sha256': hashes}))
    for where, file in sorted(done.items(), key=lambda item: -item[1].stat().st_size)[:15]:
        print(f'{file.stat().st_size:>10} {where or "(everything else)"}')
    print(number, 'pieces', sum(p['size'] for p in parts), 'bytes')


if __name__ == '__main__':
    os.environ.setdefault('UV_LINK_MODE', 'copy')
    main(*sys.argv[1:4])
