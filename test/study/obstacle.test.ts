import { afterEach, describe, expect, it, vi } from 'vitest';
import { followObstacles, NotServing, type Obstacle } from '../../src/study/obstacle.ts';

let clockS = 0;
vi.mock('../../src/kit/clock.ts', async (original) => ({ ...(await original<object>()), now: () => clockS }));
afterEach(() => {
  clockS = 0;
});

const wrong = (id: string): Obstacle => ({ what: `GET /v1/models answers 404: request ${id}`, isWrong: true });

describe('what stands in the way of a server', () => {
  it('is given up on when it is the same wrong answer for 30 s, whatever number it has', () => {
    const obstacles = followObstacles();
    for (clockS = 0; clockS < 30; clockS++) obstacles.note(wrong(`${clockS}-abcdef0123456789`));
    expect(() => obstacles.note(wrong('31'))).toThrow(NotServing);
    expect(() => obstacles.note(wrong('32'))).toThrow(/answers 404: request 32, and did so for 30 s/);
  });

  it('is waited for when it changes, and when patience may mend it', () => {
    const changing = followObstacles();
    for (clockS = 0; clockS < 100; clockS += 20) {
      changing.note(wrong('1'));
      changing.note({ what: 'the test request is not answered' });
    }
    const busy = followObstacles();
    const closed = { what: 'http://x:1 refuses connections', isRefused: true } as const;
    for (; clockS < 2000; clockS += 20) {
      busy.note({ what: 'GET /health answers 503' });
      if (clockS > 1000) busy.note(closed);
    }
    expect(busy.last).toEqual(closed);
  });

  it('is a closed port, for a server that nobody here starts, after as long as it is told', () => {
    const obstacles = followObstacles(10);
    const closed = { what: 'http://x:1 refuses connections', isRefused: true } as const;
    obstacles.note(closed);
    clockS = 9;
    obstacles.note(closed);
    clockS = 10;
    expect(() => obstacles.note(closed)).toThrow('http://x:1 refuses connections');
  });
});
