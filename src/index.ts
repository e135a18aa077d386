// The library's surface: re-exports and nothing else.
export { exitCodes, InputError, Interrupted, type Problem, ServetuneError } from './kit/errors.ts';
export { type LoadHooks, type LoadPlan, type LoadResult, type LoadTarget, runLoad } from './load/runner.ts';
export { resultBlock } from './metrics/result-block.ts';
export { summarize } from './metrics/summary.ts';
export type { RecordList, RequestRecord, RequestSpec } from './records/request.ts';
export type { RunData } from './records/run.ts';
export type { Configuration, Settings } from './records/settings.ts';
export type { StudySpec } from './records/study.ts';
export type { ClientHealth, Distribution, Summary } from './records/summary.ts';
export type { FinishedTrial } from './records/trial.ts';
export { renderReport } from './report/render.ts';
export { decide } from './search/decisions.ts';
export { openStore } from './store/store.ts';
export { loadStudy } from './study/load-study.ts';
export { type TuneEvents, type TuneOptions, tune } from './study/tune.ts';
