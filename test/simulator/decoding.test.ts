import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createDecoding } from '../../src/simulator/decoding.ts';

const blockTokens = 16;
const moves = fc.array(
  fc.oneof(
    fc.record({ join: fc.record({ kv: fc.nat(70), steps: fc.integer({ min: 1, max: 40 }) }) }),
    fc.record({ leave: fc.nat() }),
    fc.constant({ step: true as const }),
  ),
  { maxLength: 120 },
);

it('counts as one would who looked at every request in every step', () => {
  fc.assert(
    fc.property(moves, (list) => {
      const spans = new Map<number, number>();
      const fast = createDecoding(blockTokens, 1, (id, _, steps) => void spans.set(id, steps));
      let plain: { id: number; kv: number; left: number; had: number }[] = [];
      list.forEach((move, id) => {
        if ('join' in move) {
          fast.join(id, move.join.kv, move.join.steps);
          plain.push({ id, kv: move.join.kv, left: move.join.steps, had: 0 });
        } else if ('leave' in move) {
          const one = plain[move.leave % Math.max(1, plain.length)];
          if (one === undefined) return;
          expect(fast.leave(one.id)).toEqual({ kvTokens: one.kv, stepsLeft: one.left });
          expect(spans.get(one.id)).toBe(one.had);
          plain = plain.filter((other) => other !== one);
        } else {
          expect(fast.newBlocks()).toBe(plain.filter(({ kv }) => kv % blockTokens === 0).length);
          expect(fast.contextTokens()).toBe(plain.reduce((sum, { kv }) => sum + kv + 1, 0));
          const done = fast.step();
          for (const one of plain) {
            one.kv++;
            one.left--;
            one.had++;
          }
          const over = plain.filter(({ left }) => left === 0);
          expect(done).toEqual(over.map(({ id: gone, kv }) => ({ id: gone, kvTokens: kv })));
          plain = plain.filter(({ left }) => left > 0);
        }
        expect([fast.size, fast.stepsLeft()]).toEqual([plain.length, plain.reduce((sum, { left }) => sum + left, 0)]);
        expect(fast.newest()).toBe(plain.at(-1)?.id);
        expect([...fast.ids()]).toEqual(plain.map(({ id: member }) => member));
      });
    }),
  );
});
