import { expect, it } from 'vitest';
import { accessOf } from '../../../src/cli/bench/reach.ts';
import { plan } from './plan.ts';

const headers = (key: string | undefined, ...argv: string[]) => accessOf(plan(...argv), key).headers;

it('a key from the environment gives way to the URL, and both to --header', () => {
  const url = ['--base-url', 'http://me:a%40b@h:1'];
  expect(headers(undefined)).toEqual({});
  expect(headers('')).toEqual({});
  expect(headers('k')).toEqual({ authorization: 'Bearer k' });
  expect(headers('k', ...url)).toEqual({ authorization: `Basic ${Buffer.from('me:a@b').toString('base64')}` });
  expect(headers('k', ...url, '--header', 'AUTHORIZATION=x', 'X-A=b')).toEqual({ authorization: 'x', 'x-a': 'b' });
});

it('the base URL has neither user nor password', () => {
  expect(accessOf(plan('--base-url', 'http://me:pass@h:1/api?x=1'), 'k').baseUrl.href).toBe('http://h:1/api?x=1');
  expect(accessOf(plan('--base-url', 'http://me@h:1'), undefined).baseUrl.href).toBe('http://h:1/');
});
