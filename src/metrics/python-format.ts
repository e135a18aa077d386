/**
 * A number with a fixed count of decimals, as Python's `format(x, '.2f')` gives it: rounded from the exact binary
 * value, a tie to the even digit (2.125 is 2.12, where `toFixed` says 2.13). `decimals` from 1 to 20.
 */
export function pythonFixed(value: number, decimals: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : value < 0 ? '-inf' : 'inf';
  const size = Math.abs(value);
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  if (size >= 1e21) return `${sign}${BigInt(size)}.${'0'.repeat(decimals)}`;

  const text = size.toFixed(decimals);
  // Half a unit of the last decimal, 5 / 10^(d+1), is exact in binary only in odd multiples of 1 / 2^(d+1).
  const tie = (size * 2 ** (decimals + 1)) % 2 === 1;
  const last = Number(text.at(-1));
  return `${sign}${tie && last % 2 === 1 ? `${text.slice(0, -1)}${last - 1}` : text}`;
}

/** Centred in `width` as Python's `format(text, '=^50')` does it: the odd fill goes to the right. */
export function pythonCentred(text: string, width: number, fill: string): string {
  const rest = Math.max(0, width - text.length);
  const left = Math.floor(rest / 2);
  return fill.repeat(left) + text + fill.repeat(rest - left);
}
