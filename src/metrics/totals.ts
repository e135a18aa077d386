import type { Outcome, RequestRecord } from '../records/request.ts';
import type { Summary } from '../records/summary.ts';
import type { Fold } from './fold.ts';

/** What can be counted and added up; tokens and events are those of the ok requests. */
export interface Totals
  extends Pick<
    Summary,
    'ok' | 'outcomes' | 'errors' | 'inputTokens' | 'inputTokensByClient' | 'outputTokens' | 'outputTokensAsked'
  > {
  readonly cachedInputTokens: number | null;
  /** Token-bearing events. */
  readonly events: number;
  /** Output tokens over token-bearing events, of those in whose stream a token was recognised. Null of none. */
  readonly tokensPerEvent: number | null;
  /** When the last request ended, failed ones included; 0 of none. */
  readonly lastEndS: number;
  /** Of any request a token was asked for, or came. */
  readonly generated: boolean;
}

export function totalsFold(): Fold<Totals> {
  const outcomes: Partial<Record<Outcome, number>> = {};
  const errors = new Map<string, number>();
  let cachedInputTokens: number | null = null;
  let [inputTokens, inputTokensByClient, outputTokens, outputTokensAsked] = [0, 0, 0, 0];
  let [events, eventTokens, lastEndS] = [0, 0, 0];
  let generated = false;
  return {
    add(record) {
      const { outcome, promptTokens, serverPromptTokens, cachedTokens, tokenTimesS } = record;
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      lastEndS = Math.max(lastEndS, record.endS);
      generated ||= record.outputTokensAsked > 0 || record.outputTokens > 0 || tokenTimesS.length > 0;
      if (outcome !== 'ok') {
        const text = errorText(record);
        errors.set(text, (errors.get(text) ?? 0) + 1);
        return;
      }
      inputTokens += serverPromptTokens ?? promptTokens;
      inputTokensByClient += promptTokens;
      if (cachedTokens !== undefined) cachedInputTokens = (cachedInputTokens ?? 0) + cachedTokens;
      outputTokens += record.outputTokens;
      outputTokensAsked += record.outputTokensAsked;
      if (tokenTimesS.length === 0) return;
      events += tokenTimesS.length;
      eventTokens += record.outputTokens;
    },
    result: () => ({
      ok: outcomes.ok ?? 0,
      outcomes,
      errors: mostFrequent(errors),
      inputTokens,
      inputTokensByClient,
      cachedInputTokens,
      outputTokens,
      outputTokensAsked,
      events,
      tokensPerEvent: events === 0 ? null : eventTokens / events,
      lastEndS,
      generated,
    }),
  };
}

const errorText = ({ outcome, error, httpStatus }: RequestRecord): string =>
  error ?? (outcome === 'http_error' && httpStatus !== undefined ? `HTTP ${httpStatus}` : outcome);

/** Ten at most, most frequent first; equally frequent ones in order of their first appearance. */
const mostFrequent = (counts: ReadonlyMap<string, number>): Summary['errors'] =>
  [...counts]
    .map(([text, count]) => ({ text, count }))
    .sort((a, b) => b.count - a.count)
    .slice(0, 10);
