import type { Endpoint } from '../endpoints/endpoint.ts';
import type { RequestSpec } from '../records/request.ts';
import type { LoadPlan } from './plan.ts';

/** What the bodies of a load's requests have in common. */
export type BodyPlan = Pick<LoadPlan, 'ask' | 'extraBody'> & { readonly model: string };

/** The body of a request, as JSON. */
export function requestBody(spec: RequestSpec, endpoint: Endpoint, { ask, extraBody, model }: BodyPlan): string {
  const body = endpoint.body(spec, { ...ask, model: spec.model ?? model });
  return JSON.stringify(extraBody === undefined ? body : { ...body, ...extraBody });
}
