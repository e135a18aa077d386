import { describe, expect, it } from 'vitest';
import type { Host } from '../../src/hosts/host.ts';
import { InputError } from '../../src/kit/errors.ts';
import { findProgram } from '../../src/processes/programs.ts';

/** What every host must do. `env` is an environment in which its own tools, if it needs any, and `sh` are found. */
export function hostContract(host: Host, env: Readonly<Record<string, string>>): void {
  describe(`host ${host.name}`, () => {
    it('has a name that can stand in a study, and a description', () => {
      expect(host.name).toMatch(/^[a-z][a-z0-9_-]*$/);
      expect(host.description.length).toBeGreaterThan(10);
    });

    it('gives a command that can be started, with every argument in its place', () => {
      const args = ['--model', 'a b', '', '--flag=x"y', '--', '-1'];
      const command = { argv: ['sh', ...args], env: { ...env, EXTRA: 'kept' } };
      const before = structuredClone(command);
      const wrapped = host.wrap(command);
      expect(findProgram(wrapped.argv[0] ?? '', wrapped.env.PATH)).not.toBeNull();
      expect(wrapped.argv.slice(-args.length)).toEqual(args);
      expect(command).toEqual(before);
    });

    it('refuses a program that is not there, with a remedy', () => {
      const attempt = (): unknown => host.wrap({ argv: ['no-such-engine-anywhere', 'serve'], env });
      expect(attempt).toThrow(InputError);
      try {
        attempt();
      } catch (error) {
        for (const problem of (error as InputError).problems) expect(problem.hint).toBeTruthy();
      }
    });
  });
}
