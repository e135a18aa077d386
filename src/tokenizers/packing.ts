/** Lists of ids in two pieces of memory, so that they change threads without being copied. */
export interface PackedIds {
  readonly lengths: Int32Array;
  readonly ids: Int32Array;
}

/** What a thread is asked to do; it answers in the order in which it is asked. */
export type Job =
  | { readonly kind: 'encode'; readonly texts: readonly string[] }
  | { readonly kind: 'decode'; readonly packed: PackedIds };

export type Answer =
  | { readonly kind: 'ids'; readonly packed: PackedIds }
  | { readonly kind: 'texts'; readonly texts: readonly string[] }
  | { readonly kind: 'failed'; readonly message: string };

export function pack(lists: readonly (readonly number[])[]): PackedIds {
  const lengths = Int32Array.from(lists, (list) => list.length);
  const ids = new Int32Array(lengths.reduce((sum, length) => sum + length, 0));
  let at = 0;
  for (const list of lists) for (const id of list) ids[at++] = id;
  return { lengths, ids };
}

export function unpack({ lengths, ids }: PackedIds): number[][] {
  let at = 0;
  return Array.from(lengths, (length) => {
    at += length;
    return Array.from(ids.subarray(at - length, at));
  });
}

/** The memory to hand over with packed ids. */
export const memoryOf = ({ lengths, ids }: PackedIds): ArrayBuffer[] => [
  lengths.buffer as ArrayBuffer,
  ids.buffer as ArrayBuffer,
];
