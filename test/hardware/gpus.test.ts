import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cpuMeasured, gpuNamed, gpus, matrixFlopPerS } from '../../src/hardware/gpus.ts';
import { attentionFlopPerPair, linearFlopPerToken } from '../../src/hardware/model.ts';
import { precisions } from '../../src/hardware/precision.ts';
import { knownGpus, gpus as listed } from '../engines/gpus.ts';
import { relative, shapeOf } from './shapes.ts';

const h200 = (name: string): string =>
  readFileSync(join(import.meta.dirname, '../fixtures/hardware/h200', name), 'utf8');

describe('gpuNamed', () => {
  it.each([
    ['NVIDIA H200', 'H200'], ['NVIDIA H200 NVL', 'H200 NVL'], ['NVIDIA H100 80GB HBM3', 'H100 SXM'], ['NVIDIA H100 PCIe', 'H100 PCIe'],
    ['NVIDIA H100 NVL', 'H100 NVL'], ['h100', 'H100 SXM'], ['H100-SXM', 'H100 SXM'], ['NVIDIA H100 SXM', 'H100 SXM'], ['H100-PCIe', 'H100 PCIe'],
    ['NVIDIA A100-SXM4-80GB', 'A100 SXM 80GB'], ['NVIDIA A100-SXM4-40GB', 'A100 SXM 40GB'], ['NVIDIA A100 80GB PCIe', 'A100 PCIe 80GB'],
    ['NVIDIA A100-PCIE-40GB', 'A100 PCIe 40GB'], ['A100-PCIE-40GB', 'A100 PCIe 40GB'], ['a100', 'A100 SXM 80GB'], ['A100 SXM 80GB', 'A100 SXM 80GB'],
    ['NVIDIA B200', 'B200'], ['NVIDIA L40S', 'L40S'], ['NVIDIA L4', 'L4'], ['NVIDIA GeForce RTX 4090', 'RTX 4090'], ['RTX 4090 24GB', 'RTX 4090'],
    ['4090', 'RTX 4090'], ['NVIDIA GeForce RTX 5090', 'RTX 5090'], ['AMD Instinct MI300X', 'MI300X'], ['AMD Instinct MI300X OAM', 'MI300X'], ['mi300x', 'MI300X'],
  ])('knows %s as %s', (name, known) => expect(gpuNamed(name)?.name).toBe(known)); // biome-ignore format: one list

  it.each([
    'NVIDIA GeForce RTX 4090 Laptop GPU', 'NVIDIA GeForce RTX 4090 D', 'NVIDIA H800', 'NVIDIA L40', 'NVIDIA L4S', 'Tesla T4', 'NVIDIA GH200 480GB', '', 'cpu',
  ])('does not take %s for another card', (name) => expect(gpuNamed(name)).toBeNull()); // biome-ignore format: one list

  it('finds every card of the table by its own name', () => {
    for (const { name } of gpus) expect(gpuNamed(name)?.name).toBe(name);
  });

  it('agrees with the memory that nvidia-smi prints, of which programs get the most part', () => {
    const found = knownGpus.map((card) => listed(card)[0]).filter((gpu) => gpuNamed(gpu?.name ?? '') !== null);
    expect(found.length).toBeGreaterThanOrEqual(6);
    for (const gpu of found) {
      const share = (gpuNamed(gpu?.name ?? '')?.memoryBytes ?? 0) / ((gpu?.memoryMiB ?? 0) * 2 ** 20);
      expect(share).toBeGreaterThan(0.96);
      expect(share).toBeLessThanOrEqual(1);
    }
  });

  it('says for each figure where it is from, and nothing that cannot be', () => {
    for (const { nominal, source, memorySource, measured, powerCapW } of gpus) {
      expect(source.url).toMatch(/^https:/);
      expect(memorySource.title).not.toBe('');
      expect(powerCapW).toBeGreaterThan(0);
      for (const { matrixFlopPerS: rates, memoryBytesPerS } of measured) {
        expect(memoryBytesPerS).toBeLessThan(nominal.memoryBytesPerS);
        expect(rates.bf16).toBeLessThan(nominal.matrixFlopPerS.bf16 ?? 0);
        expect(rates.fp8).toBeLessThan(nominal.matrixFlopPerS.fp8 ?? 0);
      }
    }
  });
});

