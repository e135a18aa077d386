import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fetchedDataset } from '../../datasets/kept/fetch.ts';
import type { Environment } from '../../engines/engine.ts';
import { defaultCacheDir } from '../../kit/cache-dir.ts';
import { hubCacheIn, hubHomeIn, isOn } from '../../kit/hub-cache.ts';
import { invoked } from '../../kit/invocation.ts';
import { formatList } from '../../kit/words.ts';
import { type Finding, note, ok, problem } from './finding.ts';

/**
 * A proxy that requests to 127.0.0.1 would go through: Python's clients take it from these variables, and some engines
 * ask themselves over HTTP while they start (SGLang's warm-up). `pythonEngines`: an engine is here that would.
 */
export function proxyFindings(
  environment: Environment,
  { pythonEngines }: { readonly pythonEngines: boolean },
): readonly Finding[] {
  // What goes to an https address only does not concern engines, which are spoken to in plain HTTP.
  const names = ['http_proxy', 'HTTP_PROXY', 'all_proxy', 'ALL_PROXY'].filter((name) => environment[name]);
  const outward = ['https_proxy', 'HTTPS_PROXY'].filter((name) => environment[name]);
  const what = 'proxies';
  if (names.length === 0) {
    return [ok(what, outward.length === 0 ? 'none' : `${formatList(outward, 'en')}, for downloads only`)];
  }
  const bypass = environment.no_proxy || environment.NO_PROXY;
  const proxy = `${formatList(names, 'en')} (${hostOf(environment[names[0] as string] as string)})`;
  if (sparesLoopback(bypass)) return [ok(what, `${proxy}, but not for 127.0.0.1`)];
  const wanted = [...(bypass ? [bypass] : []), '127.0.0.1,localhost'].join(',');
  // Node 24 and newer can be told to heed these variables as well.
  const concernsUs = environment.NODE_USE_ENV_PROXY === '1';
  return [
    (pythonEngines || concernsUs ? problem : note)(
      what,
      `${proxy}, also for 127.0.0.1: engines that ask themselves while they start would ask the proxy`,
      `export NO_PROXY='${wanted}' no_proxy='${wanted}'`,
    ),
  ];
}

/** Whether a value of NO_PROXY leaves requests to 127.0.0.1 alone. */
export const sparesLoopback = (noProxy: string | undefined): boolean =>
  (noProxy ?? '').split(/[\s,]+/).some((entry) => /^(\*|127\.0\.0\.1(:\d+)?|127\.\d+\.\d+\.\d+\/\d+)$/.test(entry));

/** The proxy without the password that may stand in its address. */
function hostOf(address: string): string {
  try {
    return new URL(address.includes('://') ? address : `http://${address}`).host;
  } catch {
    return 'no valid address';
  }
}

/** Where models come from and where they are kept, and whether there is a token. Never shows a value that is secret. */
export async function hubFindings(environment: Environment): Promise<readonly Finding[]> {
  const cache = hubCacheIn(environment);
  const findings: Finding[] = [];
  if (cache !== null) {
    findings.push(ok('Hugging Face cache', existsSync(cache) ? cache : `${cache}, which does not exist yet`));
  }
  findings.push(tokenFinding(environment));
  if (isOn(environment.HF_HUB_OFFLINE) || isOn(environment.TRANSFORMERS_OFFLINE)) {
    findings.push(
      note('offline', 'HF_HUB_OFFLINE is set: only models that are in the cache can be served', 'unset HF_HUB_OFFLINE'),
    );
  }
  if (environment.HF_ENDPOINT)
    findings.push(note('hub', `HF_ENDPOINT names a mirror: ${hostOf(environment.HF_ENDPOINT)}`));
  for (const name of ['VLLM_USE_MODELSCOPE', 'SGLANG_USE_MODELSCOPE']) {
    if (isOn(environment[name])) findings.push(note('hub', `${name} is set: models come from ModelScope`));
  }
  const sharegpt = await fetchedDataset(defaultCacheDir(environment), 'sharegpt');
  findings.push(
    sharegpt === null
      ? note(
          'ShareGPT',
          'not downloaded: workloads of it would send a synthetic stand-in of the same lengths, and say so',
          invoked('dataset fetch sharegpt'),
        )
      : ok('ShareGPT', sharegpt),
  );
  return findings;
}

function tokenFinding(environment: Environment): Finding {
  const what = 'token';
  for (const name of ['HF_TOKEN', 'HUGGING_FACE_HUB_TOKEN']) if (environment[name]) return ok(what, `${name} is set`);
  const home = hubHomeIn(environment);
  const file = environment.HF_TOKEN_PATH || (home === null ? '' : join(home, 'token'));
  if (file !== '' && existsSync(file)) return ok(what, `in ${file}`);
  return note(what, 'HF_TOKEN is not set: gated models cannot be downloaded', 'export HF_TOKEN, if a model is gated');
}

/** Variables that change what an engine does behind a study's back. */
export function engineVariableFindings(environment: Environment): readonly Finding[] {
  const findings: Finding[] = [];
  const visible = ['CUDA_VISIBLE_DEVICES', 'HIP_VISIBLE_DEVICES', 'ROCR_VISIBLE_DEVICES', 'ASCEND_RT_VISIBLE_DEVICES'];
  for (const name of visible) {
    const value = environment[name];
    if (value !== undefined) findings.push(note(name, `is “${value}”: engines see these GPUs only`));
  }
  const read = Object.keys(environment).filter(
    (name) => /^(VLLM|SGLANG|SGL|TRTLLM|TLLM)_/.test(name) && !name.endsWith('_USE_MODELSCOPE'),
  );
  if (read.length > 0) {
    findings.push(
      note(
        'variables',
        `engines read ${formatList(read.sort(), 'en')}: they change what is measured beside the study's settings`,
        'unset those that are not meant',
      ),
    );
  }
  return findings;
}
