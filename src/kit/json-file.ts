import { readFile } from 'node:fs/promises';
import type { z } from 'zod';

/** A small JSON file of this program's own; null where it is missing, cut off or of another form. */
export async function readJson<S extends z.ZodType>(path: string, schema: S): Promise<z.infer<S> | null> {
  try {
    return schema.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    return null;
  }
}
