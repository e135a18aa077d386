import { existsSync } from 'node:fs';
import pc from 'picocolors';
import { z } from 'zod';
import { type ExitCode, exitCodes, InputError } from '../kit/errors.ts';
import { invoked } from '../kit/invocation.ts';
import { formatList } from '../kit/words.ts';
import type { Reaped } from '../processes/reap.ts';
import { isRun } from '../store/store.ts';
import type { Finding, Mark } from '../study/doctor/finding.ts';
import { type Reaping, reapIn } from '../study/doctor/leftovers.ts';
import { type Examination, examine } from '../study/doctor.ts';
import { readStudy } from '../study/read.ts';
import { defineCommand } from './command.ts';
import { runDirOf } from './run-dir.ts';
import type { Terminal } from './terminal.ts';

export default defineCommand({
  name: 'doctor',
  about: [
    'Looks at this machine as a study would meet it: GPUs and who holds their memory, engines and their versions, limits,',
    'disks, proxies, caches, token, clock. Nothing is changed and nothing is loaded onto a GPU. Each problem comes with its',
    'remedy. Ends with 0 when an engine works here and nothing would stop or falsify a study, else with 3.',
    '',
    'With a study it also looks at what that study needs: each engine where it would be started, its interpreter or image,',
    'its settings on these GPUs, and its weights. Nothing is installed, pulled or downloaded.',
    '',
    'With --reap it only ends engines that earlier runs have left behind, by the number and the start time that were',
    'recorded of them, in the run that is named or in all under ./runs; a run that is at work is passed over.',
  ].join('\n'),
  positional: { key: 'subject', label: 'STUDY.yaml|RUN', optional: true },
  options: z.strictObject({
    subject: z
      .string()
      .min(1)
      .optional()
      .describe('A study file; with --reap a run, by its folder or its name under ./runs'),
    reap: z.boolean().default(false).describe('End engines that earlier runs have left behind, and say which'),
    model: z.string().min(1).optional().describe('A model that is to be served here: is it there, and does it fit?'),
    json: z.boolean().default(false).describe('Print what was found as JSON'),
  }),
  examples: [
    ['servetune doctor', 'could a study run here?'],
    ['servetune doctor --model Qwen/Qwen3-14B', 'and with this model?'],
    ['servetune doctor study.yaml', 'could this study run here?'],
    ['servetune doctor --reap', 'after a power cut, or when GPU memory does not come back'],
  ],

  check: ({ reap: reaping, subject, model }) => [
    ...(subject !== undefined && !reaping && !existsSync(subject)
      ? [
          {
            place: subject,
            message: 'there is no such study file',
            hint: `to end what a run has left: ${invoked('doctor --reap RUN')}`,
          },
        ]
      : []),
    ...(subject !== undefined && !reaping && model !== undefined
      ? [
          {
            place: '--model',
            message: 'contradicts the study',
            hint: 'a study names its model itself: give one of the two',
          },
        ]
      : []),
    ...(model !== undefined && reaping
      ? [{ place: '--model', message: 'has nothing to do with --reap', hint: 'give one of the two' }]
      : []),
  ],

  async run({ subject, reap: reaping, model, json }, terminal): Promise<ExitCode> {
    if (reaping) return await reapRuns(subject, json, terminal);
    const { environment, signal } = terminal;
    const found = await examine({
      environment,
      signal,
      ...(model === undefined ? {} : { model }),
      ...(subject === undefined ? {} : { study: readStudy(subject) }),
      onLook: (what) => terminal.status(`looking at ${what}`),
    });
    terminal.status('');
    if (json) terminal.print(JSON.stringify(found, null, 2));
    else for (const line of examinationLines(found)) terminal.print(line);
    return found.ready ? exitCodes.done : exitCodes.invalidMeasurement;
  },
});

async function reapRuns(named: string | undefined, json: boolean, terminal: Terminal): Promise<ExitCode> {
  const folder = named === undefined ? 'runs' : runDirOf(named);
  if (named !== undefined && !isRun(folder)) {
    throw new InputError([
      { place: named, message: 'holds no run', hint: 'give the folder of a run, or its name under ./runs' },
    ]);
  }
  const reaping = await reapIn(folder, terminal.environment);
  if (json) terminal.print(JSON.stringify(reaping, null, 2));
  else for (const line of reapingLines(reaping, folder)) terminal.print(line);
  const failed =
    reaping.processes.some(({ survivors }) => survivors.length > 0) ||
    reaping.containers.some(({ failure }) => failure !== undefined);
  return failed ? exitCodes.failed : exitCodes.done;
}

function reapingLines({ processes, containers, passedOver }: Reaping, folder: string): readonly string[] {
  const lines = [
    ...processes.map(reapedLine),
    ...containers.map(({ dir, id, failure }) => `${dir}: ${failure ?? `removed the container ${id.slice(0, 12)}`}`),
  ];
  const passed = passedOver.map(({ dir, reason }) => `${dir}: passed over: ${reason}`);
  const others = passed.length === 0 ? `the runs in ${folder}` : `the other runs in ${folder}`;
  const nothing = passedOver.some(({ dir }) => dir === folder) ? [] : [`nothing is left of ${others}`];
  return [...(lines.length === 0 ? nothing : lines), ...passed];
}

function reapedLine({ dir, running, survivors, forced }: Reaped): string {
  const ended = running.map(({ pid }) => pid).filter((pid) => !survivors.includes(pid));
  const how = forced ? ' (by SIGKILL)' : '';
  const done = ended.length === 0 ? [] : [`ended pid ${ended.join(', ')}${how}`];
  const left = survivors.length === 0 ? [] : [`pid ${survivors.join(', ')} cannot be ended: restart the machine`];
  return `${dir}: ${[...done, ...left].join('; ')}`;
}

const marks: Readonly<Record<Mark, string>> = {
  ok: pc.green('ok'),
  note: pc.yellow('note'),
  problem: pc.red('problem'),
};
const widest = 'problem'.length;

/** An examination for people. */
export function examinationLines({ ready, engines, sections }: Examination): readonly string[] {
  const findings = sections.flatMap((section) => section.findings);
  const left = Math.max(...findings.map(({ what }) => what.length));
  const problems = findings.filter(({ mark }) => mark === 'problem').length;
  const working = engines.filter(({ works }) => works).map(({ name, version }) => `${name} ${version}`);
  return [
    ...sections.flatMap(({ title, findings: own }) => [
      pc.bold(title),
      ...own.flatMap((finding) => findingLines(finding, left)),
      '',
    ]),
    ready
      ? `A study could run here${working.length === 0 ? '' : `, with ${formatList(working, 'en')}`}.`
      : `No study should run here yet: ${problems} ${problems === 1 ? 'problem' : 'problems'}.`,
  ];
}

function findingLines({ mark, what, message, hint }: Finding, left: number): readonly string[] {
  const padding = ' '.repeat(widest - mark.length);
  const line = `  ${marks[mark]}${padding}  ${what.padEnd(left)}  ${message}`;
  return hint === undefined ? [line] : [line, `${' '.repeat(widest + left + 6)}${pc.dim(hint)}`];
}
