import type { Section } from './section.ts';
import { conclusion } from './sections/conclusion.ts';
import { engines } from './sections/engines.ts';
import { further } from './sections/further.ts';
import { items } from './sections/items.ts';
import { notes } from './sections/notes.ts';
import { objective } from './sections/objective.ts';
import { quality } from './sections/quality.ts';
import { reproduce } from './sections/reproduce.ts';
import { setup } from './sections/setup.ts';
import { stages } from './sections/stages.ts';

/** Every section, in the order of the document. To add one: write its file in `sections/`, then name it here. */
export const sections: readonly Section[] = [
  conclusion,
  notes,
  objective,
  setup,
  stages,
  items,
  further,
  engines,
  quality,
  reproduce,
];
