import { z } from 'zod';

/** What a ceiling depends on: on another machine, or under another Node, it says nothing. */
export const clientMachine = z.strictObject({
  cpu: z.string(),
  /** CPUs that the process may use. */
  cores: z.int().positive(),
  node: z.string(),
});
export type ClientMachine = z.infer<typeof clientMachine>;

/** What kept the search from more streams: the client, the machine that it shares with the server, or the search's end. */
export const streamLimits = ['client', 'host', 'max_streams'] as const;
export type StreamLimit = (typeof streamLimits)[number];

const rate = z.number().positive();

/** How much load this client can send and read on one machine, as `servetune bench self` found it. */
export const ceiling = z.strictObject({
  /** When it was measured, ISO 8601 in UTC. */
  at: z.iso.datetime(),
  machine: clientMachine,
  /** Threads that sent the load. */
  workers: z.int().positive(),
  /** Answers of one token a second, sent as fast as they come. */
  requestsPerS: rate,
  /** Token-bearing events a second, where the server hands each to the system by itself. */
  eventsPerS: rate,
  /** The same where the server writes sixteen at a time. */
  eventsPerSBatched: rate,
  /** Most paced streams at once whose times were read true; 0 is none that was tried. */
  trueStreams: z.int().min(0),
  limitedBy: z.enum(streamLimits),
  /** Other programs took so much of the machine that the true ceiling may be higher. */
  busy: z.boolean(),
});
export type Ceiling = z.infer<typeof ceiling>;
