// What the engines have of their own. vLLM and SGLang replay recordings; of TensorRT-LLM and llama.cpp there are none,
// so their stand-ins print a few lines and answer the routes that a study asks.
import { exchange, logLines, metrics, printed, streamEvents } from './recording.mjs';

const fromRecording = (recording, { start, help, readyLine }) => ({
  version: printed(recording, 'version').trim(),
  help: printed(recording, help),
  checksFlags: true,
  startLog: logLines(recording, start),
  readyLine,
  failLog: (name) => logLines(recording, name),
  chat: streamEvents(recording, 'chat-stream-usage-ignore-eos'),
  completion: streamEvents(recording, 'completion-stream-usage-ignore-eos'),
  metrics: metrics(recording, 'metrics-after-load'),
  models: JSON.parse(exchange(recording, 'models').body),
  unknownPath: exchange(recording, 'unknown-path'),
  refusal: JSON.parse(exchange(recording, 'bad-value').body),
  answer: (name) => exchange(recording, name),
});

const choice = (rest) => ({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, ...rest }] });

const fromNothing = (version, lines) => ({
  version,
  help: '',
  checksFlags: false,
  startLog: lines.map((text, i) => ({ atS: i + 1, text })),
  readyLine: /\S/,
  failLog: () => [],
  chat: {
    first: [choice({ delta: { role: 'assistant', content: '' }, finish_reason: null })],
    tokens: [choice({ delta: { content: ' x' }, finish_reason: null })],
    last: [choice({ delta: {}, finish_reason: 'length' })],
    usage: [{ id: 'x', object: 'chat.completion.chunk', choices: [], usage: {} }],
  },
  completion: {
    first: [],
    tokens: [choice({ text: ' x', finish_reason: null })],
    last: [choice({ text: '', finish_reason: 'length' })],
    usage: [{ id: 'x', object: 'text_completion', choices: [], usage: {} }],
  },
  metrics: '',
  models: { object: 'list', data: [{ id: '', object: 'model' }] },
  unknownPath: { status: 404, type: 'application/json', body: '{"detail":"Not Found"}' },
  refusal: { object: 'error', message: '', type: 'BadRequestError', code: 400 },
});

/** Made when asked for, so that a start reads no more than it needs. */
export const kinds = {
  vllm: () => ({
    ...fromRecording('vllm-0.25.1', {
      start: 'start-small',
      help: 'serve-help-all',
      readyLine: /Application startup complete/,
    }),
    program: 'vllm serve',
    modelFlags: ['--model'],
  }),
  sglang: () => ({
    ...fromRecording('sglang-0.5.11', { start: 'start-14b', help: 'launch-help', readyLine: /fired up and ready/ }),
    program: 'sglang serve',
    modelFlags: ['--model-path', '--model'],
  }),
  'tensorrt-llm': () => ({
    ...fromNothing('1.2.0rc1', [
      '[TRT-LLM] [I] Using LLM with PyTorch backend',
      '[TRT-LLM] [I] Loading weights',
      'INFO:     Application startup complete.',
    ]),
    readyLine: /Application startup complete/,
    program: 'trtllm-serve',
    modelFlags: ['--model'],
  }),
  'llama.cpp': () => ({
    ...fromNothing('version: 7376 (6b1ae5c)', [
      'main: loading model',
      'llama_model_loader: loaded meta data',
      'main: server is listening',
    ]),
    readyLine: /server is listening/,
    program: 'llama-server',
    modelFlags: ['-m', '--model'],
  }),
};
