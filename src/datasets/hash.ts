import { createHash } from 'node:crypto';
import type { RequestSpec } from '../records/request.ts';

/** SHA-256, in hex, over the UTF-8 of all prompts in order, one NUL byte between two: what was sent, in one line. */
export function promptsHash(requests: readonly Pick<RequestSpec, 'prompt'>[]): string {
  const hash = createHash('sha256');
  for (const [i, { prompt }] of requests.entries()) hash.update(i === 0 ? prompt : `\0${prompt}`, 'utf8');
  return hash.digest('hex');
}
