import { InputError } from '../../kit/errors.ts';
import type { Tokenizer } from '../../tokenizers/tokenizer.ts';
import type { Dataset, Making } from '../dataset.ts';

/** The tokenizer that a dataset cannot do without. Throws an InputError where there is none. */
export function needsTokenizer({ tokenizer }: Making, { name }: Pick<Dataset, 'name'>): Tokenizer {
  if (tokenizer) return tokenizer;
  throw new InputError([
    {
      place: '--skip-tokenizer-init',
      message: `the dataset ${name} cannot count the tokens of its prompts without a tokenizer`,
      hint: 'leave --skip-tokenizer-init out, and name a tokenizer with --tokenizer',
    },
  ]);
}
