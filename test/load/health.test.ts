import { describe, expect, it } from 'vitest';
import type { LoopDelay } from '../../src/kit/loop-delay.ts';
import { type ClientMeasurements, clientHealth } from '../../src/load/health.ts';
import type { RequestRecord } from '../../src/records/request.ts';

const record = (lagS: number): RequestRecord => ({
  index: 0,
  outcome: 'ok',
  intendedSendS: 1,
  sendS: 1 + lagS,
  tokenTimesS: [],
  endS: 3,
  promptTokens: 1,
  outputTokensAsked: 1,
  outputTokens: 1,
  outputTokensBy: 'server',
  malformedEvents: 0,
});

const calm: LoopDelay = { p99S: 0.004, maxS: 0.02, ownP99S: 0.002, busyShare: 0.3, cpuShare: 0.25 };

const measured = (more: Partial<ClientMeasurements> = {}): ClientMeasurements => ({
  loop: calm,
  records: Array.from({ length: 100 }, (_, i) => record(i / 10_000)),
  durationS: 10,
  concurrencyAsked: 64,
  concurrencyReached: 64,
  rateIsInfinite: true,
  socketsOpened: 64,
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
    verdict: 'ok',
  });
});

describe('client-bound', () => {
  const lagging = (lagS: number): RequestRecord[] => Array.from({ length: 100 }, () => record(lagS));
  it.each<[string, Partial<ClientMeasurements>, RegExp]>([
    [
      'its own work blocks the loop',
      { loop: { ...calm, ownP99S: 0.032, p99S: 0.033 } },
      /32 ms \(p99\) because of its own work/,
    ],
    ['it starves', { loop: { ...calm, p99S: 0.15 } }, /late by 150 ms \(p99\) because something else/],
    [
      'it is saturated',
      { loop: { ...calm, busyShare: 0.97, cpuShare: 0.96 } },
      /busy 97 % of the time, with 96 % of a core/,
    ],
    ['it sends late', { records: lagging(0.03), durationS: 1 }, /30 ms late/],
    ['it sends late in a long load', { records: lagging(0.11), durationS: 1000 }, /110 ms late/],
    ['it never reaches the concurrency', { concurrencyReached: 50 }, /only 50 of 64/],
    ['it runs out of files', { clientFault: 'connect EMFILE' }, /on this side: connect EMFILE/],
  ])('when %s', (_, more, reason) => {
    const health = clientHealth(measured(more));
    expect(health.verdict).toBe('client_bound');
    expect(health.reason).toMatch(reason);
  });

  it('names every reason', () => {
    const health = clientHealth(measured({ loop: { ...calm, ownP99S: 0.2, p99S: 0.3, busyShare: 1 } }));
    expect(health.reason?.split('; ').length).toBeGreaterThanOrEqual(3);
  });
});

describe('not client-bound', () => {
  it.each<[string, Partial<ClientMeasurements>]>([
    ['when others hold the cores for some milliseconds', { loop: { ...calm, p99S: 0.04, maxS: 0.2, ownP99S: 0.003 } }],
    ['when other threads of the process compute', { loop: { ...calm, cpuShare: 1.4 } }],
    ['when fewer requests exist than places', { records: [record(0)], concurrencyReached: 1 }],
    ['when a rate does not fill the places', { rateIsInfinite: false, concurrencyReached: 3 }],
    ['when there is no limit', { concurrencyAsked: null, concurrencyReached: 100 }],
    [
      'when a long load began with a burst',
      { records: Array.from({ length: 100 }, () => record(0.06)), durationS: 60 },
    ],
    ['when nothing was sent', { records: [], loop: { ...calm, busyShare: 1 }, concurrencyReached: 0 }],
  ])('%s', (_, more) => {
    expect(clientHealth(measured(more)).verdict).toBe('ok');
  });
});
