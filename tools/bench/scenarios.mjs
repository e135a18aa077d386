// What the clients meet.

/** Tokens of each answer, one an event. */
export const tokens = 200;
/** Tokens of each prompt: short, because making prompts is not what is compared. */
export const promptTokens = 32;

const paced = (requests) => ({ name: `paced-${requests}`, requests, ttftMs: 200, itlMs: 20, eventsPerWrite: 1 });
const unpaced = (eventsPerWrite) => ({
  name: `unpaced-${eventsPerWrite}`,
  requests: 1000,
  ttftMs: 0,
  itlMs: 0,
  eventsPerWrite,
});

/** All requests of a scenario are sent at once. `itlMs` 0 is a server that sends as fast as the client reads. */
export const scenarios = [...[64, 256, 1000, 2000].map(paced), ...[16, 1].map(unpaced)];
export const quickScenario = 'paced-256';
