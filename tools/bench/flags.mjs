// The flags of `npm run bench`.
import { parseArgs } from 'node:util';
import { clients } from './clients/table.mjs';
import { quickScenario, scenarios } from './scenarios.mjs';

/** Flags that name the program of a client; two clients may share one. */
const programs = [...new Set(clients.flatMap(({ flag }) => flag ?? []))];

export const usage = `npm run bench -- [options]

  --repeats N        times that each client meets each scenario (default 5)
  --quick            one repeat of ${quickScenario}, to see that everything works
  --only A,B         scenarios: ${scenarios.map(({ name }) => name).join(', ')}
  --clients A,B      clients: ${clients.map(({ name }) => name).join(', ')}
${programs.map((flag) => `  ${`--${flag} PATH`.padEnd(19)}its program, where that is not on the PATH`).join('\n')}
  --server URL       a server that runs already, with GET /stats; it has its own pacing, so only
                     scenarios of that pacing make sense (default: the paced ones)
  --json FILE        everything that was measured, each run by itself
  --doc FILE         page whose section is replaced (default: docs/performance.md after a full
                     measurement, none after any other)
  --timeout-s N      longest run of one client, seconds (default 600)
  --help`;

const options = {
  repeats: { type: 'string' },
  quick: { type: 'boolean', default: false },
  only: { type: 'string' },
  clients: { type: 'string' },
  server: { type: 'string' },
  json: { type: 'string' },
  doc: { type: 'string' },
  'timeout-s': { type: 'string', default: '600' },
  help: { type: 'boolean', default: false },
  ...Object.fromEntries(programs.map((flag) => [flag, { type: 'string' }])),
};

/** Reads the flags; throws an Error whose message holds everything that is wrong with them. */
export function readFlags(args) {
  const { values } = parseArgs({ args, options });
  const problems = [];
  const wholeNumber = (name, given) => {
    if (!/^[1-9]\d*$/.test(given)) problems.push(`--${name} ${given}: must be a whole number from 1 on`);
    return Number(given);
  };
  const chosen = (name, all) => {
    const wanted = values[name]?.split(',') ?? [];
    const unknown = wanted.filter((one) => !all.some((known) => known.name === one));
    if (unknown.length > 0) {
      problems.push(`--${name} ${unknown.join(',')}: one of ${all.map((known) => known.name).join(', ')}`);
    }
    return wanted.length > 0 ? all.filter((known) => wanted.includes(known.name)) : undefined;
  };
  if (values.server !== undefined && !URL.canParse(values.server)) {
    problems.push(`--server ${values.server}: must be a URL such as http://127.0.0.1:8100`);
  }

  const byDefault = values.quick
    ? scenarios.filter(({ name }) => name === quickScenario)
    : scenarios.filter(({ itlMs }) => values.server === undefined || itlMs > 0);
  const isWhole = !values.quick && ![values.only, values.clients, values.server].some((value) => value !== undefined);
  const flags = {
    help: values.help,
    repeats: wholeNumber('repeats', values.repeats ?? (values.quick ? '1' : '5')),
    scenarios: chosen('only', scenarios) ?? byDefault,
    clients: chosen('clients', clients) ?? clients,
    /** By the flag's name. */
    paths: Object.fromEntries(programs.map((flag) => [flag, values[flag]])),
    server: values.server?.replace(/\/$/, ''),
    json: values.json,
    doc: values.doc ?? (isWhole ? 'docs/performance.md' : undefined),
    timeoutS: wholeNumber('timeout-s', values['timeout-s']),
  };
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return flags;
}
