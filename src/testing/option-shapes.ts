/** The shapes of the library's options: a misspelt option would silently test nothing. */
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

/** A port number, or a server that listens on one. */
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

/** Throws a TypeError with the place of an error, and the name that was probably meant. */
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

/** Checks the specification of a machine. */
export function checkNode(spec: object): void {
  checkShape('node', fields(plainNodeFields), spec);
}

/** Throws for an option that `call` does not have. The compiler requires every name of the options' type. */
export function checkOptionNames<T extends object>(
  call: string,
  options: T,
  names: Readonly<Record<keyof Required<T> & string, true>>,
): void {
  checkShape(call, fields(Object.fromEntries(Object.keys(names).map((name) => [name, anything]))), options);
}

/** Describes the behavior of an image's containers. Throws for an unknown field and an invalid duration or amount. */
export function image(name: string, spec: SimImageSpec = {}): SimImage {
  checkShape(`image ${name}`, fields({ name: text, ...imageOptions }), spec);
  return describeImage(name, spec);
}
