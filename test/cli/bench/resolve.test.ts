import { describe, expect, it } from 'vitest';
import { datasets } from '../../../src/datasets/table.ts';
import { compatModes } from '../../../src/records/compat.ts';
import { backends } from '../../../src/records/workload.ts';
import { plan, problems } from './plan.ts';

const places = (...argv: readonly string[]): string[] => problems(...argv).map(({ place }) => place);
const file = ['--dataset-path', 'rows.jsonl'];

describe('what depends on the version', () => {
  it.each([
    ['vllm-0.11.0', 0, 'benchmark-serving', 600, false],
    ['vllm-0.11.1', 0, 'bench-0123abcd-', 600, true],
    ['vllm-2026-08', undefined, 'bench-0123abcd-', 0, true],
    ['servetune', undefined, 'bench-0123abcd-', 0, true],
  ])('%s', (compat, temperature, prefix, readyS, pinned) => {
    const { workload, request, server, warmups, result } = plan('--compat', compat);
    expect(workload.temperature).toBe(temperature);
    expect('temperature' in workload).toBe(temperature !== undefined);
    expect(request.requestIdPrefix).toBe(prefix);
    expect(server.readyCheckTimeoutS).toBe(readyS);
    expect(workload.ignore_eos).toBe(pinned);
    expect(workload.backend).toBe('openai');
    expect(warmups).toBe(0);
    expect(result.percentileMetrics).toEqual(['ttft', 'tpot', 'itl']);
    expect(result.percentiles).toEqual([99]);
  });

  it.each(compatModes)('what is given goes before the defaults of %s', (compat) => {
    const { workload, request, server } = plan(
      ...['--compat', compat, '--temperature', '0.7', '--ignore-eos', '--request-id-prefix', 'x-'],
      ...['--ready-check-timeout-sec', '5'],
    );
    expect(workload.temperature).toBe(0.7);
    expect(workload.ignore_eos).toBe(true);
    expect(request.requestIdPrefix).toBe('x-');
    expect(server.readyCheckTimeoutS).toBe(5);
  });

  it('tells apart the request ids of two runs', () => {
    const prefix = /^bench-[0-9a-f]{8}-$/;
    expect(plan().request.requestIdPrefix).toMatch(prefix);
  });

  it('pins the output where vLLM does, and on request', () => {
    const pins = (...argv: string[]): boolean => plan(...argv).workload.ignore_eos;
    for (const compat of ['vllm-0.11.1', 'vllm-2026-08', 'servetune']) {
      expect(pins('--compat', compat, '--backend', 'openai-chat')).toBe(true);
      expect(pins('--compat', compat, '--dataset-name', 'timed_trace', ...file)).toBe(true);
      expect(pins('--compat', compat, '--dataset-name', 'sharegpt')).toBe(false);
      expect(pins('--compat', compat, '--dataset-name', 'custom', ...file, '--ignore-eos')).toBe(true);
    }
    expect(pins('--compat', 'vllm-2026-08', '--backend', 'sglang')).toBe(false);
    expect(pins('--compat', 'servetune', '--backend', 'sglang')).toBe(true);
    expect(pins('--backend', 'openai-embeddings')).toBe(false);
    expect(pins('--no-ignore-eos')).toBe(false);
    expect(pins('--compat', 'vllm-0.11.0', '--no-ignore-eos')).toBe(false);
    expect(places('--compat', 'vllm-2026-08', '--no-ignore-eos')).toEqual(['--no-ignore-eos']);
  });

  it('in its own mode pins the output of each dataset that says so', () => {
    for (const { name, pinsOutput } of datasets) {
      const path = name === 'random' || name === 'prefix_repetition' ? [] : file;
      expect(plan('--dataset-name', name, ...path).workload.ignore_eos).toBe(pinsOutput);
    }
  });

  it('reports e2el for embeddings, from v0.11.1 on', () => {
    const sections = (compat: string) =>
      plan('--compat', compat, '--backend', 'openai-embeddings').result.percentileMetrics;
    expect(sections('vllm-0.11.0')).toEqual(['ttft', 'tpot', 'itl']);
    expect(sections('vllm-2026-08')).toEqual(['e2el']);
    expect(plan('--compat', 'vllm-0.11.0', '--backend', 'openai-embeddings').workload.temperature).toBeUndefined();
  });

  it('says what a version does not have', () => {
    const note = 'vLLM v0.11.0 itself does not have --num-warmups, --extra-body';
    const argv = ['--extra-body', '{"a":1}', '--num-warmups', '2'];
    expect(plan('--compat', 'vllm-0.11.0', ...argv).notes).toContain(note);
    expect(plan('--compat', 'vllm-2026-08', ...argv).notes.join()).not.toContain('does not have');
  });

  it.each(['queue', 'e2el_including_client_queue'])('knows only the metrics of the version (%s)', (name) => {
    const known = name === 'queue' ? 'client_queue_time' : name;
    expect(places('--percentile-metrics', known, '--max-concurrency', '1')).toEqual([]);
    expect(places('--compat', 'vllm-2026-08', '--percentile-metrics', known)).toEqual([]);
    expect(places('--compat', 'vllm-0.11.0', '--percentile-metrics', known)).toEqual(['--percentile-metrics']);
  });
});

