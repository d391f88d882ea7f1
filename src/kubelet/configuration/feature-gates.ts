/**
 * The kubelet's feature gates: those that can be switched and those fixed at their default. Upstream:
 * pkg/features/kube_features.go. Setting a fixed gate to another value is refused; an unknown gate is an error, as
 * upstream.
 */

interface Gate {
  readonly default: boolean;
  readonly stage: 'ALPHA' | 'BETA' | 'GA';
  /** Can be switched; others are fixed at `default`. */
  readonly switchable: boolean;
}

const gate = (stage: Gate['stage'], value: boolean, switchable = false): Gate => ({
  default: value,
  stage,
  switchable,
});

/** Gates by name. */
export const FEATURE_GATES = {
  ContainerCheckpoint: gate('BETA', true, true),
  ContainerRestartRules: gate('BETA', true),
  ContainerStopSignals: gate('BETA', true),
  CPUManagerPolicyAlphaOptions: gate('ALPHA', false),
  CPUManagerPolicyBetaOptions: gate('BETA', true),
  CustomCPUCFSQuotaPeriod: gate('ALPHA', false, true),
  DisableCPUQuotaWithExclusiveCPUs: gate('BETA', true, true),
  DynamicResourceAllocation: gate('GA', true),
  EnvFiles: gate('BETA', true),
  EventedPLEG: gate('ALPHA', true),
  ExtendWebSocketsToKubelet: gate('BETA', false),
  GitRepoVolumeDriver: gate('BETA', false, true),
  GracefulNodeShutdown: gate('BETA', true, true),
  GracefulNodeShutdownBasedOnPodPriority: gate('BETA', true, true),
  HPAContainerMetrics: gate('GA', true),
  ImageMaximumGCAge: gate('GA', true),
  ImageVolume: gate('BETA', false),
  InPlacePodVerticalScaling: gate('GA', true),
  InPlacePodLevelResourcesVerticalScaling: gate('BETA', true),
  InPlacePodVerticalScalingInitContainers: gate('BETA', true),
  KubeletCrashLoopBackOffMax: gate('BETA', true),
  KubeletEnsureSecretPulledImages: gate('BETA', true, true),
  KubeletInUserNamespace: gate('ALPHA', false),
  KubeletPodResources: gate('GA', true),
  KubeletPSI: gate('GA', true),
  KubeletSeparateDiskGC: gate('BETA', true),
  KubeletTracing: gate('GA', true),
  LocalStorageCapacityIsolation: gate('GA', true),
  LocalStorageCapacityIsolationFSQuotaMonitoring: gate('BETA', false),
  MemoryManager: gate('GA', true),
  MemoryQoS: gate('ALPHA', false, true),
  NodeDeclaredFeatures: gate('BETA', true, true),
  NodeLogQuery: gate('GA', true),
  NodeSwap: gate('GA', true),
  PodLevelResources: gate('BETA', true),
  PodLifecycleSleepAction: gate('GA', true),
  PodReadyToStartContainersCondition: gate('BETA', true),
  PreventStaticPodAPIReferences: gate('BETA', true),
  ProcMountType: gate('BETA', true),
  QOSReserved: gate('ALPHA', false, true),
  ReduceDefaultCrashLoopBackOffDecay: gate('ALPHA', false, true),
  RelaxedDNSSearchValidation: gate('BETA', true),
  ResourceHealthStatus: gate('BETA', true, true),
  RestartAllContainersOnContainerExits: gate('BETA', true),
  RotateKubeletServerCertificate: gate('BETA', true, true),
  SidecarContainers: gate('GA', true),
  SupplementalGroupsPolicy: gate('GA', true),
  SystemdWatchdog: gate('GA', true),
  TopologyManagerPolicyAlphaOptions: gate('ALPHA', false),
  TopologyManagerPolicyBetaOptions: gate('BETA', true),
  UserNamespacesHostNetworkSupport: gate('ALPHA', false),
  UserNamespacesSupport: gate('GA', true),
  WindowsHostNetwork: gate('ALPHA', false),
} as const satisfies Readonly<Record<string, Gate>>;

export type FeatureGate = keyof typeof FEATURE_GATES;

/** Whether the gate is on. */
export function gateEnabled(gates: Readonly<Record<string, boolean>>, name: FeatureGate): boolean {
  return gates[name] ?? FEATURE_GATES[name].default;
}

export function complaintsAboutGates(gates: Readonly<Record<string, boolean>>): string[] {
  return Object.entries(gates).flatMap(([name, value]) => {
    const knownGate: Gate | undefined = Object.hasOwn(FEATURE_GATES, name)
      ? FEATURE_GATES[name as FeatureGate]
      : undefined;
    if (knownGate === undefined) return [`unrecognized feature gate: ${name}`];
    if (knownGate.switchable || value === knownGate.default) return [];
    return [`cannot set feature gate ${name} to ${value}, feature is locked to ${knownGate.default}`];
  });
}
