/**
 * Monitors whether runtime and network are ready: every 5 s, and more often while they are not, so that the node
 * becomes Ready quickly. Upstream: wait.Until(kl.updateRuntimeUp, 5s) in pkg/kubelet/kubelet.go.
 */
import { onAbort } from '../../base/abort.ts';
import type { CancelTimer, Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { ContainerRuntime, ContainerRuntimeStatus } from '../container/runtime.ts';
import type { RuntimeState } from './runtime-state.ts';
import { updateRuntimeUp } from './update-runtime-up.ts';
import { background, callEach } from '../../platform/unexpected.ts';

const PERIOD_MS = 5_000;
/** Period while there are problems, doubling from `first` to `most`; a network is often configured within this time. */
const NOT_READY_MS = { first: 20, most: 250 };

export interface RuntimeMonitorDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly runtime: ContainerRuntime;
  readonly state: RuntimeState;
}

export interface RuntimeMonitor {
  /** Checks now, one check at a time. Never rejects; undefined when the runtime does not answer. */
  check(): Promise<ContainerRuntimeStatus | undefined>;
  /** Calls the listener when the problems have changed; `ready`: there are none. */
  onChange(listener: (ready: boolean) => void): void;
  /** Checks repeatedly until the signal aborts. */
  start(signal: AbortSignal): void;
}

export function createRuntimeMonitor(deps: RuntimeMonitorDeps): RuntimeMonitor {
  const { state, clock } = deps;
  let checking: Promise<ContainerRuntimeStatus | undefined> | undefined;
  let cancelTimer: CancelTimer | undefined;
  let running: AbortSignal | undefined;
  const listeners: ((ready: boolean) => void)[] = [];
  let unreadyMs = NOT_READY_MS.first;

  const problems = (): readonly string[] => [...state.runtimeErrors(), ...state.networkErrors()];

  function arm(): void {
    cancelTimer?.();
    if (running?.aborted !== false) return;
    const ready = problems().length === 0;
    const delayMs = ready ? PERIOD_MS : unreadyMs;
    unreadyMs = ready ? NOT_READY_MS.first : Math.min(unreadyMs * 2, NOT_READY_MS.most);
    cancelTimer = clock.setTimer(delayMs, () => background(deps.log, 'the runtime could not be checked', check()));
  }

  async function checkOnce(): Promise<ContainerRuntimeStatus | undefined> {
    const before = problems().join();
    const status = await updateRuntimeUp(deps);
    const after = problems();
    if (after.join() !== before)
      callEach({ log: deps.log, what: 'a change of the runtime could not be handled' }, listeners, after.length === 0);
    return status;
  }

  function check(): Promise<ContainerRuntimeStatus | undefined> {
    checking ??= checkOnce().finally(() => {
      checking = undefined;
      arm();
    });
    return checking;
  }

  return {
    check,
    onChange: (listener) => listeners.push(listener),
    start(signal) {
      running = signal;
      onAbort(signal, () => cancelTimer?.());
      arm();
    },
  };
}
