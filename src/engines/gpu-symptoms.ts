import type { Symptom } from './engine.ts';

/** Ways to die that engines built on PyTorch and Hugging Face's libraries share. An engine's own come before them. */

/** Flags and values that the argument parser does not know; it ends the engine with exit code 2 before anything is loaded. */
export const argumentSymptom = (engine: string): Symptom => ({
  pattern: /error: unrecognized arguments:|error: argument .*: (?:invalid|expected)|error: ambiguous option:/,
  fate: 'unsupported_setting',
  hint: `this version of ${engine} does not have that flag or value`,
});

/** The port was taken between the moment when it was chosen and the moment when the engine bound it. */
export const portSymptom: Symptom = {
  pattern: /Address already in use/i,
  fate: 'start_failed',
  hint: 'stop the program that listens on that port, or let servetune choose one',
  portTaken: true,
};

/** What is wrong with the model, its files or the way to them. */
export const modelSymptoms: readonly Symptom[] = [
  {
    pattern: /gated repo|GatedRepoError|401 Client Error|403 Client Error/,
    fate: 'start_failed',
    hint: 'accept the terms of the model on its page, and set HF_TOKEN to a token that may read it',
  },
  {
    pattern: /Repo id must be in the form|RepositoryNotFoundError|is not a valid model identifier|404 Client Error/,
    fate: 'start_failed',
    hint: 'check the name of the model; a local folder must exist',
  },
  {
    pattern: /couldn't connect to '?https?:|LocalEntryNotFoundError|OfflineModeIsEnabled/,
    fate: 'start_failed',
    hint: 'download the model first, or unset HF_HUB_OFFLINE where the network is there',
  },
  {
    pattern: /Model architectures? \[?.*(?:not supported|failed to be inspected)/,
    fate: 'start_failed',
    hint: 'this version of the engine does not have the architecture of this model: use a newer one',
  },
  {
    pattern: /contains custom code which must be executed/,
    fate: 'start_failed',
    hint: "read the model's code, then pass extra_args --trust-remote-code",
  },
  {
    pattern: /No space left on device/,
    fate: 'start_failed',
    hint: 'free some space where the model cache or the compile cache lies',
  },
];

/** What this GPU or this checkpoint cannot do. */
export const kernelSymptoms: readonly Symptom[] = [
  {
    pattern: /is not supported for the current GPU|Minimum capability:|type fp8e4nv not supported in this architecture/,
    fate: 'unsupported_setting',
    hint: 'this GPU cannot run that number format: use another quantization or kv_cache_dtype',
  },
  {
    pattern: /Bfloat16 is only supported on GPUs with compute capability/,
    fate: 'unsupported_setting',
    hint: 'use dtype float16',
  },
  {
    pattern: /does not match the quantization method/,
    fate: 'unsupported_setting',
    hint: 'the checkpoint is quantized in another way: leave quantization out',
  },
  {
    pattern: /Error: .*is not divisible by/,
    fate: 'unsupported_setting',
    hint: 'a matrix of the model cannot be cut into that many parts: lower tensor_parallel',
  },
  {
    pattern: /invalid device ordinal|larger than the number of available GPUs/,
    fate: 'unsupported_setting',
    hint: 'there are fewer GPUs than that: lower tensor_parallel, pipeline_parallel or data_parallel',
  },
];

/** GPU memory that ran out where the engine did not foresee it. */
export const memorySymptom = (hint: string): Symptom => ({
  pattern:
    /CUDA out of memory|torch\.(?:cuda\.)?OutOfMemoryError|CUDA error: out of memory|HIP out of memory|cudaErrorMemoryAllocation/,
  fate: 'out_of_memory',
  hint,
});

/** The machine below the engine. */
export const machineSymptoms: readonly Symptom[] = [
  {
    pattern: /No CUDA GPUs are available|Failed to infer device type|no NVIDIA driver on your system/i,
    fate: 'start_failed',
    hint: 'the engine sees no GPU: check nvidia-smi and CUDA_VISIBLE_DEVICES',
  },
  {
    pattern: /CUDA driver version is insufficient|NVIDIA driver on your system is too old/,
    fate: 'start_failed',
    hint: 'update the NVIDIA driver, or use an older version of the engine',
  },
  {
    pattern: /Could not find nvcc|nvcc: not found|CUDA_HOME environment variable is not set|Ninja is required/i,
    fate: 'start_failed',
    hint: 'kernels are compiled at the start: install the CUDA toolkit and ninja, or use the container image',
  },
  {
    pattern: /NCCL error|ncclUnhandledCudaError|ncclSystemError|ncclInternalError/,
    fate: 'start_failed',
    hint: 'GPUs could not talk to each other: set NCCL_DEBUG=INFO and see the log; in a container share memory (--ipc=host)',
  },
  {
    pattern: /illegal memory access|CUDA error: (?!out of memory|invalid device ordinal)/,
    fate: 'start_failed',
    hint: 'a kernel failed: try another attention_backend, or cuda_graphs false; see dmesg for Xid errors',
  },
];
