import { describe, expect, it } from 'vitest';
import { endpoints } from '../../src/endpoints/table.ts';
import { endpointContract } from '../contracts/endpoint.ts';

describe.each(endpoints.map((endpoint) => ({ name: endpoint.name, endpoint })))('$name', ({ endpoint }) => {
  endpointContract(endpoint);
});

it('has one endpoint of a name', () => {
  expect(new Set(endpoints.map(({ name }) => name)).size).toBe(endpoints.length);
});
