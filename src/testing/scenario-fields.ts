/** The fields of machines and images in scenario files: of the library's, those that text can say. */
import { quantityAsFloat } from '../api/quantity.ts';
import type { SimImageSpec } from '../cri/sim/sim-image.ts';
import { KUBELET_DEFAULTS } from '../kubelet/kubelet-defaults.ts';
import {
  anyText,
  anything,
  fields,
  flag,
  listOf,
  listOr,
  namesTo,
  number,
  objectOr,
  oneOf,
  plainNumber,
  plainSpan,
  type Shape,
  ShapeError,
  span,
  text,
} from './scenario-shape.ts';
import type { SimNodeSpec } from './sim-node-spec.ts';

/** Fields of a machine. */
function fieldsOfNodes(numeric: Shape): Readonly<Record<keyof SimNodeSpec, Shape>> {
  return {
    name: text,
    cpus: numeric,
    memoryBytes: numeric,
    maxPods: numeric,
    labels: namesTo(anyText),
    taints: listOf(anything),
    draDrivers: listOf(text),
    kubelet: kubeletSettings,
  };
}

const kubeletSettings = fields(
  Object.fromEntries(
    ['nodeName', 'rootDirectory', 'published', ...Object.keys(KUBELET_DEFAULTS)].map((name) => [name, anything]),
  ),
);

/** Fields of a machine in a scenario. */
export const nodeFields = fieldsOfNodes(number);

/** Fields of a machine where nothing is drawn. */
export const plainNodeFields = fieldsOfNodes(plainNumber);

type ImageFields = Readonly<Record<Exclude<keyof SimImageSpec, 'run' | 'servers'>, Shape>>;

/** Fields of an image, without functions. */
function fieldsOfImages(numeric: Shape, duration: Shape): ImageFields {
  const exit = { code: numeric, after: duration, reason: text };
  const usage = { cpu: amount(numeric), memory: amount(numeric) };
  return {
    start: duration,
    exits: fields(exit, ['code', 'after']),
    crashes: fields({ ...exit, times: numeric }, ['code', 'after', 'times']),
    startError: text,
    onStop: objectOr(fields({ after: duration, code: numeric }), oneOf('ignored')),
    logs: listOf(
      objectOr(fields({ after: duration, line: anyText, stream: oneOf('stdout', 'stderr') }, ['line']), anyText),
    ),
    exec: fields({ exitCode: numeric, stdout: anyText, stderr: anyText, after: duration }, ['exitCode']),
    http: fields({ status: numeric, body: anyText, headers: namesTo(anyText) }, ['status']),
    ports: listOf(numeric),
    terminationMessage: anyText,
    usage: listOr(listOf(fields({ ...usage, after: duration })), fields(usage)),
    pull: fields({ after: duration, error: text }),
    present: flag,
    sizeBytes: numeric,
    uid: numeric,
    username: text,
  };
}

/** A number, or a quantity; of quantities no range is drawn: `100m` is a tenth of a core here and minutes elsewhere. */
function amount(numeric: Shape): Shape {
  return (value, path) => {
    if (typeof value !== 'string') return numeric(value, path);
    try {
      quantityAsFloat(value);
    } catch {
      try {
        numeric(value, path);
      } catch {
        throw new ShapeError(`${JSON.stringify(value)} is no amount, such as 250m or 64Mi`, path);
      }
    }
  };
}

/** Fields of an image in a scenario. */
export const imageFields = fieldsOfImages(number, span);

/** Fields of an image where nothing is drawn. */
export const plainImageFields = fieldsOfImages(plainNumber, plainSpan);
