import type { Hardware, MeasuredRates, Source } from './gpus.ts';
import { h200Burst, h200Sustained } from './measured.ts';

/** A GPU with the names that it goes by, lower case and without maker. */
export interface Datasheet extends Hardware {
  readonly names: RegExp;
}

const tera = 1e12;
const giga = 1e9;
const gib = 2 ** 30;

/** Peak rates in 10¹² a second, memory in 10⁹ bytes a second: as data sheets print them, without structured sparsity. */
interface Row {
  readonly name: string;
  readonly names: RegExp;
  /** As `torch.cuda.get_device_properties` and out-of-memory messages print it. */
  readonly memoryGiB: number;
  readonly memoryGBPerS: number;
  readonly bf16: number;
  readonly fp8: number | null;
  readonly int8: number;
  readonly fp4: number | null;
  readonly link: readonly [kind: 'nvlink' | 'pcie' | 'infinity-fabric', gbPerSEachWay: number];
  readonly powerW: number;
  readonly source: Source;
  readonly measured?: readonly MeasuredRates[];
}

const sheet = (title: string, url: string): Source => ({ title, url });
const a100 = sheet('NVIDIA A100 Tensor Core GPU data sheet', 'https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a100/pdf/nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf'); // biome-ignore format: one source a line
const h100 = sheet('NVIDIA H100 Tensor Core GPU data sheet', 'https://resources.nvidia.com/en-us-gpu-resources/h100-datasheet-24306'); // biome-ignore format: one source a line
const h100Pcie = sheet('NVIDIA H100 Tensor Core GPU Architecture, version 1.04', 'https://resources.nvidia.com/en-us-hopper-architecture/nvidia-h100-tensor-c'); // biome-ignore format: one source a line
const h200 = sheet('NVIDIA H200 Tensor Core GPU data sheet', 'https://nvdam.widen.net/s/nb5zzzsjdf/hpc-datasheet-sc23-h200-datasheet-3002446'); // biome-ignore format: one source a line
const b200 = sheet('NVIDIA Blackwell architecture technical brief, HGX B200', 'https://resources.nvidia.com/en-us-blackwell-architecture'); // biome-ignore format: one source a line
const l40s = sheet('NVIDIA L40S data sheet', 'https://resources.nvidia.com/en-us-l40s/l40s-datasheet-28413');
const l4 = sheet('NVIDIA L4 Tensor Core GPU data sheet', 'https://resources.nvidia.com/en-us-data-center-overview/l4-gpu-datasheet'); // biome-ignore format: one source a line
const ada = sheet('NVIDIA Ada GPU Architecture, version 2.02, appendix A', 'https://images.nvidia.com/aem-dam/Solutions/geforce/ada/nvidia-ada-gpu-architecture.pdf'); // biome-ignore format: one source a line
const blackwell = sheet('NVIDIA RTX Blackwell GPU Architecture, version 1.1, appendix A', 'https://images.nvidia.com/aem-dam/Solutions/geforce/blackwell/nvidia-rtx-blackwell-gpu-architecture.pdf'); // biome-ignore format: one source a line
const mi300x = sheet('AMD Instinct MI300X accelerator data sheet', 'https://www.amd.com/content/dam/amd/en/documents/instinct-tech-docs/data-sheets/amd-instinct-mi300x-data-sheet.pdf'); // biome-ignore format: one source a line

/**
 * The A100 multiplies no 8-bit floats and nothing has 4-bit ones before Blackwell. The GeForce cards multiply 8-bit floats
 * twice as fast when they add up in 16 bits: that higher rate stands here, as no measurement may exceed it. NVLink and
 * Infinity Fabric are sold by the sum of both ways; here is one. Memory of the SXM cards of 80 GB and of the B200 is as
 * PyTorch reports it, the H200's as a driver of 2026 does.
 */
