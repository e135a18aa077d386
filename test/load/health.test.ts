import { describe, expect, it } from 'vitest';
import type { LoopDelay } from '../../src/kit/loop-delay.ts';
import { type ClientMeasurements, clientHealth } from '../../src/load/health.ts';
import type { LaneResult } from '../../src/load/lane.ts';
import type { RequestRecord } from '../../src/records/request.ts';

const record = (lagS: number): RequestRecord => ({
  index: 0,
  outcome: 'ok',
  intendedSendS: 1,
  sendS: 1 + lagS,
  tokenTimesS: [2, 3],
  endS: 3,
  promptTokens: 1,
  outputTokensAsked: 1,
  outputTokens: 1,
  outputTokensBy: 'server',
  malformedEvents: 0,
});

const calm: LoopDelay = {
  p50S: 0.0005,
  p90S: 0.001,
  p99S: 0.004,
  maxS: 0.02,
  ownP99S: 0.002,
  busyShare: 0.3,
  cpuShare: 0.25,
};

const lane = (more: Partial<LaneResult> = {}): LaneResult => ({
  loop: calm,
  mostInFlight: 64,
  socketsOpened: 64,
  staleRetries: 0,
  reads: 50,
  ...more,
});
const looping = (more: Partial<LoopDelay>): Pick<ClientMeasurements, 'lanes'> => {
  const loop = { ...calm, ...more };
  return { lanes: [lane({ loop })] };
};
const reaching = (mostInFlight: number) => ({ lanes: [lane({ mostInFlight })] });

const measured = (more: Partial<ClientMeasurements> = {}): ClientMeasurements => ({
  lanes: [lane()],
  records: Array.from({ length: 100 }, (_, i) => record(i / 10_000)),
  durationS: 10,
  concurrencyAsked: 64,
  rateIsInfinite: true,
  ...more,
});

it('passes a calm client on, with its figures', () => {
  expect(clientHealth(measured())).toEqual({
    loopDelayP99S: 0.004,
    loopDelayMaxS: 0.02,
    cpuShare: 0.25,
    sendLagP50S: expect.closeTo(0.00495, 6),
    sendLagP99S: expect.closeTo(0.009801, 6),
    sendLagMaxS: expect.closeTo(0.0099, 6),
    concurrencyAsked: 64,
    concurrencyReached: 64,
    socketsOpened: 64,
    workers: 1,
    loopDelays: [{ p50S: 0.0005, p90S: 0.001, p99S: 0.004, maxS: 0.02 }],
    reads: 50,
    eventsPerRead: 4,
    verdict: 'ok',
  });
});

describe('client-bound', () => {
  const lagging = (lagS: number): RequestRecord[] => Array.from({ length: 100 }, () => record(lagS));
  it.each<[string, Partial<ClientMeasurements>, RegExp]>([
    ['its own work blocks the loop', looping({ ownP99S: 0.032, p99S: 0.033 }), /32 ms \(p99\) because of its own work/],
    ['it starves', looping({ p99S: 0.15 }), /late by 150 ms \(p99\) because something else/],
    ['it is saturated', looping({ busyShare: 0.97, cpuShare: 0.96 }), /work 97 % of the time, and got 96 % of a core/],
    ['it sends late', { records: lagging(0.03), durationS: 1 }, /30 ms late/],
    ['it sends late in a long load', { records: lagging(0.11), durationS: 1000 }, /110 ms late/],
    ['it never reaches the concurrency', reaching(50), /only 50 of 64/],
    ['it runs out of files', { clientFault: 'connect EMFILE' }, /on this side: connect EMFILE/],
  ])('when %s', (_, more, reason) => {
    const health = clientHealth(measured(more));
    expect(health.verdict).toBe('client_bound');
    expect(health.reason).toMatch(reason);
  });

  it('names every reason', () => {
    const health = clientHealth(measured(looping({ ownP99S: 0.2, p99S: 0.3, busyShare: 1 })));
    expect(health.reason?.split('; ').length).toBeGreaterThanOrEqual(3);
  });
});

describe('not client-bound', () => {
  it.each<[string, Partial<ClientMeasurements>]>([
    ['when others hold the cores for some milliseconds', looping({ p99S: 0.04, maxS: 0.2, ownP99S: 0.003 })],
    ['when other threads of the process compute', looping({ cpuShare: 1.4 })],
    ['when fewer requests exist than places', { records: [record(0)], ...reaching(1) }],
    ['when a rate does not fill the places', { rateIsInfinite: false, ...reaching(3) }],
    ['when there is no limit', { concurrencyAsked: null, ...reaching(100) }],
    [
      'when a long load began with a burst',
      { records: Array.from({ length: 100 }, () => record(0.06)), durationS: 60 },
    ],
    ['when nothing was sent', { records: [], lanes: [lane({ mostInFlight: 0, loop: { ...calm, busyShare: 1 } })] }],
  ])('%s', (_, more) => {
    expect(clientHealth(measured(more)).verdict).toBe('ok');
  });
});

it('takes each figure from the thread that is worst in it', () => {
  const lanes = [
    lane({ mostInFlight: 60, socketsOpened: 30, reads: 20, loop: { ...calm, p99S: 0.05, cpuShare: 0.4 } }),
    lane({ mostInFlight: 64, socketsOpened: 34, reads: 30, loop: { ...calm, maxS: 0.3 } }),
  ];
  expect(clientHealth(measured({ lanes }))).toMatchObject({
    loopDelayP99S: 0.05,
    loopDelayMaxS: 0.3,
    cpuShare: 0.4,
    concurrencyReached: 64,
    socketsOpened: 64,
    workers: 2,
    reads: 50,
    loopDelays: [{ p99S: 0.05 }, { maxS: 0.3 }],
  });
});
