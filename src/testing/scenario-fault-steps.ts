/** The steps of scenarios that cause faults and end them. */
import type { Cluster } from './cluster.ts';
import { type Duration, signedMs, spanMs } from './duration.ts';
import type { Part, RestartablePart } from './faults.ts';
import type { StoreFaults } from './faulty-store.ts';
import {
  crash,
  crashContainer,
  failRuntime,
  heal,
  partition,
  restart,
  start,
  stopKubelet,
} from './scenario-actions.ts';
import { described, fields, flag, number, signedSpan, span, text, textLike } from './scenario-shape.ts';
import { anyCaller, caller, component, crashable, node, type StepWord, target, word } from './step-word.ts';

type Component = RestartablePart | `kubelet/${string}`;

const runtimeCall = described('Call of the container runtime, such as `createContainer`.', text);

/** The steps that cause faults. To add one: a line here. */
export const faultSteps: Readonly<Record<string, StepWord>> = {
  crash: word('Ends a part or a whole machine at once, in the middle of what it does.', crashable, crash),
  start: word('Starts what has crashed or was stopped.', crashable, start),
  stop: word<string>(
    'Stops a kubelet in order; containers run on.',
    textLike(/^kubelet\/.+$/, 'kubelet/NAME'),
    stopKubelet,
  ),
  restart: word('Stops a part in order and starts it again.', component, restart),
  crashAfterWrites: word<{ part: Component; writes: number; down?: Duration }>(
    'Ends a part when its writes have reached the store and before it hears of the last, and starts it again.',
    fields(
      {
        part: component,
        writes: described('At which write from now.', number),
        down: described('It starts again after so long. Default: at once.', span),
      },
      ['part', 'writes'],
    ),
    // A component that is down after an earlier crash is started first.
    (cluster, { part: crashed, writes, down = 0 }) =>
      cluster.eventually(() => cluster.faults.crashAfterWrites(crashed, writes, spanMs(down))),
  ),
  crashContainer: word(
    'Ends a container.',
    fields(
      {
        pod: target,
        container: described('Default: the first.', text),
        code: described('Exit code. Default 1.', number),
      },
      ['pod'],
    ),
    crashContainer,
  ),
  partition: word('Cuts a machine off from the API server and the other machines.', node, partition),
  heal: word('Ends `partition`.', node, heal),
  disconnect: word('Refuses the calls of a part, or of all.', anyCaller, (cluster, value) =>
    cluster.faults.disconnect(part(value)),
  ),
  reconnect: word('Ends `disconnect`.', anyCaller, (cluster, value) => cluster.faults.reconnect(part(value))),
  dropWatches: word(
    'Breaks the watches of a part, or of all; they are resumed as after a lost connection.',
    anyCaller,
    (cluster, value) => cluster.faults.dropWatches(part(value)),
  ),
  lagWatches: word<{ part?: Part; lag: Duration }>(
    'Lets watch events reach a part, or all, late: stale caches. Until the part restarts or the lag is 0.',
    fields({ part: caller, lag: span }, ['lag']),
    (cluster, value) => cluster.faults.lagWatches(spanMs(value.lag), part(value.part)),
  ),
  repeatWatches: word<{ part?: Part; rate: number }>(
    'Lets watch events reach a part, or all, twice. Until the part restarts or the rate is 0.',
    fields({ part: caller, rate: described('Part of the batches that come twice, 0 to 1.', number) }, ['rate']),
    (cluster, value) => cluster.faults.repeatWatches(value.rate, part(value.part)),
  ),
  skewClock: word<{ node: string; by: Duration }>(
    "Sets a machine's wall clock ahead of all others, or behind them; 0 sets it right.",
    fields({ node, by: signedSpan }, ['node', 'by']),
    (cluster, value) => cluster.nodes.skewClock(value.node, value.by),
  ),
  jumpClock: word<Duration>('Sets the wall clock of all machines forwards or back.', signedSpan, (cluster, value) =>
    cluster.jumpWallClock(signedMs(value)),
  ),
  fillDisk: word<{ node: string; leaveBytes?: number }>(
    "Fills a machine's disk.",
    fields({ node, leaveBytes: described('So much is left. Default 0.', number) }, ['node']),
    (cluster, value) => cluster.nodes.fillDisk(value.node, value.leaveBytes),
  ),
  freeDisk: word<string>('Ends `fillDisk`.', node, (cluster, value) => cluster.nodes.freeDisk(value)),
  failUnmounts: word<{ node: string; error?: string }>(
    'Lets no volume be unmounted on a machine.',
    fields({ node, error: text }, ['node']),
    (cluster, value) => cluster.nodes.failUnmounts(value.node, value.error),
  ),
  mendUnmounts: word<string>('Ends `failUnmounts`.', node, (cluster, value) => cluster.nodes.mendUnmounts(value)),
  failRuntime: word<{ node: string; call: string; error?: string }>(
    'Lets a call of a container runtime fail.',
    fields({ node, call: runtimeCall, error: text }, ['node', 'call']),
    (cluster, value) => failRuntime(cluster, value),
  ),
  mendRuntime: word<{ node: string; call: string }>(
    'Ends `failRuntime`.',
    fields({ node, call: runtimeCall }, ['node', 'call']),
    (cluster, value) => cluster.nodes.runtime(value.node).failCalls(value.call as 'runPodSandbox', undefined),
  ),
  breakRuntimeEvents: word<string>("Breaks the stream of a container runtime's events.", node, (cluster, value) =>
    cluster.nodes.runtime(value).breakEvents(),
  ),
  store: word<Partial<StoreFaults> & { latency?: Duration }>(
    'What is wrong with the store from now on; fields that are left out stay as they are.',
    fields({
      latency: described('Writes take up to so long, at random.', span),
      failRate: described('Part of the writes that fail without effect, 0 to 1.', number),
      unknownRate: described('Part of the writes that take effect and are answered with an error, 0 to 1.', number),
      failNext: described('The next so many writes fail without effect.', number),
      down: described('Everything fails.', flag),
      full: described('Its disk is full: writes but deletions fail without effect.', flag),
    }),
    (cluster: Cluster, { latency, ...faults }) =>
      void Object.assign(cluster.faults.store, faults, latency === undefined ? {} : { latencyMs: spanMs(latency) }),
  ),
};

function part(value: unknown): Part | undefined {
  return value === 'all' || value === null ? undefined : (value as Part);
}
