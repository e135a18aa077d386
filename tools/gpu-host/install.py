"""Joins the pieces of pack.py on the GPU machine and unpacks them.

usage: install.py PIECES STORE SITE
  PIECES  folder that travelled with this call (manifest.json and the pieces that fitted)
  STORE   folder on the machine where pieces of earlier calls wait
  SITE    where the packages go (for PYTHONPATH)

Exits 0 when everything is installed, 3 while pieces are missing.
"""
import hashlib
import io
import json
import lzma
import shutil
import subprocess
import sys
import tarfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path


def unpack(store, site, parts):
    """Joins and unpacks one file (or, without a name, the archive of small files)."""
    data = bytearray(sum(part['size'] for part in parts))
    for part in parts:
        with (store / f'{part["piece"]:03d}.bin').open('rb') as piece:
            piece.seek(part['offset'])
            data[part['at'] : part['at'] + part['size']] = piece.read(part['size'])
    if parts[0]['mode'] == 'tar':
        with tarfile.open(fileobj=io.BytesIO(lzma.decompress(data))) as archive:
            archive.extractall(site, filter='fully_trusted')
    else:
        target = site / parts[0]['file']
        target.parent.mkdir(parents=True, exist_ok=True)
        with lzma.open(io.BytesIO(data)) as packed, target.open('wb') as raw:
            shutil.copyfileobj(packed, raw, 4 << 20)
        target.chmod(int(parts[0]['mode'], 8))


def main(pieces, store, site):
    started = time.monotonic()
    manifest = json.loads((pieces / 'manifest.json').read_text())
    store = store / manifest['name']
    store.mkdir(parents=True, exist_ok=True)
    for name, sha256 in manifest['sha256'].items():
        if (pieces / name).exists():
            if hashlib.sha256((pieces / name).read_bytes()).hexdigest() != sha256:
                raise SystemExit(f'{name} is damaged')
            shutil.copyfile(pieces / name, store / name)
    missing = [name for name in manifest['sha256'] if not (store / name).exists()]
    if missing:
        print(f'{manifest["name"]}: still missing {missing}')
        raise SystemExit(3)
    site.mkdir(parents=True, exist_ok=True)
    files = {}
    for part in manifest['parts']:
        files.setdefault(part['file'], []).append(part)
    with ProcessPoolExecutor(16) as pool:
        for task in [pool.submit(unpack, store, site, parts) for parts in files.values()]:
            task.result()
    # Without this the first start of the engine spends ten seconds and more on compiling Python.
    subprocess.run([sys.executable, '-m', 'compileall', '-q', '-j', '0', str(site)], stdout=subprocess.DEVNULL, check=False)
    print(f'{manifest["name"]}: {len(files)} packed files unpacked in {time.monotonic() - started:.1f} s')


if __name__ == '__main__':
    main(*(Path(argument) for argument in sys.argv[1:4]))
