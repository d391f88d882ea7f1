/** The fields of machines and images in scenario files: those of the library that text can express. */
import { quantityAsFloat } from '../api/quantity.ts';
import type { SimImageSpec } from '../cri/sim/sim-image.ts';
import { KUBELET_DEFAULTS } from '../kubelet/kubelet-defaults.ts';
import {
  anyText,
  anything,
  described,
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
  shapeOf,
  span,
  text,
} from './scenario-shape.ts';
import type { SimNodeSpec } from './sim-node-spec.ts';

/** Fields of a machine. */
function fieldsOfNodes(numeric: Shape): Readonly<Record<keyof SimNodeSpec, Shape>> {
  return {
    name: described('Default: `node-1`, `node-2` and so on.', text),
    cpus: described('Default 4.', numeric),
    memoryBytes: described('Default 8 GiB.', numeric),
    maxPods: described('Default 110.', numeric),
    labels: described('Labels of the Node object.', namesTo(anyText)),
    taints: described('Taints with which the node registers.', listOf(anything)),
    draDrivers: described('Drivers of devices (dynamic resource allocation) that run there.', listOf(text)),
    kubelet: described('Any other setting of its kubelet.', kubeletSettings),
  };
}

const kubeletSettings = fields(
  Object.fromEntries(
    ['nodeName', 'rootDirectory', 'published', ...Object.keys(KUBELET_DEFAULTS)].map((name) => [name, anything]),
  ),
);

/** Fields of a machine in a scenario. */
export const nodeFields = fieldsOfNodes(number);

/** Fields of a machine without random ranges. */
export const plainNodeFields = fieldsOfNodes(plainNumber);

type ImageFields = Readonly<Record<Exclude<keyof SimImageSpec, 'run' | 'servers'>, Shape>>;

/** Fields of an image, without functions. */
function fieldsOfImages(numeric: Shape, duration: Shape): ImageFields {
  const exit = { code: numeric, after: duration, reason: text };
  const usage = { cpu: amount(numeric), memory: amount(numeric) };
  return {
    start: described('The start of a container takes so long.', duration),
    exits: described('Containers end by themselves.', fields(exit, ['code', 'after'])),
    crashes: described(
      "Containers end so in the first `times` starts of each pod's container, and then do what else is said.",
      fields({ ...exit, times: numeric }, ['code', 'after', 'times']),
    ),
    startError: described('The start of a container fails with this message.', text),
    onStop: described(
      'Reaction to the stop signal; `ignored` waits for the kill. Default: ends at once with 0.',
      objectOr(fields({ after: duration, code: numeric }), oneOf('ignored')),
    ),
    logs: described(
      'Lines of the log, each a time after the start.',
      listOf(
        objectOr(fields({ after: duration, line: anyText, stream: oneOf('stdout', 'stderr') }, ['line']), anyText),
      ),
    ),
    exec: described(
      'What commands do (`kubectl exec`, probes). Default: nothing, with success.',
      fields({ exitCode: numeric, stdout: anyText, stderr: anyText, after: duration }, ['exitCode']),
    ),
    http: described(
      'What is answered on `ports`. Default: nobody listens.',
      fields({ status: numeric, body: anyText, headers: namesTo(anyText) }, ['status']),
    ),
    ports: described('Ports on which `http` listens. Default 80 and 8080.', listOf(numeric)),
    terminationMessage: described('Written to the termination message file at the end.', anyText),
    usage: described(
      'Use of processor and memory, from moments on: what metrics, autoscalers, limits and evictions see.',
      listOr(listOf(fields({ ...usage, after: duration })), fields(usage)),
    ),
    pull: described('The pull takes so long, or fails with this message.', fields({ after: duration, error: text })),
    present: described('On the node from the start. Default true.', flag),
    sizeBytes: described('Size of the image.', numeric),
    uid: described('Numeric user the image runs as. Default: root.', numeric),
    username: described('User the image runs as, by name.', text),
  };
}

const QUANTITY = { type: 'string', pattern: String.raw`^[+-]?(\d+\.?\d*|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$` };

/** A number, or a quantity. Quantities have no ranges, because `100m` is a tenth of a core here and minutes elsewhere. */
function amount(numeric: Shape): Shape {
  const schema = { title: 'amount, such as 250m or 64Mi', anyOf: [numeric.schema, QUANTITY] };
  return shapeOf(schema, (value, path) => {
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
  });
}

/** Fields of an image in a scenario. */
export const imageFields = fieldsOfImages(number, span);

/** Fields of an image without random ranges. */
export const plainImageFields = fieldsOfImages(plainNumber, plainSpan);
