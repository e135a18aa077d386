import type { RecordList, RequestRecord } from '../records/request.ts';

/** A figure that is made of records one after the other, so that they need not be in memory together. */
export interface Fold<Result> {
  add(record: RequestRecord): void;
  /** Asked for once, after the last record. */
  result(): Result;
}

/** Shows every record to every fold, in one pass. */
export function feed(records: RecordList, ...folds: readonly Pick<Fold<unknown>, 'add'>[]): void {
  for (const record of records) {
    for (const one of folds) one.add(record);
  }
}

/** What one fold makes of the records. */
export function fold<Result>(records: RecordList, one: Fold<Result>): Result {
  feed(records, one);
  return one.result();
}

/** The same fold, of the ok requests alone. */
export const ofOk = <Result>(all: Fold<Result>): Fold<Result> => ({
  add(record) {
    if (record.outcome === 'ok') all.add(record);
  },
  result: () => all.result(),
});
