import { z } from 'zod';
import type { Command } from '../../hosts/host.ts';
import type { Settings } from '../../records/settings.ts';
import type { Environment, Launch } from '../engine.ts';
import { type Mapping, say } from '../mapping.ts';
import { extraArgs } from '../rules.ts';
import { buildOf, builds, hasBuild } from './builds.ts';

/** Most slots of one server: `LLAMA_MAX_SEQ`. */
export const mostSlots = 256;

export const cacheTypes = ['f32', 'f16', 'bf16', 'q8_0', 'q4_0', 'q4_1', 'iq4_nl', 'q5_0', 'q5_1'] as const;

/** Its own names of how tokens are drafted. */
const draftTypes = {
  draft_model: 'draft-simple',
  eagle3: 'draft-eagle3',
  mtp: 'draft-mtp',
  ngram: 'ngram-simple',
  ngram_mod: 'ngram-mod',
} as const;

export const speculativeMethods = Object.keys(draftTypes) as readonly (keyof typeof draftTypes)[];

/** The flag that says how many tokens are drafted at a time: each kind of drafting has its own. */
const draftLengthFlags: Readonly<Record<string, string>> = {
  ngram: '--spec-ngram-simple-size-m',
  ngram_mod: '--spec-ngram-mod-n-max',
};

export const settings = z.strictObject({
  attention_backend: z
    .enum(['flash', 'plain'])
    .optional()
    .describe('-fa on or off; default: flash attention where every device has it'),
  kv_cache_dtype: z.enum(cacheTypes).optional().describe('-ctk and -ctv; default f16. Quantized needs flash attention'),
  max_running_requests: z
    .int()
    .positive()
    .max(mostSlots)
    .optional()
    .describe('-np, slots; default 4 in builds since November 2025, 1 before'),
  max_batched_tokens: z.int().positive().optional().describe('-b and -ub; default 2048 and 512'),
  context_length: z
    .int()
    .positive()
    .optional()
    .describe('Longest prompt and answer together of one request, tokens; -c is this times the slots'),
  prefix_caching: z.boolean().optional().describe('--cache-prompt or --no-cache-prompt; default on'),
  kv_offload_gib: z
    .number()
    .nonnegative()
    .optional()
    .describe('--cache-ram: host memory for prompts that left their slot, GiB; default 8'),
  threads: z.int().positive().optional().describe('-t; default: the cores of the machine'),
  gpu_layers: z.int().nonnegative().optional().describe('-ngl; default: as many as fit'),
  speculative_method: z.enum(speculativeMethods).optional().describe('--spec-type'),
  speculative_model: z.string().min(1).optional().describe('-md: a GGUF file that drafts'),
  speculative_tokens: z.int().positive().optional().describe('Tokens that are drafted at a time; default 3'),
  extra_args: z.string().min(1).optional().describe('Flags passed on as they stand'),
});

export const mapping: Mapping = {
  max_running_requests: { flag: '-np' },
  context_length: { flag: '-c' },
  max_batched_tokens: { flag: '-b', say: (tokens) => [String(tokens), '-ub', String(tokens)] },
  attention_backend: [
    { flag: '-fa', since: builds.flashTakesValue, say: (backend) => (backend === 'flash' ? 'on' : 'off') },
    { on: '-fa', before: builds.flashTakesValue, say: (backend) => backend === 'flash' },
  ],
  kv_cache_dtype: { flag: '-ctk', say: (type) => [String(type), '-ctv', String(type)] },
  prefix_caching: { on: '--cache-prompt', off: '--no-cache-prompt' },
  kv_offload_gib: { flag: '--cache-ram', since: builds.hostCache, say: (gib) => Math.round(Number(gib) * 1024) },
  threads: { flag: '-t' },
  gpu_layers: { flag: '-ngl' },
  speculative_method: {
    flag: '--spec-type',
    since: builds.draftTypes,
    say: (method) => draftTypes[method as keyof typeof draftTypes],
  },
  speculative_model: { flag: '-md', since: builds.draftTypes },
  speculative_tokens: { flag: '--spec-draft-n-max', since: builds.draftTypes },
};

/** Flags that are not the user's to set, in every spelling. */
export const reservedFlags = ['-m', '--model', '--host', '--port', '--api-prefix', '--metrics', '-fit', '--fit'];

/** Slots that a server has by these settings. */
export function slotsOf({ max_running_requests }: Settings, version: string | undefined): number {
  if (typeof max_running_requests === 'number') return max_running_requests;
  return hasBuild(version, builds.fourSlots) ? 4 : 1;
}

export function command({ model, port, settings: chosen, version }: Launch): Command {
  const { speculative_tokens: draftLength, ...others } = chosen;
  const lengthFlag = draftLengthFlags[String(chosen.speculative_method)];
  const { argv, env } = say(
    mapping,
    {
      ...(lengthFlag === undefined ? chosen : others),
      // `-c` is divided between the slots, or shared by them.
      ...(typeof chosen.context_length === 'number'
        ? { context_length: chosen.context_length * slotsOf(chosen, version) }
        : {}),
    },
    buildOf(version),
  );
  const more: string[] = [];
  if (lengthFlag !== undefined && draftLength !== undefined) more.push(lengthFlag, String(draftLength));
  // Prompts would still be saved to the host's memory when their slot is taken, and never be looked for there.
  if (chosen.prefix_caching === false && chosen.kv_offload_gib === undefined && hasBuild(version, builds.hostCache)) {
    more.push('--cache-ram', '0');
  }
  return {
    argv: [
      'llama-server',
      '-m',
      model,
      '--host',
      '127.0.0.1',
      '--port',
      String(port),
      ...argv,
      ...more,
      ...extraArgs(chosen),
    ],
    env,
  };
}

/**
 * Counters on; and no argument that was left out may shrink to what fits the memory: the search would compare other
 * settings than it thinks.
 */
export function measuring({ version }: Launch): { readonly argv: readonly string[]; readonly env: Environment } {
  return { argv: ['--metrics', ...(hasBuild(version, builds.fit) ? ['--fit', 'off'] : [])], env: {} };
}
