import { InputError } from '../kit/errors.ts';
import { checkpointOf } from './checkpoints.ts';
import { type Ask, defineEngine } from './engine.ts';
import { settingsInLog, startParts, symptoms } from './tensorrt-llm/log.ts';
import { conflicts } from './tensorrt-llm/rules.ts';
import { command, mapping, measuring, settings } from './tensorrt-llm/settings.ts';
import { defaultStages } from './tensorrt-llm/stages.ts';

/** Asks the package's metadata: to import it takes half a minute, and prints more than its version. */
const askVersion = ['python3', '-c', 'from importlib.metadata import version; print(version("tensorrt_llm"))'];

const versionTimeoutS = 60;

/**
 * TensorRT-LLM's OpenAI server with its PyTorch backend. Its health answers 200 whatever its workers do, and its workers
 * are started through Open MPI, in process groups of their own. It has no route that forgets cached prompts.
 */
export const tensorrtLlm = defineEngine({
  name: 'tensorrt-llm',
  description: 'TensorRT-LLM, as `trtllm-serve` on PATH',
  settings,
  mapping,
  conflicts,
  version,
  help: ['trtllm-serve', 'serve', '--help'],
  packages: (version) => [`tensorrt-llm==${version}`],
  image: (version) => `nvcr.io/nvidia/tensorrt-llm/release:${version}`,
  // Hugging Face names are resolved by TensorRT-LLM itself.
  checkModel: async () => [],
  checkpoint: (model, { quantization }) => checkpointOf(model, quantization),
  command,
  measuring,
  healthPath: '/health',
  settingsInLog,
  // Blocks of the cache are counted from the start on; paused requests, drafted and accepted tokens in each iteration.
  counters: {
    format: 'iterations',
    path: '/metrics',
    names: {
      running: ['numActiveRequests'],
      waiting: ['numQueuedRequests'],
      kvUseShare: ['kvCacheStats.usedNumBlocks/kvCacheStats.maxNumBlocks'],
      preemptions: ['inflightBatchingStats.numPausedRequests'],
      prefixQueries: ['kvCacheStats.reusedBlocks+kvCacheStats.missedBlocks'],
      prefixHits: ['kvCacheStats.reusedBlocks'],
      prefixHitShare: ['kvCacheStats.cacheHitRate'],
      draftTokens: ['specDecodingStats.numDraftTokens'],
      acceptedTokens: ['specDecodingStats.numAcceptedTokens'],
    },
  },
  startParts,
  symptoms,
  defaultStages,
});

async function version(ask: Ask): Promise<string> {
  const result = await ask(askVersion, versionTimeoutS);
  const found = result.code === 0 ? /^\d+\.\d+\S*$/m.exec(result.stdout)?.[0] : undefined;
  if (found !== undefined) return found;
  throw new InputError([
    {
      place: 'tensorrt_llm, as python3 finds it',
      message: result.timedOut
        ? `no answer in ${versionTimeoutS} s`
        : `did not tell a version: ${result.stderr.trim().split('\n').at(-1) || 'it printed nothing'}`,
      hint: 'install it: pip install tensorrt_llm; or name the interpreter of its environment as python',
    },
  ]);
}
