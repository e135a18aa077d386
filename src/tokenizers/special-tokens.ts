import { z } from 'zod';

type PostProcessor = null | undefined | { readonly type: string };

const template = z.looseObject({
  single: z.array(z.looseObject({ SpecialToken: z.looseObject({ id: z.string() }).optional() })),
  special_tokens: z.record(z.string(), z.looseObject({ ids: z.array(z.number()) })),
});
const sequence = z.looseObject({ processors: z.array(z.looseObject({ type: z.string() })) });

/** How many special tokens the `post_processor` of a `tokenizer.json` adds to a single text; null for unknown kinds. */
export function specialTokensAdded(postProcessor: PostProcessor): number | null {
  switch (postProcessor?.type) {
    case undefined:
    case 'ByteLevel':
      return 0;
    case 'BertProcessing':
    case 'RobertaProcessing':
      return 2;
    case 'Sequence': {
      const parsed = sequence.safeParse(postProcessor);
      if (!parsed.success) return null;
      return parsed.data.processors
        .map(specialTokensAdded)
        .reduce((sum, count) => (sum === null || count === null ? null : sum + count), 0);
    }
    case 'TemplateProcessing': {
      const parsed = template.safeParse(postProcessor);
      if (!parsed.success) return null;
      const { single, special_tokens } = parsed.data;
      return single.reduce((sum, { SpecialToken }) => {
        return sum + (SpecialToken ? (special_tokens[SpecialToken.id]?.ids.length ?? 0) : 0);
      }, 0);
    }
    default:
      return null;
  }
}
