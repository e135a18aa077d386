export interface LoadProgress {
  readonly sent: number;
  readonly ok: number;
  readonly failed: number;
  readonly running: number;
  readonly outputTokens: number;
  readonly elapsedS: number;
  /** Output tokens a second over the last two seconds. */
  readonly tokensPerS: number;
  /** Requests that will be sent; null when the load goes by time. */
  readonly total: number | null;
}

/** Tells how fast a count has grown lately. */
export function recentRate(windowS = 2): (count: number, atS: number) => number {
  let seen: { count: number; atS: number }[] = [{ count: 0, atS: 0 }];
  return (count, atS) => {
    const from = seen.findLastIndex((s) => s.atS <= atS - windowS);
    if (from > 0) seen = seen.slice(from);
    const oldest = seen[0] ?? { count: 0, atS: 0 };
    seen.push({ count, atS });
    return atS > oldest.atS ? Math.max(0, (count - oldest.count) / (atS - oldest.atS)) : 0;
  };
}
