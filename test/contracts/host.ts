import { describe, expect, it } from 'vitest';
import type { Host, HostedCommand, Place } from '../../src/hosts/host.ts';
import { InputError } from '../../src/kit/errors.ts';
import { findProgram } from '../../src/processes/programs.ts';

/** What every host must do. `env` is an environment in which its own tools, if it needs any, and `sh` are found. */
export function hostContract(
  host: Host,
  env: Readonly<Record<string, string>>,
  place: Place = { engine: 'vllm' },
): void {
  describe(`host ${host.name}`, () => {
    const wrap = async (
      argv: readonly string[],
      more: Readonly<Record<string, string>> = {},
    ): Promise<HostedCommand> => {
      const hosted = host.wrap({ argv, env: { ...env, ...more } }, place);
      await hosted.release?.(); // nothing was started, which is no reason to fail
      return hosted;
    };

    it('has a name that can stand in a study, and a description', () => {
      expect(host.name).toMatch(/^[a-z][a-z0-9_-]*$/);
      expect(host.description.length).toBeGreaterThan(10);
    });

    it('gives a command that can be started, with every argument in its place', async () => {
      const args = ['--model', 'a b', '', '--flag=x"y', '--', '-1', '$(id)', "it's", '--config={"a":1}'];
      const command = { argv: ['sh', ...args], env: { ...env, EXTRA: 'kept' } };
      const before = structuredClone(command);
      const wrapped = host.wrap(command, place);
      await wrapped.release?.();
      expect(findProgram(wrapped.argv[0] ?? '', wrapped.env.PATH)).not.toBeNull();
      expect(wrapped.argv.slice(-args.length)).toEqual(args);
      expect(command).toEqual(before);
    });

    it('keeps values of the environment off the command line, where every user could read them', async () => {
      const { argv, env: given } = await wrap(['sh'], { HF_TOKEN: 'hf_planted', VLLM_API_KEY: 'key_planted' });
      expect(argv.join('\n')).not.toMatch(/planted/);
      expect(given).toMatchObject({ HF_TOKEN: 'hf_planted', VLLM_API_KEY: 'key_planted' });
    });

    it('gives the same command for the same engine, so that it can be started again', async () => {
      const asked = ['sh', '-c', 'true'];
      expect((await wrap(asked)).argv).toEqual((await wrap(asked)).argv);
    });

    it('refuses where what it needs is not there, with a remedy', () => {
      const attempt = (): unknown => host.wrap({ argv: ['sh'], env: { ...env, PATH: '/nowhere' } }, place);
      expect(attempt).toThrow(InputError);
      try {
        attempt();
      } catch (error) {
        for (const problem of (error as InputError).problems) expect(problem.hint).toBeTruthy();
      }
    });
  });
}
