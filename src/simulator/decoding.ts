/**
 * The requests that decode together. Each gets one token a step, so when a request will be done is known when it joins,
 * and a step costs the same work here however many requests there are.
 */
export interface Decoding {
  readonly size: number;
  /** Steps that have been taken. */
  readonly steps: number;
  /** Tokens whose keys and values the next step reads, its own included. */
  contextTokens(): number;
  /** Blocks of the KV cache that the next step begins. */
  newBlocks(): number;
  /** Steps that all of them still need, added up. */
  stepsLeft(): number;
  /** `kvTokens` are in the cache already, `stepsLeft` steps are to come: at least one. */
  join(id: number, kvTokens: number, stepsLeft: number): void;
  /** Takes one out before its end; returns what it has in the cache, and the steps that it did not get. */
  leave(id: number): Left;
  /** One step for all. Returns those that it was the last one for, in the order in which they joined. */
  step(): readonly Done[];
  /** Those that decode, in the order in which they joined. */
  ids(): Iterable<number>;
  /** The one that joined last. */
  newest(): number | undefined;
  has(id: number): boolean;
  /** Steps that one has had since it joined. */
  stepsOf(id: number): number;
  /** Steps that one still needs. */
  stepsLeftOf(id: number): number;
}

export interface Left {
  readonly kvTokens: number;
  readonly stepsLeft: number;
}

export interface Done {
  readonly id: number;
  readonly kvTokens: number;
}

interface Member {
  readonly id: number;
  readonly kvAtJoin: number;
  readonly joinedAt: number;
  readonly endsAt: number;
}

/**
 * @param growth tokens that a request's cache grows by in one step: 1, or the mean of what is accepted of drafts
 * @param onSpan told of each request that is done or leaves: the step at which it had joined, and the steps that it got
 */
export function createDecoding(
  blockTokens: number,
  growth: number,
  onSpan: (id: number, from: number, steps: number) => void,
): Decoding {
  const members = new Map<number, Member>();
  const ending = new Map<number, Member[]>();
  /** By when they joined; those at the end that are gone are taken off when the newest is asked for. */
  const joined: Member[] = [];
  /** Of those that decode, by where in a block their next token goes. Drafts grow by fractions: then blocks are tokens. */
  const phases = new Int32Array(growth === 1 ? blockTokens : 1);
  let steps = 0;
  let base = 0;
  let ends = 0;

  const phaseOf = ({ kvAtJoin, joinedAt }: Member): number => {
    const size = phases.length;
    return (((kvAtJoin - joinedAt) % size) + size) % size;
  };
  const kvOf = ({ kvAtJoin, joinedAt }: Member): number => kvAtJoin + growth * (steps - joinedAt);

  function forget(member: Member): void {
    onSpan(member.id, member.joinedAt, steps - member.joinedAt);
    members.delete(member.id);
    phases[phaseOf(member)] = (phases[phaseOf(member)] as number) - 1;
    base -= member.kvAtJoin - growth * member.joinedAt;
    ends -= member.endsAt;
  }

  return {
    get size() {
      return members.size;
    },
    get steps() {
      return steps;
    },
    contextTokens: () => base + members.size * growth * (steps + 1),
    newBlocks() {
      if (growth !== 1) return members.size * growth;
      const size = phases.length;
      return phases[(size - (steps % size)) % size] as number;
    },
    stepsLeft: () => ends - members.size * steps,
    join(id, kvTokens, stepsLeft) {
      const member = { id, kvAtJoin: kvTokens, joinedAt: steps, endsAt: steps + stepsLeft };
      members.set(id, member);
      joined.push(member);
      phases[phaseOf(member)] = (phases[phaseOf(member)] as number) + 1;
      base += kvTokens - growth * steps;
      ends += member.endsAt;
      const last = ending.get(member.endsAt);
      if (last === undefined) ending.set(member.endsAt, [member]);
      else last.push(member);
    },
    leave(id) {
      const member = members.get(id) as Member;
      forget(member);
      return { kvTokens: kvOf(member), stepsLeft: member.endsAt - steps };
    },
    step() {
      steps++;
      const last = ending.get(steps);
      if (last === undefined) return [];
      ending.delete(steps);
      const done: Done[] = [];
      for (const member of last) {
        // Those that left are still in the list.
        if (members.get(member.id) !== member) continue;
        forget(member);
        done.push({ id: member.id, kvTokens: kvOf(member) });
      }
      return done;
    },
    ids: () => members.keys(),
    newest() {
      for (let last = joined.at(-1); last !== undefined; last = joined.at(-1)) {
        if (members.get(last.id) === last) return last.id;
        joined.pop();
      }
      return undefined;
    },
    has: (id) => members.has(id),
    stepsOf: (id) => steps - (members.get(id)?.joinedAt ?? steps),
    stepsLeftOf: (id) => (members.get(id)?.endsAt ?? steps) - steps,
  };
}
