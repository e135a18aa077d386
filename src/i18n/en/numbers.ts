import { formatNumber, plural } from '../../kit/words.ts';

export const locale = 'en';

/** `1 run`, `3 runs`. */
export const count = (n: number, one: string, other: string): string =>
  `${formatNumber(n, locale)} ${plural(n, locale, { one, other })}`;
