// From single runs to one line a client and scenario.

/** Median of the numbers among `values`; null of none. */
export function median(values) {
  const sorted = values.filter((value) => typeof value === 'number').sort((a, b) => a - b);
  if (sorted.length === 0) return null;
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export const startUp = 'start-up';

/**
 * CPU seconds that each client takes before its first request: when it is asked for one request, and in the scenario
 * with the most, for which some start more processes.
 */
export function startups(runs, scenarios, clients) {
  const [most] = scenarios.toSorted((a, b) => b.requests - a.requests);
  const of = (scenario, client) => median(runsOf(runs, scenario, client).map((run) => run.startCpuS ?? run.cpuS));
  return clients.map(({ name }) => ({ client: name, oneS: of(startUp, name), mostS: of(most.name, name) }));
}

const runsOf = (runs, scenario, client) =>
  runs.filter((run) => run.scenario === scenario && run.client === client && run.result);

/** CPU of a run without the start: from the first request on, where it is known when that was. */
const afterStart = ({ cpuS, startCpuS }) => (cpuS === null ? null : cpuS - (startCpuS ?? 0));

/**
 * One line for each scenario and client that has a result in it: medians over the repeats. CPU is that from the first
 * request on, less the same of a run with one request: reports and the way out. Differences are taken run by run.
 */
export function summarize(runs, scenarios, clients) {
  return scenarios.flatMap(({ name }) =>
    clients.flatMap((client) => {
      const mine = runsOf(runs, name, client.name);
      if (mine.length === 0) return [];
      const fixedS = median(runsOf(runs, startUp, client.name).map(afterStart)) ?? 0;
      const of = (figure) => median(mine.map(figure));
      const loadCpuS = (run) => (run.cpuS === null ? null : Math.max(0, afterStart(run) - fixedS));
      const per100k = (cpuS, { chunks }) => (cpuS === null ? null : (cpuS / chunks) * 1e5);
      return {
        scenario: name,
        client: client.name,
        runs: mine.length,
        ttftMeanS: of(({ result }) => result.ttftMeanS),
        serverTtftMeanS: of(({ server }) => server.ttft.meanS),
        ttftErrorS: of(({ result, server }) => less(result.ttftMeanS, server.ttft.meanS)),
        itlP99S: of(({ result }) => result.itlP99S),
        serverItlP99S: of(({ server }) => server.itl.p99S),
        itlErrorS: of(({ result, server }) => less(result.itlP99S, server.itl.p99S)),
        cpuSPer100kChunks: of((run) => per100k(loadCpuS(run), run)),
        chunksPerCpuS: of((run) => (loadCpuS(run) > 0 ? run.chunks / loadCpuS(run) : null)),
        chunksPerS: of(({ chunks, result }) => chunks / result.durationS),
        serverCpuSPer100kChunks: of((run) => per100k(run.serverCpuS, run)),
        verdicts: count(mine.map(({ result }) => result.verdict ?? 'none')),
      };
    }),
  );
}

const less = (a, b) => (a === null || b === null ? null : a - b);

/** `{"ok": 4, "client_bound": 1}` */
function count(words) {
  const counts = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}
