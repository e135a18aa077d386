import { z } from 'zod';
import { exitCodes, InputError } from '../kit/errors.ts';
import { defineCommand } from './command.ts';
import { type ReportFormat, reportFormats, writeReport } from './report-files.ts';
import { runDirOf } from './run-dir.ts';

export default defineCommand({
  name: 'report',
  about: 'Every figure is computed from what the run stored; nothing is measured.',
  positional: { key: 'run', label: 'RUN', optional: false },
  options: z.strictObject({
    run: z.string().min(1).describe('Folder of a run, or its name under ./runs'),
    format: z
      .string()
      .default(reportFormats.join(','))
      .describe(`Which of ${reportFormats.join(', ')}, separated by commas`),
    out: z.string().min(1).optional().describe('Folder to write to; default: the run’s own'),
  }),
  examples: [
    ['servetune report quickstart', 'the run ./runs/quickstart'],
    ['servetune report /data/runs/h100 --format json --out /tmp', 'as JSON, elsewhere'],
  ],

  async run({ run, format, out }, terminal) {
    const formats = format.split(',').map((f) => f.trim());
    const unknown = formats.filter((f) => !(reportFormats as readonly string[]).includes(f));
    if (unknown.length > 0) {
      throw new InputError([
        {
          place: '--format',
          message: `there is no format ${unknown.join(', ')}`,
          hint: `formats: ${reportFormats.join(', ')}`,
        },
      ]);
    }
    const paths = writeReport(runDirOf(run), {
      formats: formats as ReportFormat[],
      ...(out === undefined ? {} : { outDir: out }),
    });
    for (const path of paths) terminal.print(path);
    return exitCodes.done;
  },
});
