export const fetching = {
  name: 'fetch',
  open: (url) => ({
    async send(body, onBytes) {
      const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      const reader = response.body.getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) onBytes(part.value);
    },
    close() {},
  }),
};
