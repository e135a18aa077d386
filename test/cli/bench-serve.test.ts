import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../src/processes/ports.ts';
import { eventually } from '../processes/living.ts';
import { folder, type Running, servetune, start } from './command.ts';

/** Number behind a label of the result block. */
const figure = (block: string, label: string): number =>
  Number(new RegExp(`^${label.replace(/[()/]/g, '\\$&')}\\s+(\\S+)`, 'm').exec(block)?.[1]);

/** Why a measurement was called invalid; a client that could not keep up is no fault on a machine that runs tests. */
const invalid = (stderr: string): string[] =>
  stderr.split('\n').filter((line) => line.startsWith('invalid measurement') && !line.includes('client-bound'));

describe('servetune bench serve against the embedded engine', () => {
  let engine: Running;
  let port: number;
  const counter = async (name: string): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return Number(new RegExp(`^servetune:${name}(?:\\{[^}]*\\})? (\\d+)`, 'm').exec(text)?.[1]);
  };

  beforeAll(async () => {
    port = await freePort();
    engine = start(['serve', '--model', 'tiny-qwen3', '--port', String(port), '--threads', '1']);
    await eventually(() => engine.stderr().includes('listening on'), 60);
  });
  afterAll(async () => {
    engine.child.kill('SIGTERM');
    expect((await engine.ended).code).toBe(0);
  });

  it('prints a block whose totals are the server’s own counters', async () => {
    const before = { prompt: await counter('prompt_tokens_total'), output: await counter('generation_tokens_total') };
    const dir = folder();
    const { stdout, stderr } = await servetune([
      'bench', 'serve', '--port', String(port), '--random-input-len', '20', '--random-output-len', '6',
      '--num-prompts', '24', '--max-concurrency', '8', '--result-json', join(dir, 'r.json'), '--records', join(dir, 'r.jsonl'),
    ]); // biome-ignore format: a command line
    expect(stderr).not.toContain('fault of servetune');
    expect(invalid(stderr)).toEqual([]);
    expect(stdout.split('\n')[0]).toBe('============ Serving Benchmark Result ============');
    expect(figure(stdout, 'Successful requests:')).toBe(24);
    expect(figure(stdout, 'Failed requests:')).toBe(0);
    expect(figure(stdout, 'Total generated tokens:')).toBe(24 * 6);
    expect(figure(stdout, 'Total generated tokens:')).toBe((await counter('generation_tokens_total')) - before.output);
    expect(figure(stdout, 'Total input tokens:')).toBe((await counter('prompt_tokens_total')) - before.prompt);
    const { summary } = JSON.parse(readFileSync(join(dir, 'r.json'), 'utf8')) as {
      summary: { inputTokensByClient: number };
    };
    expect(summary.inputTokensByClient).toBe(24 * 20);
    expect(readFileSync(join(dir, 'r.jsonl'), 'utf8').trim().split('\n')).toHaveLength(24);
  });

  it('measures completions as well', async () => {
    const { stdout, stderr } = await servetune([
      'bench', 'serve', '--port', String(port), '--backend', 'openai', '--random-input-len', '20',
      '--random-output-len', '6', '--num-prompts', '8',
    ]); // biome-ignore format: a command line
    expect(invalid(stderr)).toEqual([]);
    expect(figure(stdout, 'Total input tokens:')).toBe(8 * 20);
  });

  it('says that a model is not served, and which is', async () => {
    const { code, stderr } = await servetune(['bench', 'serve', '--port', String(port), '--model', 'gpt-9']);
    expect(code).toBe(2);
    expect(stderr).toMatch(/does not serve “gpt-9”[\s\S]*it serves: tiny-qwen3/);
  });

  it('says that prompts do not fit the engine, and sends none', async () => {
    const before = await counter('prompt_tokens_total');
    const { code, stderr } = await servetune([
      'bench', 'serve', '--port', String(port), '--random-input-len', '9000', '--random-output-len', '6', '--num-prompts', '2',
    ]); // biome-ignore format: a command line
    expect(code).toBe(2);
    expect(stderr).toMatch(/2 of 2 requests need more than the \d+ tokens that the server takes: up to 9006/);
    expect(await counter('prompt_tokens_total')).toBe(before);
  });
});

describe('servetune bench serve against another OpenAI-compatible server', () => {
  let server: Server;
  let sent = { prompt: 0, output: 0 };

  beforeAll(async () => {
    server = createServer((request, response) => {
      if (request.method !== 'POST') {
        response.writeHead(request.url === '/api/v1/models' ? 200 : 404);
        return response.end(JSON.stringify({ object: 'list', data: [{ id: 'other' }] }));
      }
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        if (request.url !== '/api/v1/chat/completions') return response.writeHead(404).end();
        const asked = JSON.parse(body) as { max_tokens?: number; max_completion_tokens?: number };
        const count = asked.max_completion_tokens ?? asked.max_tokens ?? 0;
        const event = (value: unknown): void => void response.write(`data: ${JSON.stringify(value)}\n\n`);
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (let i = 0; i < count; i++) {
          setTimeout(() => event({ choices: [{ index: 0, delta: { content: 'x ' } }] }), 5 + 4 * i);
        }
        setTimeout(
          () => {
            sent = { prompt: sent.prompt + 21, output: sent.output + count };
            event({ choices: [{ index: 0, delta: {}, finish_reason: 'length' }] });
            event({ choices: [], usage: { prompt_tokens: 21, completion_tokens: count } });
            response.end('data: [DONE]\n\n');
          },
          10 + 4 * count,
        );
      });
      return undefined;
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  });
  afterAll(() => server.close());

  it('works without a tokenizer of its own, below a path, and counts what the server counted', async () => {
    const { port } = server.address() as AddressInfo;
    const { code, stdout, stderr } = await servetune([
      'bench', 'serve', '--base-url', `http://127.0.0.1:${port}/api`, '--backend', 'openai-chat', '--random-input-len', '20',
      '--random-output-len', '6', '--num-prompts', '16', '--max-concurrency', '4',
    ]); // biome-ignore format: a command line
    expect(invalid(stderr)).toEqual([]);
    expect([0, 3]).toContain(code);
    expect(stderr).toContain('approximate');
    expect(figure(stdout, 'Total input tokens:')).toBe(sent.prompt);
    expect(figure(stdout, 'Total generated tokens:')).toBe(sent.output);
  });

  it('says that nothing listens', async () => {
    const { code, stderr } = await servetune(['bench', 'serve', '--port', String(await freePort())]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/no server answers at http:\/\/127\.0\.0\.1:\d+\/ .*ECONNREFUSED/);
  });
});

describe('servetune serve', () => {
  it('says that its port is taken, with exit code 2', async () => {
    const other = createServer();
    await new Promise<void>((listening) => other.listen(0, '127.0.0.1', listening));
    const { port } = other.address() as AddressInfo;
    const { code, stderr } = await servetune(['serve', '--model', 'tiny-qwen3', '--port', String(port)]);
    other.close();
    expect(code).toBe(2);
    expect(stderr).toMatch(new RegExp(`error .*${port}`));
    expect(stderr).not.toContain('    at ');
  });

  it('names all impossible options at once', async () => {
    const { code, stderr } = await servetune([
      'serve', '--model', '/nowhere/m.gguf', '--parallel', '8', '--batch-size', '4', '--cache-type', 'q8_0', '--flash-attn', 'off',
    ]); // biome-ignore format: a command line
    expect(code).toBe(2);
    for (const place of ['--batch-size', '--cache-type', 'm.gguf']) expect(stderr).toContain(place);
  });
});
