import { describe, expect, it } from 'vitest';
import { llamaCpp } from '../../src/engines/llama-cpp.ts';
import { classify } from '../../src/study/failure.ts';

describe('the log of llama-server', () => {
  it('tells slots and a shared cache in newer releases', () => {
    const log = [
      "0.00.123.456 I srv    load_model: loading model '/models/qwen3.gguf'",
      "0.01.123.456 I srv    load_model: initializing, n_slots = 4, n_ctx_slot = 8192, kv_unified = 'true'",
    ];
    expect(llamaCpp.settingsInLog?.(log)).toEqual({
      max_running_requests: '4',
      context_length: '8192',
      kv_unified: 'true',
    });
  });

  it('tells its cache and its layers in older builds, or when it is talkative', () => {
    const log = [
      'load_tensors: offloaded 33/33 layers to GPU',
      'llama_context: flash_attn            = auto',
      'llama_context: kv_unified            = false',
      'llama_kv_cache:      CUDA0 KV buffer size =  1000.50 MiB',
      'llama_kv_cache:        CPU KV buffer size =    24.00 MiB',
      'llama_kv_cache: size = 1024.50 MiB (  8192 cells,  32 layers,  4/4 seqs), K (q8_0):  512.25 MiB, V (q8_0):  512.25 MiB',
      'llama_context: Flash Attention was auto, set to enabled',
      'srv          init: initializing slots, n_slots = 4',
      'slot         init: id  0 | task -1 | new slot n_ctx_slot = 2048',
    ];
    expect(llamaCpp.settingsInLog?.(log)).toEqual({
      gpu_layers: '33',
      kv_unified: 'false',
      kv_cache_mib: '1025',
      kv_cache_dtype: 'q8_0',
      attention_backend: 'flash',
      max_running_requests: '4',
      context_length: '2048',
    });
    expect(llamaCpp.settingsInLog?.(['x: Flash Attention not supported, set to disabled'])).toEqual({
      attention_backend: 'plain',
    });
  });

  it('tells that nothing is drafted, where it serves without what it was asked for', () => {
    const log = [
      '0.00.390.236 E srv    load_model: failed to initialize speculative decoding context: draft-simple requires a draft context',
      '0.00.394.853 I srv  llama_server: model loaded',
    ];
    expect(llamaCpp.settingsInLog?.(log)).toEqual({ speculative_method: 'none' });
  });

  it.each([
    [['error: invalid argument: --spec-typ'], 'unsupported_setting'],
    [['error while handling argument "--draft-max": the argument has been removed.'], 'unsupported_setting'],
    [['error while handling argument "-ctk": Unsupported cache type: q3_0'], 'unsupported_setting'],
    [['llama_init_from_model: quantized V cache requires flash_attn to be enabled'], 'unsupported_setting'],
    [
      ['llama_init_from_model: K cache type q8_0 with block size 32 does not divide n_embd_head_k=80'],
      'unsupported_setting',
    ],
    [
      [
        'ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9000.00 MiB on device 0: cudaMalloc failed: out of memory',
      ],
      'out_of_memory',
    ],
    [
      [
        'llama_model_load: error loading model: unable to allocate CUDA0 buffer',
        'srv load_model: failed to load model',
      ],
      'out_of_memory',
    ],
    [
      ['llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache'],
      'out_of_memory',
    ],
    [
      ['llama_init_from_model: failed to initialize the context: failed to allocate compute pp buffers'],
      'out_of_memory',
    ],
    [
      ["llama_model_load: error loading model: error loading model hyperparameters: unknown model architecture: 'x'"],
      'start_failed',
    ],
    [["llama_model_load: error loading model: missing tensor 'token_embd.weight'"], 'start_failed'],
    [["srv start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 8000"], 'start_failed'],
    [['srv update_slots: Context size has been exceeded. off = 0, n_batch = 1, ret = 1'], 'crashed_under_load'],
  ] as const)('gives %j the fate %s', (lines, fate) => {
    const failure = classify(llamaCpp, { fate: 'start_failed', message: 'ended' }, ['I srv main: loading', ...lines]);
    expect(failure.fate).toBe(fate);
    expect(failure.failure.message).toBe(`ended: ${lines[0]}`);
    expect(failure.portTaken ?? false).toBe(lines[0].includes('bind'));
  });

  it('knows what would have worked', () => {
    const corrected = (line: string) => {
      for (const symptom of llamaCpp.symptoms) {
        const match = symptom.pattern.exec(line);
        if (match) return symptom.corrected?.(match);
      }
      return undefined;
    };
    expect(corrected('failed to initialize the context: n_seq_max must be <= 256')).toEqual({
      max_running_requests: 256,
    });
    expect(corrected('quantized V cache was requested, but this requires Flash Attention')).toEqual({
      attention_backend: 'flash',
    });
  });

  it('shows the parts of a start', () => {
    const part = (line: string) => llamaCpp.startParts?.find(({ pattern }) => pattern.test(line))?.part;
    expect(part("srv    load_model: loading model '/models/qwen3.gguf'")).toBe('loading');
    expect(part('common_init_from_params: warming up the model with an empty run - please wait ...')).toBe(
      'warming up',
    );
  });
});
