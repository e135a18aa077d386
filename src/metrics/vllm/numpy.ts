/**
 * numpy's mean and standard deviation (ddof 0), to the last bit, in the given order: where two decimals are printed, the
 * order of additions can decide the last one. 0 of an empty sample, as vLLM has it.
 */
export const numpyMean = (values: ArrayLike<number>): number =>
  values.length === 0 ? 0 : pairwiseSum(values, 0, values.length) / values.length;

export function numpyStd(values: ArrayLike<number>): number {
  const mean = numpyMean(values);
  return Math.sqrt(numpyMean(Float64Array.from(values, (value) => (value - mean) ** 2)));
}

/** Longer stretches are halved. */
const block = 128;

/** Sum of `count` values from `from` on: eight running sums in a block, and halves of what is longer than a block. */
function pairwiseSum(values: ArrayLike<number>, from: number, count: number): number {
  const at = (i: number): number => values[from + i] as number;
  if (count > block) {
    const half = Math.floor(count / 2);
    const first = half - (half % 8);
    return pairwiseSum(values, from, first) + pairwiseSum(values, from + first, count - first);
  }
  const eights = count < 8 ? 0 : count - (count % 8);
  let sum = 0;
  if (eights > 0) {
    const r = Array.from({ length: 8 }, (_, k) => {
      let running = at(k);
      for (let i = 8 + k; i < eights; i += 8) running += at(i);
      return running;
    }) as [number, number, number, number, number, number, number, number];
    sum = r[0] + r[1] + (r[2] + r[3]) + (r[4] + r[5] + (r[6] + r[7]));
  }
  for (let i = eights; i < count; i++) sum += at(i);
  return sum;
}
