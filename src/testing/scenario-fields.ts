/** The fields of machines and images in scenario files: of the library's, those that text can say. */
import type { SimImageSpec } from '../cri/sim/sim-image.ts';
import {
  anything,
  fields,
  flag,
  listOf,
  listOr,
  namesTo,
  number,
  objectOr,
  oneOf,
  span,
  text,
  type Shape,
} from './scenario-shape.ts';
import type { SimNodeSpec } from './sim-node.ts';

/** Of a machine. */
export const nodeFields: Readonly<Record<keyof SimNodeSpec, Shape>> = {
  name: text,
  cpus: number,
  memoryBytes: number,
  maxPods: number,
  labels: namesTo(text),
  taints: listOf(anything),
  kubelet: namesTo(anything),
};

const exit = { code: number, after: span, reason: text };
const amount = objectOr(anything, (value, path) => (typeof value === 'number' ? undefined : text(value, path)));
const usage = { cpu: amount, memory: amount };

/** Of an image: all but functions. */
export const imageFields: Readonly<Record<Exclude<keyof SimImageSpec, 'run'>, Shape>> = {
  start: span,
  exits: fields(exit, ['code', 'after']),
  crashes: fields({ ...exit, times: number }, ['code', 'after', 'times']),
  startError: text,
  onStop: objectOr(fields({ after: span, code: number }), oneOf('ignored')),
  logs: listOf(objectOr(fields({ after: span, line: text, stream: oneOf('stdout', 'stderr') }, ['line']), text)),
  exec: fields({ exitCode: number, stdout: text, stderr: text, after: span }, ['exitCode']),
  http: fields({ status: number, body: text, headers: namesTo(text) }, ['status']),
  ports: listOf(number),
  terminationMessage: text,
  usage: listOr(listOf(fields({ ...usage, after: span })), fields(usage)),
  pull: fields({ after: span, error: text }),
  present: flag,
  sizeBytes: number,
  uid: number,
  username: text,
};