const rows: readonly Row[] = [
  { name: 'A100 SXM 40GB', names: /^a100 sxm4? 40 ?gb$/, memoryGiB: 39.39, memoryGBPerS: 1555, bf16: 312, fp8: null, int8: 624, fp4: null, link: ['nvlink', 300], powerW: 400, source: a100 },
  { name: 'A100 PCIe 40GB', names: /^a100 (pcie 40 ?gb|40 ?gb pcie)$/, memoryGiB: 39.39, memoryGBPerS: 1555, bf16: 312, fp8: null, int8: 624, fp4: null, link: ['pcie', 32], powerW: 250, source: a100 },
  { name: 'A100 SXM 80GB', names: /^a100( sxm4?)?( 80 ?gb)?$/, memoryGiB: 79.15, memoryGBPerS: 2039, bf16: 312, fp8: null, int8: 624, fp4: null, link: ['nvlink', 300], powerW: 400, source: a100 },
  { name: 'A100 PCIe 80GB', names: /^a100 (80 ?gb pcie|pcie( 80 ?gb)?)$/, memoryGiB: 79.15, memoryGBPerS: 1935, bf16: 312, fp8: null, int8: 624, fp4: null, link: ['pcie', 32], powerW: 300, source: a100 },
  { name: 'H100 SXM', names: /^h100( sxm5?)?( 80 ?gb)?( hbm3)?$/, memoryGiB: 79.2, memoryGBPerS: 3350, bf16: 989, fp8: 1979, int8: 1979, fp4: null, link: ['nvlink', 450], powerW: 700, source: h100 },
  { name: 'H100 PCIe', names: /^h100 (pcie( 80 ?gb)?|80 ?gb pcie)$/, memoryGiB: 79.2, memoryGBPerS: 2039, bf16: 756, fp8: 1513, int8: 1513, fp4: null, link: ['pcie', 64], powerW: 350, source: h100Pcie },
  { name: 'H100 NVL', names: /^h100 nvl( 94 ?gb)?$/, memoryGiB: 93.1, memoryGBPerS: 3938, bf16: 835.5, fp8: 1671, int8: 1671, fp4: null, link: ['nvlink', 300], powerW: 400, source: h100 },
  { name: 'H200', names: /^h200( sxm5?)?( 141 ?gb)?( hbm3e)?$/, memoryGiB: 139.8, memoryGBPerS: 4800, bf16: 989, fp8: 1979, int8: 1979, fp4: null, link: ['nvlink', 450], powerW: 700, source: h200, measured: [h200Sustained, h200Burst] },
  { name: 'H200 NVL', names: /^h200 nvl( 141 ?gb)?$/, memoryGiB: 139.8, memoryGBPerS: 4800, bf16: 835.5, fp8: 1671, int8: 1671, fp4: null, link: ['nvlink', 450], powerW: 600, source: h200 },
  { name: 'B200', names: /^b200( sxm6?)?( 180 ?gb| 192 ?gb)?( hbm3e)?$/, memoryGiB: 178.35, memoryGBPerS: 8000, bf16: 2250, fp8: 4500, int8: 4500, fp4: 9000, link: ['nvlink', 900], powerW: 1000, source: b200 },
  { name: 'L40S', names: /^l40s( 48 ?gb)?$/, memoryGiB: 44.4, memoryGBPerS: 864, bf16: 362, fp8: 733, int8: 733, fp4: null, link: ['pcie', 32], powerW: 350, source: l40s },
  { name: 'L4', names: /^l4( 24 ?gb)?$/, memoryGiB: 22.0, memoryGBPerS: 300, bf16: 121, fp8: 242.5, int8: 242.5, fp4: null, link: ['pcie', 32], powerW: 72, source: l4 },
  { name: 'RTX 4090', names: /^(rtx )?4090( 24 ?gb)?$/, memoryGiB: 23.65, memoryGBPerS: 1008, bf16: 165.2, fp8: 660.6, int8: 660.6, fp4: null, link: ['pcie', 32], powerW: 450, source: ada },
  { name: 'RTX 5090', names: /^(rtx )?5090( 32 ?gb)?$/, memoryGiB: 31.36, memoryGBPerS: 1792, bf16: 209.5, fp8: 838, int8: 838, fp4: 1676, link: ['pcie', 64], powerW: 575, source: blackwell },
  { name: 'MI300X', names: /^mi300x( oam| vf| platform)*( 192 ?gb)?( hbm3)?$/, memoryGiB: 191.98, memoryGBPerS: 5300, bf16: 1307.4, fp8: 2614.9, int8: 2614.9, fp4: null, link: ['infinity-fabric', 448], powerW: 750, source: mi300x },
]; // biome-ignore format: one card a line

const reported: Source = { title: 'Total memory as the driver reports it to programs', url: null };

const scaled = (value: number | null): number | null => (value === null ? null : value * tera);

export const datasheets: readonly Datasheet[] = rows.map((row) => ({
  name: row.name,
  names: row.names,
  memoryBytes: row.memoryGiB * gib,
  nominal: {
    memoryBytesPerS: row.memoryGBPerS * giga,
    matrixFlopPerS: { bf16: row.bf16 * tera, fp8: scaled(row.fp8), int8: row.int8 * tera, fp4: scaled(row.fp4) },
  },
  interconnect: { kind: row.link[0], bytesPerS: row.link[1] * giga },
  powerCapW: row.powerW,
  source: row.source,
  memorySource: reported,
  measured: row.measured ?? [],
}));
