/** Defaults of pods and pod templates. Upstream: apis/core/v1/defaults.go and its generated caller. */
import type {
  Container,
  EphemeralContainer,
  LifecycleHandler,
  Pod,
  PodSpec,
  PodTemplate,
  PodTemplateSpec,
  Probe,
  ResourceRequirements,
} from '../gen/core-v1.ts';
import { defaultPullPolicy } from './image.ts';
import { setPodLevelResources } from './pod-level-resources.ts';
import { roundResourceList } from './resource-lists.ts';
import { setVolumeDefaults } from './volumes.ts';

function setHandlerDefaults(handler: Pick<LifecycleHandler, 'httpGet'> | undefined): void {
  if (handler?.httpGet === undefined) return;
  handler.httpGet.path ||= '/';
  handler.httpGet.scheme ||= 'HTTP';
}

function setProbeDefaults(probe: Probe | undefined): void {
  if (probe === undefined) return;
  probe.timeoutSeconds ||= 1;
  probe.periodSeconds ||= 10;
  probe.successThreshold ||= 1;
  probe.failureThreshold ||= 3;
  setHandlerDefaults(probe);
  if (probe.grpc !== undefined) probe.grpc.service ??= '';
}

/** Sets the defaults of a container of any kind. */
function setContainerDefaults(container: Container | EphemeralContainer): void {
  container.imagePullPolicy ||= defaultPullPolicy(container.image ?? '');
  container.terminationMessagePath ||= '/dev/termination-log';
  container.terminationMessagePolicy ||= 'File';
  container.resources ??= {};
  roundResourceList(container.resources.limits);
  roundResourceList(container.resources.requests);
  for (const port of container.ports ?? []) port.protocol ||= 'TCP';
  for (const variable of container.env ?? []) {
    if (variable.valueFrom?.fieldRef !== undefined) variable.valueFrom.fieldRef.apiVersion ||= 'v1';
    if (variable.valueFrom?.fileKeyRef !== undefined) variable.valueFrom.fileKeyRef.optional ??= false;
  }
  setProbeDefaults(container.livenessProbe);
  setProbeDefaults(container.readinessProbe);
  setProbeDefaults(container.startupProbe);
  setHandlerDefaults(container.lifecycle?.postStart);
  setHandlerDefaults(container.lifecycle?.preStop);
}

/** Sets the defaults that pods and pod templates share. */
function setPodSpecDefaults(spec: PodSpec): void {
  spec.dnsPolicy ||= 'ClusterFirst';
  spec.restartPolicy ||= 'Always';
  spec.securityContext ??= {};
  spec.terminationGracePeriodSeconds ??= 30;
  spec.schedulerName ||= 'default-scheduler';
  // The deprecated `serviceAccount` and `serviceAccountName` default to each other.
  if ((spec.serviceAccountName ?? '') === '' && (spec.serviceAccount ?? '') !== '')
    spec.serviceAccountName = spec.serviceAccount!;
  const { serviceAccountName = '' } = spec;
  if (serviceAccountName !== '' && spec.serviceAccount !== serviceAccountName) spec.serviceAccount = serviceAccountName;
  for (const list of [spec.overhead, spec.resources?.limits, spec.resources?.requests]) roundResourceList(list);
  for (const volume of spec.volumes ?? []) setVolumeDefaults(volume);
  for (const container of spec.initContainers ?? []) setContainerDefaults(container);
  for (const container of spec.containers ?? []) setContainerDefaults(container);
  for (const container of spec.ephemeralContainers ?? []) setContainerDefaults(container);
}

export function setPodTemplateSpecDefaults(template: PodTemplateSpec | undefined): void {
  if (template?.spec !== undefined) setPodSpecDefaults(template.spec);
}

export function setPodTemplateDefaults(template: PodTemplate): void {
  setPodTemplateSpecDefaults(template.template);
}

/** Sets absent requests to the limits. */
function setRequestsFromLimits(resources: ResourceRequirements | undefined): void {
  if (resources?.limits === undefined) return;
  for (const [name, limit] of Object.entries(resources.limits)) {
    if (resources.requests?.[name] === undefined) (resources.requests ??= {})[name] = limit;
  }
}

export function setPodDefaults(pod: Pod): void {
  const spec = (pod.spec ??= { containers: [] });
  setPodSpecDefaults(spec);
  // Upstream does this when it decodes pods, and not for templates.
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0) spec.terminationGracePeriodSeconds = 1;
  spec.enableServiceLinks ??= true;
  const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  for (const container of containers) setRequestsFromLimits(container.resources);
  setPodLevelResources(spec);
  if (spec.hostNetwork !== true) return;
  for (const port of containers.flatMap((container) => container.ports ?? [])) port.hostPort ||= port.containerPort;
}
