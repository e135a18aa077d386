import type { Endpoint } from './endpoint.ts';
import { openai } from './openai.ts';
import { openaiChat } from './openai-chat.ts';

/** Every request dialect. To add one: write its file beside this one, then name it here. */
export const endpoints: readonly Endpoint[] = [openaiChat, openai];
