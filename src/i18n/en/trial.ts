import type { TrialMessages } from '../messages/trial.ts';
import { count } from './numbers.ts';

export const trial: TrialMessages = {
  name: (id) => `Trial ${id}`,
  meanTtft: (value) => `mean TTFT ${value}`,
  meanTpot: (value) => `mean TPOT ${value}`,
  started: (duration) => `started in ${duration}`,
  found: (duration) => `answered after ${duration}`,
  warmed: (duration) => `warmed up in ${duration}`,
  loaded: (duration) => `measured for ${duration}`,
  excluded: (reason) => `Does not qualify: ${reason}.`,
  failed: (id, fate) => `Trial ${id} failed: ${fate}.`,
  hint: (text) => `What would mend it: ${text}`,
  logTail: (lines) => `Last ${count(lines, 'line', 'lines')} of the log`,
  refusedBlock: (id) => `Figures of trial ${id}, which must not be believed`,
  effective: (id) => `Settings in force, as the engine reports them (trial ${id})`,
  effectiveCaption: 'Settings in force',
  setting: 'Setting',
  notServing: 'the server did not serve',
  changed: (settings) => `Against the configuration that it was made from: ${settings}.`,
  changedSetting: (name, from, to) => `${name} ${from} → ${to}`,
  default: 'default',
  fragment: 'Where the log tells the cause',
};
