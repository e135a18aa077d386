/**
 * A quantity with about four significant digits: `10,426`, `226.0`, `27.44`, `0.260`. Run-to-run noise is around a per
 * cent, so further digits would say nothing; whoever needs them has the result block and the JSON.
 */
export function formatQuantity(value: number, locale: string): string {
  const size = Math.abs(value);
  const digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
  return formatNumber(value, locale, digits);
}

/** A number with exactly `digits` decimals and the locale's grouping; none by default, for counts. */
export const formatNumber = (value: number, locale: string, digits = 0): string =>
  new Intl.NumberFormat(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(value);

/** The change that a ratio means, signed, one decimal: 1.581 is `+58.1 %`, 0.9 is `-10.0 %`, 1 is `0.0 %`. */
export function formatChange(ratio: number, locale: string): string {
  const format = new Intl.NumberFormat(locale, {
    minimumFractionDigits: 1,
    maximumFractionDigits: 1,
    signDisplay: 'exceptZero',
  });
  return `${format.format((ratio - 1) * 100)} %`;
}

/** A share of one, unsigned: 0.0183 is `1.8 %`. */
export const formatShare = (share: number, locale: string, digits = 1): string =>
  `${formatNumber(share * 100, locale, digits)} %`;

const units = { hour: 3600, minute: 60, second: 1 } as const;

/** A duration of `durationS` seconds in its two largest units: `1 hr 12 min`, `3 min 20 sec`, `4.2 sec`, `12 ms`. */
export function formatDuration(durationS: number, locale: string): string {
  const one = (value: number, unit: string, digits = 0): string =>
    new Intl.NumberFormat(locale, {
      style: 'unit',
      unit,
      unitDisplay: 'short',
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
    }).format(value);
  if (durationS < 0.9995) return one(durationS * 1000, 'millisecond', durationS > 0 && durationS < 0.00995 ? 1 : 0);
  if (durationS < 59.95) return one(durationS, 'second', Number.isInteger(durationS) ? 0 : 1);
  // Rounded first, so that 3599.9 s is an hour and not 60 minutes.
  const rounded = durationS < 3599.5 ? Math.round(durationS) : Math.round(durationS / 60) * 60;
  const [large, small] = rounded < 3600 ? (['minute', 'second'] as const) : (['hour', 'minute'] as const);
  const whole = Math.floor(rounded / units[large]);
  const rest = Math.round((rounded - whole * units[large]) / units[small]);
  return rest === 0 ? one(whole, large) : `${one(whole, large)} ${one(rest, small)}`;
}

/** Bytes in binary units: `640 B`, `1.5 KiB`, `64 GiB`. */
export function formatBytes(bytes: number, locale: string): string {
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let value = bytes;
  let step = 0;
  while (Math.abs(value) >= 1023.95 && step < names.length - 1) {
    value /= 1024;
    step++;
  }
  const digits = step === 0 || Math.abs(value) >= 99.95 || Math.abs(value - Math.round(value)) < 0.05 ? 0 : 1;
  return `${formatNumber(value, locale, digits)} ${names[step]}`;
}

/** `a, b, and c`, as the locale joins a list. */
export const formatList = (items: readonly string[], locale: string): string =>
  new Intl.ListFormat(locale, { type: 'conjunction' }).format(items);

/** A moment given as ISO 8601, in UTC: `Aug 27, 2026, 10:15 UTC`. The text itself where it is no date. */
export function formatMoment(iso: string, locale: string): string {
  const moment = new Date(iso);
  if (Number.isNaN(moment.getTime())) return iso;
  return new Intl.DateTimeFormat(locale, {
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZone: 'UTC',
    timeZoneName: 'short',
  }).format(moment);
}

/** The text with its first letter as it stands at the beginning of a heading. */
export function capitalised(text: string, locale: string): string {
  const [first = ''] = text;
  return first.toLocaleUpperCase(locale) + text.slice(first.length);
}

/** The form that the locale's grammar wants for `n`; `other` stands in for forms that are not given. */
export const plural = (
  n: number,
  locale: string,
  forms: Readonly<Partial<Record<Intl.LDMLPluralRule, string>> & { other: string }>,
): string => forms[new Intl.PluralRules(locale).select(n)] ?? forms.other;
