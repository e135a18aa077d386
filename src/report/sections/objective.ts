import { metricUnit } from '../../metrics/objective.ts';
import { heading, paragraph } from '../document.ts';
import type { Section } from '../section.ts';

/** What was made best, and what had to hold meanwhile. */
export const objective: Section = {
  name: 'objective',
  figures: false,

  render({ objective: { metric, unit, better, workload, constraints } }, words) {
    const say = words.objective;
    const sentence = (better === 'higher' ? say.highest : say.lowest)(words.metrics[metric], unit, workload);
    const limit = (value: number, of: typeof metric): string =>
      `${new Intl.NumberFormat(words.locale, { maximumFractionDigits: 6 }).format(value)} ${metricUnit(of)}`;
    const items = constraints.flatMap((c) => [
      ...(c.at_most === undefined ? [] : [say.atMost(words.metrics[c.metric], limit(c.at_most, c.metric))]),
      ...(c.at_least === undefined ? [] : [say.atLeast(words.metrics[c.metric], limit(c.at_least, c.metric))]),
    ]);
    return [
      heading(2, say.heading),
      paragraph(sentence),
      ...(items.length > 0 ? [paragraph(say.constraints), { kind: 'list', items } as const] : []),
    ];
  },
};
