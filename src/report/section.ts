import type { Messages } from '../i18n/messages.ts';
import type { Block } from './document.ts';
import type { ReportInfo } from './info.ts';

/**
 * One part of the report: info in, blocks out, a pure function. Sections open with a heading of level 2; a section that
 * has nothing to say says so, or is left out where it is optional. The figures of a simulated run are marked afterwards, in `render.ts`.
 */
export interface Section {
  readonly name: string;
  /** It may have nothing to show: then it gives no blocks at all. */
  readonly optional?: true;
  /** It shows measured figures, so that all of it is marked when they are simulated. */
  readonly figures: boolean;
  render(info: ReportInfo, words: Messages): readonly Block[];
}
