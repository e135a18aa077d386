/** A number as it stands in a result. `null` is a value that was not measured. */
export type Quantity = { readonly value: number | null } | { readonly wrong: string };

const untold = /^(?:n\/?a|none|null|nan|-+|–|—|not (?:set|available|measured))$/i;
const plain = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i;
/** Thousands are told by commas as in English; where a comma could also be a decimal one, the number has none. */
const grouped = /^[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?$/;

/** Reads a printed number, shifted by ten to the `exponent` without a rounding of its own: 22.5 ms is 0.0225 s by -3. */
export function printedQuantity(text: string, exponent = 0): Quantity {
  const trimmed = text.trim();
  if (untold.test(trimmed)) return { value: null };
  const digits = grouped.test(trimmed) ? trimmed.replaceAll(',', '') : trimmed;
  if (!plain.test(digits)) return { wrong: `“${trimmed}” is not a number` };
  return finite(Number(digits), exponent);
}

/** The same for a value of a JSON file, where a number may also have become a text. */
export function jsonQuantity(value: unknown, exponent = 0): Quantity {
  if (value === null || value === undefined) return { value: null };
  if (typeof value === 'number') return finite(value, exponent);
  if (typeof value === 'string') return printedQuantity(value, exponent);
  return { wrong: `${Array.isArray(value) ? 'a list' : typeof value} is not a number` };
}

const finite = (value: number, exponent: number): Quantity =>
  Number.isFinite(value) ? { value: shifted(value, exponent) } : { wrong: 'the number is too large' };

/** The nearest number to the decimal one that is `exponent` places away; a product would round twice. */
function shifted(value: number, exponent: number): number {
  if (exponent === 0) return value;
  const [digits, own = '0'] = String(value).split('e');
  return Number(`${digits}e${Number(own) + exponent}`);
}
