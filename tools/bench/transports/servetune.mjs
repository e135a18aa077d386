import { openHttp } from '../../../dist/load/http.js';

/** What servetune itself sends its load through. */
export const servetune = {
  name: 'servetune',
  async open(url, { streams }) {
    const { signal } = new AbortController();
    const transport = await openHttp({ url: new URL(url), headers: {}, preconnect: streams, signal });
    return {
      send: (body, onBytes) =>
        new Promise((resolve, reject) => {
          transport.send(body, {
            head() {},
            bytes(read, start, end) {
              onBytes(read.subarray(start, end));
              return false;
            },
            end() {},
            broken: reject,
            released: resolve,
          });
        }),
      close: () => transport.close(),
    };
  },
};
