import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { combinedRates, ratesUnderCap, readMeasuredRates } from '../../src/hardware/measured-rates.ts';
import type { GpuRatesFile } from '../../src/hardware/rates-files.ts';
import { InputError } from '../../src/kit/errors.ts';

const fixture = (name: string): string => readFileSync(join(import.meta.dirname, '../fixtures/hardware', name), 'utf8');
const read = (name: string) => readMeasuredRates(fixture(name), name);

/** The recorded run with changes. */
function changed(change: (file: GpuRatesFile) => void): string {
  const file = JSON.parse(fixture('h200/gpu-rates.json')) as GpuRatesFile;
  change(file);
  return JSON.stringify(file);
}

const of = (value: number | null, expected: number): void => {
  expect(value).not.toBeNull();
  expect((value ?? 0) / expected).toBeCloseTo(1, 2);
};

function problemsOf(text: string) {
  try {
    readMeasuredRates(text, 'rates.json');
  } catch (error) {
    if (error instanceof InputError) return error.problems;
    throw error;
  }
  throw new Error('was read');
}

// Qwen3-14B: 26.42 GFLOP a token in the layers' matrices, 1.68 in attention over prompts of 4096 tokens.
const flopPerToken = 26.424e9 + 1.678e9;

it('takes whole passes for sustained rates, below the bursts of the same card', () => {
  const sustained = read('h200/sustained.json');
  const bursts = read('h200/roofline.json');
  expect(sustained.passTokensPerS).toEqual({ bf16: 23555, fp8: 41974 });
  expect(sustained).toMatchObject({
    sustained: true,
    burstOnly: [],
    powerCapped: true,
    device: null,
    readBytesPerS: null,
  });
  of(sustained.bf16FlopPerS, 23555 * flopPerToken);
  // Attention stays in bf16, so the matrices alone are faster than the whole.
  of(sustained.fp8FlopPerS, 26.424e9 / (1 / 41974 - 1.678e9 / (23555 * flopPerToken)));
  expect(sustained.fp8FlopPerS).toBeGreaterThan(41974 * flopPerToken);

  expect(bursts).toMatchObject({
    device: 'NVIDIA H200',
    sustained: false,
    powerCapped: null,
    kernelLaunchS: 10.26e-6,
    graphKernelS: 0.882e-6,
    burstOnly: ['bf16FlopPerS', 'fp8FlopPerS', 'readBytesPerS', 'prefillAttentionFlopPerS', 'decodeAttentionBytesPerS'],
  });
  // Times at 1024, 2048, 4096 and 8192 tokens, as the file gives them in ms for the four matrices; the middle two.
  const at = (tokens: number, ms: number) => (26.424e9 / 40 / ms) * tokens * 1e3;
  of(bursts.bf16FlopPerS, (at(2048, 0.21914 + 0.15833 + 1.07309 + 0.56599) + at(8192, 0.96766 + 0.63849 + 4.30632 + 2.10507)) / 2); // biome-ignore format: two sums
  of(bursts.fp8FlopPerS, (at(2048, 0.10814 + 0.08362 + 0.55973 + 0.3005) + at(8192, 0.46052 + 0.35592 + 2.30903 + 1.09162)) / 2); // biome-ignore format: two sums
  of(bursts.readBytesPerS, 4.457e12);
  of(bursts.prefillAttentionFlopPerS, (526.3e12 + 565.2e12) / 2);
  of(bursts.decodeAttentionBytesPerS, 4.174e12);
  expect(sustained.bf16FlopPerS).toBeLessThan(bursts.bf16FlopPerS ?? 0);
  expect(sustained.fp8FlopPerS).toBeLessThan(bursts.fp8FlopPerS ?? 0);
});

