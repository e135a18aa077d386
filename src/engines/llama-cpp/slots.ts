import { z } from 'zod';
import { boundedAnswer } from '../../kit/bounded-answer.ts';
import { type Problem, ServetuneError } from '../../kit/errors.ts';
import type { Settings } from '../../records/settings.ts';

const props = z.object({
  total_slots: z.int(),
  /** What one slot may hold, whatever `-c` says. */
  default_generation_settings: z.object({ n_ctx: z.int() }),
  model_ftype: z.string().optional(),
  build_info: z.string().optional(),
});

/** Slots, and the context of one slot, as the running server tells them; throws when it does not. */
export async function effectiveSettings(baseUrl: URL, signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
  const url = new URL('/props', baseUrl);
  const { ok, status, text } = await boundedAnswer(url, signal);
  if (!ok) throw new ServetuneError('no_effective_settings', `${url} answered ${status}`);
  const told = props.parse(JSON.parse(text));
  return {
    max_running_requests: String(told.total_slots),
    context_length: String(told.default_generation_settings.n_ctx),
    ...(told.model_ftype === undefined ? {} : { quantization: told.model_ftype }),
    ...(told.build_info === undefined ? {} : { build: told.build_info }),
  };
}

/** What a load asks of the slots. */
export interface SlotNeed {
  /** Longest prompt and answer together, tokens. */
  readonly requestTokens: number;
  /** Most requests in flight. */
  readonly concurrency: number;
  /** What was asked for. */
  readonly settings: Settings;
}

/**
 * Whether a load fits the slots of a running server: `effective` is what `effectiveSettings` read, with
 * `kv_unified` of its log where that tells it. Some builds change the number of slots by themselves; a request that is
 * longer than its slot is refused; and where slots share one cache, the one that overflows it ends every running answer.
 * What the server does not tell is taken to fit.
 */
export function fitsSlots(effective: Readonly<Record<string, string>>, need: SlotNeed): Problem | undefined {
  const slots = numberOf(effective.max_running_requests);
  const context = numberOf(effective.context_length);
  const { max_running_requests: asked, context_length: askedContext } = need.settings;
  if (slots !== undefined && typeof asked === 'number' && asked !== slots) {
    return {
      place: 'max_running_requests',
      message: `the server has ${slots} slots, ${asked} were asked for`,
      hint: 'some builds change 1 slot to 4: ask for 2 or more, or use another build',
    };
  }
  if (context !== undefined && context < need.requestTokens) {
    return {
      place: 'context_length',
      message: `a slot holds ${context} tokens, the longest request and its answer need ${need.requestTokens}`,
      hint: `context_length: ${need.requestTokens}, if the model was made for that many`,
    };
  }
  if (effective.kv_unified !== 'true' || slots === undefined || context === undefined) return undefined;
  // The server tells what one slot may hold at most; what they share is what was asked for all of them together.
  const shared = typeof askedContext === 'number' ? askedContext * slots : context;
  const due = Math.min(slots, need.concurrency) * need.requestTokens;
  if (due <= shared) return undefined;
  return {
    place: 'context_length',
    message: `${slots} slots share ${shared} tokens, requests of ${need.requestTokens} tokens in all of them need ${due}`,
    hint: `context_length: ${need.requestTokens}`,
  };
}

function numberOf(text: string | undefined): number | undefined {
  const number = Number(text);
  return text === undefined || Number.isNaN(number) ? undefined : number;
}
