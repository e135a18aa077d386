import { expect, it } from 'vitest';
import { hideDeep } from '../../src/kit/secrets.ts';
import { textRedactor } from '../../src/report/redact.ts';
import { renderReport, reportFormats } from '../../src/report/render.ts';
import { exampleRun } from './fixture.ts';

const identity = { home: '/srv/people/carol-smith', user: 'carol-smith', host: 'gpu-node-17.example.org' };
const redact = textRedactor(identity);

const secrets = [
  'hf_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789',
  'sk-proj-4f9c2a7be1d04c5f',
  'ghp_16C7e42F292c6912E7710c838347Ae178B4a',
  'AKIAIOSFODNN7EXAMPLE',
  'nvapi-0123456789abcdefABCDEF',
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N',
];

it.each(secrets)('removes %s from every file of a report, wherever it was planted', (secret) => {
  const files = renderReport(exampleRun('many', { planted: secret }), { lang: 'en', formats: reportFormats, identity });
  expect(files.map((f) => f.name)).toEqual(['report.md', 'report-chart.svg', 'report.html', 'report.json']);
  for (const { name, content } of files) {
    expect(content.includes(secret), name).toBe(false);
    expect(content.includes('carol'), name).toBe(false);
    expect(content.includes('gpu-node-17'), name).toBe(false);
  }
  expect(files.every((f) => f.name.endsWith('.svg') || f.content.includes('redacted'))).toBe(true);
});

it('removes a key without any looks from flags, headers and settings', () => {
  const files = renderReport(exampleRun('many', { planted: 'plainword' }), {
    lang: 'en',
    formats: reportFormats,
    identity,
  });
  const text = files.map((f) => f.content).join('\n');
  expect(text).not.toMatch(/--api-key[^\n]{0,10}plainword|Bearer plainword|api_key[^\n]{0,10}plainword/);
  expect(text).toContain('--api-key');
});

it.each([
  ['--api-key s3cret', '--api-key <redacted>'],
  ['--api-key=s3cret next', '--api-key=<redacted> next'],
  [
    "non-default args: {'api_key': ['s3cret'], 'port': 8000}",
    "non-default args: {'api_key': ['<redacted>'], 'port': 8000}",
  ],
  ['HF_TOKEN=s3cret vllm serve', 'HF_TOKEN=<redacted> vllm serve'],
  ['"password": "s3cret"', '"password": "<redacted>"'],
  ['Authorization: Bearer s3cret-value', 'Authorization: Bearer <redacted>'],
  ['http://carol:s3cret@proxy:3128/x', 'http://<redacted>@proxy:3128/x'],
  ['https://host/x?token=s3cret&y=1', 'https://host/x?token=<redacted>&y=1'],
  ['mail carol.smith@example.org now', 'mail <redacted> now'],
  ['/srv/people/carol-smith/models/q.gguf', '~/models/q.gguf'],
  ['/srv/people/carol-smithson/x', '/srv/people/carol-smithson/x'],
  ['--model=/home/dave/x', '--model=~/x'],
  ['/root/.cache/huggingface and /chroot', '~/.cache/huggingface and /chroot'],
  ['/tmp/carol-smith/run on gpu-node-17', '/tmp/<user>/run on <host>'],
  ['GPU-1234abcd-12ab-34cd-56ef-1234567890ab', 'GPU-<redacted>'],
  ['\u001b[31mred\u001b[0m \u202eturned\u0000', 'red turned'],
])('%j becomes %j', (before, after) => {
  expect(redact(before)).toBe(after);
});

it.each([
  'vllm@0.11.0 quantization=fp8',
  'sglang@0.5.5.post1',
  'max_num_batched_tokens=8192',
  "eos_token='<|im_end|>'",
  'api_key=None',
  'first token: 12 ms, output_token: 3',
  '---------------Inter-token Latency----------------',
  '--max-tokens 5',
  'Total token throughput (tok/s):          8403.97',
  'http://127.0.0.1:8000/v1/chat/completions',
  'hf_overrides, hf_transfer and task-parallel',
])('leaves %j as it is', (text) => {
  expect(redact(text)).toBe(text);
});

it('hides the value behind a flag in an argument list, and behind a telling key', () => {
  expect(hideDeep(['--api-key', 'abc', '--port', '8000', '--hf-token', '--verbose'], redact)).toEqual([
    '--api-key',
    '<redacted>',
    '--port',
    '8000',
    '--hf-token',
    '--verbose',
  ]);
  expect(hideDeep({ api_key: 'abc', max_tokens: '7', nested: [{ hub_token: 'x', n: 1, none: null }] }, redact)).toEqual(
    {
      api_key: '<redacted>',
      max_tokens: '7',
      nested: [{ hub_token: '<redacted>', n: 1, none: null }],
    },
  );
});

it('does not take a common user name for a secret', () => {
  const ofRoot = textRedactor({ home: '/root', user: 'root', host: 'localhost' });
  expect(ofRoot('root of the tree on localhost, /root/x')).toBe('root of the tree on localhost, ~/x');
  const baseline = textRedactor({ home: '/', user: 'repeat', host: 'measured' });
  expect(hideDeep({ purpose: 'repeat', fate: 'measured' }, baseline)).toEqual({
    purpose: 'repeat',
    fate: 'measured',
  });
});

it('takes time in proportion to the text, also where nothing matches', () => {
  const began = performance.now();
  for (const unit of ['a_', '-token', 'eyJ.', '/home', 'x=', '\u001b[']) redact(unit.repeat(50_000));
  expect(performance.now() - began).toBeLessThan(20_000);
});
