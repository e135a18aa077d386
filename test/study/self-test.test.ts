import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { InputError, Interrupted } from '../../src/kit/errors.ts';
import { type Ceiling, ceiling } from '../../src/records/ceiling.ts';
import { clientMachineHere, headroom, keepCeiling, readCeiling } from '../../src/study/kept-ceiling.ts';
import {
  judge,
  measurePaced,
  type PacedFigures,
  type PacedPoint,
  searchStreams,
  streamPace,
} from '../../src/study/paced-streams.ts';
import { startSelfServer } from '../../src/study/self-server.ts';
import { mostStreams, type SelfTestOptions, selfTest } from '../../src/study/self-test.ts';
import { expectFreshBuild } from '../built.ts';
import { processesMarked, untilNoneMarked } from './marked.ts';

beforeAll(() => {
  expectFreshBuild('serving/paced', 'main', 'server', 'connection', 'pacer', 'tallies');
  expectFreshBuild('load', 'lane-worker', 'lane');
});

const never = new AbortController().signal;

/** The shortest self-test, whose processes can be found by a mark in their environment. */
function tiny(more: Partial<SelfTestOptions> = {}): { readonly options: SelfTestOptions; readonly mark: string } {
  const mark = randomUUID();
  const env = { PATH: process.env.PATH ?? '', SERVETUNE_TEST_MARK: mark };
  const sizes = { unpacedS: 0.4, pointS: 0.8, pacedTokens: 4, firstStreams: 2 };
  return { mark, options: { env, signal: never, workers: 1, maxStreams: 4, sizes, ...more } };
}

const idle = { clientCores: 0.6, serverCores: 0.5, otherCores: 0, loopDelayP99S: 0.001, eventsPerRead: 1 };
const good: PacedFigures = {
  ...idle,
  ttftErrorS: 0.001,
  itlErrorS: 0.001,
  serverLateP50S: 0.001,
  serverLateP99S: 0.01,
};

describe('selfTest', () => {
  it.each([1, 2])('measures a real client with %i workers, and leaves no process behind', async (workers) => {
    const phases: string[] = [];
    const { options, mark } = tiny({
      workers,
      onPhase(phase) {
        phases.push(phase);
        if (phase === 'requests') expect(processesMarked(mark).length).toBeGreaterThan(0);
      },
    });
    const found = await selfTest(options);
    expect(ceiling.parse(found.ceiling)).toMatchObject({ workers, machine: clientMachineHere() });
    expect(found.ceiling.requestsPerS).toBe(found.requests.requestsPerS);
    expect(found.ceiling.eventsPerS).toBe(found.events.eventsPerS);
    expect(found.events.eventsPerS).toBeGreaterThan(found.events.requestsPerS);
    for (const { clientCores, serverCores } of [found.requests, found.events, found.eventsBatched]) {
      expect(clientCores).toBeGreaterThan(0);
      expect(serverCores).toBeGreaterThan(0);
    }
    expect(found.points[0]).toMatchObject({ streams: 2 });
    // On a machine that is too busy the search may end with the first point.
    if (found.points[0]?.verdict === 'true') expect(found.points[1]).toMatchObject({ streams: 4 });
    for (const point of found.points) expect(point.ttftErrorS).not.toBeNull();
    expect(phases).toEqual(expect.arrayContaining(['requests', 'tokens', 'tokens, 16 a write', '2 paced streams']));
    expect(processesMarked(mark)).toEqual([]);
  });

  it.each(['starting the server', 'requests', 'tokens, 16 a write', '2 paced streams'])(
    'ends at once when it is interrupted in the phase “%s”, with nothing left running',
    async (phase) => {
      const stop = new AbortController();
      const { options, mark } = tiny({
        signal: stop.signal,
        sizes: { unpacedS: phase === 'requests' ? 60 : 0.3, pointS: 60, pacedTokens: 4, firstStreams: 2 },
        onPhase(now) {
          if (now === phase) setTimeout(() => stop.abort(new Interrupted()), 20);
        },
      });
      await expect(selfTest(options)).rejects.toBeInstanceOf(Interrupted);
      await untilNoneMarked(mark);
    },
  );

  it('refuses more streams than files may be open, before anything is started', async () => {
    await expect(selfTest(tiny({ maxStreams: 1_000_000_000 }).options)).rejects.toBeInstanceOf(InputError);
  });
});

