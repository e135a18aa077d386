import { type CompleteShape, completeShape } from '../../src/hardware/model.ts';
import { modelNamed } from '../../src/hardware/models.ts';

/** The shape of a model that the table has. */
export function shapeOf(name: string): CompleteShape {
  const known = modelNamed(name);
  const shape = known && completeShape(known.shape);
  if (shape === null) throw new Error(`no shape of ${name}`);
  return shape;
}

export const relative = (value: number, expected: number): number => Math.abs(value / expected - 1);
