/** What the calls of the library take: a misspelt option would silently test nothing. */
import { image as describeImage, type SimImage, type SimImageSpec } from '../cri/sim/sim-image.ts';
import type { ClusterOptions } from './cluster-options.ts';
import { plainImageFields, plainNodeFields } from './scenario-fields.ts';
import {
  anything,
  anyText,
  aFunction,
  fields,
  flag,
  functionOr,
  listOf,
  listOr,
  oneOf,
  plainNumber,
  ShapeError,
  text,
  type Shape,
} from './scenario-shape.ts';

const clusterFields: Readonly<Record<keyof ClusterOptions, Shape>> = {
  nodes: listOr(listOf(fields(plainNodeFields)), plainNumber),
  controllers: listOf(text),
  scheduler: flag,
  clock: oneOf('virtual', 'real'),
  startAt: anything,
  seed: anything,
  store: anything,
  history: anything,
  pki: anything,
  images: listOf(anything),
  unknownImages: oneOf('run', 'refuse'),
  cloud: flag,
  runtimeConfig: anyText,
  log: anything,
  keepEventLog: flag,
  fieldValidation: oneOf('Strict', 'Warn', 'Ignore'),
};

const { exec, http, usage } = plainImageFields;

const imageOptions: Readonly<Record<keyof SimImageSpec, Shape>> = {
  ...plainImageFields,
  exec: functionOr(exec),
  http: functionOr(http),
  usage: functionOr(usage),
  run: aFunction,
};

/** Throws a TypeError that names the place, and what was meant. */
function check(what: string, shape: Shape, value: unknown): void {
  try {
    shape(value, []);
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    throw new TypeError([what, error.path.join('.'), error.message].filter((part) => part !== '').join(': '), {
      cause: error,
    });
  }
}

/** Options of `Cluster.start`. */
export function checkClusterFields(options: ClusterOptions): void {
  check('Cluster.start', fields(clusterFields), options);
}

/** A machine to add. */
export function checkNode(spec: object): void {
  check('node', fields(plainNodeFields), spec);
}

/** Throws on an option that `call` does not take. */
export function checkOptionNames(call: string, options: object, names: readonly string[]): void {
  check(call, fields(Object.fromEntries(names.map((name) => [name, anything]))), options);
}

/** Describes an image: what its containers do. Throws on a field that there is not, a duration or an amount that is none. */
export function image(name: string, spec: SimImageSpec = {}): SimImage {
  check(`image ${name}`, fields({ name: text, ...imageOptions }), spec);
  return describeImage(name, spec);
}
