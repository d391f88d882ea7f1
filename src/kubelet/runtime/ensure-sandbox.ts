/**
 * Creates the pod's sandbox if it needs one, and reads the addresses of an existing one. Upstream:
 * kuberuntime_sandbox.go.
 */
import { podUid } from '../types/pod-update.ts';
import { errorMessage } from '../../base/errors.ts';
import type { StepScope } from '../../component-helpers/pod-trace/step-scope.ts';
import type { PodSandboxConfig } from '../../cri/gen/cri-types.ts';
import type { Init } from '../../cri/call-options.ts';
import { podFullText } from './pod-facts.ts';
import { podTarget, runtimeErrorMessage } from './runtime-context.ts';
import { sandboxConfig } from './sandbox-config.ts';
import type { Pass, Sandbox } from './sync-pass.ts';

async function configOf({ pod, actions, context }: Pass): Promise<Init<PodSandboxConfig>> {
  return sandboxConfig({
    pod,
    attempt: actions.attempt,
    dns: await context.dns.podDns(pod),
    cgroupParent: context.podContainers.criParent(pod),
    clusterDomain: context.clusterDomain,
    paths: context.paths,
    resources: context.resources,
    userNamespace: await context.userNamespaces.of(pod, await context.runtimeHandler(pod)),
  });
}

/**
 * Splits the time of the sandbox's start: the runtime sets up the network (CNI) before it creates the sandbox's
 * container, whose creation time it reports.
 */
function addSandboxSteps(
  trace: StepScope,
  { startMs, endMs, createdAtMs }: { readonly startMs: number; readonly endMs: number; readonly createdAtMs: number },
): void {
  if (createdAtMs <= startMs || createdAtMs >= endMs) return;
  trace.add('network', { startMs, endMs: createdAtMs });
  trace.add('sandbox container', { startMs: createdAtMs, endMs });
}

async function createSandbox(pass: Pass, trace: StepScope): Promise<Sandbox> {
  const { pod, context } = pass;
  const { runtime } = context.cri;
  const { config, runtimeHandler } = await trace.step('configuration', async () => {
    const made = await configOf(pass);
    await context.files.makeDir(made.logDirectory!, { mode: 0o755 });
    return { config: made, runtimeHandler: await context.runtimeHandler(pod) };
  });
  const startMs = context.clock.nowMs();
  let running = trace;
  const podSandboxId = await trace.step('RunPodSandbox', (scope) => {
    running = scope;
    return context.reader.learning(
      podUid(pod),
      async () => (await runtime.runPodSandbox({ config, runtimeHandler }, { span: scope.span })).podSandboxId,
    );
  });
  const endMs = context.clock.nowMs();
  if (pod.spec?.hostNetwork) return { id: podSandboxId, config, ips: context.containerConfig.sources.node.hostIps };
  const { status } = await trace.step('PodSandboxStatus', (scope) =>
    runtime.podSandboxStatus({ podSandboxId }, { span: scope.span }),
  );
  if (status !== undefined) addSandboxSteps(running, { startMs, endMs, createdAtMs: status.createdAtMs });
  const { ip = '', additionalIps = [] } = status?.network ?? {};
  return {
    id: podSandboxId,
    config,
    ips: [ip, ...additionalIps.map((other) => other.ip)].filter((address) => address !== ''),
  };
}

export async function ensureSandbox(pass: Pass): Promise<Sandbox | undefined> {
  const { pod, podStatus, actions, context } = pass;
  const target = podFullText(pod);
  if (!actions.createSandbox) {
    try {
      const config = await configOf(pass);
      const ips = pod.spec?.hostNetwork ? context.containerConfig.sources.node.hostIps : podStatus.ips;
      return { id: actions.sandboxId!, config, ips };
    } catch (error) {
      pass.steps.push({
        action: 'ConfigPodSandbox',
        target,
        reason: 'ConfigPodSandboxError',
        message: runtimeErrorMessage(error),
      });
      return undefined;
    }
  }
  context.starts.pod();
  try {
    const sandbox = await pass.trace.step('sandbox', (trace) => createSandbox(pass, trace));
    pass.steps.push({ action: 'CreatePodSandbox', target });
    return sandbox;
  } catch (error) {
    context.starts.podFailed();
    const message = `Failed to create sandbox for pod "${target}": ${errorMessage(error)}`;
    // While the pod is being deleted, the failure may be intended.
    if (pod.metadata.deletionTimestamp === undefined) {
      context.recorder.event(
        podTarget(pod),
        'Warning',
        'FailedCreatePodSandBox',
        `Failed to create pod sandbox: ${errorMessage(error)}`,
      );
    }
    pass.steps.push({ action: 'CreatePodSandbox', target, reason: 'CreatePodSandboxError', message });
    return undefined;
  }
}
