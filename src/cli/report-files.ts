import { join } from 'node:path';
import { InputError, systemCode } from '../kit/errors.ts';
import { writeFileAtomic } from '../kit/files.ts';
import { invoked } from '../kit/invocation.ts';
import { renderReport } from '../report/render.ts';
import { openStore } from '../store/store.ts';

export const reportFormats = ['md', 'html', 'json'] as const;
export type ReportFormat = (typeof reportFormats)[number];

/** Writes the report of a run into a folder; answers the paths. Throws an InputError when the folder refuses. */
export function writeReport(
  runDir: string,
  { formats, outDir = runDir }: { readonly formats: readonly ReportFormat[]; readonly outDir?: string },
): readonly string[] {
  using store = openStore(runDir, { readonly: true });
  return renderReport(store.runData(), { lang: 'en', formats }).map(({ name, content }) => {
    const path = join(outDir, name);
    try {
      writeFileAtomic(path, content);
    } catch (error) {
      const full = systemCode(error) === 'ENOSPC';
      throw new InputError([
        {
          place: path,
          message: full ? 'the disk is full' : `cannot be written (${systemCode(error)})`,
          hint: `${full ? 'free some space' : 'choose another folder with --out'}, then: ${invoked(`report ${runDir}`)}`,
        },
      ]);
    }
    return path;
  });
}