describe('the server', () => {
  it('is found by address or by host and port', () => {
    expect(plan().server.baseUrl.href).toBe('http://127.0.0.1:8000/');
    expect(plan('--host', '::1', '--port', '81').server.baseUrl.href).toBe('http://[::1]:81/');
    const { server, notes } = plan('--base-url', 'https://h/api', '--port', '81', '--endpoint', '/v2/completions');
    expect(server).toMatchObject({ path: '/v2/completions' });
    expect(server.baseUrl.href).toBe('https://h/api');
    expect(notes.join()).toContain('--host and --port are not used');
    expect(places('--base-url', 'ftp://h')).toEqual(['--base-url']);
    expect(places('--base-url', 'localhost:8000')).toEqual(['--base-url']);
  });

  it('gets the served name, while the model names the tokenizer', () => {
    expect(plan('--model', 'org/m').server).toMatchObject({ model: 'org/m', sentModel: 'org/m' });
    expect(plan('--model', 'org/m').server).not.toHaveProperty('tokenizer');
    expect(plan('--model', '/m', '--served-model-name', 'chat').server).toMatchObject({
      model: '/m',
      sentModel: 'chat',
    });
    expect(plan('--model', '/m', '--served-model-name', 'chat', '--tokenizer', '/t').server.tokenizer).toBe('/t');
    expect(plan('--model', 'm', '--served-model-name', 'm').server).not.toHaveProperty('tokenizer');
    expect(plan('--skip-tokenizer-init', '--dataset-name', 'sharegpt').server.tokenizer).toBeNull();
  });

  it('gets headers; what no request could carry is refused, and never repeated', () => {
    expect(plan('--header', 'x-a = b=c ', 'Authorization=Bearer s').server.headers).toEqual({
      'x-a': 'b=c',
      Authorization: 'Bearer s',
    });
    const found = problems('--header', 'sesame', 'x y=sesame', 'x=ses\name');
    expect(found.map(({ place }) => place)).toEqual([1, 2, 3].map((i) => `--header, value ${i},`));
    expect(JSON.stringify(found)).not.toContain('sesame');
  });

  it('must understand what is sent', () => {
    expect(places('--backend', 'openai-chat', '--endpoint', '/v1/completions')).toEqual(['--endpoint']);
    expect(places('--backend', 'openai', '--endpoint', '/v1/chat/completions')).toEqual(['--endpoint']);
    expect(places('--backend', 'openai-chat', '--endpoint', '/x/chat/completions?v=1')).toEqual([]);
    expect(places('--backend', 'openai', '--endpoint', '/generate')).toEqual([]);
    expect(plan('--compat', 'vllm-0.11.0', '--backend', 'openai-chat').notes).toContain(
      'vLLM itself wants --endpoint /v1/chat/completions with --backend openai-chat',
    );
  });

  it.each(backends)('is spoken to as %s', (backend) => {
    expect(plan('--backend', backend).workload.backend).toBe(backend);
    expect(plan('--endpoint-type', backend).workload.backend).toBe(backend);
  });

  it('is not spoken to in two ways', () => {
    expect(places('--endpoint-type', 'vllm', '--backend', 'openai-chat')).toEqual(['--endpoint-type']);
    expect(places('--endpoint-type', 'vllm-rerank')).toEqual(['--endpoint-type']);
  });
});

