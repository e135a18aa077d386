/**
 * The schema's history. A database's `user_version` is the number of entries that it has seen; new entries are added at
 * the end and old ones never change, so a run of any age opens.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL            -- JSON
  ) STRICT;
  CREATE TABLE trials (
    id    INTEGER PRIMARY KEY,     -- from 1, in the order in which they began
    fate  TEXT,                    -- null while it runs; then immutable
    trial TEXT NOT NULL            -- JSON: Trial, then FinishedTrial
  ) STRICT;
  CREATE TRIGGER finished_is_immutable BEFORE UPDATE ON trials WHEN old.fate IS NOT NULL
  BEGIN SELECT RAISE(ABORT, 'a finished trial is immutable'); END;
  `,
  `
  CREATE TABLE imports (
    id     INTEGER PRIMARY KEY,    -- from 1, in the order in which they came
    sha256 TEXT NOT NULL,          -- of the file
    line   INTEGER NOT NULL,       -- where the result begins in it
    col    INTEGER NOT NULL,
    result TEXT NOT NULL,          -- JSON: JudgedImport
    UNIQUE (sha256, line, col)
  ) STRICT;
  `,
];
