import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { combine, parsePrometheus } from '../../src/telemetry/prometheus.ts';

const read = (text: string): [string, Record<string, string>, number][] =>
  parsePrometheus(text).map(({ name, labels, value }) => [name, Object.fromEntries(labels), value]);

describe('the text format', () => {
  it('is read with labels, escapes, exponents, time stamps and exemplars', () => {
    const text = [
      '# HELP a what a "b" is',
      '# TYPE a gauge',
      'a 1',
      'a{} 2.5e+03 1796029588000',
      'vllm:b_total{engine="0",path="C:\\\\x \\"y\\" {z}, \\n"} -.5 # {trace="1"} 7 8',
      'c{ one = "1" , two="2" , } +4E-2\r',
      'd NaN',
      'e{x=""} -Inf',
    ].join('\n');
    expect(read(text)).toEqual([
      ['a', {}, 1],
      ['a', {}, 2500],
      ['vllm:b_total', { engine: '0', path: 'C:\\x "y" {z}, \n' }, -0.5],
      ['c', { one: '1', two: '2' }, 0.04],
      ['d', {}, Number.NaN],
      ['e', { x: '' }, Number.NEGATIVE_INFINITY],
    ]);
  });

  it('is read without what is not in it', () => {
    const bad = ['', '  ', 'a', 'a b', 'a{x="1" 1', 'a{x=1} 1', '{x="1"} 1', '9a 1', 'a 1,5', 'a 0x10', 'a{x="1}'];
    expect(read([...bad, 'good 1'].join('\n'))).toEqual([['good', {}, 1]]);
  });

  it('is read without buckets and quantiles', () => {
    const text = [
      '# TYPE h histogram',
      'h_bucket{le="1"} 1',
      'h_bucket{le="+Inf"} 2',
      'h_sum 3',
      'h_count 2',
      's{quantile="0.5"} 1',
      's_sum{a="b"} 4',
    ].join('\n');
    expect(read(text)).toEqual([
      ['h_sum', {}, 3],
      ['h_count', {}, 2],
      ['s_sum', { a: 'b' }, 4],
    ]);
  });

  it('is read as it was written, whatever the labels hold', () => {
    const name = fc.stringMatching(/^[a-zA-Z_:][a-zA-Z0-9_:]{0,12}$/);
    const label = fc.stringMatching(/^[a-zA-Z_][a-zA-Z0-9_]{0,8}$/).filter((l) => l !== 'le' && l !== 'quantile');
    const labels = fc.uniqueArray(fc.tuple(label, fc.string()), { selector: ([key]) => key, maxLength: 4 });
    const value = fc.oneof(fc.integer(), fc.double({ noNaN: true }));
    const written = (v: number): string => (Number.isFinite(v) ? `${v}` : v > 0 ? '+Inf' : '-Inf');
    const quoted = (text: string): string =>
      text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
    fc.assert(
      fc.property(fc.array(fc.tuple(name, labels, value), { maxLength: 8 }), (metrics) => {
        const lines = metrics.map(([n, ls, v]) => {
          const inside = ls.map(([key, text]) => `${key}="${quoted(text)}"`).join(',');
          return `${n}${ls.length > 0 ? `{${inside}}` : ''} ${written(v)}`;
        });
        const expected = metrics.map(([n, ls, v]) => ({
          name: n,
          labels: new Map(ls),
          value: Number(written(v).replace('Inf', 'Infinity')),
        }));
        expect(parsePrometheus(`# HELP x y\n${lines.join('\n')}\n`)).toEqual(expected);
      }),
    );
  });

  it('never throws, whatever comes', () => {
    fc.assert(fc.property(fc.string({ unit: fc.constantFrom(...'a{}=",\\ \n1#e.') }), (text) => void read(text)));
  });
});

describe('several samples of one name', () => {
  const of = (text: string, how: 'sum' | 'max' | 'mean'): number | undefined => combine(parsePrometheus(text), how);

  it('add up over the copies of an engine', () => {
    const text = 'r{engine="0"} 3\nr{engine="1"} 5';
    expect([of(text, 'sum'), of(text, 'max'), of(text, 'mean'), of('', 'sum')]).toEqual([8, 5, 4, undefined]);
  });

  it('count once where ranks serve the same requests together', () => {
    const ranks = ['tp_rank="0",dp_rank="0"} 3', 'tp_rank="1",dp_rank="0"} 3', 'dp_rank="1",tp_rank="2"} 4'];
    expect(of(ranks.map((rank) => `r{${rank}`).join('\n'), 'sum')).toBe(7);
  });

  it('count once where parts stand beside their total', () => {
    expect(of('r{priority=""} 5\nr{priority="1"} 2\nr{priority="2"} 3', 'sum')).toBe(5);
  });

  it('leave out what is no number', () => {
    expect(of('r{a="1"} NaN\nr{a="2"} +Inf\nr{a="3"} 2', 'sum')).toBe(2);
    expect(of('r NaN', 'sum')).toBeUndefined();
  });
});