describe('requests', () => {
  it('take objects, modules and log probabilities', () => {
    expect(
      plan(
        ...['--extra-body', '{"a":{"b":1}}', '--chat-template-kwargs', '{"thinking":true}', '--logprobs', '3'],
        ...['--lora-modules', 'one', 'two', '--lora-assignment', 'round-robin'],
      ).request,
    ).toMatchObject({
      extraBody: { a: { b: 1 } },
      logprobs: 3,
      lora: { modules: ['one', 'two'], assignment: 'round-robin' },
    });
    expect(places('--extra-body', '[1]')).toEqual(['--extra-body']);
    expect(places('--extra-body', '{"stream": false}')).toEqual(['--extra-body']);
  });

  it('take general lengths before particular ones', () => {
    const { workload, notes } = plan('--input-len', '10', '--output-len', '20', '--random-output-len', '30');
    expect(workload).toMatchObject({
      random_input_len: 10,
      random_output_len: 20,
      sharegpt_output_len: 20,
      custom_output_len: 20,
      hf_output_len: 20,
      prefix_repetition_output_len: 20,
      sonnet_input_len: 550,
      sonnet_output_len: 150,
    });
    expect(notes).toContain('--random-output-len is not used: --output-len goes before it');
    expect(plan('--input-len', '10', '--dataset-name', 'sharegpt').notes).toContain(
      '--input-len changes nothing with --dataset-name sharegpt',
    );
    expect(plan('--output-len', '10', '--dataset-name', 'sonnet', ...file).notes).toContain(
      '--output-len changes nothing with --dataset-name sonnet',
    );
    expect(plan('--sharegpt-output-len', '9').notes).toContain(
      '--sharegpt-output-len: not used with --dataset-name random',
    );
  });

  it('have no place for sampling in some dialects', () => {
    const sampling = ['--min-p', '0.1', '--temperature', '0'];
    expect(places('--backend', 'openai-embeddings', ...sampling)).toEqual(['--temperature', '--min-p']);
    expect(places('--backend', 'tgi', ...sampling)).toEqual(['--min-p']);
    expect(places('--backend', 'openai', ...sampling)).toEqual([]);
    expect(places('--backend', 'llama.cpp', '--lora-modules', 'a')).toEqual(['--lora-modules']);
  });

  it('carry a range ratio for both lengths or for each', () => {
    expect(plan('--random-range-ratio', '0.3').workload.random_range_ratio).toBe(0.3);
    expect(plan('--random-range-ratio', '{"input":0.1,"output":0.5}').workload.random_range_ratio).toEqual({
      input: 0.1,
      output: 0.5,
    });
    expect(problems('--random-range-ratio', "{'input': 0.1}")).toEqual([
      { place: '--random-range-ratio', message: 'is not JSON', hint: expect.stringContaining('Python literal') },
    ]);
    expect(places('--random-range-ratio', '1')).toEqual(['--random-range-ratio']);
  });
});

describe('traces', () => {
  const trace = ['--dataset-name', 'timed_trace', ...file];
  it('have their own clock unless it is refused', () => {
    expect(plan(...trace).workload.self_timed).toBe(true);
    expect(plan(...trace, '--self-timed').workload.self_timed).toBe(true);
    expect(plan(...trace, '--no-self-timed', '--request-rate', '2').workload.self_timed).toBe(false);
    expect(plan(...trace, '--request-rate', '2').notes.join()).toContain('--request-rate: not used');
    expect(places('--self-timed')).toEqual(['--self-timed']);
    expect(places('--no-self-timed')).toEqual(['--no-self-timed']);
  });

  it('go to completions only', () => {
    expect(places(...trace, '--backend', 'openai-chat')).toEqual(['--backend']);
    expect(places(...trace, '--backend', 'vllm')).toEqual([]);
  });
});

describe('arrivals', () => {
  const ramp = ['--ramp-up-strategy', 'linear'];
  it('ramp up from a start to an end', () => {
    expect(plan(...ramp, '--ramp-up-start-rps', '1', '--ramp-up-end-rps', '10').workload).toMatchObject({
      ramp_up_strategy: 'linear',
      ramp_up_start_rps: 1,
      ramp_up_end_rps: 10,
    });
    expect(problems(...ramp)[0]?.message).toBe('needs --ramp-up-start-rps and --ramp-up-end-rps');
    expect(problems(...ramp, '--ramp-up-end-rps', '5')[0]?.message).toBe('needs --ramp-up-start-rps');
    expect(places(...ramp, '--ramp-up-start-rps', '9', '--ramp-up-end-rps', '5')).toEqual(['--ramp-up-start-rps']);
    expect(places(...ramp, '--ramp-up-start-rps', '1', '--ramp-up-end-rps', '5', '--request-rate', '3')).toEqual([
      '--request-rate',
    ]);
    expect(places('--ramp-up-end-rps', '5')).toEqual(['--ramp-up-end-rps']);
    expect(plan('--compat', 'vllm-0.11.0', '--ramp-up-end-rps', '5').notes.join()).toContain(
      '--ramp-up-end-rps has no',
    );
  });

  it('are bursty at a finite rate only', () => {
    const note = '--burstiness changes nothing at an infinite request rate';
    expect(plan('--burstiness', '0.5').notes).toContain(note);
    expect(plan('--burstiness', '0.5', '--request-rate', '1e1').notes).not.toContain(note);
    expect(plan('--request-rate', '1e1').workload.request_rate).toBe(10);
    expect(plan('--request-rate', 'Infinity').workload.request_rate).toBe('inf');
  });
});

