import { accessSync, constants, copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { InputError } from '../kit/errors.ts';
import { makeFolder, watchFile } from '../kit/files.ts';
import { type JudgedImport, judgedImport } from '../records/imported.ts';
import type { Machine, RunData } from '../records/run.ts';
import type { SearchSpace } from '../records/space.ts';
import type { StudySpec } from '../records/study.ts';
import type { FinishedTrial, Trial } from '../records/trial.ts';
import { databaseFile, folderReplaced, guarded } from './guarded.ts';
import { migrations } from './migrations.ts';

/** What is known when a run begins. */
export interface RunStart {
  readonly study: StudySpec;
  /** The study file's text as it was, comments and all. */
  readonly studyText: string;
  readonly space: SearchSpace;
  readonly machine: Machine;
  readonly weights?: RunData['weights'];
  readonly servetuneVersion: string;
  readonly simulated: boolean;
  /** As in `RunData`. */
  readonly uncalibrated?: true;
  readonly beganAt: string;
}

/**
 * One run in SQLite (`run.db`, WAL). Raw records and logs are files beside it. Everything that is written is durable
 * when the call returns; a kill at any moment loses at most the trial that was running. Nothing more is written once the
 * database was removed or replaced under its name: a ServetuneError `run_folder_replaced` is thrown instead.
 */
export interface Store extends Disposable {
  start(): RunStart;
  /** Trials that ended, in the order of their ids. */
  finished(): readonly FinishedTrial[];
  /** Trials that began and have not ended. */
  running(): readonly Trial[];
  begin(trial: Trial): void;
  finish(trial: FinishedTrial): void;
  /** Forgets trials that began and never ended: those of a process that was killed. Answers which. */
  forgetRunning(): readonly Trial[];
  /** Highest id and engine start so far; 0 when there is none. */
  counters(): { readonly trial: number; readonly engineStart: number };
  /** Marks the run as complete, or as open again (null). */
  setEnded(at: string | null): void;
  /** Everything that a report is made of. */
  runData(): RunData;
  /**
   * Keeps results of other tools, all or none. A result from the same place of the same file is not kept twice: answers
   * for each whether it is new.
   */
  addImports(results: readonly JudgedImport[]): readonly boolean[];
  /** Imported results in the order in which they came. */
  imports(): readonly JudgedImport[];
}

/** Whether a folder holds a run. */
export const isRun = (dir: string): boolean => existsSync(join(dir, databaseFile));

/** Creates the database of a new run in an existing folder. Throws a ServetuneError when the disk refuses. */
export function createStore(dir: string, start: RunStart): Store {
  return guarded(dir, () => {
    let db: Database.Database | undefined;
    try {
      db = open(dir);
      migrate(db, dir);
      db.prepare('INSERT INTO meta VALUES (?, ?)').run('start', JSON.stringify(start));
      return storeOver(db, dir);
    } catch (error) {
      // A run without its beginning could be neither resumed nor begun again.
      db?.close();
      for (const suffix of ['', '-wal', '-shm']) rmSync(join(dir, databaseFile + suffix), { force: true });
      throw error;
    }
  });
}

/** Opens the run in a folder. Throws an InputError when there is none, or when it is not one of ours. */
export function openStore(dir: string, { readonly = false } = {}): Store {
  if (!isRun(dir)) {
    throw new InputError([
      { place: dir, message: 'holds no run (no run.db)', hint: 'give the folder of a run, or its name under ./runs' },
    ]);
  }
  return guarded(dir, () => {
    if (readonly) {
      const db = open(readable(dir));
      db.pragma('query_only = ON');
      return storeOver(db, dir);
    }
    const db = open(dir);
    migrate(db, dir);
    return storeOver(db, dir);
  });
}

/**
 * Opens the run in a folder to import into it. Where there is none yet, one is made that holds imported results and
 * nothing else: it has no study, so `start` and `runData` of it throw an InputError that says so.
 */
export function openImports(
  dir: string,
  begun: { readonly servetuneVersion: string; readonly beganAt: string },
): Store {
  if (isRun(dir)) return openStore(dir);
  if (existsSync(dir) && (!statSync(dir).isDirectory() || readdirSync(dir).length > 0)) {
    throw new InputError([
      { place: dir, message: 'is there, and is no run', hint: 'choose another folder with --run' },
    ]);
  }
  return guarded(dir, () => {
    makeFolder(dir);
    const db = open(dir);
    migrate(db, dir);
    db.prepare('INSERT INTO meta VALUES (?, ?)').run('imports_only', JSON.stringify(begun));
    return storeOver(db, dir);
  });
}

/** The folder itself, or, where SQLite could not even make the small files that reading in WAL mode needs, a copy. */
function readable(dir: string): string {
  try {
    accessSync(dir, constants.W_OK);
    return dir;
  } catch {
    const copy = mkdtempSync(join(tmpdir(), 'servetune-run-'));
    process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
    for (const suffix of ['', '-wal']) {
      if (existsSync(join(dir, databaseFile + suffix))) {
        copyFileSync(join(dir, databaseFile + suffix), join(copy, databaseFile + suffix));
      }
    }
    return copy;
  }
}

function open(dir: string): Database.Database {
  const db = new Database(join(dir, databaseFile));
  db.pragma('journal_mode = WAL');
  // A finished trial must survive a power cut; there is one write every few seconds at most.
  db.pragma('synchronous = FULL');
  db.pragma('busy_timeout = 5000');
  return db;
}

function migrate(db: Database.Database, dir: string): void {
  const row = db.prepare('PRAGMA user_version').get() as { user_version: number };
  if (row.user_version > migrations.length) {
    throw new InputError([
      { place: dir, message: 'was written by a newer servetune', hint: 'use that version, or a newer one' },
    ]);
  }
  for (let version = row.user_version; version < migrations.length; version++) {
    db.exec(`BEGIN; ${migrations[version]}; PRAGMA user_version = ${version + 1}; COMMIT;`);
  }
}

function storeOver(db: Database.Database, dir: string): Store {
  const isThere = watchFile(join(dir, databaseFile));
  const write = (work: () => unknown): void => {
    if (!isThere()) throw folderReplaced(dir, databaseFile);
    guarded(dir, work);
  };
  const value = (key: string): unknown => {
    const row = db.prepare('SELECT value FROM meta WHERE key = ?').get(key) as { value: string } | undefined;
    return row === undefined ? undefined : JSON.parse(row.value);
  };
  const trials = <T>(where: string): readonly T[] =>
    (db.prepare(`SELECT trial FROM trials WHERE ${where} ORDER BY id`).all() as { trial: string }[]).map(
      (row) => JSON.parse(row.trial) as T,
    );

  const start = (): RunStart => {
    const found = value('start');
    if (found === undefined && value('imports_only') !== undefined) {
      throw new InputError([
        {
          place: dir,
          message: 'holds nothing but imported results, and no study',
          hint: 'a study needs a folder of its own; servetune import --run RUN FILE adds results to a study’s run',
        },
      ]);
    }
    if (found === undefined) {
      throw new InputError([
        { place: dir, message: 'its database is incomplete', hint: 'remove the folder and start the study again' },
      ]);
    }
    return found as RunStart;
  };
  const finished = (): readonly FinishedTrial[] => trials('fate IS NOT NULL');
  const running = (): readonly Trial[] => trials('fate IS NULL');

  return {
    start,
    finished,
    running,
    begin(trial) {
      write(() => db.prepare('INSERT INTO trials VALUES (?, NULL, ?)').run(trial.id, JSON.stringify(trial)));
    },
    finish(trial) {
      write(() =>
        db
          .prepare('UPDATE trials SET fate = ?, trial = ? WHERE id = ?')
          .run(trial.fate, JSON.stringify(trial), trial.id),
      );
    },
    forgetRunning() {
      const left = running();
      write(() => db.prepare('DELETE FROM trials WHERE fate IS NULL').run());
      return left;
    },
    counters() {
      const all = [...finished(), ...running()];
      return {
        trial: all.reduce((most, t) => Math.max(most, t.id), 0),
        engineStart: all.reduce((most, t) => Math.max(most, t.engineStart), 0),
      };
    },
    setEnded(at) {
      write(() => db.prepare('INSERT OR REPLACE INTO meta VALUES (?, ?)').run('ended', JSON.stringify(at)));
    },
    runData() {
      const { study, space, machine, weights, servetuneVersion, simulated, uncalibrated, beganAt } = start();
      const ended = value('ended') as string | null | undefined;
      return {
        study,
        space,
        machine,
        ...(weights === undefined ? {} : { weights }),
        servetuneVersion,
        simulated,
        ...(uncalibrated ? { uncalibrated } : {}),
        beganAt,
        trials: finished(),
        ...(ended ? { endedAt: ended } : {}),
      };
    },
    addImports(results) {
      return guarded(dir, () => {
        const insert = db.prepare(
          'INSERT INTO imports (sha256, line, col, result) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
        );
        db.exec('BEGIN IMMEDIATE');
        try {
          const added = results.map(
            (result) =>
              insert.run(result.source.sha256, result.source.line, result.source.column, JSON.stringify(result))
                .changes > 0,
          );
          db.exec('COMMIT');
          return added;
        } catch (error) {
          db.exec('ROLLBACK');
          throw error;
        }
      });
    },
    imports() {
      return guarded(dir, () => {
        // A run that is only read is not brought up to date, and an old one has no such table.
        if (!db.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'imports'").get()) return [];
        const rows = db.prepare('SELECT result FROM imports ORDER BY id').all() as { result: string }[];
        return rows.map((row) => judgedImport.parse(JSON.parse(row.result)));
      });
    },
    [Symbol.dispose]() {
      db.close();
    },
  };
}
