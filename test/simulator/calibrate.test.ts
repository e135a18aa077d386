import { expect, it } from 'vitest';
import { asMeasured, calibrate, differences, type Observation, predictionOf } from '../../src/simulator/calibrate.ts';
import { beliefsOf } from '../../src/simulator/parameters.ts';
import { deployment, load } from './machines.ts';

const truth = {
  'H100 SXM matrix FLOP/s': 400e12,
  'H100 SXM memory bytes/s': 2.1e12,
  'vllm seconds a step': 9e-3,
  'vllm seconds a request': 11e-3,
};

function observed(count: number, prompt: number, output: number): Observation {
  const one = { deployment: deployment('vllm'), load: load(count, prompt, output) };
  const figures = predictionOf(one, truth);
  if (typeof figures === 'string') throw new Error(figures);
  return { ...one, label: `${prompt}/${output}`, measured: asMeasured(figures) };
}

const loads = [observed(200, 128, 4), observed(60, 3000, 100), observed(40, 200, 300), observed(1, 500, 200)];

it('finds the rates and costs that loads were made with, and predicts another load from them', () => {
  const { parameters, observations } = calibrate(loads);
  expect(observations).toBe(4);
  for (const [name, value] of Object.entries(truth))
    expect(Math.abs(Math.log((parameters[name] ?? 0) / value))).toBeLessThan(0.12);
  for (const difference of differences(observed(100, 1000, 50), parameters))
    expect(Math.abs(difference ?? 1)).toBeLessThan(0.05);
});

it('is not bent by one odd observation, and stays with what is believed where nothing was seen', () => {
  const odd = observed(60, 3000, 100);
  const one = { ...odd, measured: { ...odd.measured, totalTokensPerS: (odd.measured.totalTokensPerS ?? 0) / 3 } };
  const { parameters } = calibrate([...loads, one]);
  expect(Math.abs(Math.log((parameters['H100 SXM matrix FLOP/s'] ?? 0) / 400e12))).toBeLessThan(0.2);
  const beliefs = beliefsOf('vllm', deployment('vllm').hardware, 'bf16');
  const nothing = calibrate([]);
  expect(nothing.parameters).toEqual({});
  expect(beliefs['H100 SXM matrix FLOP/s']?.value).toBeCloseTo(0.65 * 989e12, -9);
});

it('leaves out what cannot be simulated', () => {
  const other = { ...(loads[0] as Observation), deployment: deployment('llama.cpp') };
  expect(predictionOf(other, {})).toContain('llama.cpp');
  expect(calibrate([other]).observations).toBe(0);
});
