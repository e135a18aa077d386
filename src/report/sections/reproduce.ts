import { stringify } from 'yaml';
import { invoked } from '../../kit/invocation.ts';
import { withoutDefaults } from '../brief-study.ts';
import { type Block, command, heading, muted, paragraph } from '../document.ts';
import { commandText } from '../figures.ts';
import type { Section } from '../section.ts';

/** The commands, and the study file without what is the default anyway. */
export const reproduce: Section = {
  name: 'reproduce',
  figures: false,

  render({ conclusion, workloads, study }, words) {
    const say = words.reproduce;
    const { servingCommand, baselineCommand, verdict } = conclusion;
    const step = (text: string, argv: readonly string[] | null): Block[] =>
      argv && argv.length > 0 ? [paragraph(text), command(commandText(argv))] : [];
    return [
      heading(2, say.heading),
      ...(verdict === 'unmeasured' ? [] : step(say.serve, servingCommand)),
      ...(verdict === 'keep_baseline' ? [] : step(say.serveBaseline, baselineCommand)),
      ...workloads.flatMap(({ options, loadCommand }) => step(say.load(options.name), loadCommand)),
      paragraph(say.study),
      command(invoked('tune study.yaml')),
      {
        kind: 'details',
        summary: say.studyFile,
        blocks: [
          { kind: 'code', language: 'yaml', text: stringify(withoutDefaults(study), { lineWidth: 0 }).trimEnd() },
        ],
      },
      paragraph(muted(say.defaults)),
      paragraph(muted(say.redacted)),
    ];
  },
};