it('puts sustained rates in the place of bursts, and says which are left', () => {
  const sustained = read('h200/sustained.json');
  const bursts = read('h200/roofline.json');
  for (const both of [combinedRates(sustained, bursts), combinedRates(bursts, sustained)]) {
    expect(both.bf16FlopPerS).toBe(sustained.bf16FlopPerS);
    expect(both.fp8FlopPerS).toBe(sustained.fp8FlopPerS);
    expect(both.readBytesPerS).toBe(bursts.readBytesPerS);
    expect(both).toMatchObject({ device: 'NVIDIA H200', powerCapped: true, sustained: false });
    expect(both.burstOnly).toEqual(['readBytesPerS', 'prefillAttentionFlopPerS', 'decodeAttentionBytesPerS']);
    expect(both.notes).toContainEqual(
      expect.stringMatching(/^bf16FlopPerS: 661\.9e12 sustained, 67\d\.\de12 in a burst/),
    );
  }
});

it('reads a run of measure.py on an H200, in keeping with what was measured there before', () => {
  const rates = read('h200/gpu-rates.json');
  expect(rates).toMatchObject({
    device: 'NVIDIA H200',
    memoryBytes: 150109880320,
    powerCapW: 700,
    sustained: true,
    burstOnly: [],
    powerCapped: true,
    kernelLaunchS: 6.36895e-6,
    graphKernelS: 8.44807e-7,
  });
  // The calls' own times at 8192 tokens, which is the median of the three numbers of tokens in both formats.
  of(rates.bf16FlopPerS, (26.424e9 / 40 / (0.000912059 + 0.000660977 + 0.00429947 + 0.00216131)) * 8192);
  of(rates.readBytesPerS, 4.436e12);
  of(rates.decodeAttentionBytesPerS, 4.402e12);
  of(rates.prefillAttentionFlopPerS, 563.3e12);

  const before = read('h200/sustained.json');
  of(rates.passTokensPerS.bf16, 23555);
  expect((rates.passTokensPerS.fp8 ?? 0) / 41974).toBeCloseTo(1, 1);
  expect((rates.bf16FlopPerS ?? 0) / (before.bf16FlopPerS ?? 1)).toBeCloseTo(1, 1);
  expect((rates.fp8FlopPerS ?? 0) / (before.fp8FlopPerS ?? 1)).toBeCloseTo(1, 1);
  expect(rates.notes).toContainEqual(expect.stringMatching(/^fp8FlopPerS: 12\d\de12 sustained, 12\d\de12 in a burst/));
  expect(rates.notes).toContainEqual(expect.stringMatching(/^fp8FlopPerS is with one scale a tensor/));
});

it('reads the program’s own run on a CPU, and takes none of it for sustained', () => {
  const rates = read('gpu-rates-cpu.json');
  expect(rates).toMatchObject({ device: 'x86_64', sustained: false, powerCapped: null, memoryBytes: null });
  expect(rates.burstOnly).toContain('bf16FlopPerS');
  expect(rates.notes).toContainEqual(expect.stringMatching(/tiny sizes on a CPU/));
});

it('says what a cut run lacks', () => {
  const rates = readMeasuredRates(
    changed((file) => {
      file.complete = false;
      file.measurements = file.measurements.filter(
        ({ what, m, dtype }) => what === 'o' || (m === 8192 && dtype === 'bf16'),
      );
      file.errors.push({ part: 'linear m=2048', dtype: 'bf16', error: 'OutOfMemoryError: no room' });
      file.skipped.push({ part: 'layer_pass', dtype: 'fp8', reason: 'no FP8' });
      file.shape.tp = 2;
    }),
    'cut.json',
  );
  of(rates.bf16FlopPerS, 673.6e12);
  expect(rates).toMatchObject({ fp8FlopPerS: null, readBytesPerS: null, kernelLaunchS: null, sustained: true });
  for (const note of [/was cut/, /one of 2 ranks/, /OutOfMemoryError: no room/, /skipped, no FP8/]) {
    expect(rates.notes).toContainEqual(expect.stringMatching(note));
  }
});

