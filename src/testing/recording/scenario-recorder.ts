/**
 * Records the changes by clients of a port as a scenario that `keelson sim run` repeats: each successful request as a step, and
 * the time between them. The cluster's reactions are not recorded; they occur again.
 */
import { parseJson } from '../../api/codec/json.ts';
import { decodeProtobuf, isProtobuf } from '../../api/codec/protobuf.ts';
import { parseYaml } from '../../api/codec/yaml.ts';
import { stringifyYaml } from '../../api/codec/yaml-writer.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { formatTime } from '../../api/time.ts';
import type { ApiBody, ApiHandler, ApiRequest, ApiResponse } from '../../api/transport.ts';
import { parseRequestInfo } from '../../apiserver/request-info.ts';
import { appendAll } from '../../base/lists.ts';
import type { Clock } from '../../platform/clock.ts';
import { formatSpan } from '../duration.ts';
import { parseScenario, type Scenario } from '../scenario.ts';
import type { ScenarioStep } from '../scenario-steps.ts';
import { type Cordons, type Exchange, recordedSteps, referenceTo } from './recorded-steps.ts';

/** Shorter times between two requests are omitted. */
const MIN_ADVANCE_MS = 100;
const MUTATING = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
const HEAD = [
  '# What was done to a simulated cluster. Run it with: keelson sim run -v FILE',
  '# It demands nothing yet: add wait, expect or rest where something has to be so (docs/scenario-steps.md).',
  '# Secrets stand in it in plain text, as clients sent them: look through it before anybody else gets it.',
];

const MISSING = '# Not recorded, as there is no step for it: ';

export interface RecorderDeps {
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
  /** The machines and images of the cluster. */
  readonly cluster: Pick<Scenario, 'nodes' | 'images'>;
  /** The object of `KIND/NAME`, if it exists. */
  readonly find: (reference: string) => KubernetesObject | undefined;
  /** Called after each step, which changes the text of `file`. */
  readonly onChange: () => void;
  /** The file of an earlier run of the same cluster, which is continued. */
  readonly earlier?: string | undefined;
}

export class ScenarioRecorder {
  readonly #deps: RecorderDeps;
  readonly #name: string;
  /** The steps since the last call of `file`. */
  #newSteps: ScenarioStep[];
  /** The YAML of the earlier steps, each built once. */
  #stepTexts = '';
  /** Requests that no step can repeat. */
  readonly #missing: string[];
  readonly #cordons: Cordons = new Map();
  #lastMs: number | undefined;

  constructor(deps: RecorderDeps) {
    const { clock, earlier = '' } = deps;
    this.#deps = deps;
    const { name = `Recorded ${formatTime(clock.nowMs())}`, steps = [] } = earlier === '' ? {} : parseScenario(earlier);
    this.#name = name;
    this.#newSteps = [...steps];
    this.#missing = earlier
      .split('\n')
      .flatMap((line) => (line.startsWith(MISSING) ? [line.slice(MISSING.length)] : []));
  }

  /** Wraps a handler and records every request that changes something. */
  wrap(handler: ApiHandler): ApiHandler {
    return (request) => (MUTATING.has(request.method) ? this.#serve(handler, request) : handler(request));
  }

  /** Records a change that was not made by a request. */
  add(step: ScenarioStep): void {
    this.#add([step]);
    this.#deps.onChange();
  }

  /** Adds a comment about a request that the scenario lacks. */
  addMissing(text: string): void {
    this.#missing.push(text);
  }

  /** The current text of the scenario's file. */
  file(): string {
    const { nodes, images } = this.#deps.cluster;
    for (const step of this.#newSteps) this.#stepTexts += stringifyYaml([plain(step)]);
    this.#newSteps = [];
    const missing = this.#missing.map((text) => MISSING + text.replaceAll(/\s+/g, ' '));
    const steps = this.#stepTexts === '' ? 'steps: []\n' : `steps:\n${this.#stepTexts}`;
    return `${[...HEAD, ...missing].join('\n')}\n${stringifyYaml(plain({ name: this.#name, nodes, images }))}${steps}`;
  }

  async #serve(handler: ApiHandler, request: ApiRequest): Promise<ApiResponse> {
    const params = new URLSearchParams(request.query);
    const info = parseRequestInfo({ method: request.method, path: request.path, params });
    const target = info.isResourceRequest && info.name !== '' ? this.#deps.find(referenceTo(info)) : undefined;
    const sent = capturing(request.body);
    const response = await handler({ ...request, body: sent.body });
    if (response.kind === 'upgrade' || response.status < 200 || response.status > 299) return response;
    try {
      const contentType = request.headers['content-type'] ?? '';
      const body = decodedBody(sent.bytes(), contentType);
      if (info.isResourceRequest) this.#record({ info, params, contentType, body, target, answer: answerOf(response) });
    } catch (error) {
      this.#missing.push(`${request.method} ${request.path} (${String(error)})`);
      this.#deps.onChange();
    }
    return response;
  }

  #record(exchange: Exchange): void {
    const steps = recordedSteps(exchange, this.#cordons);
    if (typeof steps === 'string') this.#missing.push(steps);
    else if (steps.length === 0) return;
    else this.#add(steps);
    this.#deps.onChange();
  }

  #add(steps: readonly ScenarioStep[]): void {
    const now = this.#deps.clock.monotonicMs();
    const passedMs = now - (this.#lastMs ?? now);
    this.#lastMs = now;
    if (passedMs >= MIN_ADVANCE_MS) this.#newSteps.push({ advance: formatSpan(passedMs) });
    appendAll(this.#newSteps, steps);
  }
}

/** The value as JSON: without undefined fields. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** A body that keeps its bytes while they are read. */
function capturing(body: ApiBody): { readonly body: ApiBody; bytes(): Uint8Array | undefined } {
  if (body.kind !== 'bytes') return { body, bytes: () => undefined };
  let kept: Uint8Array | undefined;
  return {
    body: {
      kind: 'bytes',
      read: async (limitBytes, gate) => (kept = await body.read(limitBytes, gate)),
      stream: () => body.stream(),
    },
    bytes: () => kept,
  };
}

function decodedBody(bytes: Uint8Array | undefined, contentType: string): unknown {
  return bytes === undefined || bytes.length === 0 ? undefined : decoded(bytes, contentType);
}

function decoded(bytes: Uint8Array, contentType: string): unknown {
  if (isProtobuf(bytes)) return decodeProtobuf(bytes);
  const text = Buffer.from(bytes).toString('utf8');
  return contentType.includes('yaml') ? parseYaml(text).value : parseJson(text).value;
}

/** The object of a response that contains one. */
function answerOf(response: ApiResponse): unknown {
  if (response.kind === 'object') return response.object;
  if (response.kind !== 'bytes') return undefined;
  const type = String(response.headers['content-type'] ?? '');
  return /json|yaml|protobuf/.test(type) ? decoded(Buffer.concat(response.chunks), type) : undefined;
}
