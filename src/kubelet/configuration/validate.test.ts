import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { completeConfiguration, type SparseConfiguration } from './fields.ts';
import { HEAD, load } from './load-fixture.ts';
import { validateConfiguration } from './validate.ts';

describe('validation', () => {
  const cases: readonly [SparseConfiguration, string][] = [
    [{ maxPods: -1 }, 'maxPods (--max-pods) -1 must not be a negative number'],
    [{ port: 0 }, 'port (--port) 0 must be between 1 and 65535, inclusive'],
    [{ oomScoreAdj: 2000 }, 'oomScoreAdj (--oom-score-adj) 2000 must be between -1000 and 1000, inclusive'],
    [{ containerLogMaxWorkers: 0 }, 'containerLogMaxWorkers must be greater than or equal to 1'],
    [{ containerLogMaxFiles: 1 }, 'containerLogMaxFiles (--container-log-max-files) must be greater than 1'],
    [
      { imageGCLowThresholdPercent: 90 },
      'imageGCLowThresholdPercent (--image-gc-low-threshold) 90 must be less than imageGCHighThresholdPercent (--image-gc-high-threshold) 85',
    ],
    [
      { cpuCFSQuotaPeriod: '50ms' },
      'cpuCFSQuotaPeriod (--cpu-cfs-quota-period) 50ms requires feature gate CustomCPUCFSQuotaPeriod',
    ],
    [
      { enforceNodeAllocatable: ['pods', 'kube-reserved'] },
      'kubeReservedCgroup (--kube-reserved-cgroup) must be specified when "kube-reserved" or "kube-reserved-compressible" included in enforceNodeAllocatable (--enforce-node-allocatable)',
    ],
    [
      { crashLoopBackOff: { maxContainerRestartPeriod: '10m' } },
      'CrashLoopBackOff.MaxContainerRestartPeriod (got: 10m) must be set between 1s and 300s',
    ],
    [
      { qosReserved: { memory: '50%' } },
      'qosReserved (--qos-reserved) {"memory":"50%"} requires feature gate QOSReserved',
    ],
    [
      { qosReserved: { memory: '150%' }, featureGates: { QOSReserved: true } },
      'qosReserved (--qos-reserved): "150%" is no percentage from 0% to 100%',
    ],
    [{ topologyManagerPolicyOptions: { nearest: 'true' } }, 'unsupported topologymanager option: "nearest" ("true")'],
    [
      { topologyManagerPolicyOptions: { 'prefer-closest-numa-nodes': 'yes' } },
      'bad value for option "prefer-closest-numa-nodes": "yes"',
    ],
    [
      { topologyManagerPolicyOptions: { 'max-allowable-numa-nodes': '4' } },
      'the minimum value of "max-allowable-numa-nodes" should not be less than 8',
    ],
    [
      { systemCgroups: '/system' },
      'systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified',
    ],
    [
      { shutdownGracePeriod: '10s', shutdownGracePeriodCriticalPods: '20s' },
      'shutdownGracePeriodCriticalPods "20s" must be <= shutdownGracePeriod "10s"',
    ],
    [{ shutdownGracePeriod: '500ms' }, 'shutdownGracePeriod "500ms" must be either zero or otherwise >= 1 sec'],
    [
      { shutdownGracePeriod: '10s', featureGates: { GracefulNodeShutdown: false } },
      'specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown',
    ],
    [
      {
        shutdownGracePeriod: '10s',
        shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 10 }],
      },
      'cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod',
    ],
    [{ evictionHard: { 'disk.free': '1Gi' } }, 'unsupported eviction signal disk.free'],
    [
      { evictionSoft: { 'memory.available': '1Gi' } },
      'grace period must be specified for the soft eviction threshold memory.available',
    ],
    [{ featureGates: { NoSuchGate: true } }, 'unrecognized feature gate: NoSuchGate'],
    [{ featureGates: { NodeSwap: false } }, 'cannot set feature gate NodeSwap to false, feature is locked to true'],
    [
      { preloadedImagesVerificationAllowlist: ['reg.example/*'] },
      'can\'t set `preloadedImagesVerificationAllowlist` if `imagePullCredentialsVerificationPolicy` is not "NeverVerifyAllowlistedImages"',
    ],
    [
      {
        imagePullCredentialsVerificationPolicy: 'NeverVerifyAllowlistedImages',
        preloadedImagesVerificationAllowlist: ['*/app'],
      },
      "preloadedImagesVerificationAllowlist: not a valid wildcard pattern, only patterns ending with '/*' are allowed: */app",
    ],
    [
      {
        imagePullCredentialsVerificationPolicy: 'AlwaysVerify',
        featureGates: { KubeletEnsureSecretPulledImages: false },
      },
      '`imagePullCredentialsVerificationPolicy` and `preloadedImagesVerificationAllowlist` must not be set if KubeletEnsureSecretPulledImages feature gate is not enabled',
    ],
    [
      { tlsCipherSuites: ['TLS_AES_128_GCM_SHA256', 'TLS_NONE'] },
      "tlsCipherSuites (--tls-cipher-suites): Cipher suite TLS_NONE not supported or doesn't exist",
    ],
    [
      { enableSystemLogHandler: false, enableSystemLogQuery: true },
      'enableSystemLogHandler is required for enableSystemLogQuery',
    ],
    [{ cgroupDriver: 'other' }, 'cgroupDriver (--cgroup-driver) "other" is not known: it must be cgroupfs or systemd'],
  ];
  for (const [given, complaint] of cases)
    it(`refuses ${JSON.stringify(given)}`, () =>
      assert.deepEqual(validateConfiguration(completeConfiguration(given)), [complaint]));

  it('accepts the defaults', () => assert.deepEqual(validateConfiguration(completeConfiguration({})), []));

  it('reports all errors at once', () =>
    assert.rejects(load({ '/c': `${HEAD}maxPods: -1\nport: 0` }, { file: '/c' }), {
      message:
        'failed to validate kubelet configuration, error: [invalid configuration: port (--port) 0 must be between 1 and 65535, inclusive, invalid configuration: maxPods (--max-pods) -1 must not be a negative number], path: /c',
    }));
});
