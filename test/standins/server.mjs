// The HTTP side of a stand-in.
import http from 'node:http';

/**
 * @param kind what the engine has of its own (`kinds.mjs`)
 * @param behaviour see README.md
 * @param say prints a line into the log
 * @param die ends the stand-in as a crash does
 */
export function serverOf(kind, behaviour, { model, say, die }) {
  const { healthS = 0, modelsS = 0, generatesS = 0, tokenS = 0.002, refuses = [], refusesAll, props } = behaviour;
  let readyS = null;
  let served = 0;
  const since = () => (readyS === null ? -1 : performance.now() / 1000 - readyS);
  const json = (response, status, body) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  const models = () => ({ ...kind.models, data: [{ ...kind.models.data[0], id: model, root: model }] });
  const notFound = (response) => {
    const { status, type, body } = kind.unknownPath;
    response.writeHead(status, { 'content-type': type }).end(body);
  };
  const refuse = (response, message) => {
    // vLLM puts its message into `error`, SGLang beside it.
    const { error } = kind.refusal;
    json(response, 400, error ? { error: { ...error, message, param: null } } : { ...kind.refusal, message });
  };

  function answer(request, response) {
    const path = request.url.split('?')[0];
    const odd = behaviour.routes?.[path];
    if (odd !== undefined && since() >= 0) return oddAnswer(odd, response);
    if (path === '/health' || path === '/health_generate') {
      return response.writeHead(since() >= healthS ? 200 : 503).end();
    }
    if (path === '/v1/models') {
      const known = behaviour.modelsTooSoon ? since() >= modelsS : since() >= Math.max(modelsS, healthS);
      if (behaviour.modelsTooSoon || known) return json(response, 200, known ? models() : { object: 'list', data: [] });
      return response.writeHead(503).end();
    }
    if (path === '/metrics') return response.writeHead(200, { 'content-type': 'text/plain' }).end(kind.metrics);
    if (path === '/props' && props) return json(response, 200, props);
    if (path === '/version' && kind.program === 'vllm serve') return json(response, 200, { version: kind.version });
    if (path === '/reset_prefix_cache' && process.env.VLLM_SERVER_DEV_MODE && kind.program === 'vllm serve') {
      return response.writeHead(200).end();
    }
    if (path === '/flush_cache' && kind.program === 'sglang serve') {
      const { status, body } = kind.answer('flush-cache');
      return response.writeHead(status).end(body);
    }
    if (path === '/v1/chat/completions') return generate(request, response, kind.chat, true);
    if (path === '/v1/completions') return generate(request, response, kind.completion, false);
    notFound(response);
  }

  function generate(request, response, events, isChat) {
    let text = '';
    request.on('data', (chunk) => {
      text += chunk;
    });
    request.on('end', () => {
      if (since() < generatesS) return response.writeHead(503).end();
      const body = JSON.parse(text);
      const unknown = refuses.filter((field) => field in body);
      if (unknown.length > 0) {
        const each = unknown.map((field) => `{'type': 'extra_forbidden', 'loc': ('body', '${field}')}`).join(', ');
        return refuse(response, behaviour.refusesSilently ? 'The request cannot be parsed.' : `[${each}]`);
      }
      if (refusesAll === 'all' || (refusesAll === 'chat' && isChat)) {
        return refuse(response, 'As of transformers v4.44, default chat template is no longer allowed.');
      }
      served++;
      if (served >= behaviour.diesAtRequest) return die();
      if (served >= behaviour.refusesAtRequest) return refuse(response, 'The queue is full.');
      // The socket stays open, and not a byte comes.
      if (served >= behaviour.hangsAtRequest) return;
      stream(response, events, body);
    });
  }

  function stream(response, { first, tokens, last, usage }, body) {
    const most = body.max_completion_tokens ?? body.max_tokens;
    const count = body.ignore_eos ? most : Math.min(most, behaviour.endsAfter ?? most);
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    const send = (event) => response.write(`data: ${JSON.stringify({ ...event, model })}\n\n`);
    for (const event of first) send(event);
    let sent = 0;
    const timer = setInterval(() => {
      if (sent < count) return send(worded(tokens[sent++ % tokens.length], behaviour.says));
      clearInterval(timer);
      for (const event of last) send(event);
      const counted = { prompt_tokens: 20, completion_tokens: count, total_tokens: 20 + count };
      if (body.stream_options?.include_usage) for (const event of usage) send({ ...event, usage: counted });
      response.end('data: [DONE]\n\n');
    }, tokenS * 1000);
    response.on('close', () => clearInterval(timer));
  }

  const server = http.createServer((request, response) => {
    response.on('finish', () => {
      if (behaviour.logsRequests === false) return;
      say(`INFO:     127.0.0.1:1 - "${request.method} ${request.url} HTTP/1.1" ${response.statusCode}`);
    });
    answer(request, response);
  });
  return {
    listen: (port, host) => new Promise((done, failed) => server.once('error', failed).listen(port, host, done)),
    ready: () => {
      readyS = performance.now() / 1000;
    },
  };
}

/** What another program would answer, or one that is broken; see README.md. */
function oddAnswer({ hangs, endless, bytes, status = 200, type = 'text/html', body = '' }, response) {
  if (hangs) return;
  if (bytes !== undefined) return response.socket.end(bytes);
  response.writeHead(status, { 'content-type': type });
  if (!endless) return response.end(body);
  const piece = Buffer.alloc(1 << 16, 'a');
  const fill = () => {
    while (!response.destroyed && response.write(piece));
  };
  response.on('drain', fill);
  fill();
}

/** A token's event with other text; as it was recorded where none is given. */
function worded(event, text) {
  if (text === undefined) return event;
  const [choice] = event.choices;
  const said = choice.delta === undefined ? { text } : { delta: { ...choice.delta, content: text } };
  return { ...event, choices: [{ ...choice, ...said }] };
}
