/** A piece of running text. A plain string is text, never markup; the printers escape it. */
export type Inline =
  | string
  | { readonly kind: 'strong' | 'code' | 'muted'; readonly text: string }
  /** A figure that is good or bad news; the sign stands in the text, so the colour only repeats it. */
  | { readonly kind: 'tone'; readonly tone: Tone; readonly text: string };

export type Tone = 'good' | 'bad' | 'neutral';
export type Text = string | readonly Inline[];

export interface Heading {
  readonly kind: 'heading';
  /** 1 is the document's title; sections are 2, and no level is skipped. */
  readonly level: 1 | 2 | 3 | 4;
  readonly text: string;
  /** Said beside the text, and left out of the contents: that what follows is simulated. */
  readonly mark?: string;
}

export interface Table {
  readonly kind: 'table';
  /** What the table shows: read out by screen readers, printed small above it. */
  readonly caption: string;
  readonly columns: readonly { readonly title: string; readonly numeric?: boolean }[];
  /** The first cell of a row names the row. */
  readonly rows: readonly (readonly Text[])[];
}

/** A few figures that must be seen first. */
export interface Figures {
  readonly kind: 'figures';
  readonly items: readonly {
    readonly label: string;
    readonly value: string;
    readonly note?: string;
    readonly tone?: Tone;
  }[];
}

export type Block =
  | Heading
  | Table
  | Figures
  | { readonly kind: 'paragraph'; readonly text: Text }
  | { readonly kind: 'list'; readonly ordered?: boolean; readonly items: readonly Text[] }
  /** Verbatim text: a command to copy, a result block, a log. */
  | {
      readonly kind: 'code';
      readonly language: 'sh' | 'text' | 'yaml';
      readonly text: string;
      readonly prominent?: boolean;
    }
  | { readonly kind: 'details'; readonly summary: Text; readonly blocks: readonly Block[] }
  | { readonly kind: 'callout'; readonly tone: 'note' | 'warning'; readonly blocks: readonly Block[] }
  /** `svg` is trusted: made by `charts/`, which escapes what it draws. `file` is its name beside a Markdown report. */
  | {
      readonly kind: 'image';
      readonly file: string;
      readonly svg: string;
      readonly alt: string;
      readonly caption: string;
    };

export interface Document {
  /** BCP 47 tag of the language it is written in. */
  readonly lang: string;
  readonly title: string;
  readonly blocks: readonly Block[];
}

export const heading = (level: Heading['level'], text: string): Heading => ({ kind: 'heading', level, text });
export const paragraph = (...text: readonly Inline[]): Block => ({ kind: 'paragraph', text });
export const strong = (text: string): Inline => ({ kind: 'strong', text });
export const code = (text: string): Inline => ({ kind: 'code', text });
export const muted = (text: string): Inline => ({ kind: 'muted', text });
export const command = (text: string, prominent = false): Block => ({ kind: 'code', language: 'sh', text, prominent });

/** The pieces of a text, a plain string being one piece. */
export const pieces = (text: Text): readonly Inline[] => (typeof text === 'string' ? [text] : text);

/** The bare characters of a text. */
export const plainText = (text: Text): string =>
  pieces(text)
    .map((piece) => (typeof piece === 'string' ? piece : piece.text))
    .join('');
