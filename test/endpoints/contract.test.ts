import { describe, expect, it } from 'vitest';
import { endpointNamed, endpoints } from '../../src/endpoints/table.ts';
import { backends } from '../../src/records/workload.ts';
import { endpointContract } from '../contracts/endpoint.ts';

/** Other names for what is shown under the first one. */
const aliases: Readonly<Record<string, string>> = { vllm: 'openai', 'vllm-chat': 'openai-chat' };

const shown = endpoints.filter(({ name }) => !(name in aliases));
describe.each(shown.map((endpoint) => ({ name: endpoint.name, endpoint })))('$name', ({ endpoint }) => {
  endpointContract(endpoint);
});

it('has one endpoint for each name of --backend, in its order', () => {
  expect(endpoints.map(({ name }) => name)).toEqual(backends);
});

it.each(Object.entries(aliases))('%s is %s under another name', (alias, name) => {
  expect(endpointNamed(alias)).toEqual({ ...endpointNamed(name), name: alias });
});

it('knows no other name', () => {
  expect(() => endpointNamed('deepspeed-mii')).toThrow(/no request dialect deepspeed-mii/);
});
