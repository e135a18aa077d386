import { z } from 'zod';
import { metrics } from '../../metrics/table.ts';

/** What is shown and kept. */
export const resultOptions = {
  percentile_metrics: z
    .string()
    .optional()
    .describe(
      `Sections of the result block, separated by commas: ${metrics.map(({ name }) => name).join(', ')}; default: ttft,tpot,itl, and e2el for embeddings`,
    ),
  metric_percentiles: z.string().default('99').describe('Percentiles in each section, separated by commas'),
  goodput: z
    .array(z.string())
    .min(1)
    .optional()
    .describe('Limits that a good request keeps, as NAME:MS; names are ttft, tpot, e2el'),
  save_result: z.boolean().default(false).describe('Save the result as JSON'),
  save_detailed: z.boolean().default(false).describe('With --save-result: keep the figures and texts of each request'),
  append_result: z.boolean().default(false).describe('Add the result to --result-filename instead of replacing it'),
  result_dir: z
    .string()
    .optional()
    .describe('Folder of the result that --save-result saves, made if missing; default: the current one'),
  result_filename: z.string().optional().describe('Name of the saved result; default: LABEL-RATEqps-MODEL-DATE.json'),
  label: z.string().optional().describe('Beginning of that name; default: the backend'),
  metadata: z.array(z.string()).default([]).describe('Further keys of the saved result, as KEY=VALUE'),
  records: z.string().min(1).optional().describe('File for what happened to each request, one JSON object a line'),
  result_json: z.string().min(1).optional().describe('File for the whole summary as JSON, in servetune’s own layout'),
  disable_tqdm: z.boolean().default(false).describe('Show no progress'),
} as const;
