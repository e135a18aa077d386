import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { refused, refusedValues, withoutEffect } from '../../../src/cli/bench/not-here.ts';
import { type BenchOptions, benchServeGroups, benchServeOptions } from '../../../src/cli/bench/options.ts';
import type { BenchPlan } from '../../../src/cli/bench/plan.ts';
import { flagName } from '../../../src/cli/flags.ts';
import type { Compat } from '../../../src/records/compat.ts';
import { given, plan, problems } from './plan.ts';

type Default = string | number | boolean | null;
interface Row {
  readonly flag: string;
  readonly kind: 'switch' | 'value' | 'list';
  readonly 'v0.11.0': Default;
  readonly newest: Default;
}

const { flags } = JSON.parse(
  readFileSync(new URL('../../fixtures/vllm-bench-flags/flags.json', import.meta.url), 'utf8'),
) as { readonly flags: readonly Row[] };

const absent = 'absent';
const keyOf = (flag: string): keyof BenchOptions => flag.slice(2).replaceAll('-', '_') as keyof BenchOptions;

/** Where the plan holds what the option itself leaves open, as the command line would have it. */
const settled: Readonly<Record<string, (plan: BenchPlan) => unknown>> = {
  '--percentile-metrics': ({ result }) => result.percentileMetrics.join(','),
  '--request-id-prefix': ({ request }) => request.requestIdPrefix.replace('0123abcd', 'xxxxxxxx'),
  '--ready-check-timeout-sec': ({ server }) => server.readyCheckTimeoutS,
};

const versions: readonly (readonly [Compat, 'v0.11.0' | 'newest'])[] = [
  ['vllm-0.11.0', 'v0.11.0'],
  ['vllm-2026-08', 'newest'],
];

describe.each(versions)('the flags of %s', (compat, version) => {
  const rows = flags.filter((row) => row[version] !== absent);
  const unsaid = given('--compat', compat);
  const ofNothing = plan('--compat', compat);

  it.each(rows.map((row) => [row.flag, row] as const))('%s has the default of vLLM', (flag, row) => {
    expect(Object.keys(benchServeOptions.shape)).toContain(keyOf(flag));
    const wanted = row[version];
    const own = settled[flag]?.(ofNothing) ?? unsaid[keyOf(flag)];
    if (flag === '--endpoint')
      expect(own).toBeUndefined(); // the path of the backend, which is vLLM's default for openai
    else if (flag === '--ignore-eos') expect(ofNothing.workload.ignore_eos).toBe(compat !== 'vllm-0.11.0');
    else if (flag === '--percentile-metrics') expect(own).toBe('ttft,tpot,itl');
    else if (flag === '--random-range-ratio') expect(own).toBe(Number(wanted));
    else if (flag === '--random-mm-limit-mm-per-prompt') expect(String(own)).toMatch(/^\{"image": 255, "video": 1\}$/);
    else if (row.kind === 'list') expect(own ?? []).toEqual([]);
    else expect(own ?? null).toBe(wanted);
  });

  const valued = rows.filter((row) => row.kind === 'value' && row[version] !== null);
  it.each(valued.map((row) => [row.flag, String(row[version])]))(
    '%s %s is taken and changes nothing',
    (flag, value) => {
      const literal = flag === '--request-id-prefix' ? value.replace('xxxxxxxx', '0123abcd') : value;
      const written = plan('--compat', compat, flag, literal);
      const { path, ...server } = written.server;
      expect({ ...written, server, notes: [] }).toEqual({ ...ofNothing, notes: [] });
      expect(path).toBe(flag === '--endpoint' ? '/v1/completions' : undefined);
    },
  );
});

describe('the tables of options', () => {
  it('hold every flag of both versions, under one heading each', () => {
    const grouped = benchServeGroups.flatMap(({ keys }) => keys);
    expect([...grouped].sort()).toEqual(Object.keys(benchServeOptions.shape).sort());
  });

  it('describe every option', () => {
    const silent = Object.entries(benchServeOptions.shape).filter(([, schema]) => !schema.description);
    expect(silent.map(([key]) => key)).toEqual([]);
  });

  it('have nothing twice', () => {
    expect(Object.keys(refused).filter((key) => key in withoutEffect)).toEqual([]);
  });
});

describe('what is not here', () => {
  const others: Readonly<Record<string, readonly string[]>> = {
    use_beam_search: [],
    no_reranker: [],
    enable_multimodal_chat: [],
    custom_ensure_client_side_data: [],
  };
  it.each(Object.keys(refused).map((key) => [flagName(key), key]))(
    'refuses %s, with reason and remedy',
    (flag, key) => {
      const found = problems(flag, ...(others[key] ?? ['7']));
      expect(found).toHaveLength(1);
      expect(found[0]).toMatchObject({ place: flag, message: expect.stringContaining('is not supported: ') });
      expect(found[0]?.hint?.length).toBeGreaterThan(5);
    },
  );

  const values = Object.entries(refusedValues).flatMap(([key, table]) =>
    Object.keys(table).map((value) => [flagName(key), value] as const),
  );
  it.each(values)('refuses %s %s, with reason and remedy', (flag, value) => {
    expect(problems(flag, value)).toEqual([
      { place: flag, message: expect.stringContaining(`${value} is not supported: `), hint: expect.any(String) },
    ]);
  });

  it('suggests a name that was meant', () => {
    expect(problems('--backend', 'opnai')[0]).toMatchObject({
      place: '--backend',
      message: 'there is no opnai',
      hint: expect.stringContaining('did you mean openai?'),
    });
    expect(problems('--dataset-name', 'constructor')[0]?.message).toBe('there is no constructor');
  });

  it('takes the defaults of other versions', () => {
    expect(problems('--random-mm-limit-mm-per-prompt', '{"image":255,"video":0}')).toEqual([]);
    expect(problems('--asr-max-audio-len-sec', 'Infinity')).toEqual([]);
  });

  it.each([
    [['--trust-remote-code'], '--trust-remote-code changes nothing'],
    [['--tokenizer-mode', 'slow'], '--tokenizer-mode changes nothing'],
    [['--plot-timeline'], '--plot-timeline changes nothing'],
    [['--plot-dataset-stats'], '--plot-dataset-stats changes nothing'],
    [['--endpoint-type', 'openai'], '--endpoint-type is the old name of --backend'],
  ])('takes %j with a note', (argv, note) => {
    expect(plan(...argv).notes.filter((text) => text.startsWith(note))).toHaveLength(1);
    expect(plan().notes.filter((text) => text.startsWith(note))).toEqual([]);
  });
});
