import { z } from 'zod';
import type { Problem } from '../kit/errors.ts';
import type { DraftOptions } from '../study/init.ts';

/** Options by which `init` and `tune --model` are told what a study is to be made of. */
export const draftShape = {
  engines: z
    .string()
    .min(1)
    .optional()
    .describe('Engines, by commas, each as name or name@version; the first is the baseline; they need not be here'),
  host: z
    .enum(['local', 'uv', 'docker'])
    .default('local')
    .describe('Where and how the named engines are started; uv and docker need their versions'),
  python: z
    .array(z.string().min(1))
    .optional()
    .describe('Interpreter of the environment that holds an engine: vllm=/opt/vllm/bin/python; once for each engine'),
};

/** Options of which every mention counts. */
export const draftRepeatable = ['python'];

interface Given {
  readonly engines?: string | undefined;
  readonly host: 'local' | 'uv' | 'docker';
  readonly python?: readonly string[] | undefined;
}

export const draftProblems = ({ host, engines, python }: Given): readonly Problem[] =>
  host !== 'local' && engines === undefined && python === undefined
    ? [{ place: '--host', message: `${host} needs --engines`, hint: 'name them with their versions: vllm@0.11.0' }]
    : [];

/** What was given, as `draftStudy` takes it. */
export const draftOf = ({ host, engines, python }: Given): DraftOptions => ({
  host,
  ...(engines === undefined
    ? {}
    : { named: engines.split(',').flatMap((name) => (name.trim() === '' ? [] : [name.trim()])) }),
  ...(python === undefined ? {} : { pythons: python }),
});

/** The same as words of a command line. */
export const draftWords = ({ host, engines, python }: Given): readonly string[] => [
  ...(engines === undefined ? [] : ['--engines', engines]),
  ...(host === 'local' ? [] : ['--host', host]),
  ...(python ?? []).flatMap((one) => ['--python', one]),
];
