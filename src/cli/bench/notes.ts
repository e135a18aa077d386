import { datasetNames, datasetOptions } from '../../records/dataset-options.ts';
import { defaultOf, flagName } from '../flags.ts';
import { tolerated } from './conflicts.ts';
import { backendOf, defaultsOf, isChat, isPooling, metricsOf, queueMetrics } from './defaults.ts';
import { newerThanV0110, withoutEffect } from './not-here.ts';
import { type BenchOptions, benchServeOptions } from './options.ts';

type Key = keyof BenchOptions;

const differs = (given: BenchOptions, key: Key): boolean =>
  JSON.stringify(given[key]) !== JSON.stringify(defaultOf(benchServeOptions.shape[key]));

/** Datasets that are rendered with the chat template on this side, unless the server does it. */
const rendered: readonly string[] = ['custom', 'hf', 'sonnet'];

/** What the user should know about options that are taken, each a sentence without a full stop. */
export function benchNotes(given: BenchOptions): readonly string[] {
  const { compat, dataset_name, request_rate, ramp_up_strategy, input_len, output_len } = given;
  const backend = backendOf(given);
  const notes: string[] = [...tolerated(given)];
  const note = (when: boolean, text: string): void => {
    if (when) notes.push(text);
  };
  note(given.endpoint_type !== undefined, '--endpoint-type is the old name of --backend');
  for (const [key, { reason }] of Object.entries(withoutEffect)) {
    note(differs(given, key as Key), `${flagName(key)} changes nothing: ${reason}`);
  }
  if (compat === 'vllm-0.11.0') {
    const newer = newerThanV0110.filter((key) => differs(given, key as Key)).map(flagName);
    note(newer.length > 0, `vLLM v0.11.0 itself does not have ${newer.join(', ')}`);
  }
  note(
    compat !== 'servetune' && isChat(backend) && given.endpoint === undefined,
    `vLLM itself wants --endpoint /v1/chat/completions with --backend ${backend}`,
  );
  note(
    given.base_url !== undefined && (differs(given, 'host') || differs(given, 'port')),
    '--host and --port are not used: --base-url says where the server is',
  );
  note(
    given.skip_tokenizer_init && given.tokenizer !== undefined,
    '--tokenizer is not used because of --skip-tokenizer-init',
  );

  const selfTimed = dataset_name === 'timed_trace' && given.self_timed !== false;
  const arrivals = (['request_rate', 'burstiness', 'ramp_up_strategy'] as const).filter((key) => differs(given, key));
  if (selfTimed) {
    note(
      arrivals.length > 0,
      `${arrivals.map(flagName).join(', ')}: not used, the trace has its own times (--no-self-timed leaves them aside)`,
    );
  } else {
    note(
      differs(given, 'burstiness') && request_rate === 'inf' && ramp_up_strategy === undefined,
      '--burstiness changes nothing at an infinite request rate',
    );
  }

  note(
    input_len !== undefined && dataset_name !== 'random',
    `--input-len changes nothing with --dataset-name ${dataset_name}`,
  );
  note(
    output_len !== undefined && !(outputLengthKeys as readonly string[]).includes(`${dataset_name}_output_len`),
    `--output-len changes nothing with --dataset-name ${dataset_name}`,
  );
  const replaced = [
    ...(input_len === undefined
      ? []
      : inputLengthKeys.filter((key) => differs(given, key) && given[key] !== input_len)),
    ...(output_len === undefined
      ? []
      : outputLengthKeys.filter((key) => differs(given, key) && given[key] !== output_len)),
  ];
  for (const key of replaced) {
    note(
      true,
      `${flagName(key)} is not used: ${key.includes('output') ? '--output-len' : '--input-len'} goes before it`,
    );
  }
  const strange = Object.keys(datasetOptions)
    .filter((key) => datasetNames.some((name) => name !== dataset_name && key.startsWith(`${name}_`)))
    .filter((key) => differs(given, key as Key))
    .map(flagName);
  note(strange.length > 0, `${strange.join(', ')}: not used with --dataset-name ${dataset_name}`);

  note(
    given.chat_template_kwargs !== undefined &&
      ((isChat(backend) && compat === 'servetune') || given.skip_chat_template || !rendered.includes(dataset_name)),
    '--chat-template-kwargs changes nothing: no prompt is rendered on this side',
  );
  note(
    differs(given, 'lora_assignment') && given.lora_modules === undefined,
    '--lora-assignment changes nothing without --lora-modules',
  );
  const names = (['result_dir', 'result_filename', 'label'] as const).filter((key) => given[key] !== undefined);
  note(
    names.length > 0 && !given.save_result && !given.append_result,
    `${names.map(flagName).join(', ')}: not used, nothing is saved without --save-result`,
  );
  const chosen = metricsOf(given).text.split(',');
  note(
    given.max_concurrency === undefined && queueMetrics.some((name) => chosen.includes(name)),
    'without --max-concurrency no request waits on this side: there is no section on queueing',
  );
  note(
    !isPooling(backend) && given.temperature === undefined && defaultsOf(compat).temperature === undefined,
    'no temperature is sent: the server’s default applies (--temperature 0 is greedy)',
  );
  return notes;
}

/** What `--input-len` and `--output-len` stand for. */
export const inputLengthKeys = ['random_input_len'] as const;
export const outputLengthKeys = [
  'random_output_len',
  'sharegpt_output_len',
  'custom_output_len',
  'hf_output_len',
  'prefix_repetition_output_len',
] as const;