describe('matrixFlopPerS', () => {
  it('falls back to bf16 on GPUs that do not multiply the format', () => {
    const on = (gpu: string, precision: keyof typeof precisions): number => {
      const hardware = gpuNamed(gpu);
      return hardware === null ? Number.NaN : matrixFlopPerS(hardware.nominal, precisions[precision]) / 1e12;
    };
    expect(on('A100', 'fp8')).toBe(312);
    expect(on('A100', 'int8')).toBe(624);
    expect(on('H100', 'fp8')).toBe(1979);
    expect(on('H100', 'awq')).toBe(989);
    expect(on('H100', 'nvfp4')).toBe(989);
    expect(on('H100', 'mxfp4')).toBe(989);
    expect(on('B200', 'nvfp4')).toBe(9000);
    expect(on('B200', 'mxfp4')).toBe(4500);
  });
});

describe('what was measured on an H200', () => {
  const [sustained, burst] = gpuNamed('NVIDIA H200')?.measured ?? [];

  it('is the sustained rate of linear layers and attention together', () => {
    const qwen = shapeOf('Qwen3-14B');
    // The last token of a causal prompt of 4096 attends to all, the mean one to half.
    const flopPerToken = linearFlopPerToken(qwen) + (qwen.layers * attentionFlopPerPair(qwen) * 4096) / 2;
    const measured = JSON.parse(h200('sustained.json'));
    for (const format of ['bf16', 'fp8'] as const) {
      const rate = measured[format].sustained_tok_s_median_last_6s * flopPerToken;
      expect(relative(sustained?.matrixFlopPerS[format] ?? 0, rate)).toBeLessThan(0.001);
      // Cold, before the power cap: that is what a burst shows.
      expect(measured[format].first_pass_tok_s).toBeGreaterThan(1.02 * measured[format].sustained_tok_s_median_last_6s);
    }
  });

  it('is the burst rate of the four linear layers, of attention and of reading', () => {
    const { gemm, read_tb_s: read, attention_prefill_sdpa: prefill, attention_decode_sdpa: decode } = JSON.parse(h200('roofline.json')); // biome-ignore format: one row of names
    const layer = gemm.filter(({ op, m }: { op: string; m: number }) => m === 8192 && op !== 'lm_head');
    expect(layer).toHaveLength(4);
    for (const format of ['bf16', 'fp8'] as const) {
      let [flop, ms] = [0, 0];
      for (const product of layer) {
        flop += 2 * product.m * product.k * product.n;
        ms += product[`${format}_ms`];
      }
      expect(relative(burst?.matrixFlopPerS[format] ?? 0, flop / (ms / 1000))).toBeLessThan(0.001);
    }
    expect(burst?.memoryBytesPerS).toBeCloseTo(read * 1e12, -6);
    const prompt = prefill.find(({ seq }: { seq: number }) => seq === 4000);
    expect(burst?.prefillAttentionFlopPerS).toBeCloseTo(prompt.tflops_causal * 1e12, -6);
    const single = decode.find(({ ctx }: { ctx: number }) => ctx === 4096);
    expect(burst?.decodeAttentionBytesPerS).toBeCloseTo(single.tb_s * 1e12, -6);
  });
});

describe('cpuMeasured', () => {
  it('has no figures but those measured', () => {
    const rates = { memoryBytesPerS: 4e10, matrixFlopPerS: { bf16: 1e12, fp8: null, int8: null, fp4: null } };
    const cpu = cpuMeasured(8e9, rates, 'a test');
    expect(cpu).toMatchObject({
      nominal: rates,
      memoryBytes: 8e9,
      interconnect: null,
      source: { title: 'a test', url: null },
    });
    expect(matrixFlopPerS(cpu.nominal, precisions.q4_k_m)).toBe(1e12);
  });
});
