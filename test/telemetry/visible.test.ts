import { describe, expect, it } from 'vitest';
import type { Gpu } from '../../src/records/gpu.ts';
import { findGpus } from '../../src/telemetry/gpus.ts';
import { visibleGpus } from '../../src/telemetry/visible.ts';
import { installed, never } from './stand-ins.ts';

const four = (vendor: Gpu['vendor'] = 'nvidia'): readonly Gpu[] =>
  ['aa11', 'aa22', 'bb33', 'cc44'].map((id, index) => ({
    vendor, index, uuid: `GPU-${id}-0000`, name: 'NVIDIA H100 80GB HBM3', memoryMiB: 81_559, computeCapability: 90,
    driver: '580', powerLimitW: 700,
  })); // biome-ignore format: one card
const seen = (environment: Readonly<Record<string, string>>, vendor?: Gpu['vendor']): readonly number[] =>
  visibleGpus(four(vendor), environment).visible.map(({ index }) => index);

describe('the GPUs that programs are shown', () => {
  it.each([
    [{}, [0, 1, 2, 3]],
    [{ CUDA_VISIBLE_DEVICES: '3' }, [3]],
    [{ CUDA_VISIBLE_DEVICES: '3, 1' }, [1, 3]],
    [{ CUDA_VISIBLE_DEVICES: '' }, []],
    [{ CUDA_VISIBLE_DEVICES: '-1' }, []],
    [{ CUDA_VISIBLE_DEVICES: 'NoDevFiles' }, []],
    // What stands behind an entry that is no GPU does not count.
    [{ CUDA_VISIBLE_DEVICES: '0,7,1' }, [0]],
    [{ CUDA_VISIBLE_DEVICES: 'GPU-bb33-0000' }, [2]],
    [{ CUDA_VISIBLE_DEVICES: 'GPU-CC,GPU-aa22' }, [1, 3]],
    [{ CUDA_VISIBLE_DEVICES: 'GPU-aa' }, []],
    [{ CUDA_VISIBLE_DEVICES: 'MIG-1234' }, [0, 1, 2, 3]],
    [{ HIP_VISIBLE_DEVICES: '0' }, [0, 1, 2, 3]],
  ])('%j of NVIDIA', (environment, expected) => {
    expect(seen(environment as Record<string, string>)).toEqual(expected);
  });

  it('are counted among those that the variable before has left, as AMD does', () => {
    expect(seen({ HIP_VISIBLE_DEVICES: '1' }, 'amd')).toEqual([1]);
    expect(seen({ CUDA_VISIBLE_DEVICES: '2' }, 'amd')).toEqual([2]);
    expect(seen({ ROCR_VISIBLE_DEVICES: '2,3', HIP_VISIBLE_DEVICES: '1' }, 'amd')).toEqual([3]);
    expect(seen({ ASCEND_RT_VISIBLE_DEVICES: '0,2' }, 'ascend')).toEqual([0, 2]);
  });

  it('are told from those that are hidden, and by what', () => {
    const { hidden, by } = visibleGpus(four(), { CUDA_VISIBLE_DEVICES: '3' });
    expect(hidden.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(by).toBe('CUDA_VISIBLE_DEVICES=3');
  });

  it('are the only ones that are found', async () => {
    const environment = { ...installed(['nvidia-smi']), CUDA_VISIBLE_DEVICES: '' };
    const found = await findGpus(environment, never);
    expect(found.gpus).toEqual([]);
    expect(found.hidden).toMatchObject({ gpus: [{ name: 'NVIDIA H200' }], by: 'CUDA_VISIBLE_DEVICES=' });
  });
});
