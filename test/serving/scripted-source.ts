import type { Generation, TokenSink, TokenSource } from '../../src/serving/source.ts';

/** One generation as the source sees it. */
export interface Started {
  readonly generation: Generation;
  readonly sink: TokenSink;
  cancelled: boolean;
}

export interface ScriptedSource extends TokenSource {
  readonly started: Started[];
}

/**
 * A source whose tokens are characters (id = code point, below 128) and which answers with the words of `script`, one
 * by one in later turns of the loop, then goes round again. With `script` undefined it gives no token by itself: the
 * test drives the sinks in `started`.
 */
export function scriptedSource(script: readonly string[] | undefined): ScriptedSource {
  const started: Started[] = [];
  return {
    started,
    modelName: 'scripted',
    maxModelLen: 100,
    trainContext: 200,
    vocabSize: 128,
    version: 'scripted 1',
    settings: { threads: '1' },
    tokenize: (text, addSpecialTokens) =>
      Uint32Array.from(`${addSpecialTokens ? '^' : ''}${text}`, (c) => c.charCodeAt(0)),
    detokenize: (tokens) => String.fromCharCode(...tokens),
    chatPrompt: (messages) =>
      Uint32Array.from(messages.map(({ role, content }) => `${role}:${content}`).join('|'), (c) => c.charCodeAt(0)),
    start(generation, sink) {
      const one: Started = { generation, sink, cancelled: false };
      started.push(one);
      const step = (i: number): void => {
        if (one.cancelled || script === undefined) return;
        if (i >= script.length && !generation.ignoreEos) {
          sink.end('stop');
          return;
        }
        sink.token(script[i % script.length] as string);
        if (one.cancelled) return;
        if (i + 1 >= generation.maxTokens) sink.end('length');
        else setImmediate(step, i + 1);
      };
      setImmediate(step, 0);
      return {
        cancel() {
          one.cancelled = true;
        },
      };
    },
    stats: () => ({ running: started.length, waiting: 2, steps: 3, kvCacheUsage: 0.25 }),
  };
}
