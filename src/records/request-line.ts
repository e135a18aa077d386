import { z } from 'zod';
import { outcomes, type RequestRecord } from './request.ts';

const timeS = z.number().min(0);
const count = z.int().min(0);

/** A line of a file of request records. Keys that a newer version added are let through. */
const requestLine = z.looseObject({
  index: count,
  outcome: z.enum(outcomes),
  error: z.string().optional(),
  httpStatus: z.int().optional(),
  intendedSendS: timeS,
  sendS: timeS,
  firstEventS: timeS.optional(),
  firstTokenS: timeS.optional(),
  firstAnswerTokenS: timeS.optional(),
  tokenTimesS: z.array(timeS),
  tokenCounts: z.array(count).optional(),
  emptyChoiceTimesS: z.array(timeS).optional(),
  lastEventS: timeS.optional(),
  lastTokenS: timeS.optional(),
  endS: timeS,
  promptTokens: count,
  serverPromptTokens: count.optional(),
  cachedTokens: count.optional(),
  outputTokensAsked: count,
  outputTokens: count,
  outputTokensBy: z.enum(['server', 'tokenizer', 'chunks']),
  finishReason: z.string().optional(),
  text: z.string().optional(),
  malformedEvents: count,
  malformedText: z.string().optional(),
});

/** A record from the JSON of its line, or the sentence that says why it is none. */
export function readRequestLine(line: string): RequestRecord | string {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    return 'is not JSON';
  }
  const parsed = requestLine.safeParse(json);
  // zod's type of an absent key allows undefined, which JSON cannot hold.
  if (parsed.success) return parsed.data as RequestRecord;
  const [issue] = parsed.error.issues;
  return `is no request record: ${issue?.path.join('.')}: ${issue?.message}`;
}
