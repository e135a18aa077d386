import { z } from 'zod';
import { defineEngine } from './engine.ts';

/** In place of the version of a server that tells none. */
export const untold = 'unknown';

/**
 * A server that somebody else started: it is measured as it stands. It has no settings, since nothing here could change
 * them, and it is neither started nor stopped. No command tells its version; the server itself may.
 */
export const external = defineEngine({
  name: 'external',
  description: 'a server that runs already, at the url of its entry; measured as it stands',
  settings: z.strictObject({}),
  conflicts: () => [],
  version: async () => untold,
  checkModel: async () => [],
  command: () => ({ argv: [], env: {} }),
  healthPath: '/v1/models',
  symptoms: [],
});