describe('the built-in server', () => {
  const { options: context } = tiny();

  it('tells in its own words why it did not start', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const address = taken.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await expect(startSelfServer({ port }, context)).rejects.toMatchObject({
      code: 'self_test_server',
      message: expect.stringContaining(`port ${port} on 127.0.0.1 is in use`),
    });
    taken.close();
  });

  it('counts what it did since the last reset', async () => {
    await using server = await startSelfServer({ tokens: 3 }, context);
    const ask = (): Promise<string> =>
      fetch(new URL('/v1/completions', server.baseUrl), { method: 'POST', body: '{"prompt":"a"}' }).then((r) =>
        r.text(),
      );
    await ask();
    await server.reset();
    await ask();
    await ask();
    expect(await server.stats()).toMatchObject({ requests: { answered: 2 }, tokens: 6 });
  });
});

describe('measurePaced', () => {
  it('sees that a client is late which is held up by its own work', async () => {
    await using server = await startSelfServer(streamPace, tiny().options);
    const load = { streams: 8, tokens: 8, durationS: 1.2 };
    const held = setInterval(() => {
      const until = performance.now() + 60;
      while (performance.now() < until);
    }, 65);
    try {
      const { ttftErrorS, itlErrorS, clientCores } = await measurePaced(server, load, { signal: never });
      expect(Math.max(ttftErrorS ?? 0, itlErrorS ?? 0)).toBeGreaterThan(0.005);
      expect(clientCores).toBeGreaterThan(0);
    } finally {
      clearInterval(held);
    }
  });
});

describe('judge', () => {
  it.each<[PacedPoint['verdict'], Partial<PacedFigures>]>([
    ['true', {}],
    ['true', { ttftErrorS: -0.002, itlErrorS: -0.001 }],
    ['client_bound', { ttftErrorS: 0.0051 }],
    ['client_bound', { itlErrorS: 0.0051 }],
    ['host_bound', { ttftErrorS: 0.0051, clientCores: 0.4 }],
    ['host_bound', { serverLateP50S: 0.0021 }],
    ['host_bound', { serverLateP99S: 0.0201 }],
    ['host_bound', { ttftErrorS: 0.1, serverLateP99S: 0.0201 }],
    ['host_bound', { ttftErrorS: null }],
    ['host_bound', { failure: '1 of 9 requests failed' }],
  ])('%s: %j', (verdict, figures) => {
    expect(judge({ ...good, ...figures }, 1)).toBe(verdict);
  });

  it('expects of several workers that all of them were busy', () => {
    const late = { ...good, ttftErrorS: 0.01, clientCores: 1.5 };
    expect([2, 4].map((workers) => judge(late, workers))).toEqual(['client_bound', 'host_bound']);
  });
});

describe('searchStreams', () => {
  const point = (streams: number, verdict: PacedPoint['verdict']): PacedPoint => ({ ...good, streams, verdict });

  it('doubles until the last true one, never beyond the most', async () => {
    const cases = fc.asyncProperty(
      fc.integer({ min: 1, max: 100 }),
      fc.integer({ min: 1, max: 20_000 }),
      fc.integer({ min: 0, max: 30_000 }),
      fc.constantFrom('client_bound' as const, 'host_bound' as const),
      async (first, most, limit, verdict) => {
        const asked: number[] = [];
        const found = await searchStreams({ first, most }, async (streams) => {
          asked.push(streams);
          return point(streams, streams <= limit ? 'true' : verdict);
        });
        const tried = found.points.map(({ streams }) => streams);
        expect(tried[0]).toBe(Math.min(first, most));
        for (const [i, streams] of tried.slice(1).entries()) expect(streams).toBe(Math.min(2 * (tried[i] ?? 0), most));
        expect(found.trueStreams).toBe(Math.max(0, ...tried.filter((streams) => streams <= limit)));
        const ended = limit >= most ? 'max_streams' : verdict === 'client_bound' ? 'client' : 'host';
        expect(found.limitedBy).toBe(ended);
        // The one that fails is measured twice.
        expect(asked).toEqual(ended === 'max_streams' ? tried : [...tried, tried.at(-1)]);
      },
    );
    await fc.assert(cases);
  });

  it('believes a second measurement that is better', async () => {
    let calls = 0;
    const found = await searchStreams({ first: 64, most: 128 }, async (streams) =>
      point(streams, ++calls === 1 ? 'host_bound' : 'true'),
    );
    expect(found).toMatchObject({ trueStreams: 128, limitedBy: 'max_streams' });
    expect(found.points.map(({ verdict }) => verdict)).toEqual(['true', 'true']);
  });
});