it('falls back to one scale a row, and marks what ran too briefly', () => {
  const rates = readMeasuredRates(
    changed((file) => {
      file.measurements = file.measurements.filter(({ dtype }) => dtype !== 'fp8');
      for (const row of file.measurements) if (row.what === 'hbm_read') row.sustained = false;
    }),
    'other.json',
  );
  // From the calls' times at 8192 and at 1024 tokens.
  const flop = 26.424e9 / 40;
  const long = (flop * 8192) / (0.000486685 + 0.000350209 + 0.00225377 + 0.00116114);
  const short = (flop * 1024) / (7.2441e-5 + 5.62166e-5 + 0.000270857 + 0.000168527);
  of(rates.fp8FlopPerS, (long + short) / 2);
  expect(rates).toMatchObject({ sustained: false, burstOnly: ['readBytesPerS'] });
});

it('names everything that is wrong with a file', () => {
  expect(problemsOf('{"gemm": [')).toMatchObject([
    { place: 'rates.json', message: expect.stringMatching(/^is no JSON/) },
  ]);
  expect(problemsOf('[1]')).toMatchObject([{ message: 'holds no measured rates of a GPU' }]);
  const wrong = changed((file) => {
    for (const row of file.measurements) if (row.what === 'hbm_read') row.bytes_per_s = null;
    for (const row of file.measurements) if (row.what === 'layer_pass') row.tflops = -1;
    file.device.power_cap_w = 0;
  });
  expect(
    problemsOf(wrong)
      .map(({ place }) => place)
      .sort(),
  ).toEqual([
    'rates.json device.power_cap_w',
    'rates.json measurements[2].bytes_per_s',
    expect.stringMatching(/^rates\.json measurements\[\d+\]\.tflops$/),
    expect.stringMatching(/^rates\.json measurements\[\d+\]\.tflops$/),
  ]);
  const later = problemsOf(JSON.stringify({ ...JSON.parse(fixture('h200/gpu-rates.json')), version: 2 }));
  expect(later).toMatchObject([{ place: 'rates.json version', message: 'only version 1 can be read' }]);
  const roofline = JSON.parse(fixture('h200/roofline.json')) as { read_tb_s?: number; gemm: { m: number }[] };
  delete roofline.read_tb_s;
  for (const row of roofline.gemm.slice(0, 1)) row.m = 0.5;
  expect(problemsOf(JSON.stringify(roofline)).map(({ place }) => place)).toEqual(
    expect.arrayContaining(['rates.json read_tb_s', 'rates.json gemm[0].m']),
  );
  const sustained = JSON.parse(fixture('h200/sustained.json')) as { bf16: { smi_last: string[] } };
  sustained.bf16.smi_last[1] = 'lost';
  expect(problemsOf(JSON.stringify(sustained))).toMatchObject([{ place: 'rates.json bf16.smi_last[1]' }]);
});

it('finds a GPU that falls under 80 % of its part, by sustained rates alone', () => {
  const reference = read('h200/gpu-rates.json');
  const slowed = (factor: number, cap = 700) =>
    readMeasuredRates(
      changed((file) => {
        file.device.power_cap_w = cap;
        for (const row of file.measurements) {
          if (row.dtype === 'bf16' && row.tflops !== null) row.tflops *= factor;
        }
      }),
      'slowed.json',
    );
  expect(ratesUnderCap(reference, reference)).toMatchObject({ notCompared: null, slow: [] });
  expect(ratesUnderCap(slowed(0.81), reference).slow).toEqual([]);
  const found = ratesUnderCap(slowed(0.79, 450), reference);
  expect(found.slow.map(({ rate }) => rate)).toEqual(['bf16FlopPerS', 'prefillAttentionFlopPerS']);
  expect(found.slow[0]?.share).toBeCloseTo(0.79, 6);
  expect(found.powerCapW).toEqual({ measured: 450, reference: 700 });

  expect(ratesUnderCap(read('h200/roofline.json'), reference)).toMatchObject({
    notCompared: 'no sustained rates of both',
    slow: [],
  });
  expect(ratesUnderCap({ ...slowed(0.5), device: 'NVIDIA H100 80GB HBM3' }, reference)).toMatchObject({
    notCompared: 'another part',
    slow: [],
  });
  expect(ratesUnderCap(slowed(0.5), read('h200/sustained.json')).compared).toEqual(['bf16FlopPerS', 'fp8FlopPerS']);
});
