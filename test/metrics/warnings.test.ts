import { expect, it } from 'vitest';
import { warningsOf } from '../../src/metrics/warnings.ts';
import type { RequestRecord } from '../../src/records/request.ts';
import { failedRecord, record } from './request-record.ts';

it.each<[string, RequestRecord[]]>([
  ['a clean load', [record({ serverPromptTokens: 64 }), record()]],
  ['nothing', []],
  ['failures, which the counts tell', [failedRecord()]],
  ['a template of two tokens on 64', [record({ serverPromptTokens: 66 })]],
  ['a twentieth of the prompts in a cache', [record({ cachedTokens: 3 })]],
  ['a hundredth less than asked', [record({ tokens: 99, outputTokensAsked: 100 })]],
])('says nothing of %s', (_, records) => expect(warningsOf(records)).toEqual([]));

it.each<[string, RequestRecord[], RegExp]>([
  ['answers that ended early', [record({ tokens: 43, outputTokensAsked: 100 })], /^43 output tokens .* 100 .*-57\.0 %/],
  ['answers that ran on', [record({ tokens: 43, outputTokensAsked: 20 })], /\+115\.0 %/],
  ['a dialect that is not known', [failedRecord({ outcome: 'empty', outputTokens: 500, outputTokensBy: 'server' })], /1 request .*no token was recognised/],
  ['several tokens an event', [record({ tokens: 10, outputTokens: 30 })], /3\.00 tokens .*ITL is the time between events/],
  ['events that come five at a time', [record({ tokenTimesS: [0, 0, 0, 0, 0, 0.05, 0.05, 0.05, 0.05, 0.05] })], /^89 % of the gaps .* buffered upstream.*, 5\.0 at a time/],
  ['prompts that the server had in its cache', [record({ cachedTokens: 48 }), record({ cachedTokens: 0 })], /^The server took 48 of 128 prompt tokens \(37\.5 %\) from its cache/],
  ['prompts in the cache of a server that is silent about others', [record({ serverPromptTokens: 100, promptTokens: 100, cachedTokens: 16 }), record()], /^The server took 16 of 164 prompt/],
  ['two tokens a microsecond apart', [record({ tokenTimesS: [0.1, 0.100001] }), ...Array.from({ length: 20 }, () => record())], /^The tokens of 1 request came all together \(one at 1000000 tokens a second\).* are in the figures/],
  ['a chat template', [record({ serverPromptTokens: 75 })], /75 prompt tokens a request, this client 64 /],
  ['no usage', [record({ outputTokensBy: 'chunks' }), record({ outputTokensBy: 'tokenizer' })], /1 request by encoding .* 1 request as one an event/],
  ['garbage in the stream', [record({ malformedEvents: 2, malformedText: ': "x"' }), failedRecord({ malformedEvents: 1 })], /^Malformed events: 3, in 2 requests \(the first: ": \\"x\\""\)\. They /],
  ['garbage of which nothing was kept', [record({ malformedEvents: 1 })], /^Malformed events: 1, in 1 request\. They /],
])('warns of %s', (_, records, sentence) => {
  const warnings = warningsOf(records);
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toMatch(sentence);
}); // biome-ignore format: one case a line

it('warns of a server that does not stream', () => {
  const warnings = warningsOf([record({ tokens: 1, outputTokens: 30 })]);
  expect(warnings).toEqual([expect.stringMatching(/^The answers of 1 request came whole/)]);
});
