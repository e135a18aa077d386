import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { conversationsFile, fileServer, serveFile, sha256 } from '../datasets/file-server.ts';
import { eventually } from '../processes/living.ts';
import { folder, servetune, start } from './command.ts';

interface Line {
  prompt: string;
  prompt_len: number;
  expected_output_len: number;
  due_s?: number;
}
const linesOf = (stdout: string): Line[] =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
const few = ['--num-prompts', '5', '--random-input-len', '12', '--random-output-len', '3', '--seed', '7'];

describe('servetune dataset', () => {
  it('prints each request, and the totals on the side', async () => {
    const { code, stdout, stderr } = await servetune(['dataset', ...few]);
    expect(code).toBe(0);
    const lines = linesOf(stdout);
    expect(lines.map((line) => Object.keys(line))).toEqual(
      new Array(5).fill(['prompt', 'prompt_len', 'expected_output_len']),
    );
    expect(lines.map((line) => [line.prompt_len, line.expected_output_len])).toEqual(new Array(5).fill([12, 3]));
    const hash = sha256(lines.map(({ prompt }) => prompt).join('\0'));
    expect(stderr).toContain(`5 requests, 60 prompt tokens, 15 output tokens, sha256 of the prompts ${hash}`);
    expect(stderr).toContain('neither --tokenizer nor --model is given');

    const summary = await servetune(['dataset', ...few, '--format', 'summary', '--no-cache', '--model', 'tiny-qwen3']);
    expect(summary.stderr).not.toContain('neither --tokenizer');
    expect(JSON.parse(summary.stdout)).toEqual({
      dataset: 'random',
      requests: 5,
      prompt_tokens: 60,
      output_tokens: 15,
      prompts_sha256: hash,
    });
  });

  it('prints the stand-in, and says so, where there is no ShareGPT', async () => {
    const env = { SERVETUNE_CACHE: folder() };
    const { code, stdout, stderr } = await servetune(
      ['dataset', '--dataset-name', 'sharegpt', '--num-prompts', '50', '--model', 'tiny-qwen3'],
      { env },
    );
    expect(code).toBe(0);
    expect(linesOf(stdout)).toHaveLength(50);
    expect(stderr).toMatch(/stand-in/);
  });

  it('tells when each request of a trace is due', async () => {
    const path = join(folder(), 'trace.jsonl');
    const row = (timestamp: number) => ({ timestamp, input_length: 20, output_length: 4, hash_ids: [1, timestamp] });
    writeFileSync(path, [0, 1500, 4000].map((at) => `${JSON.stringify(row(at))}\n`).join(''));
    const { code, stdout, stderr } = await servetune([
      'dataset', '--dataset-name', 'timed_trace', '--dataset-path', path, '--timed-trace-sec-multiplier', '0.001',
      '--num-prompts', '3', '--model', 'tiny-qwen3',
    ]); // biome-ignore format: a command line
    expect(code, stderr).toBe(0);
    expect(linesOf(stdout).map(({ due_s }) => due_s)).toEqual([0, 1.5, 4]);
  });

  it('prints exactly what would be sent, also what a terminal would obey', async () => {
    const path = join(folder(), 'rows.jsonl');
    const prompt = 'a\u001b[2J \u009b31m \u007f \u202egnirts\u202c\r\n\u0000 é 👩‍🚀 end';
    writeFileSync(path, `${JSON.stringify({ prompt })}\n`);
    const { stdout, stderr } = await servetune([
      'dataset', '--dataset-name', 'custom', '--dataset-path', path, '--num-prompts', '1', '--model', 'tiny-qwen3',
      '--backend', 'openai-chat',
    ]); // biome-ignore format: a command line
    expect(linesOf(stdout)[0]?.prompt, stderr).toBe(prompt);
  });

  it('minds no reader that goes away', async () => {
    const main = resolve(import.meta.dirname, '../../bin/servetune.cjs');
    const line = `(${process.execPath} ${main} dataset --num-prompts 2000 --random-input-len 200; echo "code $?" >&2) | head -n 1`;
    const shell = spawn('sh', ['-c', line], { stdio: ['ignore', 'pipe', 'pipe'] });
    let [out, errors] = ['', ''];
    shell.stdout.on('data', (chunk: Buffer) => {
      out += chunk;
    });
    shell.stderr.on('data', (chunk: Buffer) => {
      errors += chunk;
    });
    await new Promise((done) => shell.on('close', done));
    expect(linesOf(out)).toHaveLength(1);
    expect(errors).toContain('2000 requests, 400000 prompt tokens');
    expect(errors).toContain('code 0');
    expect(errors).not.toContain('error');
  });

  it('takes no other tokenizer than that of the model', async () => {
    const { code, stdout, stderr } = await servetune(['dataset', '--model', 'nobody/no-such-model'], {
      env: { HF_HOME: folder() },
    });
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/no tokenizer\.json of nobody\/no-such-model[\s\S]*--tokenizer/);
  });

  it('says everything that is wrong at once', async () => {
    const { code, stderr } = await servetune(['dataset', '--num-prompts', '0', '--format', 'xml', '--seed', '-1']);
    expect(code).toBe(2);
    for (const flag of ['--num-prompts', '--format', '--seed']) expect(stderr).toContain(flag);
  });
});

