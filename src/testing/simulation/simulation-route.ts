/**
 * `/keelson/v1/simulation`: GET returns the clock and the faults, POST changes them: pause, run, step, speed, and faults of
 * nodes. Roles grant it by the verbs `get` and `post` on that path. See docs/console.md.
 */
import { badRequest, conflict, notFound } from '../../api/status-error.ts';
import type { ApiResponse } from '../../api/transport.ts';
import type { NonResourceRoute } from '../../apiserver/non-resource-routes.ts';
import type { RequestScope } from '../../apiserver/request-scope.ts';
import { objectResponse, textResponse } from '../../apiserver/responses.ts';
import { dateOf } from '../../api/time.ts';
import type { TestNodes } from '../nodes.ts';
import type { ScenarioStep } from '../scenario-steps.ts';
import type { ClockState, RunningClock } from './running-clock.ts';
import { MOST_SPEED } from './speeds.ts';

export const SIMULATION_PATH = '/keelson/v1/simulation';
const MAX_BODY_BYTES = 4096;
/** The limit of a step, a day. */
const MOST_STEP_SECONDS = 86_400;

export interface Simulated {
  readonly nodes: TestNodes;
  readonly nowMs: number;
}

export interface SimulationDeps {
  /** Undefined until it has started. */
  readonly cluster: () => Simulated | undefined;
  /** Absent when time is real. */
  readonly clock?: RunningClock | undefined;
  /** Absent when nothing is recorded. */
  readonly recording?: { add(step: ScenarioStep): void; text(): string } | undefined;
}

/** The body of POST. */
interface Order {
  readonly do?: unknown;
  readonly node?: unknown;
  readonly speed?: unknown;
  readonly seconds?: unknown;
}

interface NodeFault {
  readonly node: string;
  readonly faults: readonly ('noPower' | 'noKubelet' | 'partitioned')[];
}

/** The response to GET and POST. */
export interface Simulation {
  readonly kind: 'Simulation';
  readonly apiVersion: 'keelson/v1';
  readonly now: string;
  readonly clock?: ClockState | undefined;
  readonly recording: boolean;
  readonly broken: readonly NodeFault[];
}

export function simulationRoutes(deps: SimulationDeps): readonly NonResourceRoute[] {
  return [
    { path: SIMULATION_PATH, methods: ['GET', 'HEAD', 'POST'], serve: (scope) => serve(deps, scope) },
    { path: `${SIMULATION_PATH}/scenario`, serve: () => scenario(deps) },
  ];
}

async function serve(deps: SimulationDeps, scope: RequestScope): Promise<ApiResponse> {
  const cluster = deps.cluster();
  if (cluster === undefined) throw conflict({ group: '', resource: 'simulation' }, '', 'it has not started yet');
  if (scope.request.method === 'POST') await obey(deps, cluster, await orderOf(scope));
  return objectResponse(scope.request, { object: stateOf(deps, cluster) });
}

function stateOf({ clock, recording }: SimulationDeps, { nodes, nowMs }: Simulated): Simulation {
  const broken = nodes.names().flatMap((node): NodeFault[] => {
    const { powered, up, partitioned } = nodes.machine(node);
    const faults = [
      ...(powered ? (up ? [] : (['noKubelet'] as const)) : (['noPower'] as const)),
      ...(partitioned ? (['partitioned'] as const) : []),
    ];
    return faults.length === 0 ? [] : [{ node, faults }];
  });
  return {
    kind: 'Simulation',
    apiVersion: 'keelson/v1',
    now: dateOf(nowMs).toISOString(),
    clock: clock?.state,
    recording: recording !== undefined,
    broken,
  };
}

async function orderOf({ request: { body } }: RequestScope): Promise<Order> {
  if (body.kind === 'object') return body.object as Order;
  const text = body.kind === 'bytes' ? Buffer.from(await body.read(MAX_BODY_BYTES)).toString() : '';
  let order: unknown;
  try {
    order = JSON.parse(text);
  } catch {
    throw badRequest('the body is no JSON');
  }
  if (typeof order === 'object' && order !== null) return order;
  throw badRequest('the body is no JSON object');
}

async function obey(deps: SimulationDeps, cluster: Simulated, order: Order): Promise<void> {
  const { clock, recording } = deps;
  const word = typeof order.do === 'string' ? order.do : '';
  if (Object.hasOwn(CLOCK_ORDERS, word)) {
    if (clock === undefined)
      throw badRequest('do: the time of this simulation is real; start it with --speed to move it');
    await CLOCK_ORDERS[word]!(clock, order);
    return;
  }
  const fault = Object.hasOwn(FAULTS, word) ? FAULTS[word] : undefined;
  if (fault === undefined)
    throw badRequest(`do: must be one of ${[...Object.keys(CLOCK_ORDERS), ...Object.keys(FAULTS)].join(', ')}`);
  const { node } = order;
  if (typeof node !== 'string') throw badRequest(`node: ${JSON.stringify(node)} is no name`);
  if (!cluster.nodes.has(node)) throw notFound({ group: '', resource: 'nodes' }, node);
  await fault.run(cluster.nodes, node);
  recording?.add(fault.step(node));
}

const CLOCK_ORDERS: Readonly<Record<string, (clock: RunningClock, order: Order) => Promise<void> | void>> = {
  pause: (clock) => clock.pause(),
  run: (clock) => clock.run(),
  step: (clock, { seconds }) => clock.step(1000 * numberWithin('seconds', seconds, MOST_STEP_SECONDS)),
  speed: (clock, { speed }) => clock.setSpeed(numberWithin('speed', speed, MOST_SPEED)),
};

interface Fault {
  run(nodes: TestNodes, node: string): Promise<void> | void;
  /** The corresponding step of a scenario. */
  step(node: string): ScenarioStep;
}

const FAULTS: Readonly<Record<string, Fault>> = {
  crash: { run: (nodes, node) => nodes.crash(node), step: (node) => ({ crash: `node/${node}` }) },
  stop: { run: (nodes, node) => nodes.stopKubelet(node), step: (node) => ({ stop: `kubelet/${node}` }) },
  start: { run: (nodes, node) => nodes.start(node), step: (node) => ({ start: `node/${node}` }) },
  partition: { run: (nodes, node) => nodes.partition(node), step: (node) => ({ partition: node }) },
  heal: { run: (nodes, node) => nodes.heal(node), step: (node) => ({ heal: node }) },
};

function numberWithin(name: string, value: unknown, most: number): number {
  if (typeof value === 'number' && value > 0 && value <= most) return value;
  throw badRequest(`${name}: ${JSON.stringify(value)} is no number above 0 and up to ${most}`);
}

function scenario({ recording }: SimulationDeps): ApiResponse {
  if (recording === undefined)
    throw notFound({ group: '', resource: 'scenario' }, 'this run is not recorded: start it with --record');
  return textResponse(200, recording.text(), { 'content-type': 'application/yaml' });
}
