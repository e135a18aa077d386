import { z } from 'zod';
import { Refusal } from './refusal.ts';

const isIds = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every((id) => Number.isInteger(id) && id >= 0);

const isPrompt = (value: unknown): boolean => typeof value === 'string' || isIds(value);

/** What one answer a request cannot serve, said in the same words for every parameter that asks for it. */
const only = <T>(accepted: T, message: string) =>
  z.custom<T | null>((value) => value === undefined || value === null || value === accepted, message).optional();

const generation = {
  model: z.string().nullish(),
  max_tokens: z.int().min(1).nullish(),
  temperature: z.number().min(0).nullish(),
  top_p: z.number().gt(0).lte(1).nullish(),
  seed: z.int().nullish(),
  stop: z
    .union([z.string().min(1), z.array(z.string().min(1))], 'must be a text or an array of texts, none empty')
    .nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  ignore_eos: z.boolean().nullish(),
  n: only(1, 'one answer a request is made, so this must be 1'),
};

/** Body of `POST /v1/completions`. Parameters that are not named here have no effect. */
export const completionBody = z.object({
  ...generation,
  prompt: z.custom<string | number[] | [string | number[]]>(
    (value) => isPrompt(value) || (Array.isArray(value) && value.length === 1 && isPrompt(value[0])),
    'must be one prompt: a text or an array of token ids',
  ),
  best_of: only(1, 'one answer a request is made, so this must be 1'),
  echo: only(false, 'the prompt is not repeated in the answer, so this must be false'),
  logprobs: only(0, 'log probabilities are not given, so this must be absent'),
});

/** Body of `POST /v1/chat/completions`. */
export const chatBody = z.object({
  ...generation,
  max_completion_tokens: z.int().min(1).nullish(),
  logprobs: only(false, 'log probabilities are not given, so this must be false'),
  messages: z
    .array(
      z.object({
        role: z.string(),
        content: z
          .union(
            [z.string(), z.array(z.object({ type: z.literal('text'), text: z.string() }))],
            'must be a text or an array of parts of type text',
          )
          .nullish(),
      }),
    )
    .min(1),
});

/** Body of `POST /tokenize`, as vLLM has it. */
export const tokenizeBody = z.object({
  model: z.string().nullish(),
  prompt: z.string(),
  add_special_tokens: z.boolean().nullish(),
});

/** Body of `POST /detokenize`, as vLLM has it. */
export const detokenizeBody = z.object({
  model: z.string().nullish(),
  tokens: z.custom<number[]>(isIds, 'must be an array of token ids'),
});

/** What the two generating bodies have in common. */
export type GenerationBody = z.infer<typeof completionBody> | z.infer<typeof chatBody>;

/** The body as `schema` has it; throws a Refusal (400) that names everything that is wrong with it. */
export function checked<S extends z.ZodObject>(schema: S, body: unknown): z.infer<S> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const issues = result.error.issues.map((issue) => ({ place: issue.path.join('.'), message: issue.message }));
  throw new Refusal(
    400,
    'bad_request',
    issues.map(({ place, message }) => (place === '' ? message : `${place}: ${message}`)).join('; '),
    issues.length === 1 ? (issues[0]?.place ?? null) : null,
  );
}
