import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

/** undici's dispatcher, the layer below its `request` and `fetch`. It is no dependency: `folder` has it, or nobody. */
export const undici = {
  name: 'undici dispatcher',
  install: 'npm install --prefix FOLDER undici@7 (8 needs Node 22), then --undici FOLDER',
  find(folder) {
    try {
      const require = createRequire(folder === undefined ? import.meta.url : join(resolve(folder), 'x.js'));
      const entry = require.resolve('undici');
      return JSON.parse(readFileSync(join(entry, '../package.json'), 'utf8')).version;
    } catch {
      return undefined;
    }
  },
  open(url, { folder }) {
    const require = createRequire(folder === undefined ? import.meta.url : join(resolve(folder), 'x.js'));
    const { Pool } = require('undici');
    const { origin, pathname } = new URL(url);
    const pool = new Pool(origin);
    return {
      send: (body, onBytes) =>
        new Promise((done, failed) => {
          pool.dispatch(
            { path: pathname, method: 'POST', headers: { 'content-type': 'application/json' }, body },
            {
              onRequestStart() {},
              onResponseStart() {},
              onResponseData: (_, bytes) => onBytes(bytes),
              onResponseEnd: () => done(),
              onResponseError: (_, error) => failed(error),
            },
          );
        }),
      close: () => pool.destroy(),
    };
  },
};
