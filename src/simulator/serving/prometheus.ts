type Labels = Readonly<Record<string, string>>;
type Sample = readonly [value: number, labels?: Labels];

/** Collects metrics in Prometheus' text format 0.0.4. */
export interface MetricsText {
  /** A counter's name is given without `_total`, which it gets; times of creation are left out. */
  counter(name: string, help: string, ...samples: readonly Sample[]): void;
  gauge(name: string, help: string, ...samples: readonly Sample[]): void;
  readonly text: string;
}

/** @param common labels of every sample */
export function metricsText(prefix: string, common: Labels): MetricsText {
  const lines: string[] = [
    '# simulated: no engine and no GPU stand behind these figures; they come from a simulation of servetune',
    '# HELP servetune_simulated 1: every figure here is simulated',
    '# TYPE servetune_simulated gauge',
    'servetune_simulated 1',
  ];
  const add = (type: string, family: string, name: string, help: string, samples: readonly Sample[]): void => {
    lines.push(`# HELP ${prefix}${family} ${help}`, `# TYPE ${prefix}${family} ${type}`);
    for (const [value, own] of samples) lines.push(`${prefix}${name}${labelText({ ...common, ...own })} ${value}`);
  };
  return {
    counter: (name, help, ...samples) => add('counter', `${name}_total`, `${name}_total`, help, samples),
    gauge: (name, help, ...samples) => add('gauge', name, name, help, samples),
    get text() {
      return `${lines.join('\n')}\n`;
    },
  };
}

const labelText = (labels: Labels): string => {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
};

const escaped = (text: string): string => text.replace(/[\\"\n]/g, (sign) => (sign === '\n' ? '\\n' : `\\${sign}`));
