/**
 * Runs a single probe and evaluates its result; records the events that `kubectl describe` shows. Upstream:
 * pkg/kubelet/prober/prober.go and pkg/probe.
 */
import { isRestartableInitContainer } from '../../api/pod-containers.ts';
import type { Container, Pod, PodStatus, Probe } from '../../api/gen/core-v1.ts';
import { errorMessage, hasErrorCode } from '../../base/errors.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import type { Clock } from '../../platform/clock.ts';
import type { GrpcConnector } from '../../grpc/grpc-connector.ts';
import type { Net } from '../../platform/net.ts';
import type { ContainerRuntime } from '../container/runtime.ts';
import { podName, podNamespace, podUid } from '../types/pod-update.ts';
import { probeHttp } from './http-probe.ts';
import { resolvePort, type ProbeOutcome } from './probe-outcome.ts';
import type { ProbeResult, ProbeType } from './results.ts';
import { probeGrpc } from './grpc-probe.ts';
import { probeTcp } from './tcp-probe.ts';

export interface ProbeRequest {
  readonly type: ProbeType;
  readonly spec: Probe;
  readonly pod: Pod;
  readonly podStatus: PodStatus;
  readonly container: Container;
  /** Without the prefix `containerd://`. */
  readonly containerId: string;
}

export interface ProbeVerdict {
  readonly result: ProbeResult;
  readonly output: string;
}

export interface Prober {
  /**
   * The result and its output; `unknown` when the probe could not be run, in which case the try does not count. Never
   * rejects.
   */
  probe(request: ProbeRequest): Promise<ProbeVerdict>;
}

export interface ProberDeps {
  readonly clock: Clock;
  readonly net: Net;
  readonly connectGrpc: GrpcConnector;
  readonly runtime: ContainerRuntime;
  readonly recorder: KubeletEventRecorder;
}

const MAX_TRIES = 3;
/** The most output that is kept, as upstream's exec and HTTP probes do. */
const MAX_OUTPUT = 10 * 1024;

export function createProber(deps: ProberDeps): Prober {
  function event(request: ProbeRequest, reason: 'Unhealthy' | 'ProbeWarning', message: string): void {
    const { pod, container } = request;
    const list = (pod.spec?.initContainers ?? []).some(
      (init) => init.name === container.name && isRestartableInitContainer(init),
    )
      ? 'initContainers'
      : 'containers';
    const target = {
      apiVersion: 'v1',
      kind: 'Pod',
      namespace: podNamespace(pod),
      name: podName(pod),
      uid: podUid(pod),
      resourceVersion: pod.metadata.resourceVersion ?? '',
      fieldPath: `spec.${list}{${container.name}}`,
    };
    deps.recorder.event(target, 'Warning', reason, message);
  }

  async function runExec(request: ProbeRequest, command: readonly string[], timeoutMs: number): Promise<ProbeOutcome> {
    try {
      const { exitCode, stdout, stderr } = await deps.runtime.execSync(request.containerId, command, timeoutMs);
      const output = Buffer.concat([stdout, stderr]).subarray(0, MAX_OUTPUT).toString();
      return { result: exitCode === 0 ? 'success' : 'failure', output };
    } catch (error) {
      if (!hasErrorCode(error, 'DEADLINE')) throw error;
      return {
        result: 'failure',
        output: `command timed out: "${command.join(' ')}" timed out after ${timeoutMs / 1000}s`,
      };
    }
  }

  async function runProbe(request: ProbeRequest): Promise<ProbeOutcome> {
    const { spec, podStatus, container } = request;
    const timeoutMs = Math.max(spec.timeoutSeconds ?? 1, 1) * 1000;
    const podIp = podStatus.podIP ?? '';
    if (spec.exec !== undefined) return runExec(request, spec.exec.command ?? [], timeoutMs);
    if (spec.httpGet !== undefined) return probeHttp(deps, { action: spec.httpGet, container, podIp, timeoutMs });
    if (spec.tcpSocket !== undefined) {
      const host = spec.tcpSocket.host === undefined || spec.tcpSocket.host === '' ? podIp : spec.tcpSocket.host;
      return probeTcp(deps, { host, port: resolvePort(spec.tcpSocket.port, container), timeoutMs });
    }
    if (spec.grpc !== undefined) {
      const { port, service = '' } = spec.grpc;
      return probeGrpc(deps.connectGrpc, { host: podIp, port, service, timeoutMs });
    }
    throw new Error(`missing probe handler for ${podNamespace(request.pod)}/${podName(request.pod)}:${container.name}`);
  }

  async function runWithRetries(request: ProbeRequest): Promise<ProbeOutcome> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await runProbe(request);
      } catch (error) {
        if (attempt >= MAX_TRIES) throw error;
      }
    }
  }

  return {
    async probe(request) {
      const name = `${request.type[0]!.toUpperCase()}${request.type.slice(1)}`;
      try {
        const { result, output } = await runWithRetries(request);
        if (result === 'failure') event(request, 'Unhealthy', `${name} probe failed: ${output}`);
        if (result === 'warning') event(request, 'ProbeWarning', `${name} probe warning: ${output}`);
        return { result: result === 'failure' ? 'failure' : 'success', output };
      } catch (error) {
        const text = errorMessage(error);
        event(request, 'Unhealthy', `${name} probe errored and resulted in unknown state: ${text}`);
        return { result: 'unknown', output: text };
      }
    },
  };
}
