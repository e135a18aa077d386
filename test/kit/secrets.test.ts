import { describe, expect, it } from 'vitest';
import { hideDeep, hideSecrets, isSecretName, secretsInEnvironment } from '../../src/kit/secrets.ts';

const hide = (text: string): string => hideSecrets(text);

describe('what is hidden in a text', () => {
  it.each([
    ["--api-key 'of several words' --port 1", "--api-key '<redacted>' --port 1"],
    ['--hf-token "of several words" x', '--hf-token "<redacted>" x'],
    ["--api-key 'not closed", "--api-key '<redacted> closed"],
    ['extra_args=--hf-token plainword', 'extra_args=--hf-token <redacted>'],
    ['--api-key <redacted-2> --port 1', '--api-key <redacted-2> --port 1'],
  ])('%j becomes %j', (before, after) => {
    expect(hide(before)).toBe(after);
  });

  it('is every known secret, where it stands by itself', () => {
    expect(hideSecrets('logged in as plainword (plainwords, xplainword)', ['plainword'])).toBe(
      'logged in as <redacted> (plainwords, xplainword)',
    );
    expect(hideSecrets('a+b(c) and a+b(c)', ['a+b(c)'])).toBe('<redacted> and <redacted>');
  });

  it('leaves JSON that it stands in whole', () => {
    const said = {
      message: 'api_key="s3cret", token=s3cretvalue\\n --api-key "s3cret"',
      url: 'http://me:s3cret@host/',
    };
    const text = hide(JSON.stringify({ inner: JSON.stringify(said) }));
    expect(text).not.toContain('token=s3cretvalue');
    expect(() => JSON.parse((JSON.parse(text) as { inner: string }).inner)).not.toThrow();
  });
});

describe('what is hidden in a value', () => {
  it('is every word behind a secret flag, up to the next flag', () => {
    expect(hideDeep(['serve', '--api-key', 'a', 'b c', '-tp', '2', '--hf-token=x y', 'm'], hide)).toEqual([
      'serve',
      '--api-key',
      '<redacted>',
      '<redacted>',
      '-tp',
      '2',
      '--hf-token=<redacted>',
      'm',
    ]);
  });
});

it('knows secret variables by their names, and takes no short word for a secret', () => {
  const environment = {
    HF_TOKEN: 'plainword',
    OPENAI_API_KEY: 'of several words',
    GITHUB_TOKEN: 'none',
    HOME: '/home/x',
    A_TOKEN: 'abc',
  };
  expect(secretsInEnvironment(environment)).toEqual(['of several words', 'plainword']);
  expect(['HF_TOKEN', '--api-key', 'password', 'AWS_SECRET_ACCESS_KEY'].every(isSecretName)).toBe(true);
  expect(['eos_token', 'max_tokens', 'TOKENIZERS_PARALLELISM', 'key'].some(isSecretName)).toBe(false);
});