describe('servetune dataset fetch', () => {
  const content = conversationsFile(400_000);

  it('goes on where a killed one stopped, and is then what sharegpt reads', async () => {
    await using server = await fileServer(
      // Half of it, and then nothing more.
      (_, response) => {
        response.writeHead(200, { 'content-length': content.byteLength, etag: `"${sha256(content).slice(0, 16)}"` });
        response.write(content.subarray(0, 200_000));
      },
      serveFile(content),
    );
    const env = { SERVETUNE_CACHE: folder() };
    const args = ['dataset', 'fetch', 'sharegpt', '--url', server.url];
    const path = join(env.SERVETUNE_CACHE, 'datasets/sharegpt/ShareGPT_V3_unfiltered_cleaned_split.json');
    const killed = start(args, { env });
    await eventually(() => {
      try {
        return readFileSync(`${path}.part`).byteLength === 200_000;
      } catch {
        return false;
      }
    }, 30);
    killed.child.kill('SIGKILL');
    await killed.ended;

    const { code, stdout, stderr } = await servetune(args, { env });
    expect(code, stderr).toBe(0);
    expect(server.asked[1]?.range).toBe('bytes=200000-');
    expect(stdout).toBe(`${path}\n`);
    expect(createHash('sha256').update(readFileSync(path)).digest('hex')).toBe(sha256(content));
    expect(stderr).toMatch(/licence: [\s\S]*does not redistribute/);
    expect(stderr).toContain(`sha256 ${sha256(content)}`);
    expect(stderr).toContain('not the file that others measure with');

    const again = await servetune([...args, '--verify'], { env });
    expect(again.stderr).toContain('here already, verified');
    expect(server.asked).toHaveLength(2);

    const made = await servetune(
      ['dataset', '--dataset-name', 'sharegpt', '--num-prompts', '3', '--model', 'tiny-qwen3'],
      { env },
    );
    expect(made.stderr).not.toMatch(/stand-in/);
    for (const { prompt } of linesOf(made.stdout)) expect(prompt).toMatch(/^(word \d+ )+/);
  });

  it('ends with 2 and a remedy when it cannot be had', async () => {
    await using server = await fileServer((_, response) => response.writeHead(404).end());
    const env = { SERVETUNE_CACHE: folder(), HF_ENDPOINT: new URL(server.url).origin };
    const { code, stdout, stderr } = await servetune(['dataset', 'fetch', 'sharegpt'], { env });
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/ShareGPT_V3_unfiltered_cleaned_split\.json answered 404\n.*--dataset-path FILE/);
    const unknown = await servetune(['dataset', 'fetch', 'wikipedia'], { env });
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain('sharegpt');
  });
});
