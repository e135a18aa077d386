// The same work for every transport: count the events of each piece of a stream, and keep when each came.

const newline = 10;

/** The streams of one load: `tokens` events are awaited of each. */
export function newTally(streams, tokens) {
  const timesMs = new Float64Array(streams * tokens);
  const sentMs = new Float64Array(streams);
  const counts = new Int32Array(streams);
  // An event ends with two newlines and has no others, so half of them is the number of events, however it is cut.
  const newlines = new Int32Array(streams);
  let reads = 0;

  return {
    sent(stream) {
      sentMs[stream] = performance.now();
    },
    bytes(stream, piece) {
      const nowMs = performance.now();
      reads++;
      for (let at = piece.indexOf(newline); at >= 0; at = piece.indexOf(newline, at + 1)) {
        if (++newlines[stream] % 2 === 1 || counts[stream] === tokens) continue;
        timesMs[stream * tokens + counts[stream]++] = nowMs;
      }
    },
    /** Times in seconds. Throws an Error when a stream is short of events. */
    read() {
      let ttftSumMs = 0;
      const gapsMs = new Float64Array(streams * (tokens - 1));
      for (let stream = 0; stream < streams; stream++) {
        if (counts[stream] < tokens) throw new Error(`stream ${stream} has ${counts[stream]} of ${tokens} events`);
        const from = stream * tokens;
        ttftSumMs += timesMs[from] - sentMs[stream];
        for (let i = 1; i < tokens; i++)
          gapsMs[stream * (tokens - 1) + i - 1] = timesMs[from + i] - timesMs[from + i - 1];
      }
      gapsMs.sort();
      return {
        ttftMeanS: ttftSumMs / streams / 1000,
        itlP99S: gapsMs[Math.floor(0.99 * (gapsMs.length - 1))] / 1000,
        reads,
      };
    },
  };
}
