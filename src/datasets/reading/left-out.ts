/** Counts rows that were left out, by reason. */
export interface LeftOut {
  /** `reason` goes on after a number of rows: `without a prompt`. */
  add(reason: string, row: number): void;
  count(): number;
  /** `3 of the 12 lines were left out: 2 without a prompt (lines 3, 9), 1 that is no JSON (line 7).`; null for none. */
  note(total: number): string | null;
}

const mostNamed = 5;

/** `unit` is what rows are counted in: `line`, `row`. */
export function leftOut(unit: string): LeftOut {
  const reasons = new Map<string, number[]>();
  const count = (): number => [...reasons.values()].reduce((sum, rows) => sum + rows.length, 0);

  const where = (rows: readonly number[]): string => {
    const named = [...rows].sort((a, b) => a - b).slice(0, mostNamed);
    const more = rows.length > named.length ? ', …' : '';
    return `(${unit}${rows.length > 1 ? 's' : ''} ${named.join(', ')}${more})`;
  };

  return {
    count,
    add(reason, row) {
      const rows = reasons.get(reason);
      if (rows) rows.push(row);
      else reasons.set(reason, [row]);
    },
    note(total) {
      if (reasons.size === 0) return null;
      const why = [...reasons]
        .sort(([, a], [, b]) => b.length - a.length)
        .map(([reason, rows]) => `${rows.length} ${reason} ${where(rows)}`);
      return `${count()} of the ${total} ${unit}s read were left out: ${why.join(', ')}.`;
    },
  };
}