describe('mostStreams', () => {
  it('is what files may be open, or 4096', () => {
    expect(mostStreams(undefined, null)).toBe(4096);
    expect(mostStreams(undefined, 1_000_000)).toBe(4096);
    expect(mostStreams(undefined, 1024)).toBe(716);
    expect(mostStreams(undefined, 10)).toBe(1);
    expect(mostStreams(10_000, 1_000_000)).toBe(10_000);
    expect(mostStreams(10_000, null)).toBe(10_000);
    expect(() => mostStreams(717, 1024)).toThrow(InputError);
    expect(() => mostStreams(717, 1024)).toThrow(/--max-streams: 717 streams need 1025 open files/);
  });
});

const kept: Ceiling = {
  at: '2026-08-27T10:15:00.000Z',
  machine: clientMachineHere(),
  workers: 1,
  requestsPerS: 10_000,
  eventsPerS: 100_000,
  eventsPerSBatched: 300_000,
  trueStreams: 1024,
  limitedBy: 'client',
  busy: false,
};

describe('a kept ceiling', () => {
  const folder = (): string => join(mkdtempSync(join(tmpdir(), 'servetune-ceiling-')), 'cache');

  it('comes back as it was', () => {
    const dir = folder();
    expect(readCeiling(dir)).toBeNull();
    expect(keepCeiling(dir, kept)).toBe(join(dir, 'client-ceiling.json'));
    expect(readCeiling(dir)).toEqual(kept);
    expect(readdirSync(dir)).toEqual(['client-ceiling.json']);
  });

  it.each(['cpu', 'cores', 'node'] as const)('does not count where the %s differs', (fact) => {
    const dir = folder();
    const here = kept.machine;
    keepCeiling(dir, { ...kept, machine: { ...here, [fact]: fact === 'cores' ? here.cores + 1 : `${here[fact]} x` } });
    expect(readCeiling(dir)).toBeNull();
  });

  it.each(['', '{', 'null', '[]', '{"at":"now"}'])('does not count where the file holds %j', (text) => {
    const dir = folder();
    writeFileSync(keepCeiling(dir, kept) ?? '', text);
    expect(readCeiling(dir)).toBeNull();
  });

  it('stays when the new one was measured on a busier machine', () => {
    const dir = folder();
    const path = keepCeiling(dir, kept) ?? '';
    expect(keepCeiling(dir, { ...kept, busy: true, eventsPerS: 5 })).toBeNull();
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(kept);
    expect(keepCeiling(dir, { ...kept, busy: true, workers: 2 })).toBe(path);
    expect(keepCeiling(dir, { ...kept, busy: true, workers: 2, trueStreams: 7 })).toBe(path);
    expect(readCeiling(dir)).toMatchObject({ workers: 2, trueStreams: 7 });
  });
});

describe('headroom', () => {
  const of = (requestThroughput: number | null, outputThroughput: number | null, tokensPerEvent: number | null = 1) =>
    headroom(kept, { requestThroughput, outputThroughput, tokensPerEvent });

  it('is the share of the ceiling that a load needs', () => {
    // 10 requests/s of 1000 tokens: 10/10,000 for the requests, 9,990/100,000 for the events after the first.
    expect(of(10, 10_000)).toBeCloseTo(0.001 + 0.0999);
    expect(of(5_000, 5_000)).toBeCloseTo(0.5);
    // Eight tokens an event: 1,250 events/s.
    expect(of(10, 10_000, 8)).toBeCloseTo(0.001 + 0.0124);
    expect(of(10, 10_000, null)).toBeCloseTo(0.1009);
  });

  it('counts answers without tokens as requests', () => {
    expect(of(1_000, null, null)).toBeCloseTo(0.1);
  });

  it('is null where nothing succeeded, and never over 1', () => {
    expect(of(null, null)).toBeNull();
    expect(of(9_000, 900_000)).toBe(1);
  });
});
