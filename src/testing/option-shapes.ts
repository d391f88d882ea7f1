/** What the calls of the library take: a misspelt option would silently test nothing. */
import { image as describeImage, type SimImage, type SimImageSpec } from '../cri/sim/sim-image.ts';
import { plainImageFields, plainNodeFields } from './scenario-fields.ts';
import {
  aFunction,
  anything,
  fields,
  functionOr,
  namesTo,
  objectOr,
  plainNumber,
  ShapeError,
  text,
  type Shape,
} from './scenario-shape.ts';

/** A port, or what listens on one. */
const server: Shape = objectOr(anything, plainNumber);

const { exec, http, usage } = plainImageFields;

const imageOptions: Readonly<Record<keyof SimImageSpec, Shape>> = {
  ...plainImageFields,
  exec: functionOr(exec),
  http: functionOr(http),
  usage: functionOr(usage),
  run: aFunction,
  servers: namesTo(server),
};

/** Throws a TypeError that names the place, and what was meant. */
export function checkShape(what: string, shape: Shape, value: unknown): void {
  try {
    shape(value, []);
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    throw new TypeError([what, error.path.join('.'), error.message].filter((part) => part !== '').join(': '), {
      cause: error,
    });
  }
}

/** A machine to add. */
export function checkNode(spec: object): void {
  checkShape('node', fields(plainNodeFields), spec);
}

/** Throws on an option that `call` does not take. The compiler asks for every name that the options' type has. */
export function checkOptionNames<T extends object>(
  call: string,
  options: T,
  names: Readonly<Record<keyof Required<T> & string, true>>,
): void {
  checkShape(call, fields(Object.fromEntries(Object.keys(names).map((name) => [name, anything]))), options);
}

/** Describes an image: what its containers do. Throws on an unknown field and on an invalid duration or amount. */
export function image(name: string, spec: SimImageSpec = {}): SimImage {
  checkShape(`image ${name}`, fields({ name: text, ...imageOptions }), spec);
  return describeImage(name, spec);
}