describe('results', () => {
  it('have limits, percentiles and sections', () => {
    const { result } = plan(
      ...['--goodput', 'ttft:200', 'tpot:50.5', 'ttft:100', '--metric-percentiles', '50, 99.9,50'],
      ...['--percentile-metrics', 'e2el, ttft', '--metadata', 'a=b=c', ' d = e '],
    );
    expect(result.goodputLimitsMs).toEqual({ ttft: 100, tpot: 50.5 });
    expect(result.percentiles).toEqual([50, 99.9]);
    expect(result.percentileMetrics).toEqual(['e2el', 'ttft']);
    expect(result.metadata).toEqual([
      ['a', 'b=c'],
      ['d', 'e'],
    ]);
    expect(plan().result).not.toHaveProperty('goodputLimitsMs');
  });

  it.each(['ttft', 'ttft:', 'itl:5', 'ttft:x', 'ttft:-1', 'ttft:1:2', ':5', 'ttft:inf'])(
    'refuses the limit %s',
    (text) => {
      expect(places('--goodput', text)).toEqual(['--goodput']);
    },
  );

  it.each(['', '101', '-1', '50;99', 'x'])('refuses the percentiles %j', (text) => {
    expect(places(`--metric-percentiles=${text}`)).toEqual(['--metric-percentiles']);
  });

  it('are saved where something is said about it', () => {
    expect(plan().result).toMatchObject({ save: false, detailed: false, append: false, quiet: false });
    expect(plan('--save-result', '--save-detailed', '--disable-tqdm').result).toMatchObject({
      save: true,
      detailed: true,
      quiet: true,
    });
    expect(plan('--append-result', '--result-filename', 'r.json').result).toMatchObject({ save: true, append: true });
  });

  it('are not half asked for, unless vLLM takes it', () => {
    expect(places('--save-detailed')).toEqual(['--save-detailed']);
    expect(places('--append-result')).toEqual(['--append-result']);
    const { notes } = plan('--compat', 'vllm-0.11.0', '--save-detailed');
    expect(notes).toContain('--save-detailed has no effect without --save-result');
    expect(places('--save-result', '--result-filename', 'dir/')).toEqual(['--result-filename']);
    expect(places('--save-result', '--result-filename', '..')).toEqual(['--result-filename']);
    expect(places('--save-result', '--label', 'a/b')).toEqual(['--label']);
    expect(places('--metadata', 'nothing')).toEqual(['--metadata']);
  });
});

describe('datasets', () => {
  it('have a file where they need one, and none where they do not', () => {
    for (const name of ['custom', 'burstgpt', 'hf', 'timed_trace']) {
      expect(places('--dataset-name', name)).toEqual(['--dataset-path']);
    }
    for (const name of ['random', 'prefix_repetition'])
      expect(places('--dataset-name', name, ...file)).toEqual(['--dataset-path']);
    expect(places('--dataset-name', 'sharegpt')).toEqual([]);
  });

  it('need a tokenizer to make prompts', () => {
    expect(places('--skip-tokenizer-init')).toEqual(['--skip-tokenizer-init']);
    expect(places('--skip-tokenizer-init', '--dataset-name', 'custom', ...file)).toEqual([]);
  });
});

it('names everything that is wrong at once, what cannot be read and what does not go together', () => {
  const found = problems(
    ...['--num-prompts', 'many', '--nonsense', '--backend', 'vllm-rerank', '--save-detailed', '--goodput', 'itl:3'],
    ...['--ramp-up-strategy', 'linear', '--request-rate', '4', '--self-timed', '--use-beam-search', '--metadata', 'x'],
    ...['--dataset-path', 'f', '--percentile-metrics', 'speed'],
  );
  expect(found.map(({ place }) => place).sort()).toEqual(
    [
      ...['--num-prompts', '--nonsense', '--backend', '--save-detailed', '--goodput', '--ramp-up-strategy'],
      ...[
        '--request-rate',
        '--self-timed',
        '--use-beam-search',
        '--metadata',
        '--dataset-path',
        '--percentile-metrics',
      ],
    ].sort(),
  );
  for (const { hint } of found) expect(hint?.length).toBeGreaterThan(5);
});

it('says nothing about what an unreadable option would have meant', () => {
  const argv = ['--ramp-up-strategy', 'linear', '--ramp-up-start-rps', 'x', '--ramp-up-end-rps', '5'];
  expect(places(...argv)).toEqual(['--ramp-up-start-rps']);
});
