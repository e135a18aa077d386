import { Agent, request } from 'node:http';

export const nodeHttp = {
  name: 'node:http',
  open(url) {
    const unlimited = Number.POSITIVE_INFINITY;
    const agent = new Agent({ keepAlive: true, maxSockets: unlimited, maxFreeSockets: unlimited });
    return {
      send: (body, onBytes) =>
        new Promise((resolve, reject) => {
          const headers = { 'content-type': 'application/json', 'content-length': body.length };
          const sent = request(url, { method: 'POST', agent, headers }, (response) => {
            response.on('data', onBytes);
            response.on('end', resolve);
            response.on('error', reject);
          });
          sent.on('error', reject);
          sent.end(body);
        }),
      close: () => agent.destroy(),
    };
  },
};
