/** The calls of the simulated runtime service that concern sandboxes. */
import { CriError } from '../cri-error.ts';
import type { CriRuntimeService } from '../gen/cri-types.ts';
import { leanSandboxConfig } from './lean-config.ts';
import type { SimContainer } from './sim-container.ts';
import { durationMs } from './sim-image.ts';
import { isNameTaken, withLabels, labelsOfSandbox, refuseGroupAlone, sandboxOf } from './sim-runtime-lookup.ts';
import type { SimSandbox } from './sim-sandbox.ts';
import type { SimState } from './sim-state.ts';
import { describeSandbox, sandboxStatus } from './sim-status.ts';

type SandboxCalls = Pick<
  CriRuntimeService,
  'runPodSandbox' | 'stopPodSandbox' | 'removePodSandbox' | 'podSandboxStatus' | 'listPodSandbox'
>;

export function sandboxCalls(state: SimState): SandboxCalls {
  const { clock } = state.deps;
  const containersOf = (id: string): SimContainer[] =>
    [...state.containers.values()].filter((container) => container.init.sandboxId === id);
  const stop = async (sandbox: SimSandbox): Promise<void> => {
    await Promise.all(containersOf(sandbox.id).map((container) => container.stop(0)));
    if (!sandbox.ready) return;
    sandbox.ready = false;
    sandbox.ip = '';
    state.emit({ containerId: sandbox.id, type: 'stopped', exitCode: 137 });
  };
  return {
    async runPodSandbox({ config = {}, runtimeHandler = '' }, options) {
      await clock.sleep(durationMs(state.config.sandboxStart), options?.signal);
      const { uid, attempt = 0 } = config.metadata ?? {};
      if (isNameTaken(state, uid, attempt))
        throw new CriError('Unknown', `failed to reserve sandbox name: name is reserved for ${uid} attempt ${attempt}`);
      refuseGroupAlone(config.linux?.securityContext);
      const hostNetwork = config.linux?.securityContext?.namespaceOptions?.network === 'NODE';
      const id = state.newId();
      state.sandboxes.set(id, {
        id,
        config: state.config.lean === true ? leanSandboxConfig(config) : config,
        runtimeHandler,
        hostNetwork,
        createdAtMs: clock.nowMs(),
        ready: true,
        ip: hostNetwork ? '' : state.allocateIp(),
      });
      state.emit({ containerId: id, type: 'created' });
      state.emit({ containerId: id, type: 'started' });
      return { podSandboxId: id };
    },
    async stopPodSandbox({ podSandboxId }) {
      const sandbox = state.sandboxes.get(podSandboxId ?? '');
      if (sandbox !== undefined) await stop(sandbox);
      return {};
    },
    async removePodSandbox({ podSandboxId }) {
      const sandbox = state.sandboxes.get(podSandboxId ?? '');
      if (sandbox === undefined) return {};
      await stop(sandbox);
      for (const container of containersOf(sandbox.id)) state.containers.delete(container.init.id);
      state.sandboxes.delete(sandbox.id);
      state.emit({ containerId: sandbox.id, type: 'deleted' });
      return {};
    },
    async podSandboxStatus({ podSandboxId }) {
      return {
        status: sandboxStatus(sandboxOf(state, podSandboxId)),
        info: {},
        containersStatuses: [],
        timestampMs: 0,
      };
    },
    async listPodSandbox({ filter = {} }) {
      const wanted = filter.state?.state;
      const items = withLabels(state.sandboxes.values(), labelsOfSandbox, filter.labelSelector)
        .map(describeSandbox)
        .filter(
          (sandbox) =>
            (!filter.id || sandbox.id === filter.id) &&
            (filter.state === undefined || sandbox.state === (wanted ?? 'SANDBOX_READY')),
        );
      return { items };
    },
  };
}
