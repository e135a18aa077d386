import { type Figures, sanityOfFigures } from '../metrics/sanity.ts';
import { askedOf, type ImportedResult, type JudgedImport } from '../records/imported.ts';

/** Half a unit of the second decimal, the last one that result blocks print. */
const printedWithin = 0.005;

/** An imported result with the reasons not to believe it, by the rules that our own measurements must pass. */
export function judged(result: ImportedResult): JudgedImport {
  return { ...result, problems: [...sanityOfFigures(figuresOf(result))] };
}

function figuresOf({ figures, workload, latencies }: ImportedResult): Figures {
  const { completed, durationS, inputTokens, outputTokens } = figures;
  const tokens = inputTokens === null || outputTokens === null ? null : inputTokens + outputTokens;
  // What differs by no more than its rounding is right, however large a share that is of a small number.
  const unrounded = (rate: number | null, total: number | null): number | null =>
    rate !== null && total !== null && durationS !== null && agreeAsPrinted(rate, total, durationS)
      ? total / durationS
      : rate;
  return {
    ...figures,
    asked: askedOf({ figures, workload }),
    ok: completed,
    requestThroughput: unrounded(figures.requestThroughput, completed),
    outputThroughput: unrounded(figures.outputThroughput, outputTokens),
    totalTokenThroughput: unrounded(figures.totalTokenThroughput, tokens),
    medians: Object.fromEntries(Object.entries(latencies).map(([name, { median }]) => [name, median])),
  };
}

function agreeAsPrinted(rate: number, total: number, durationS: number): boolean {
  const printed = [rate, durationS].every((value) => Math.abs(value * 100 - Math.round(value * 100)) < 1e-6);
  if (!printed || durationS <= printedWithin) return false;
  return (
    rate >= total / (durationS + printedWithin) - printedWithin * 1.001 &&
    rate <= total / (durationS - printedWithin) + printedWithin * 1.001
  );
}
