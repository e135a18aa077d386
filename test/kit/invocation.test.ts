import { describe, expect, it } from 'vitest';
import { type Called, invocationOf, ownArguments } from '../../src/kit/invocation.ts';

const cases: readonly (readonly [string, Called, string])[] = [
  [
    'installed for all, by its name',
    {
      script: '/opt/npm/bin/servetune',
      root: '/opt/npm/lib/node_modules/servetune',
      cwd: '/home/me',
      environment: { PATH: '/usr/bin:/opt/npm/bin' },
    },
    'servetune',
  ],
  [
    'installed for all, by a path',
    {
      script: '/opt/npm/lib/node_modules/servetune/bin/servetune.cjs',
      root: '/opt/npm/lib/node_modules/servetune',
      cwd: '/home/me',
      environment: { PATH: '/usr/bin' },
    },
    'servetune',
  ],
  [
    'a clone, by its file',
    { script: '/src/servetune/bin/servetune.cjs', root: '/src/servetune', cwd: '/src/servetune', environment: {} },
    'npx servetune',
  ],
  [
    'a clone that is linked into PATH',
    { script: '/opt/npm/bin/servetune', root: '/src/servetune', cwd: '/', environment: { PATH: '/opt/npm/bin' } },
    'servetune',
  ],
  [
    'a dependency, through npx, which puts it on PATH for that time only',
    {
      script: '/p/node_modules/.bin/servetune',
      root: '/p/node_modules/servetune',
      cwd: '/p',
      environment: { PATH: '/p/node_modules/.bin:/usr/bin', npm_command: 'exec' },
    },
    'npx servetune',
  ],
  [
    'a dependency, by its path',
    {
      script: '/p/node_modules/.bin/servetune',
      root: '/p/node_modules/servetune',
      cwd: '/p/studies',
      environment: { PATH: '/usr/bin' },
    },
    'npx servetune',
  ],
];

describe('how the program is called again', () => {
  it.each(cases)('%s', (_, called, expected) => {
    expect(invocationOf(called).join(' ')).toBe(expected);
  });

  it('is known again, in both ways', () => {
    expect(ownArguments(['npx', 'servetune', 'serve', '--port', '1'])).toEqual(['serve', '--port', '1']);
    expect(ownArguments(['servetune', 'serve'])).toEqual(['serve']);
    expect(ownArguments(['npx', 'other'])).toBeUndefined();
    expect(ownArguments(['vllm', 'serve'])).toBeUndefined();
  });
});
